// The connection on which PostgreSQL tells that a key changed.
//
// A pooler may swallow notifications without a word; so the first one is sent by ourselves, and a
// wait is confirmed when it arrives.
#pragma once

#include "engines/postgresql/client/pool.hpp"
#include "engines/postgresql/client/postgresql_settings.hpp"
#include "engines/postgresql/client/wire.hpp"
#include "net/change_listener.hpp"

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::postgresql {

// One coroutine that waits for one key. Listens from its construction to its destruction.
using watcher = net::change_watch;

// Used on its loop only, but for close_from_anywhere and is_deaf.
class listener : public net::change_listener {
public:
    static std::shared_ptr<listener> make(net::loop& where,
                                          std::shared_ptr<const postgresql_settings> settings,
                                          std::shared_ptr<pool> asking);
    // Use make().
    listener(net::loop& where, std::shared_ptr<const postgresql_settings> settings,
             std::shared_ptr<pool> asking);

    // Notifications do not arrive, or are not wanted: waiters must poll. Thread-safe.
    bool is_deaf() const noexcept;
    const std::string& channel() const noexcept { return channel_; }

private:
    async<void> open() override;
    boost::asio::awaitable<void> listen() override;
    void disconnect() override;
    bool may_pass(const failure& why) const override;
    bool has_work() const override { return change_listener::has_work() && !is_deaf(); }
    void name_came(const std::string& name, place& where) override;
    millis confirmation_bound() const override;
    failure unconfirmed() const override;
    void loop_ends() override;

    static boost::asio::awaitable<void> probe(std::shared_ptr<listener> self, std::string word);
    void take(std::string_view payload);
    void stand();
    void turn_deaf();

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<const postgresql_settings> settings_;
    const std::shared_ptr<const connection_target> target_;
    const std::string server_;
    const std::string channel_;
    const std::shared_ptr<pool> asking_;

    // On any thread: nanoseconds on the lease clock until which we take ourselves for deaf.
    std::atomic<std::int64_t> deaf_until_{0};

    // On the loop only
    bool hears_ = false;
    std::shared_ptr<wire> on_;
    std::string probe_;  // what we told ourselves, until it has been heard
};

}  // namespace pawl::postgresql
