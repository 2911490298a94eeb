#include "engines/zookeeper/client/four_letters.hpp"

#include "base/number.hpp"
#include "net/boot_timer.hpp"
#include "net/byte_stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

namespace pawl::zookeeper {
namespace {

constexpr std::size_t reply_max = std::size_t{64} * 1024;

// Closes the stream when its time is up; lives until the question has been answered.
struct bounded_stream {
    explicit bounded_stream(net::loop::executor_type executor)
        : stream{executor}, timer{executor} {}

    net::byte_stream stream;
    net::boot_timer timer;
    bool late = false;
    bool over = false;
};

boost::asio::awaitable<void> watch(std::shared_ptr<bounded_stream> what) {
    co_await what->timer.wait();
    if (what->over) co_return;
    what->late = true;
    what->stream.close();
}

// Ends the watch whichever way the question ends.
class watched {
public:
    explicit watched(std::shared_ptr<bounded_stream> what) : what_{std::move(what)} {}
    ~watched() {
        what_->over = true;
        what_->timer.wake();
    }
    watched(const watched&) = delete;
    watched& operator=(const watched&) = delete;

private:
    std::shared_ptr<bounded_stream> what_;
};

constexpr std::string_view srvr_openings[] = {
    "Zookeeper version:", "This ZooKeeper instance is not", "srvr is not executed"};

// Says no as soon as it cannot become one of them any more.
bool may_answer_srvr(std::string_view text) {
    for (const auto opening : srvr_openings) {
        const auto size = std::min(text.size(), opening.size());
        if (text.substr(0, size) == opening.substr(0, size)) return true;
    }
    return false;
}

std::string field_of(std::string_view text, std::string_view name) {
    const auto at = text.find(name);
    if (at == std::string_view::npos) return {};
    auto value = text.substr(at + name.size());
    value = value.substr(0, value.find('\n'));
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    return std::string{value};
}

}  // namespace

async<std::string> ask_word(net::loop::executor_type executor, server whom, std::string word,
                            instant until, answer_check plausible) {
    const auto place = place_of(whom);
    const auto link = std::make_shared<bounded_stream>(executor);
    link->timer.set(until);
    boost::asio::co_spawn(executor, watch(link), boost::asio::detached);
    const watched until_the_end{link};
    const auto fail = [&](const std::string& why) {
        return failure{errc::unreachable, place + ": " + (link->late ? "no answer in time" : why)};
    };
    const auto connected = co_await link->stream.connect_tcp(whom.host, whom.port);
    if (connected.has_error()) {
        if (link->late) co_return fail({});
        auto why = connected.error();
        if (why.detail.find(place) != 0) why.detail = place + ": " + why.detail;
        co_return why;
    }
    boost::system::error_code error;
    auto sent = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await link->stream.send_all(boost::asio::buffer(word), sent);
    std::string text;
    std::array<char, 4096> bytes;
    while (!error && text.size() < reply_max) {
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        const auto size = co_await link->stream.receive_some(boost::asio::buffer(bytes), token);
        text.append(bytes.data(), size);
        if (plausible != nullptr && !text.empty() && !plausible(text)) break;
    }
    if (text.empty())
        co_return fail(error == boost::asio::error::eof
                           ? "the connection was closed (a TLS port wants a tunnel)"
                           : error.message());
    co_return text;
}

result<server_report> read_srvr(const server& whom, std::string_view text) {
    server_report report;
    if (text.starts_with("Zookeeper version:")) {
        const auto version = field_of(text, "Zookeeper version:");
        report.version = version.substr(0, version.find_first_of("-,"));
        report.mode = field_of(text, "Mode:");
        report.connections = field_of(text, "Connections:");
        report.outstanding = field_of(text, "Outstanding:");
        if (report.mode == "read-only") report.state = readiness::read_only;
        return report;
    }
    if (text.find("is not currently serving requests") != std::string_view::npos) {
        report.state = readiness::not_serving;
        return report;
    }
    if (text.find("is not in the whitelist") != std::string_view::npos) {
        report.state = readiness::silent_word;
        return report;
    }
    return failure{errc::protocol, place_of(whom) + " does not speak ZooKeeper"};
}

async<server_report> ask_srvr(net::loop::executor_type executor, server whom, instant until) {
    const auto said = co_await ask_word(executor, whom, "srvr", until, &may_answer_srvr);
    if (said.has_error()) co_return said.error();
    co_return read_srvr(whom, *said);
}

std::string value_of(const std::string& text, std::string_view name) {
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(name) && line.size() > name.size() &&
            (line[name.size()] == '=' || line[name.size()] == '\t'))
            return line.substr(name.size() + 1);
    return {};
}

async<millis> ask_tick(net::loop::executor_type executor, server whom, instant until) {
    const auto said = co_await ask_word(executor, whom, "conf", until);
    if (said.has_error()) co_return said.error();
    const auto value = value_of(*said, "tickTime");
    const auto tick = base::leading_number<millis::rep>(value).value_or(0);
    if (tick <= 0)
        co_return failure{errc::unsupported, place_of(whom) + " does not report its tickTime"};
    co_return millis{tick};
}

}  // namespace pawl::zookeeper
