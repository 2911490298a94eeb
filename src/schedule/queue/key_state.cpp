#include "schedule/queue/key_state.hpp"

#include "base/ensure.hpp"

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

using stage = key_queue::stage;

// Only then a busy key is waited for; otherwise it answers the question.
bool waits_in_line(const queue_rules& rules) noexcept {
    return !rules.hold_until_expiry && rules.delivery != delivery::off &&
           (rules.when_running == overlap::queue || rules.delivery == delivery::at_least_once);
}

// Between the half and the whole of it.
lease_clock::duration spread(millis longest, double uniform) {
    return std::chrono::duration_cast<lease_clock::duration>(
        std::chrono::duration<double, std::milli>(static_cast<double>(longest.count()) *
                                                  (0.5 + 0.5 * uniform)));
}

}  // namespace

bool key_state::is_claiming() const noexcept {
    return queue_.current() && queue_.current()->at == stage::claiming;
}

// Not before a claim whose outcome is unknown: it may hold the key.
bool key_state::may_make_way() const noexcept {
    const auto* asked = queue_.current();
    return asked && is_occurrence(asked->what) && !asked->what.begun &&
           in_doubt_ != asked->what.occurrence;
}

key_state::step key_state::next(instant now) {
    const auto* before = queue_.current();
    if (before && before->at != stage::waiting) return {act::await, {}, {}};
    if (may_make_way()) queue_.make_way();
    if (!queue_.current() && !queue_.take_next(now)) return {};
    auto& asked = *queue_.current();
    if (asked.what.give_up < now) {
        if (is_occurrence(asked.what))
            queue_.skip_current(skip_reason::too_late, std::move(asked.holder));
        queue_.let_go_of_current();
        return next(now);
    }
    if (asked.what.not_before > now) {
        // At give_up itself it may still be tried: a pause until then would never end.
        const auto too_late = asked.what.give_up + lease_clock::duration{1};
        return {act::pause, std::min(asked.what.not_before, too_late), {}};
    }
    asked.at = stage::claiming;
    millis timeout{0};
    if (asked.listening)
        timeout = std::min(std::chrono::ceil<millis>(asked.what.give_up - now), asked.busy_for);
    return {act::claim, {}, timeout};
}

void key_state::again(instant when) {
    auto& asked = *queue_.current();
    if (asked.ahead) return queue_.let_go_of_current();
    asked.at = stage::waiting;
    asked.what.not_before = when;
}

// Doubling, up to the longest pause.
void key_state::back_off(int& failures, millis first, instant now, double uniform) {
    const auto doubled = first * (1LL << std::min(failures++, 10));
    again(now + spread(std::min<millis>(doubled, store_retry_longest), uniform));
}

void key_state::on_granted() {
    base::ensure(is_claiming());
    auto& asked = *queue_.current();
    asked.at = stage::running;
    asked.ahead = false;
    asked.what.begun = true;
    in_doubt_.reset();
    queue_.drop_overlapped();
}

void key_state::on_busy(const busy& why, bool marked, instant now, double uniform,
                        std::string holder, bool overlaps) {
    base::ensure(is_claiming());
    auto& asked = *queue_.current();
    const auto& rules = queue_.rules();
    asked.failures = 0;
    asked.holder = std::move(holder);
    // The control state offers it again. One that was begun before stands in line, or those that
    // come after it would have the key each time that it is free.
    const bool stands = asked.what.kind == request_kind::orphan && waits_in_line(rules) &&
                        why.reason == busy_reason::held && (!marked || asked.what.passed);
    if (!is_occurrence(asked.what) && !stands) return queue_.let_go_of_current();
    const auto told = std::clamp(why.remaining, millis{1}, busy_retry_longest);
    if (why.reason == busy_reason::early || why.reason == busy_reason::quarantined)
        return again(now + told);
    if (marked && tell_outrun()) return queue_.let_go_of_current();
    if ((marked && !stands) || rules.delivery == delivery::off || rules.hold_until_expiry)
        return queue_.let_go_of_current();
    if (why.reason == busy_reason::cooldown) return again(now + told);
    // One that has begun is resumed, whichever node has the key meanwhile.
    if (!waits_in_line(rules) || (overlaps && is_occurrence(asked.what) && !asked.what.begun)) {
        queue_.skip_current(skip_reason::overlap, std::move(asked.holder));
        return queue_.let_go_of_current();
    }
    // The first time it was not waited for; afterwards the store's push, or its timeout,
    // has ended the wait, and a short pause keeps many nodes from asking at once.
    asked.busy_for = told;
    const bool first = !std::exchange(asked.listening, true);
    again(first ? now : now + spread(store_retry_first, uniform));
}

void key_state::on_done() {
    base::ensure(is_claiming());
    if (tell_outrun()) return queue_.let_go_of_current();
    auto& asked = *queue_.current();
    // Abandoned, by its row, and done, by the store: a later one has run, and this one never will
    // unless it is asked for by its row alone.
    const bool was_passed = asked.what.kind == request_kind::orphan && !asked.what.passed;
    if (!was_passed) return queue_.let_go_of_current();
    asked.what.passed = true;
    asked.at = stage::waiting;
}

void key_state::on_passed() {
    if (!is_occurrence(wanted())) return on_done();
    base::ensure(is_claiming());
    if (!tell_outrun()) queue_.skip_current(skip_reason::superseded);
    queue_.let_go_of_current();
}

void key_state::on_forgotten() {
    if (!is_occurrence(wanted())) return on_done();
    base::ensure(is_claiming());
    queue_.skip_current(skip_reason::forgotten);
    queue_.let_go_of_current();
}

void key_state::on_unanswered() {
    base::ensure(is_claiming());
    if (is_occurrence(wanted())) in_doubt_ = wanted().occurrence;
}

// False when each claim of it was answered: then what has marked it was no claim of this node.
bool key_state::tell_outrun() {
    if (!is_occurrence(wanted()) || !in_doubt_ || wanted().occurrence != in_doubt_) return false;
    queue_.skip_current(skip_reason::answer_lost);
    return true;
}

void key_state::on_failure(instant now, double uniform) {
    base::ensure(is_claiming());
    auto& asked = *queue_.current();
    asked.holder.clear();
    if (!is_occurrence(asked.what)) return queue_.let_go_of_current();
    back_off(asked.failures, store_retry_first, now, uniform);
}

void key_state::on_no_room(instant now) {
    base::ensure(is_claiming());
    again(now);
}

void key_state::on_full() {
    base::ensure(is_claiming());
    queue_.current()->was_crowded = true;
}

void key_state::on_room(instant now, bool may_fire) {
    base::ensure(is_claiming());
    if (!queue_.current()->was_crowded) return;
    if (may_make_way())
        queue_.follow_latest(now);
    else if (may_fire)
        queue_.yield_to_occurrence(now);
}

void key_state::on_given_back() {
    base::ensure(is_claiming());
    if (in_doubt_ == wanted().occurrence) in_doubt_.reset();
}

void key_state::on_called_off() {
    base::ensure(is_claiming());
    queue_.let_go_of_current();
}

void key_state::on_paused() {
    base::ensure(is_claiming());
    // An orphan is offered again after the resume.
    if (is_occurrence(wanted())) queue_.skip_current(skip_reason::paused);
    queue_.let_go_of_current();
}

void key_state::on_ended(ending how, instant now, double uniform) {
    base::ensure(is_running());
    auto& asked = *queue_.current();
    const auto& rules = queue_.rules();
    const bool is_open = how == ending::unfinished || how == ending::start_failed;
    const bool asks_again =
        how == ending::not_started || (is_open && rules.delivery == delivery::at_least_once);
    if (!asks_again || !is_occurrence(asked.what)) return queue_.let_go_of_current();
    // It began in time; that it has to begin again is not its lateness.
    if (is_open) asked.what.give_up = std::max(asked.what.give_up, now + rules.lateness_max);
    asked.listening = false;
    if (how == ending::unfinished) return again(now + store_retry_first);
    back_off(asked.starts_failed, start_retry_first, now, uniform);
}

}  // namespace pawl::schedule
