// One store and all that this process holds in it: claims, keeps, releases.
//
// A driver: it does what the machines of src/lease say. Everything here runs on the loop;
// coroutines keep the engine alive by shared_ptr, because they may die as late as the loop does.
#pragma once

#include "lease/claiming.hpp"
#include "net/attachment.hpp"
#include "net/loop.hpp"
#include "runtime/claimer.hpp"
#include "runtime/lease_state.hpp"
#include "runtime/local_queue.hpp"
#include "runtime/renewer.hpp"

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

using leasing::cancelled;
using claimed = acquire_result<std::shared_ptr<lease_state>, cancelled>;

class engine : public net::attached, public std::enable_shared_from_this<engine> {
public:
    struct parts {
        net::loop* loop;
        std::shared_ptr<lease_store> store;
        store_settings settings;
        std::string owner;
        std::shared_ptr<pawl::observer> observer;
    };
    explicit engine(parts made_of);

    void start();
    void connect(std::shared_ptr<link> home) { home_ = std::move(home); }
    // The host of a guest may go first, under leases that other threads hold.
    void loop_ends() override {
        if (loop_.is_guest()) close();
    }
    // The end of `locks`: a caller that still holds a lease has lost it. On the loop.
    void close();
    // For stop callbacks, which come from any thread, and perhaps when the loop is going.
    const std::shared_ptr<net::attachment>& loop_attachment() const { return attachment_; }

    // REQUIRES: validate() had nothing to say about the options.
    static async<claimed> acquire_with_reason(std::shared_ptr<engine> self, std::string key,
                                              lease_options options, wait_policy how_long,
                                              std::stop_token stop);
    // The same under an id that stays: while `under->attempts.unanswered` the caller asks again, or
    // gives it up by claimer::withdraw(). `answer_by`, `takes_turns`: see claim_request.
    static async<claimed> acquire_with_reason(std::shared_ptr<engine> self, std::string key,
                                              lease_options options, wait_policy how_long,
                                              std::stop_token stop,
                                              std::shared_ptr<kept_claim> under,
                                              instant answer_by = instant::max(),
                                              bool takes_turns = true);
    // One handle less; with the last one the lease is released in the background. Any thread.
    static void let_go(std::shared_ptr<lease_state> who) noexcept;
    // The same for a grant that has reached no caller: its occurrence is given back, unless a
    // caller has come to share it.
    static void let_go_unused(std::shared_ptr<lease_state> who) noexcept;
    static boost::asio::awaitable<release_outcome> release(std::shared_ptr<engine> self,
                                                           std::shared_ptr<lease_state> who);
    // All at once; the worst of what they came to. REQUIRES: not empty.
    static boost::asio::awaitable<release_outcome> release(
        std::shared_ptr<engine> self, std::vector<std::shared_ptr<lease_state>> all);
    // As one request; see renewer::renew_now().
    static boost::asio::awaitable<renewal> renew(std::shared_ptr<engine> self,
                                                 std::vector<std::shared_ptr<lease_state>> all);
    // Another client has taken the key. On the loop.
    void take_away(const std::string& key);
    // For failures of what is asked of the store directly.
    void report_failure(std::string_view operation, const failure& why) const {
        if (watcher_) watcher_->on_store_failure(operation, why);
    }

    // What this process holds under the key; null: nothing.
    std::shared_ptr<lease_state> held(const std::string& key) const;
    // Asks without keeping what is granted.
    const std::shared_ptr<claimer>& claims() const { return claims_; }
    lease_store& store() const { return *store_; }
    const std::shared_ptr<lease_store>& shared_store() const { return store_; }
    const store_settings& settings() const { return settings_; }
    const std::string& owner() const { return owner_; }
    const boost::asio::any_io_executor& executor() const { return executor_; }
    instant now() const { return loop_.now(); }
    net::loop& loop() const { return loop_; }

    // Of a lease that has no handle any more. Any thread.
    static void release_in_background(std::shared_ptr<lease_state> who) noexcept;

private:
    std::optional<busy> held_here(const std::string& key) const;
    millis time_in_line(const std::string& key, const wait_policy& how_long) const;
    std::shared_ptr<lease_state> share(const std::string& key);
    std::shared_ptr<lease_state> hold(claim_request& todo, leasing::granted won);
    void report(const claim_request& todo, acquire_outcome outcome);

    // Constant after construction
    net::loop& loop_;
    boost::asio::any_io_executor executor_;
    std::shared_ptr<net::attachment> attachment_;
    std::shared_ptr<lease_store> store_;
    store_settings settings_;
    std::string owner_;
    std::shared_ptr<observer> watcher_;
    std::shared_ptr<link> home_;
    std::shared_ptr<local_queue> local_queue_;
    std::shared_ptr<renewer> renewer_;
    std::shared_ptr<claimer> claims_;
    // State
    std::unordered_map<std::string, std::weak_ptr<lease_state>> held_;
};

}  // namespace pawl::runtime
