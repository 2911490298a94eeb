#include "schedule/queue/key_queue.hpp"

#include "runs/unrun_occurrence.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pawl::schedule {
namespace {

// An orphan is offered by the control state for as long as it is one.
constexpr millis control_state_timeout{60'000};

void skip(std::vector<skipped_occurrence>& all, const run_request& which, skip_reason why,
          std::string holder = {}) {
    if (!which.occurrence) return;
    if (all.size() == skips_kept_max) all.erase(all.begin());
    all.push_back({*which.occurrence, why, std::move(holder)});
}

bool is_trigger(const run_request& one) { return one.kind == request_kind::trigger; }

}  // namespace

std::string_view text_of(skip_reason why) noexcept {
    switch (why) {
        case skip_reason::overlap:
            return "the previous run was still active";
        case skip_reason::too_late:
            return "it could not begin within the misfire window";
        case skip_reason::superseded:
            return "a later occurrence came due before it could begin";
        case skip_reason::too_many:
            return "too many occurrences were waiting";
        case skip_reason::answer_lost:
            return runs::answer_lost_text;
        case skip_reason::forgotten:
            return runs::forgotten_text;
        case skip_reason::paused:
            return "the job was paused before it could begin";
        case skip_reason::not_its_turn:
            return "an earlier run had yet to begin";
    }
    return "";
}

std::string text_of(const skipped_occurrence& one) {
    if (one.holder.empty()) return std::string{text_of(one.why)};
    if (one.why == skip_reason::overlap) return one.holder;
    return std::string{text_of(one.why)} + ": " + one.holder;
}

// -- what is offered

bool key_queue::knows(pawl::occurrence occurrence) {
    const auto names = [&](const run_request& one) { return one.occurrence == occurrence; };
    // It has come due again, after a clock that was put back: it does not lie ahead any more.
    if (current_ && names(current_->what)) current_->ahead = false;
    return wants_any(names);
}

bool key_queue::defer_occurrence(pawl::occurrence occurrence, const deferral::timing& where) {
    if (knows(occurrence) || deferred_.has(occurrence)) return false;
    deferred_.add(occurrence, where);
    return true;
}

void key_queue::offer_occurrence(pawl::occurrence occurrence, instant now, millis late,
                                 millis hold_back) {
    if (knows(occurrence)) return;
    deferred_.take(occurrence);
    run_request made;
    made.occurrence = occurrence;
    made.not_before = now + hold_back;
    // A run that is to be left to others first is not late because of that.
    made.give_up = now + std::max(rules_.lateness_max - late, millis{0}) + hold_back;
    offer(std::move(made));
}

bool key_queue::ask_for_deferred(pawl::occurrence occurrence, instant now) {
    const auto give_up = deferred_.take(occurrence);
    if (!give_up || knows(occurrence)) return false;
    run_request made;
    made.occurrence = occurrence;
    made.not_before = now;
    made.give_up = *give_up;
    offer(std::move(made));
    return true;
}

void key_queue::offer(run_request made) {
    if (rules_.when_running == overlap::skip) {
        // What may still be lost is not given up for what comes later.
        const bool unresolved = rules_.delivery == delivery::at_least_once &&
                                ((current_ && !is_trigger(current_->what)) ||
                                 std::any_of(queue_.begin(), queue_.end(), is_occurrence));
        const bool runs = current_ && current_->at == stage::running;
        if (runs) return skip(skipped_, made, skip_reason::overlap);
        if (unresolved) return skip(skipped_, made, skip_reason::not_its_turn);
        // One that waits for the store makes way for its successor: after an outage the latest
        // runs; one that waits for a place on this node does so when it has it. One that came too
        // early by this node's clock stays.
        for (const auto& older : queue_)
            if (is_occurrence(older)) skip(skipped_, older, skip_reason::superseded);
        std::erase_if(queue_, is_occurrence);
        if (current_ && current_->at == stage::waiting && is_occurrence(current_->what) &&
            current_->failures > 0) {
            skip_current(skip_reason::superseded, std::move(current_->holder));
            let_go_of_current();
        }
    }
    const auto last = std::find_if(queue_.begin(), queue_.end(), is_trigger);
    queue_.insert(last, std::move(made));
    if (std::count_if(queue_.begin(), queue_.end(), is_occurrence) >
        static_cast<std::ptrdiff_t>(occurrences_queued_max)) {
        const auto oldest = std::find_if(queue_.begin(), queue_.end(), is_occurrence);
        skip(skipped_, *oldest, skip_reason::too_many);
        queue_.erase(oldest);
    }
}

bool key_queue::offer_trigger(std::string id, instant now) {
    if (wants_any([&](const run_request& one) { return is_trigger(one) && one.id == id; }))
        return false;
    const auto waiting = std::count_if(queue_.begin(), queue_.end(), is_trigger);
    if (waiting >= static_cast<std::ptrdiff_t>(triggers_queued_max)) return false;
    run_request made;
    made.kind = request_kind::trigger;
    made.id = std::move(id);
    made.not_before = now;
    made.give_up = now + control_state_timeout;
    queue_.push_back(std::move(made));
    return true;
}

bool key_queue::offer_orphan(std::string id, pawl::occurrence occurrence, instant now) {
    // Its own occurrence may be waiting here; then that one takes it up.
    if (wants_any([&](const run_request& one) {
            return one.occurrence == occurrence ||
                   (one.kind == request_kind::orphan && one.id == id);
        }))
        return false;
    run_request made;
    made.kind = request_kind::orphan;
    made.occurrence = occurrence;
    made.id = std::move(id);
    made.not_before = now;
    made.give_up = now + control_state_timeout;
    const auto place = std::find_if(queue_.begin(), queue_.end(), [&](const run_request& one) {
        return !one.occurrence || number(*one.occurrence) > number(occurrence);
    });
    queue_.insert(place, std::move(made));
    return true;
}

// -- what is let go of

void key_queue::forget_occurrences() {
    std::erase_if(queue_, is_occurrence);
    deferred_.forget_all();
}

void key_queue::skip_paused() {
    for (const auto which : deferred_.all()) {
        run_request left;
        left.occurrence = which;
        skip(skipped_, left, skip_reason::paused);
    }
    for (const auto& one : queue_)
        if (is_occurrence(one)) skip(skipped_, one, skip_reason::paused);
    forget_occurrences();
    // The control state offers them again after the resume.
    std::erase_if(queue_, [](const run_request& one) { return one.kind == request_kind::orphan; });
    // The claim of one that is asked for may be granted: it is told once that is known.
    if (!current_ || current_->at != stage::waiting) return;
    if (is_occurrence(current_->what)) skip_current(skip_reason::paused);
    if (!is_trigger(current_->what)) let_go_of_current();
}

void key_queue::forget_ahead(occurrence now) {
    const auto is_ahead = [&](const run_request& one) {
        return is_occurrence(one) && number(*one.occurrence) > number(now);
    };
    std::erase_if(queue_, is_ahead);
    deferred_.forget_ahead(now);
    if (!current_ || !is_ahead(current_->what)) return;
    if (current_->at == stage::claiming)
        current_->ahead = true;
    else if (current_->at == stage::waiting)
        let_go_of_current();
}

void key_queue::drop_overlapped() {
    if (rules_.when_running != overlap::skip) return;
    for (const auto& one : queue_)
        if (is_occurrence(one)) skip(skipped_, one, skip_reason::overlap);
    std::erase_if(queue_, is_occurrence);
}

void key_queue::skip_current(skip_reason why, std::string holder) {
    skip(skipped_, current_->what, why, std::move(holder));
}

std::vector<skipped_occurrence> key_queue::take_skipped() { return std::exchange(skipped_, {}); }

// -- what is asked for

bool key_queue::take_next(instant now) {
    for (const auto& one : queue_)
        if (is_occurrence(one) && one.give_up < now) skip(skipped_, one, skip_reason::too_late);
    std::erase_if(queue_, [&](const run_request& one) { return one.give_up < now; });
    if (queue_.empty()) return false;
    current_.emplace(std::move(queue_.front()));
    queue_.erase(queue_.begin());
    return true;
}

void key_queue::follow_latest(instant now) {
    if (rules_.when_running != overlap::skip || !is_occurrence(current_->what)) return;
    const auto latest = std::find_if(queue_.rbegin(), queue_.rend(), is_occurrence);
    if (latest == queue_.rend() || latest->not_before > now) return;
    if (number(*latest->occurrence) < number(*current_->what.occurrence)) return;
    skip_current(skip_reason::superseded, std::move(current_->holder));
    auto next = std::move(*latest);
    queue_.erase(std::next(latest).base());
    current_.emplace(std::move(next)).at = stage::claiming;
}

void key_queue::yield_to_occurrence(instant now) {
    const auto due = std::find_if(queue_.begin(), queue_.end(), [&](const run_request& one) {
        return is_occurrence(one) && one.not_before <= now && one.give_up >= now;
    });
    if (due == queue_.end() || !is_trigger(current_->what)) return;
    auto next = std::move(*due);
    queue_.erase(due);
    const auto others = std::find_if(queue_.begin(), queue_.end(), is_trigger);
    queue_.insert(others, std::move(current_->what));
    current_.emplace(std::move(next)).at = stage::claiming;
}

void key_queue::make_way() {
    if (queue_.empty() || queue_.front().kind != request_kind::orphan) return;
    if (number(*queue_.front().occurrence) > number(*current_->what.occurrence)) return;
    const auto place = std::find_if(queue_.begin(), queue_.end(), [](const run_request& one) {
        return one.kind != request_kind::orphan;
    });
    queue_.insert(place, std::move(current_->what));
    let_go_of_current();
}

}  // namespace pawl::schedule
