// A server that answers commands as a test says, in MongoDB's own protocol: what no server at hand
// does, such as a replica set whose majority is gone.
#pragma once

#include "engines/mongodb/client/documents.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace pawl::mongodb {

inline document stands_alone() {
    return document{}.yes("ismaster").number("localTime", 1'700'000'000'000);
}
inline document of_set(std::vector<std::string> hosts) {
    return stands_alone().text("setName", "rs0").texts("hosts", hosts);
}

// Thread-safe; runs on a thread of its own until its end.
class scripted_mongodb {
public:
    // What a command is answered, without its {ok: 1}; nothing: the connection is cut. The name of
    // a command is that of its first field.
    using script = std::function<std::optional<document>(const std::string& name, const document&)>;

    // `hello` is what it says of itself, beside what it can do.
    scripted_mongodb(document hello, script says)
        : hello_{std::move(hello)},
          says_{std::move(says)},
          acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}} {
        boost::asio::co_spawn(context_, take_connections(), boost::asio::detached);
        thread_ = std::thread{[this] { context_.run(); }};
    }
    ~scripted_mongodb() {
        context_.stop();
        thread_.join();
    }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    // All commands but greetings, as they came.
    std::vector<document> heard(const std::string& name) {
        const std::lock_guard lock{mutex_};
        std::vector<document> found;
        for (const auto& one : heard_)
            if (name_of(one) == name) found.push_back(one);
        return found;
    }

    // From now on the connection is cut that asks for the time.
    void hide_its_time(bool hidden) { hides_its_time_ = hidden; }

private:
    using tcp = boost::asio::ip::tcp;
    static constexpr std::int32_t query = 2004, reply = 1, message = 2013;

    static std::string name_of(const document& command) {
        bson_iter_t at;
        return bson_iter_init(&at, command.bytes()) && bson_iter_next(&at) ? bson_iter_key(&at)
                                                                           : "";
    }
    static std::int32_t number_at(const std::string& bytes, std::size_t at) {
        std::int32_t number = 0;
        std::memcpy(&number, bytes.data() + at, sizeof number);
        return number;
    }
    static void add(std::string& bytes, std::int32_t number) {
        bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }

    boost::asio::awaitable<void> take_connections() {
        for (;;) {
            boost::system::error_code error;
            auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
            auto link = co_await acceptor_.async_accept(token);
            if (error) co_return;
            boost::asio::co_spawn(context_, talk(std::move(link)), boost::asio::detached);
        }
    }

    boost::asio::awaitable<void> talk(tcp::socket link) {
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        for (;;) {
            std::string head(16, '\0');
            co_await boost::asio::async_read(link, boost::asio::buffer(head), token);
            if (error) co_return;
            std::string body(static_cast<std::size_t>(number_at(head, 0)) - 16, '\0');
            co_await boost::asio::async_read(link, boost::asio::buffer(body), token);
            if (error) co_return;
            const auto said = answer(head, body);
            if (!said) co_return;
            co_await boost::asio::async_write(link, boost::asio::buffer(*said), token);
            if (error) co_return;
        }
    }

    std::optional<std::string> answer(const std::string& head, const std::string& body) {
        const auto asked_by = number_at(head, 12);
        // Of a query: flags, the name with its end, two numbers. Of a message: flags and a kind.
        const auto begin = asked_by == query ? body.find('\0', 4) + 9 : 5;
        bson_t view;
        const auto size = static_cast<std::size_t>(number_at(body, begin));
        if (!bson_init_static(&view, reinterpret_cast<const std::uint8_t*>(body.data() + begin),
                              size))
            return std::nullopt;
        const auto said = say(document{&view});
        if (!said) return std::nullopt;
        std::string made;
        const bool by_message = asked_by == message;
        const std::size_t before = by_message ? 5 : 20;
        add(made, static_cast<std::int32_t>(16 + before + said->bytes()->len));
        add(made, 0);
        add(made, number_at(head, 4));
        add(made, by_message ? message : reply);
        made.append(before, '\0');
        // One document is returned.
        if (!by_message) made[made.size() - 4] = 1;
        made.append(reinterpret_cast<const char*>(bson_get_data(said->bytes())),
                    said->bytes()->len);
        return made;
    }

    std::optional<document> say(const document& command) {
        const auto name = name_of(command);
        // The library's own greetings go by the old name.
        if (name == "hello" && hides_its_time_) return std::nullopt;
        if (name == "hello" || name == "isMaster" || name == "ismaster") {
            auto greeting = hello_;
            greeting.small("minWireVersion", 0).small("maxWireVersion", 13);
            greeting.small("maxBsonObjectSize", 1 << 24).small("maxMessageSizeBytes", 48'000'000);
            return std::move(greeting.small("maxWriteBatchSize", 1000).small("ok", 1));
        }
        {
            const std::lock_guard lock{mutex_};
            heard_.push_back(command);
        }
        auto said = says_(name, command);
        if (said && !said->has("ok")) said->small("ok", 1);
        return said;
    }

    const document hello_;
    const script says_;
    boost::asio::io_context context_{1};
    tcp::acceptor acceptor_;
    std::mutex mutex_;
    std::vector<document> heard_;  // under mutex_
    std::atomic<bool> hides_its_time_{false};
    std::thread thread_;
};

// {ok: 0} with its number.
inline document rejected(std::int32_t code, const std::string& words = "words") {
    return document{}.small("ok", 0).small("code", code).text("errmsg", words);
}
inline document documents(const std::vector<document>& found) {
    return document{}.nested(
        "cursor", document{}.number("id", 0).text("ns", "pawl.pawl").array("firstBatch", found));
}

}  // namespace pawl::mongodb
