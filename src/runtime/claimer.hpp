// Drives claims, as the machine of src/lease says: for the library, the agent and the API alike.
//
// Sends and waits, listens for changes of the key, and withdraws what is given up with its outcome
// unknown. Who is granted the key keeps the lease, or gives it back. On the loop only.
#pragma once

#include "base/identity.hpp"
#include "lease/claiming.hpp"
#include "lease/yielding.hpp"
#include "net/attachment.hpp"
#include "net/loop.hpp"
#include "runtime/local_queue.hpp"

#include <pawl/observer.hpp>
#include <pawl/options.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::runtime {

// How long an occurrence that may have been marked for no run is given back.
constexpr millis withdraw_occurrence_min{60'000};
// For ever, where clocks count in nanoseconds.
constexpr millis wait_longest = std::chrono::hours{24 * 3650};

// A claim that is asked for over several calls, as long as its outcome is unknown. One call at a
// time; on the loop only.
struct kept_claim {
    std::string id;
    leasing::claim_attempts attempts{};
};

// What one claim needs while it goes on. Lives in the coroutine that asks.
struct claim_request {
    std::string key;
    std::string owner;
    std::shared_ptr<kept_claim> under;
    lease_options options;
    wait_policy waiting;
    // withdraw: no other caller knows the id. keep: a caller that knows it asks again, and gives it
    // up by itself.
    leasing::claim_plan::unknown if_unknown;
    instant began;
    // Every pause waits at it as well, so that calling it off wakes whatever waits.
    std::shared_ptr<queue_waiter> place = std::make_shared<queue_waiter>();
    // Before other claims of this process; goes with the grant, or with the withdrawal.
    ticket turn{};
    // See leasing::claim_plan.
    instant answer_by = instant::max();
    // Takes turns with other processes that want the key. Not where it is settled whose it is to
    // be.
    bool takes_turns = true;

    bool yields() const noexcept { return takes_turns && waiting.wait.count() > 0; }
};

class claimer : public std::enable_shared_from_this<claimer> {
public:
    // `timeout` is the store's.
    claimer(net::loop& loop, std::shared_ptr<lease_store> store, millis timeout,
            std::shared_ptr<observer> watcher);

    // For stop callbacks, which come from any thread, and perhaps when the loop is going.
    void connect(std::shared_ptr<net::attachment> home) { attachment_ = std::move(home); }

    std::shared_ptr<kept_claim> new_claim();
    // How long is left to wait for a busy key is counted from todo.began. What was sent under the
    // id is noted in todo.under.
    static boost::asio::awaitable<leasing::claim_outcome> ask(std::shared_ptr<claimer> self,
                                                              claim_request& todo);
    // Waits until the key may no longer be held under `seen`, for `longest` at most: for who wants
    // to claim it then, and has better things to do meanwhile than to stand in line.
    static boost::asio::awaitable<void> await_change(std::shared_ptr<claimer> self, std::string key,
                                                     fence_token seen, millis longest,
                                                     std::stop_token stop);
    // Gives a claim up, and asks again until the store has answered or `until` has come; beyond
    // that, what it may have left has ended. drain() waits for it.
    // `turn` is given up with the first answer.
    static boost::asio::awaitable<void> withdraw(std::shared_ptr<claimer> self, withdrawal given_up,
                                                 instant until, ticket turn = {});
    // Of a grant that no caller wants: with its occurrence, whose mark outlasts the lease. Answers
    // as the store does; where it does not, this goes on in the background.
    static async<bool> give_back(std::shared_ptr<claimer> self, withdrawal given_up,
                                 const lease_options& options);
    // withdraw() in the background, for as long as it is worth it.
    static void withdraw_later(const std::shared_ptr<claimer>& self, withdrawal given_up,
                               const leasing::claim_attempts& attempts,
                               const lease_options& options, ticket turn = {});
    // How long a withdrawal of a claim is worth asking for: as long as the lease that it may have
    // left can last, and for an occurrence that it may have marked, which outlasts the lease, a
    // minute at least.
    instant worth_withdrawing(const leasing::claim_attempts& attempts,
                              const lease_options& options) const {
        const auto least = options.occurrence ? withdraw_occurrence_min : millis{0};
        return attempts.last_sent + std::max(options.ttl, least) + timeout_;
    }

    // A lease on the key that this process had has ended: of what it claims next, other processes
    // may come first.
    void released(const std::string& key);

    // What is being given back: withdrawals, and the releases of all who have leases.
    void begin_ending() { ++endings_; }
    void end_ending();
    // A release is on its way to the loop, where it begins. The first may come from any thread.
    void release_comes() noexcept { ++releases_to_come_; }
    void release_has_begun() noexcept { --releases_to_come_; }
    // Ends when none of that is under way any more, after `longest`, or with `stop`.
    static boost::asio::awaitable<bool> drain(std::shared_ptr<claimer> self, millis longest,
                                              std::stop_token stop = {});

private:
    // Of keys that are waited for. Each has one of a few places, by its hash; of those that are all
    // taken the one that was waited for longest ago begins anew.
    struct waited_key {
        std::size_t hash = 0;
        instant used{};
        leasing::yielding turns{};
    };
    static constexpr std::size_t places_of_a_key = 8;
    std::span<waited_key, places_of_a_key> places_of(std::size_t hash) {
        const auto rows = waited_keys_.size() / places_of_a_key;
        return std::span<waited_key, places_of_a_key>{
            waited_keys_.data() + hash % rows * places_of_a_key, places_of_a_key};
    }
    leasing::yielding& turns_of(const std::string& key);
    static boost::asio::awaitable<void> let_others_go_first(std::shared_ptr<claimer> self,
                                                            const claim_request& todo,
                                                            leasing::nanos rest);
    void note(const claim_request& todo, instant sent, const result<acquire_result<grant>>& answer);

    leasing::claim_plan plan_of(const claim_request& todo) const;
    // How often to look at a key that is waited for; 0: the store tells when it is free.
    leasing::nanos poll() const;
    // Nothing: the store had not answered by then.
    static boost::asio::awaitable<std::optional<result<acquire_result<grant>>>> send(
        std::shared_ptr<claimer> self, claim wanted, instant until);
    static boost::asio::awaitable<void> listen(std::shared_ptr<claimer> self, std::string key,
                                               fence_token seen,
                                               std::shared_ptr<queue_waiter> place, instant until);
    bool is_ending() const noexcept { return endings_ > 0 || releases_to_come_ > 0; }
    void report_push(const result<void>& change);
    void report_failure(std::string_view operation, const failure& why) const {
        if (watcher_) watcher_->on_store_failure(operation, why);
    }
    double uniform() { return std::uniform_real_distribution<double>{0.0, 1.0}(random_); }

    // Constant after construction
    net::loop& loop_;
    boost::asio::any_io_executor executor_;
    std::shared_ptr<net::attachment> attachment_;
    std::shared_ptr<lease_store> store_;
    millis timeout_;
    std::shared_ptr<observer> watcher_;
    // State
    base::id_source ids_;
    std::minstd_rand random_;
    std::array<waited_key, 32 * places_of_a_key> waited_keys_{};
    leasing::nanos round_trip_{0};  // what a claim takes, about
    std::size_t endings_ = 0;
    bool push_failed_ = false;
    std::vector<std::shared_ptr<queue_waiter>> drains_;  // who wait for the endings
    // Of any thread
    std::atomic<std::size_t> releases_to_come_{0};
};

}  // namespace pawl::runtime
