#include "schedule/state/skip_recorder.hpp"

#include "runs/session.hpp"
#include "schedule/job/log_text.hpp"
#include "schedule/queue/ranking.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::schedule {

using boost::asio::awaitable;

namespace {

// A good clock may be as far off, with the journal's own.
constexpr millis premature_by_min{1'000};

}  // namespace

bool is_premature(const run_record& row, occurrence which) noexcept {
    return row.started_at < number(which) - premature_by_min.count();
}

void skip_recorder::record(const std::shared_ptr<track>& which) {
    if (!which->decisions.queue().has_skipped()) return;
    if (const auto waits = waiting_.find(which.get()); waits != waiting_.end())
        waits->second.cancel();
    if (std::exchange(which->telling, true)) return;
    node_.work.begin();
    node_.spawn(keep_recording(which));
}

void skip_recorder::wake_up() {
    for (auto& [which, timer] : waiting_) timer.cancel();
}

awaitable<void> skip_recorder::keep_recording(std::shared_ptr<track> which) {
    skips left;
    net::timer timer{node_.loop.get_executor()};
    for (int tries = 0; tries < journal_tries_max;) {
        take_skipped(*which, left);
        bool is_heard = true;
        // A node that has not read the control state does not know what the others do: a row of its
        // own might keep them from running what it has only not begun itself.
        if (!node_.records || !control_.knows_pauses()) {
            tell_all(*which, left);
            if (!node_.records || !control_.is_learning()) left.clear();
            is_heard = left.empty();
        } else {
            auto writing = write(which, left);
            is_heard = co_await std::move(writing);
        }
        if (is_heard) tries = 0;
        if (is_heard && which->decisions.queue().has_skipped()) continue;
        if (left.empty() || (!is_heard && node_.stopping)) break;
        if (is_heard) {
            auto waiting = await_turn(which, left);
            co_await std::move(waiting);
            continue;
        }
        ++tries;
        // A node that ends does not wait for its journal to come back.
        node_.work.end();
        auto waiting = timer.wait_for(journal_retry);
        co_await std::move(waiting);
        node_.work.begin();
    }
    which->telling = false;
    node_.work.end();
}

// That it was not its turn here is what this node knows: one that hears nothing of what the others
// have run says so of all that comes due. A row of that would keep them from running it, so it is
// written once they have had their turn.
void skip_recorder::take_skipped(track& which, skips& left) {
    for (auto& one : which.decisions.queue().take_skipped()) {
        left.push_back({std::move(one)});
        if (left.back().what.why != skip_reason::not_its_turn) continue;
        const auto asked_within = hold_back_far + 2 * node_.engine->settings().timeout;
        left.back().write_from = node_.loop.now() + which.plan->jitter + asked_within;
    }
    while (left.size() > skips_kept_max) left.pop_front();
}

bool skip_recorder::may_write(const unwritten_skip& one) const {
    return node_.stopping || one.write_from <= node_.loop.now();
}

// REQUIRES: `left` is not empty.
awaitable<void> skip_recorder::await_turn(std::shared_ptr<track> which, const skips& left) {
    if (node_.stopping) co_return;
    const auto first = std::ranges::min_element(left, {}, &unwritten_skip::write_from)->write_from;
    const auto here = waiting_.try_emplace(which.get(), node_.loop.get_executor()).first;
    auto waiting = here->second.wait_until(first);
    co_await std::move(waiting);
    waiting_.erase(here);
}

void skip_recorder::tell(const track& which, unwritten_skip& one) {
    if (!std::exchange(one.told, true) && node_.observer)
        node_.observer->on_skipped(which.plan->name, one.what.occurrence, one.what.why);
}

void skip_recorder::tell_all(const track& which, skips& left) {
    for (auto& one : left) tell(which, one);
}

// An occurrence that has a row has run elsewhere, or another node has told that it was skipped.
// False when the journal has not taken one: that and those behind it are left.
awaitable<bool> skip_recorder::write(std::shared_ptr<track> which, skips& left) {
    for (auto one = left.begin(); one != left.end();) {
        if (!may_write(*one)) {
            ++one;
            continue;
        }
        run_start start{node_.ids.next_uuid(), which->plan->name, which->key};
        start.partition = which->partition;
        start.owner = node_.me.owner;
        start.node = node_.me.name;
        start.occurrence = one->what.occurrence;
        start.delivery = which->plan->mode();
        start.trigger = "schedule";
        auto skipping = node_.records->skip(std::move(start), text_of(one->what));
        const auto told = co_await std::move(skipping);
        if (told.has_error()) {
            if (!one->told)
                node_.log(log_level::warn,
                          "skipped occurrences not recorded yet " + job_field(which->plan->name) +
                              " count=" + std::to_string(left.size()) + ": " + told.error().detail);
            tell_all(*which, left);
            co_return false;
        }
        if (*told) tell(*which, *one);
        one = left.erase(one);
        // A job may be skipped more often than it runs.
        const auto home = which->owner.lock();
        if (*told && home && home->is_time_to_prune())
            node_.prune(which->plan->name, which->plan->runs_kept());
    }
    co_return true;
}

}  // namespace pawl::schedule
