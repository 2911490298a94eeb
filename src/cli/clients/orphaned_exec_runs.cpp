#include "cli/clients/orphaned_exec_runs.hpp"

#include "cli/output/output.hpp"
#include "runs/recorder.hpp"
#include "runs/stale_run.hpp"
#include "time/clocks.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

namespace pawl::cli {
namespace {

constexpr std::size_t seen_at_once_max = 100, seen_max = 10'000;
// Runs whose key, or row, is out of reach are passed over. More of them are the store's trouble.
constexpr std::size_t unjudged_max = 3;

// An agent's runs are its own, or another agent's, to judge.
bool is_for_us(const run_record& run, const std::string& key) {
    const bool has_agent = run.trigger != "exec" && run.trigger != "library";
    return !has_agent && (key.empty() || run.key == key);
}

// A program goes on writing about a run for a while when the journal was away. `pawl exec` does
// not, so that nothing is in doubt; but behind an outage of the journal its command may live, and
// of one without a lease no key says so. How long that may be is told by this host's clock, which
// one that is wrong tells too early or too late.
bool may_still_be_told(const run_record& run, runs::stale_state what) {
    const bool is_exec = run.trigger == "exec";
    if (is_exec && number(run.token) != 0) return false;
    const auto now = std::chrono::floor<millis>(time::wall_now().time_since_epoch());
    return (!is_exec && what == runs::stale_state::in_doubt) ||
           now - millis{run.last_heartbeat} < runs::recording_timeout;
}

// True when it is over now.
async<bool> end_stale(std::shared_ptr<journal> rows, run_record one, lock_reader inspect) {
    auto looking = inspect(one.key);
    const auto lock = co_await std::move(looking);
    if (lock.has_error()) co_return lock.error();
    const auto told = runs::resolve_stale_run(one, *lock);
    if (told.what == runs::stale_state::alive || may_still_be_told(one, told.what)) co_return false;
    auto judging = rows->end_stale({one.id, one.token}, told.how);
    auto judged = co_await std::move(judging);
    if (judged.has_value() && *judged)
        log(log_level::debug, "run " + std::string{name_of(told.how.status)} + " key=" + one.key +
                                  " run=" + one.id + ": " + told.how.reason);
    co_return std::move(judged);
}

struct counted {
    std::size_t seen = 0;
    std::size_t left = 0;      // of those that were seen, as they were
    std::size_t unjudged = 0;  // of those that were left, for a failure
};

// What was seen is added.
async<bool> judge_some(std::shared_ptr<journal> rows, std::string key, lock_reader inspect,
                       counted& all) {
    auto finding = rows->stale_runs(seen_at_once_max, all.left);
    const auto stale = co_await std::move(finding);
    if (stale.has_error()) co_return stale.error();
    all.seen += stale->size();
    for (const auto& one : *stale) {
        if (!is_for_us(one, key)) {
            ++all.left;
            continue;
        }
        auto judging = end_stale(rows, one, inspect);
        const auto over = co_await std::move(judging);
        if (over.has_error() && ++all.unjudged > unjudged_max) co_return over.error();
        if (over.has_error() || !*over) ++all.left;
    }
    co_return !stale->empty();
}

}  // namespace

boost::asio::awaitable<void> judge_orphaned_exec_runs(std::shared_ptr<journal> rows,
                                                      std::string key, lock_reader inspect) {
    counted all;
    while (all.seen < seen_max) {
        auto judging = judge_some(rows, key, inspect, all);
        const auto more = co_await std::move(judging);
        if (more.has_error())
            log(log_level::debug, "stale runs not resolved: " + more.error().detail);
        if (more.has_error() || !*more) co_return;
    }
}

}  // namespace pawl::cli
