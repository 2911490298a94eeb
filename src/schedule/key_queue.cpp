#include "schedule/key_queue.hpp"

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

// An orphan is offered by the board for as long as it is one.
constexpr millis board_patience{60'000};

void skip(std::deque<skipped_firing>& all, const wish& which, skip_reason why,
          std::string holder = {}) {
    if (!which.firing) return;
    if (all.size() == skips_kept_max) all.pop_front();
    all.push_back({*which.firing, why, std::move(holder)});
}

}  // namespace

std::string_view text_of(skip_reason why) noexcept {
    switch (why) {
        case skip_reason::overlap:
            return "the previous run was still going on";
        case skip_reason::too_late:
            return "it could not begin within the misfire window";
        case skip_reason::superseded:
            return "a later firing came due before it could begin";
        case skip_reason::too_many:
            return "too many firings were waiting";
        case skip_reason::answer_lost:
            return "the store did not answer in time, and granted the key to another run meanwhile";
    }
    return "";
}

std::string text_of(const skipped_firing& one) {
    if (one.holder.empty()) return std::string{text_of(one.why)};
    if (one.why == skip_reason::overlap) return one.holder;
    return std::string{text_of(one.why)} + ": " + one.holder;
}

// -- what is offered

void key_queue::offer_firing(occurrence firing, instant now, millis late, millis hold_back) {
    wish made;
    made.firing = firing;
    made.not_before = now + hold_back;
    // Whoever is to be left to others first is not late because of that.
    made.give_up = now + std::max(rules_.lateness_max - late, millis{0}) + hold_back;
    const auto names = [&](const wish& one) { return one.firing == firing; };
    // It has come due again, after a clock that was put back: it does not lie ahead any more.
    if (current_ && names(current_->what)) current_->ahead = false;
    if (wants_any(names)) return;

    if (rules_.when_running == overlap::skip) {
        // What may still be lost is not given up for what comes later.
        const bool unresolved = rules_.mode == occurrence_mode::at_least_once &&
                                (current_ || std::any_of(queue_.begin(), queue_.end(), is_firing));
        const bool runs = current_ && current_->at == stage::running;
        if (runs || unresolved) return skip(skipped_, made, skip_reason::overlap);
        // One that waits for the store, or for a place on this node, makes way for its successor:
        // after an outage the latest runs. One that came too early by this node's clock stays.
        for (const auto& older : queue_)
            if (is_firing(older)) skip(skipped_, older, skip_reason::superseded);
        std::erase_if(queue_, is_firing);
        if (current_ && current_->at == stage::waiting && is_firing(current_->what) &&
            current_->failures > 0) {
            skip_current(skip_reason::superseded, std::move(current_->holder));
            let_go_of_current();
        }
    }
    const auto last = std::find_if(queue_.begin(), queue_.end(),
                                   [](const wish& one) { return one.kind == wish_kind::trigger; });
    queue_.insert(last, std::move(made));
    if (std::count_if(queue_.begin(), queue_.end(), is_firing) >
        static_cast<std::ptrdiff_t>(firings_queued_max)) {
        const auto oldest = std::find_if(queue_.begin(), queue_.end(), is_firing);
        skip(skipped_, *oldest, skip_reason::too_many);
        queue_.erase(oldest);
    }
}

bool key_queue::offer_trigger(std::string id, instant now) {
    const auto is_trigger = [](const wish& one) { return one.kind == wish_kind::trigger; };
    if (wants_any([&](const wish& one) { return is_trigger(one) && one.id == id; })) return false;
    const auto waiting = std::count_if(queue_.begin(), queue_.end(), is_trigger);
    if (waiting >= static_cast<std::ptrdiff_t>(triggers_queued_max)) return false;
    wish made;
    made.kind = wish_kind::trigger;
    made.id = std::move(id);
    made.not_before = now;
    made.give_up = now + board_patience;
    queue_.push_back(std::move(made));
    return true;
}

bool key_queue::offer_orphan(std::string id, occurrence firing, instant now) {
    // Its own firing may be waiting here; then that one takes it up.
    if (wants_any([&](const wish& one) {
            return one.firing == firing || (one.kind == wish_kind::orphan && one.id == id);
        }))
        return false;
    wish made;
    made.kind = wish_kind::orphan;
    made.firing = firing;
    made.id = std::move(id);
    made.not_before = now;
    made.give_up = now + board_patience;
    const auto place = std::find_if(queue_.begin(), queue_.end(), [&](const wish& one) {
        return !one.firing || number(*one.firing) > number(firing);
    });
    queue_.insert(place, std::move(made));
    return true;
}

// -- what is let go of

void key_queue::forget_firings() { std::erase_if(queue_, is_firing); }

void key_queue::forget_ahead(occurrence now) {
    const auto is_ahead = [&](const wish& one) {
        return is_firing(one) && number(*one.firing) > number(now);
    };
    std::erase_if(queue_, is_ahead);
    if (!current_ || !is_ahead(current_->what)) return;
    if (current_->at == stage::claiming)
        current_->ahead = true;
    else if (current_->at == stage::waiting)
        let_go_of_current();
}

void key_queue::drop_overlapped() {
    if (rules_.when_running != overlap::skip) return;
    for (const auto& one : queue_)
        if (is_firing(one)) skip(skipped_, one, skip_reason::overlap);
    std::erase_if(queue_, is_firing);
}

void key_queue::skip_current(skip_reason why, std::string holder) {
    skip(skipped_, current_->what, why, std::move(holder));
}

std::vector<skipped_firing> key_queue::take_skipped() {
    std::vector<skipped_firing> all{skipped_.begin(), skipped_.end()};
    skipped_.clear();
    return all;
}

// -- what is asked for

bool key_queue::take_next(instant now) {
    for (const auto& one : queue_)
        if (is_firing(one) && one.give_up < now) skip(skipped_, one, skip_reason::too_late);
    std::erase_if(queue_, [&](const wish& one) { return one.give_up < now; });
    if (queue_.empty()) return false;
    current_.emplace(std::move(queue_.front()));
    queue_.pop_front();
    return true;
}

void key_queue::make_way() {
    if (queue_.empty() || queue_.front().kind != wish_kind::orphan) return;
    if (number(*queue_.front().firing) > number(*current_->what.firing)) return;
    const auto place = std::find_if(queue_.begin(), queue_.end(),
                                    [](const wish& one) { return one.kind != wish_kind::orphan; });
    queue_.insert(place, std::move(current_->what));
    let_go_of_current();
}

}  // namespace pawl::schedule
