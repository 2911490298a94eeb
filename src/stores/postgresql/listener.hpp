// The connection on which PostgreSQL tells that a key changed; opened when somebody first waits.
//
// A notification can be lost: with the connection, or before the LISTEN. So whoever waits looks at
// the record once it is known that notifications arrive, and a lost connection ends every wait. A
// pooler may swallow them without a word; so the first one is sent by ourselves.
#pragma once

#include "net/attachment.hpp"
#include "net/boot_timer.hpp"
#include "stores/postgresql/pool.hpp"
#include "stores/postgresql/postgresql_settings.hpp"
#include "stores/postgresql/wire.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::postgresql {

class watcher;

// Used on its loop only, but for close_from_anywhere and is_deaf.
class listener : public net::attached, public std::enable_shared_from_this<listener> {
public:
    static std::shared_ptr<listener> make(net::loop& where,
                                          std::shared_ptr<const postgresql_settings> settings,
                                          std::shared_ptr<pool> asking);
    // Use make().
    listener(net::loop& where, std::shared_ptr<const postgresql_settings> settings,
             std::shared_ptr<pool> asking);

    // Notifications do not arrive, or are not wanted: whoever waits must poll. Thread-safe.
    bool is_deaf() const noexcept;

    // Thread-safe. Nobody waits any more.
    void close_from_anywhere();

private:
    friend class watcher;
    using watchers = std::map<std::string, std::vector<watcher*>, std::less<>>;

    void join(watcher& who);
    void leave(watcher& who);

    static boost::asio::awaitable<void> run(std::shared_ptr<listener> self);
    static async<void> open(std::shared_ptr<listener> self);
    static boost::asio::awaitable<void> listen(std::shared_ptr<listener> self);
    static boost::asio::awaitable<void> probe(std::shared_ptr<listener> self, std::string word);
    bool has_work() const { return !closed_ && !watchers_.empty() && !is_deaf(); }
    void retire_attempt(const failure& why);
    void take(std::string_view payload);
    void stand();
    void turn_deaf();
    void lose();

    void close();
    void loop_ends() override;

    // Constant after construction
    const std::shared_ptr<const postgresql_settings> settings_;
    const std::shared_ptr<const connection_target> target_;
    const std::string place_;
    const std::string channel_;
    const wire::executor_type executor_;
    const std::shared_ptr<pool> asking_;
    std::shared_ptr<net::attachment> attachment_;

    // On any thread: nanoseconds on the lease clock until which we take ourselves for deaf.
    std::atomic<std::int64_t> deaf_until_{0};

    // On the loop only
    bool running_ = false;
    bool hears_ = false;
    bool closed_ = false;
    std::shared_ptr<wire> on_;
    std::string probe_;                       // what we told ourselves, until it has been heard
    watchers watchers_;                       // by key
    std::optional<net::boot_timer> backoff_;  // empty once the loop has ended
    std::uint32_t attempts_failed_ = 0;
    std::minstd_rand random_;
};

// One coroutine that waits for one key. Listens from its construction to its destruction.
class watcher {
public:
    watcher(std::shared_ptr<listener> on, std::string key);
    ~watcher();
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    // Ends when notifications are known to arrive, or the wait is over already.
    boost::asio::awaitable<result<void>> confirmed();
    // Ends with the first notification, or when the connection is lost.
    boost::asio::awaitable<result<void>> rung();

private:
    friend class listener;
    enum class state { asked, confirmed, rung, failed };

    void become(state next);

    const std::shared_ptr<listener> on_;
    const std::string key_;
    boost::asio::steady_timer bell_;  // never fires by itself once confirmed
    state state_ = state::asked;
    std::optional<failure> why_;
};

}  // namespace pawl::postgresql
