#include "metrics/observers.hpp"

#include <string>
#include <unordered_set>
#include <utility>

namespace pawl::metrics {
namespace {

// Of one engine, and on its loop.
class lock_watcher final : public observer {
public:
    explicit lock_watcher(std::shared_ptr<metrics_registry> counted)
        : counted_{std::move(counted)} {}
    // With the engine goes what it held.
    ~lock_watcher() override { counted_->holds_less(held_); }

    void on_acquire(std::string_view, acquire_outcome outcome, millis waited) override {
        counted_->claimed(outcome, waited);
        if (outcome != acquire_outcome::granted) return;
        ++held_;
        counted_->holds_more();
        counted_->heard_from_own();
    }
    void on_renew(std::string_view, bool renewed, int failures) override {
        counted_->renewed(renewed         ? renewal::renewed
                          : failures == 0 ? renewal::lost
                                          : renewal::unknown);
        if (renewed) counted_->heard_from_own();
    }
    void on_renewal_failures(std::string_view, int, millis) override {
        counted_->renewals_failed();
    }
    void on_lost(std::string_view key, fence_token, loss_reason why) override {
        counted_->lost(why);
        lost_.emplace(key);
        let_go();
    }
    // A lost lease is released as well, by its last handle.
    void on_release(std::string_view key, fence_token, millis held_for) override {
        counted_->held_for(held_for);
        if (lost_.empty() || lost_.erase(std::string{key}) == 0) let_go();
    }

private:
    void let_go() {
        if (held_ == 0) return;
        --held_;
        counted_->holds_less(1);
    }

    // Constant after construction
    std::shared_ptr<metrics_registry> counted_;
    // State
    std::size_t held_ = 0;
    std::unordered_set<std::string> lost_;  // keys whose handles are still there
};

class run_watcher final : public schedule::dispatch_observer {
public:
    explicit run_watcher(std::shared_ptr<metrics_registry> counted)
        : counted_{std::move(counted)} {}

    void on_run_started(const std::string& job, millis late, fence_token token) override {
        counted_->run_begun(job, late, token);
    }
    void on_run_finished(const std::string& job, run_status status, millis took) override {
        counted_->run_ended(job, status, took);
    }
    void on_retry(const std::string& job) override { counted_->retried(job); }
    void on_run_judged(const std::string& job, run_status status) override {
        counted_->run_judged(job, status);
    }
    void on_skipped(const std::string& job, occurrence, schedule::skip_reason) override {
        counted_->run_skipped(job);
    }
    void on_fail_open(const std::string& job) override { counted_->failed_open(job); }
    void on_orphan_resumed(const std::string&) override { counted_->orphan_taken(); }
    void on_stale_runs(std::size_t how_many) override {
        counted_->stale_runs(how_many, lease_clock::now());
    }
    void on_journal(bool answers) override { counted_->journal(answers); }

private:
    std::shared_ptr<metrics_registry> counted_;
};

}  // namespace

std::shared_ptr<observer> make_lock_watcher(std::shared_ptr<metrics_registry> counted) {
    return std::make_shared<lock_watcher>(std::move(counted));
}

std::shared_ptr<schedule::dispatch_observer> make_run_watcher(
    std::shared_ptr<metrics_registry> counted) {
    return std::make_shared<run_watcher>(std::move(counted));
}

}  // namespace pawl::metrics
