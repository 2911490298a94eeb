// One store and all that this process holds in it: claims, keeps, releases.
//
// A driver: it does what the machines of src/lease say. Everything here runs on the loop;
// coroutines keep the engine alive by shared_ptr, because they may die as late as the loop does.
#pragma once

#include "base/identity.hpp"
#include "lease/claiming.hpp"
#include "net/attachment.hpp"
#include "net/loop.hpp"
#include "runtime/gate.hpp"
#include "runtime/holding.hpp"
#include "runtime/keeper.hpp"

#include <pawl/observer.hpp>
#include <pawl/options.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

namespace pawl::runtime {

// How long an occurrence that may have been marked for nobody is given back.
constexpr millis withdraw_occurrence_min{60'000};

struct called_off {};

// A claim that is asked for over several calls, as long as its outcome is unknown. One call at a
// time; on the loop only.
struct kept_claim {
    std::string id;
    leasing::claim_attempts attempts{};
};

using claimed = std::variant<std::shared_ptr<holding>, busy, already_done, called_off>;

class engine : public net::attached, public std::enable_shared_from_this<engine> {
public:
    struct parts {
        net::loop* loop;
        std::shared_ptr<lease_store> store;
        store_settings settings;
        std::string owner;
        std::shared_ptr<observer> watcher;
    };
    explicit engine(parts made_of);

    void start();
    void connect(std::shared_ptr<link> home) { home_ = std::move(home); }
    void loop_ends() override {}
    // For stop callbacks, which come from any thread, and perhaps when the loop is going.
    const std::shared_ptr<net::attachment>& bell() const { return bell_; }

    // REQUIRES: validate() had nothing to say about the options.
    static async<claimed> claim_key(std::shared_ptr<engine> self, std::string key,
                                    lease_options options, patience how_long, std::stop_token stop);
    // The same under an id that stays: while `under->attempts.unanswered` the caller asks again, or
    // gives up by withdraw().
    static async<claimed> claim_key(std::shared_ptr<engine> self, std::string key,
                                    lease_options options, patience how_long, std::stop_token stop,
                                    std::shared_ptr<kept_claim> under);
    std::shared_ptr<kept_claim> new_claim();
    // Gives a claim up, and asks again until the store has answered or `until` has come; beyond
    // that, what it may have left has ended. drain() waits for it.
    static boost::asio::awaitable<void> withdraw(std::shared_ptr<engine> self, withdrawal given_up,
                                                 instant until);
    // How long a withdrawal of a claim is worth asking for: as long as the lease that it may have
    // left can last, and for an occurrence that it may have marked, which outlasts the lease, a
    // minute at least.
    instant worth_withdrawing(const leasing::claim_attempts& attempts,
                              const lease_options& options) const {
        const auto least = options.firing ? withdraw_occurrence_min : millis{0};
        return attempts.last_sent + std::max(options.ttl, least) + settings_.timeout;
    }
    // Waits until the key may no longer be held under `seen`, for `longest` at most: for who wants
    // to claim it then, and has better things to do meanwhile than to stand in line.
    static boost::asio::awaitable<void> await_change(std::shared_ptr<engine> self, std::string key,
                                                     fence_token seen, millis longest,
                                                     std::stop_token stop);
    // One handle less; with the last one the lease is released in the background. Any thread.
    static void let_go(std::shared_ptr<holding> who) noexcept;
    // The same for a grant that has reached nobody: its occurrence is given back, unless somebody
    // has come to share it.
    static void let_go_unused(std::shared_ptr<holding> who) noexcept;
    static boost::asio::awaitable<release_outcome> release(std::shared_ptr<engine> self,
                                                           std::shared_ptr<holding> who);
    static boost::asio::awaitable<renewal> renew(std::shared_ptr<engine> self,
                                                 std::shared_ptr<holding> who);
    // Ends when no release or withdrawal is under way any more, after `longest`, or with `stop`.
    static boost::asio::awaitable<bool> drain(std::shared_ptr<engine> self, millis longest,
                                              std::stop_token stop = {});

    // For failures of what is asked of the store directly.
    void report_failure(std::string_view operation, const failure& why) const {
        if (watcher_) watcher_->on_store_failure(operation, why);
    }

    lease_store& store() const { return *store_; }
    const std::shared_ptr<lease_store>& shared_store() const { return store_; }
    const store_settings& settings() const { return settings_; }
    const std::string& owner() const { return owner_; }
    const boost::asio::any_io_executor& executor() const { return executor_; }
    instant now() const { return loop_.now(); }
    net::loop& loop() const { return loop_; }

private:
    // What one claim needs while it goes on. Lives in its coroutine.
    struct errand;

    static void release_in_background(std::shared_ptr<holding> who) noexcept;
    std::optional<busy> held_here(const std::string& key) const;
    std::shared_ptr<holding> share(const std::string& key);
    static boost::asio::awaitable<claimed> take_turn(std::shared_ptr<engine> self, errand& todo,
                                                     ticket& turn);
    static boost::asio::awaitable<leasing::claim_outcome> ask(std::shared_ptr<engine> self,
                                                              errand& todo,
                                                              leasing::claim_plan::unknown how);
    static boost::asio::awaitable<void> listen(std::shared_ptr<engine> self, std::string key,
                                               fence_token seen,
                                               std::shared_ptr<place_in_line> place, instant until);
    static boost::asio::awaitable<void> pause(errand& todo, instant until);
    void ended();
    void report_push(const result<void>& change);
    std::shared_ptr<holding> hold(errand& todo, leasing::granted won, ticket turn);
    void report(const errand& todo, acquire_outcome outcome);

    // Constant after construction
    net::loop& loop_;
    boost::asio::any_io_executor executor_;
    std::shared_ptr<net::attachment> bell_;
    std::shared_ptr<lease_store> store_;
    store_settings settings_;
    std::string owner_;
    std::shared_ptr<observer> watcher_;
    std::shared_ptr<link> home_;
    std::shared_ptr<gate> gate_;
    std::shared_ptr<keeper> keeper_;
    // State
    std::unordered_map<std::string, std::weak_ptr<holding>> held_;
    base::id_source ids_;
    std::size_t endings_ = 0;  // releases and withdrawals under way
    bool push_failed_ = false;
    std::shared_ptr<place_in_line> drained_;  // who waits for them to end
};

}  // namespace pawl::runtime
