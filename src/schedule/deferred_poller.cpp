#include "schedule/deferred_poller.hpp"

#include "runtime/inspect_keys.hpp"
#include "schedule/queue/ranking.hpp"
#include "schedule/state/skip_recorder.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

constexpr std::chrono::hours nothing_to_look_for{24};

}  // namespace

deferred_poller::deferred_poller(node_state& node, acquirer& keys)
    : node_{node},
      acquirer_{keys},
      timer_{node.loop.get_executor()},
      phase_{std::chrono::floor<millis>(far_look_interval * node.uniform())} {}

void deferred_poller::watch(const std::shared_ptr<track>& which) {
    if (!std::exchange(which->is_watched, true)) watched_.push_back(which);
    timer_.cancel();
}

std::optional<instant> deferred_poller::next_look() {
    std::erase_if(watched_, [](const auto& one) {
        const bool is_done = one->replaced || one->decisions.queue().deferred().empty();
        if (is_done) one->is_watched = false;
        return is_done;
    });
    std::optional<instant> next;
    for (const auto& one : watched_) {
        const auto its = one->decisions.queue().deferred().next_look();
        if (its && (!next || *its < *next)) next = its;
    }
    return next;
}

deferred_poller::tracks deferred_poller::due_until(instant when) const {
    tracks due;
    for (const auto& one : watched_) {
        const auto its = one->decisions.queue().deferred().next_look();
        if (its && *its <= when) due.push_back(one);
    }
    return due;
}

awaitable<void> deferred_poller::keep_looking() {
    while (!node_.stopping) {
        const auto next = next_look();
        const auto now = node_.loop.now();
        // What is overdue, or its first in line's to ask for, does not wait for the others.
        const auto at = next && *next > now ? aligned(*next, look_interval, phase_) : now;
        if (next && at <= now) {
            auto looking = look_at(due_until(now));
            co_await std::move(looking);
            continue;
        }
        auto waiting = timer_.wait_for(next ? at - now : nothing_to_look_for);
        co_await std::move(waiting);
    }
}

awaitable<void> deferred_poller::look_at(tracks which) {
    for (std::size_t from = 0; from < which.size() && !node_.stopping; from += page_limit_max) {
        const auto until = std::min(which.size(), from + page_limit_max);
        std::vector<std::string> keys;
        for (auto i = from; i < until; ++i) keys.push_back(which[i]->key);
        auto asking = runtime::inspect_keys(node_.engine, std::move(keys));
        const auto seen = co_await std::move(asking);
        const auto now = node_.loop.now();
        for (auto i = from; i < until; ++i) {
            const auto& one = which[i];
            if (one->replaced || node_.stopping) continue;
            if (seen.has_value()) {
                heed(one, (*seen)[i - from]);
                continue;
            }
            auto& queue = one->decisions.queue();
            act_on(one, queue.deferred().on_no_answer(queue.rules(), now));
        }
    }
}

void deferred_poller::heed(const std::shared_ptr<track>& which, const std::optional<record>& seen) {
    auto& queue = which->decisions.queue();
    if (const auto latest = queue.deferred().latest()) acquirer_.note_holder(which, seen, *latest);
    const auto max_skew = node_.engine->settings().max_skew;
    act_on(which, queue.deferred().on_look(queue.rules(), seen, node_.loop.now(), max_skew));
}

void deferred_poller::act_on(const std::shared_ptr<track>& which,
                             const std::vector<deferral::finding>& found) {
    for (const auto& one : found) {
        if (one.what == deferral::act::ask)
            ask(which, one.which);
        else
            node_.spawn(consult(which, one));
    }
}

void deferred_poller::ask(const std::shared_ptr<track>& which, occurrence what) {
    if (which->decisions.queue().ask_for_deferred(what, node_.loop.now())) acquirer_.wake(which);
}

// Its row may say what has become of it. A journal that does not answer says nothing.
awaitable<void> deferred_poller::consult(std::shared_ptr<track> which, deferral::finding about) {
    auto finding = node_.records->find_occurrence(which->plan->name, which->partition, about.which);
    const auto row = co_await std::move(finding);
    if (node_.stopping || which->replaced) co_return;
    auto& queue = which->decisions.queue();
    const bool is_told = row.has_value() && *row && !is_premature(**row, about.which) &&
                         (about.what == deferral::act::find_row || settles(queue.rules(), **row));
    if (is_told)
        queue.deferred().take(about.which);
    else
        ask(which, about.which);
}

}  // namespace pawl::schedule
