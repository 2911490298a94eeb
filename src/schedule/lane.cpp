#include "schedule/lane.hpp"

#include "base/ensure.hpp"

#include <algorithm>

namespace pawl::schedule {
namespace {

// An orphan is offered by the board for as long as it is one.
constexpr millis board_patience{60'000};

bool is_firing(const wish& one) { return one.kind == wish_kind::firing; }

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

bool lane::wants_firing(occurrence firing) const {
    const auto same = [&](const wish& one) { return is_firing(one) && one.firing == firing; };
    return (current_ && same(*current_)) || std::any_of(queue_.begin(), queue_.end(), same);
}

std::string text_of(const skipped_firing& one) {
    if (one.holder.empty()) return std::string{text_of(one.why)};
    if (one.why == skip_reason::overlap) return one.holder;
    return std::string{text_of(one.why)} + ": " + one.holder;
}

bool lane::wants(wish_kind kind, std::string_view id) const {
    const auto same = [&](const wish& one) { return one.kind == kind && one.id == id; };
    return (current_ && same(*current_)) || std::any_of(queue_.begin(), queue_.end(), same);
}

void lane::skip(const wish& which, skip_reason why) {
    if (!which.firing) return;
    if (skipped_.size() == skips_kept_max) skipped_.pop_front();
    skipped_.push_back({*which.firing, why, {}});
}

void lane::skip_current(skip_reason why) {
    skip(*current_, why);
    if (current_->firing) skipped_.back().holder = std::move(holder_);
    holder_.clear();
}

// Only then a busy key is waited for; otherwise it answers the question.
bool lane::waits_in_line() const noexcept {
    return !rules_.hold && rules_.mode != occurrence_mode::off &&
           (rules_.when_running == overlap::queue || rules_.mode == occurrence_mode::at_least_once);
}

void lane::offer_firing(occurrence firing, instant now, millis late, millis hold_back) {
    wish made;
    made.firing = firing;
    made.not_before = now + hold_back;
    // Whoever is to be left to others first is not late because of that.
    made.give_up = now + std::max(rules_.lateness_max - late, millis{0}) + hold_back;
    const auto known = [&](const wish& one) { return one.firing == firing; };
    // It has come due again, after a clock that was put back: it does not lie ahead any more.
    if (current_ && known(*current_)) ahead_ = false;
    if ((current_ && known(*current_)) || std::any_of(queue_.begin(), queue_.end(), known)) return;

    if (rules_.when_running == overlap::skip) {
        // What may still be lost is not given up for what comes later.
        const bool unresolved = rules_.mode == occurrence_mode::at_least_once &&
                                (current_ || std::any_of(queue_.begin(), queue_.end(), is_firing));
        if (is_running() || unresolved) return skip(made, skip_reason::overlap);
        // One that waits for the store, or for a place on this node, makes way for its successor:
        // after an outage the latest runs. One that came too early by this node's clock stays.
        for (const auto& older : queue_)
            if (is_firing(older)) skip(older, skip_reason::superseded);
        std::erase_if(queue_, is_firing);
        if (current_ && state_ == state::waiting && is_firing(*current_) && failures_ > 0) {
            skip_current(skip_reason::superseded);
            current_.reset();
        }
    }
    const auto last = std::find_if(queue_.begin(), queue_.end(),
                                   [](const wish& one) { return one.kind == wish_kind::trigger; });
    queue_.insert(last, std::move(made));
    if (std::count_if(queue_.begin(), queue_.end(), is_firing) >
        static_cast<std::ptrdiff_t>(firings_queued_max)) {
        const auto oldest = std::find_if(queue_.begin(), queue_.end(), is_firing);
        skip(*oldest, skip_reason::too_many);
        queue_.erase(oldest);
    }
}

bool lane::offer_trigger(std::string id, instant now) {
    if (wants(wish_kind::trigger, id)) return false;
    const auto waiting = std::count_if(queue_.begin(), queue_.end(), [](const wish& one) {
        return one.kind == wish_kind::trigger;
    });
    if (waiting >= static_cast<std::ptrdiff_t>(triggers_queued_max)) return false;
    wish made;
    made.kind = wish_kind::trigger;
    made.id = std::move(id);
    made.not_before = now;
    made.give_up = now + board_patience;
    queue_.push_back(std::move(made));
    return true;
}

bool lane::offer_orphan(std::string id, occurrence firing, instant now) {
    if (wants(wish_kind::orphan, id)) return false;
    // Its own firing may be waiting here; then that one takes it up.
    const auto same = [&](const wish& one) { return one.firing == firing; };
    if ((current_ && same(*current_)) || std::any_of(queue_.begin(), queue_.end(), same))
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

void lane::forget_firings() { std::erase_if(queue_, is_firing); }

void lane::forget_ahead(occurrence now) {
    const auto is_ahead = [&](const wish& one) {
        return is_firing(one) && number(*one.firing) > number(now);
    };
    std::erase_if(queue_, is_ahead);
    if (!current_ || !is_ahead(*current_)) return;
    if (state_ == state::waiting) resolved();
    if (state_ == state::claiming) ahead_ = true;
}

void lane::drop_late(instant now) {
    for (const auto& one : queue_)
        if (is_firing(one) && one.give_up < now) skip(one, skip_reason::too_late);
    std::erase_if(queue_, [&](const wish& one) { return one.give_up < now; });
}

// Came due while the claim of their predecessor was under way, which has been granted since.
void lane::drop_overlapped() {
    if (rules_.when_running != overlap::skip) return;
    for (const auto& one : queue_)
        if (is_firing(one)) skip(one, skip_reason::overlap);
    std::erase_if(queue_, is_firing);
}

// What was begun first is finished first. Not before a claim whose outcome is unknown: it may hold
// the key.
void lane::make_way() {
    if (!current_ || !is_firing(*current_) || current_->begun || in_doubt_ == current_->firing)
        return;
    if (queue_.empty() || queue_.front().kind != wish_kind::orphan) return;
    if (number(*queue_.front().firing) > number(*current_->firing)) return;
    const auto place = std::find_if(queue_.begin(), queue_.end(),
                                    [](const wish& one) { return one.kind != wish_kind::orphan; });
    queue_.insert(place, std::move(*current_));
    current_.reset();
}

lane::step lane::next(instant now) {
    if (state_ != state::waiting) return {act::await, {}, {}};
    make_way();
    if (!current_) {
        drop_late(now);
        if (queue_.empty()) return {};
        current_ = std::move(queue_.front());
        queue_.pop_front();
        listening_ = false;
        failures_ = 0;
        holder_.clear();
    }
    if (current_->give_up < now) {
        if (is_firing(*current_)) skip_current(skip_reason::too_late);
        current_.reset();
        return next(now);
    }
    if (current_->not_before > now) {
        // At give_up itself it may still be tried: a pause until then would never end.
        const auto too_late = current_->give_up + lease_clock::duration{1};
        return {act::pause, std::min(current_->not_before, too_late), {}};
    }
    state_ = state::claiming;
    millis patience{0};
    if (listening_)
        patience = std::min(std::chrono::ceil<millis>(current_->give_up - now), busy_for_);
    return {act::claim, {}, patience};
}

std::vector<skipped_firing> lane::take_skipped() {
    std::vector<skipped_firing> all{skipped_.begin(), skipped_.end()};
    skipped_.clear();
    return all;
}

void lane::again(instant when) {
    if (ahead_) return resolved();
    state_ = state::waiting;
    current_->not_before = when;
}

void lane::resolved() {
    state_ = state::waiting;
    ahead_ = false;
    current_.reset();
}

void lane::on_granted() {
    base::ensure(state_ == state::claiming);
    state_ = state::running;
    ahead_ = false;
    current_->begun = true;
    in_doubt_.reset();
    drop_overlapped();
}

void lane::on_busy(const busy& why, bool marked, instant now, double chance, std::string holder) {
    base::ensure(state_ == state::claiming);
    failures_ = 0;
    holder_ = std::move(holder);
    // The board offers it again. One that was begun before stands in line, or those that come
    // after it would have the key each time that it is free.
    const bool stands = current_->kind == wish_kind::orphan && waits_in_line() &&
                        why.reason == busy_reason::held && (!marked || current_->passed);
    if (!is_firing(*current_) && !stands) return resolved();
    const auto full = [&](millis longest) {
        return now + std::chrono::duration_cast<lease_clock::duration>(
                         std::chrono::duration<double, std::milli>(
                             static_cast<double>(longest.count()) * (0.5 + 0.5 * chance)));
    };
    if (why.reason == busy_reason::early || why.reason == busy_reason::quarantined)
        return again(now + std::clamp(why.remaining, millis{1}, busy_retry_longest));
    if (marked && tell_outrun()) return resolved();
    if ((marked && !stands) || rules_.mode == occurrence_mode::off || rules_.hold)
        return resolved();
    if (why.reason == busy_reason::lingering)
        return again(now + std::clamp(why.remaining, millis{1}, busy_retry_longest));
    if (!waits_in_line()) {
        skip_current(skip_reason::overlap);
        return resolved();
    }
    // The first time it was not waited for; afterwards the store's push, or the end of patience,
    // has ended the wait, and a short pause keeps many nodes from asking at once.
    busy_for_ = std::clamp(why.remaining, millis{1}, busy_retry_longest);
    const bool first = !std::exchange(listening_, true);
    again(first ? now : full(store_retry_first));
}

void lane::on_done() {
    base::ensure(state_ == state::claiming);
    if (tell_outrun()) return resolved();
    // Abandoned, by its row, and done, by the store: a later one has run, and this one never will
    // unless it is asked for by its row alone.
    const bool was_passed = current_->kind == wish_kind::orphan && !current_->passed;
    if (!was_passed) return resolved();
    current_->passed = true;
    state_ = state::waiting;
}

void lane::on_passed() {
    if (!is_firing(*current_)) return on_done();
    base::ensure(state_ == state::claiming);
    if (!tell_outrun()) skip(*current_, skip_reason::superseded);
    resolved();
}

void lane::on_unanswered() {
    base::ensure(state_ == state::claiming);
    if (is_firing(*current_)) in_doubt_ = current_->firing;
}

// False when each claim of it was answered: then what has marked it was no claim of this node.
bool lane::tell_outrun() {
    if (!is_firing(*current_) || !in_doubt_ || current_->firing != in_doubt_) return false;
    skip(*current_, skip_reason::answer_lost);
    return true;
}

void lane::on_failure(instant now, double chance) {
    base::ensure(state_ == state::claiming);
    holder_.clear();
    if (current_->kind != wish_kind::firing) return resolved();
    const auto doubled = store_retry_first * (1LL << std::min(failures_++, 10));
    const auto longest = std::min<millis>(doubled, store_retry_longest);
    const auto wait = std::chrono::duration<double, std::milli>(
        static_cast<double>(longest.count()) * (0.5 + 0.5 * chance));
    again(now + std::chrono::duration_cast<lease_clock::duration>(wait));
}

void lane::on_no_room(instant now) {
    base::ensure(state_ == state::claiming);
    again(now);
}

void lane::on_called_off() {
    base::ensure(state_ == state::claiming);
    resolved();
}

void lane::on_ended(ending how, instant now) {
    base::ensure(state_ == state::running);
    const bool asks_again =
        how == ending::not_started ||
        (how == ending::unfinished && rules_.mode == occurrence_mode::at_least_once);
    if (!asks_again || !is_firing(*current_)) return resolved();
    // It began in time; that it has to begin again is not its lateness.
    if (how == ending::unfinished)
        current_->give_up = std::max(current_->give_up, now + rules_.lateness_max);
    listening_ = false;
    again(now + store_retry_first);
}

}  // namespace pawl::schedule
