#include "schedule/state/skip_recorder.hpp"

#include "net/timer.hpp"
#include "runs/session.hpp"
#include "schedule/job/log_text.hpp"

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
    if (which->telling || !which->decisions.queue().has_skipped()) return;
    which->telling = true;
    node_.work.begin();
    node_.spawn(keep_recording(which));
}

awaitable<void> skip_recorder::keep_recording(std::shared_ptr<track> which) {
    std::deque<unwritten_skip> left;
    net::timer timer{node_.loop.get_executor()};
    for (int tries = 0; tries < journal_tries_max;) {
        for (auto& one : which->decisions.queue().take_skipped())
            left.push_back({std::move(one), false});
        while (left.size() > skips_kept_max) left.pop_front();
        // A node that has not read the control state does not know what the others do: a row of its
        // own might keep them from running what it has only not begun itself.
        if (!node_.records || !control_.knows_pauses()) {
            tell(*which, left);
            if (!node_.records || !control_.is_learning()) left.clear();
        } else {
            auto writing = write(which, left);
            co_await std::move(writing);
        }
        if (left.empty() && which->decisions.queue().has_skipped()) {
            tries = 0;
            continue;
        }
        if (left.empty() || node_.stopping) break;
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

void skip_recorder::tell(const track& which, std::deque<unwritten_skip>& skipped) {
    for (auto& one : skipped) {
        if (!std::exchange(one.told, true) && node_.observer)
            node_.observer->on_skipped(which.plan->name, one.what.occurrence, one.what.why);
    }
}

// An occurrence that has a row has run elsewhere, or another node has told that it was skipped.
// What the journal does not take is left.
awaitable<void> skip_recorder::write(std::shared_ptr<track> which,
                                     std::deque<unwritten_skip>& left) {
    while (!left.empty()) {
        const auto& one = left.front();
        run_start start{node_.ids.next_uuid(), which->plan->name, which->key};
        start.partition = which->partition;
        start.owner = node_.me.owner;
        start.node = node_.me.name;
        start.occurrence = one.what.occurrence;
        start.delivery = which->plan->mode();
        start.trigger = "schedule";
        auto skipping = node_.records->skip(std::move(start), text_of(one.what));
        const auto told = co_await std::move(skipping);
        if (told.has_value()) {
            if (*told && !one.told && node_.observer)
                node_.observer->on_skipped(which->plan->name, one.what.occurrence, one.what.why);
            left.pop_front();
            // A job may be skipped more often than it runs.
            const auto home = which->owner.lock();
            if (*told && home && home->is_time_to_prune())
                node_.prune(which->plan->name, which->plan->runs_kept());
            continue;
        }
        if (!one.told)
            node_.log(log_level::warn,
                      "skipped occurrences not recorded yet " + job_field(which->plan->name) +
                          " count=" + std::to_string(left.size()) + ": " + told.error().detail);
        tell(*which, left);
        co_return;
    }
}

}  // namespace pawl::schedule
