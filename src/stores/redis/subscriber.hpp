// The connection on which Redis tells that a key changed; opened when somebody first waits.
//
// A message can be lost: with the connection, or before the subscription began. So whoever waits
// looks at the record once the subscription is confirmed, and a lost connection ends every wait.
#pragma once

#include "net/attachment.hpp"
#include "net/boot_timer.hpp"
#include "net/byte_stream.hpp"
#include "stores/redis/locator.hpp"
#include "stores/redis/redis_settings.hpp"
#include "stores/redis/resp.hpp"

#include <pawl/errors.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::redis {

class watcher;

// Used on its loop only, but for close_from_anywhere.
class subscriber : public net::attached, public std::enable_shared_from_this<subscriber> {
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
    const std::string& place() const noexcept { return place_; }
    // Gives up the connection, which ends every wait, and dials again if somebody waits then.
    void drop();
    // For ever.
    void close();

    // Thread-safe. Nobody waits any more.
    void close_from_anywhere();

private:
    friend class watcher;
    enum class request_kind { subscribe, unsubscribe };
    struct expected_reply {
        request_kind kind;
        std::uint64_t subscription;
    };
    struct channel {
        std::uint64_t subscription = 0;  // tells a channel from an earlier one of the same name
        bool confirmed = false;
        std::vector<watcher*> watchers;
    };
    using channels = std::map<std::string, channel, std::less<>>;

    void join(watcher& who);
    void leave(watcher& who);

    static boost::asio::awaitable<void> run(std::shared_ptr<subscriber> self);
    static boost::asio::awaitable<result<void>> open(std::shared_ptr<subscriber> self);
    static boost::asio::awaitable<void> listen(std::shared_ptr<subscriber> self);
    bool has_work() const;
    void retire_attempt(const failure& why);
    void ask(request_kind kind, std::string_view name, std::uint64_t subscription);
    void flush();
    // False when the peer does not speak RESP.
    bool take(const reply& push);
    void confirm(std::uint64_t subscription);
    void refuse(std::uint64_t subscription, const failure& why);
    void lose();

    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const redis_settings> settings_;
    const std::shared_ptr<locator> whereabouts_;
    const net::byte_stream::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;

    // On the loop only
    std::string place_;
    bool running_ = false;
    bool connected_ = false;
    bool closed_ = false;
    bool sending_ = false;
    std::shared_ptr<net::byte_stream> stream_;
    std::shared_ptr<reply_parser> parser_;
    channels channels_;
    std::deque<expected_reply> expected_;
    std::uint64_t subscriptions_ = 0;
    std::string out_;
    std::optional<net::boot_timer> backoff_;  // empty once the loop has ended
    std::uint32_t attempts_failed_ = 0;
    std::minstd_rand random_;
};

// One coroutine that waits for one channel. Subscribes from its construction to its destruction.
class watcher {
public:
    watcher(std::shared_ptr<subscriber> on, std::string channel);
    ~watcher();
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    // Ends when the server has confirmed the subscription, or the wait is over already.
    boost::asio::awaitable<result<void>> confirmed();
    // Ends with the first message, or when the connection is lost.
    boost::asio::awaitable<result<void>> rung();

private:
    friend class subscriber;
    enum class state { asked, confirmed, rung, failed };

    void become(state next);

    const std::shared_ptr<subscriber> on_;
    const std::string channel_;
    boost::asio::steady_timer bell_;  // never fires by itself once the subscription is confirmed
    state state_ = state::asked;
    std::optional<failure> why_;
};

}  // namespace pawl::redis
