// The connection on which Redis tells that a key changed: a channel for each key that a caller
// waits for.
#pragma once

#include "engines/redis/client/locator.hpp"
#include "engines/redis/client/redis_settings.hpp"
#include "engines/redis/client/resp.hpp"
#include "net/byte_stream.hpp"
#include "net/change_listener.hpp"

#include <pawl/errors.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::redis {

// One coroutine that waits for one channel. Subscribes from its construction to its destruction.
using watcher = net::change_watch;

// Used on its loop only, but for close_from_anywhere.
class subscriber : public net::change_listener {
public:
    static std::shared_ptr<subscriber> make(net::loop& where,
                                            std::shared_ptr<const redis_settings> settings,
                                            std::shared_ptr<locator> whereabouts = nullptr);
    // Use make(). With a locator it is asked for the server before each attempt to connect.
    subscriber(net::loop& where, std::shared_ptr<const redis_settings> settings,
               std::shared_ptr<locator> whereabouts);

    // How many wait for this channel here, and whether the server counts us among its subscribers.
    std::uint32_t watchers_of(std::string_view channel) const;
    bool is_subscribed(std::string_view channel) const;

    // The server that is, or was last, dialled.
    const std::string& server() const noexcept { return server_; }
    // Gives up the connection, which ends every wait, and dials again if a caller waits then.
    void drop();

private:
    enum class request_kind { subscribe, unsubscribe };
    struct expected_reply {
        request_kind kind;
        std::uint64_t number;  // of the channel
    };

    async<void> open() override;
    boost::asio::awaitable<void> listen() override;
    void disconnect() override;
    bool may_pass(const failure& why) const override { return why.code == errc::unreachable; }
    void name_came(const std::string& name, place& where) override;
    void name_left(const std::string& name, const place& where) override;
    millis confirmation_bound() const override { return settings_->common.timeout; }
    failure unconfirmed() const override;
    void loop_ends() override;

    void ask(request_kind kind, std::string_view name, const place& where);
    void flush();
    // False when the peer does not speak RESP.
    bool take(const reply& push);

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    const std::shared_ptr<locator> whereabouts_;

    // On the loop only
    std::string server_;
    bool connected_ = false;
    bool sending_ = false;
    std::shared_ptr<net::byte_stream> stream_;
    std::shared_ptr<reply_parser> parser_;
    std::deque<expected_reply> expected_;
    std::string out_;
};

}  // namespace pawl::redis
