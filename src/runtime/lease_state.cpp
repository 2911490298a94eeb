#include "runtime/lease_state.hpp"

#include <algorithm>
#include <utility>

namespace pawl::runtime {

// One call at a time, but for what a watch does on its own thread.
void deadline_observer::await_calls(std::unique_lock<std::mutex>& lock) {
    const std::thread::id none;
    if (caller_ == std::this_thread::get_id()) return;
    returned_.wait(lock, [&] { return caller_ == none; });
}

void deadline_observer::replace(lease::deadline_watch watch) {
    auto next = watch ? std::make_shared<const lease::deadline_watch>(std::move(watch)) : nullptr;
    std::unique_lock lock{mutex_};
    await_calls(lock);
    watch_.swap(next);
    lock.unlock();  // what the old one holds may come back here as it goes
}

void deadline_observer::tell(instant stop_at, instant valid_until) noexcept {
    std::unique_lock lock{mutex_};
    await_calls(lock);
    if (!watch_) return;
    auto told = watch_;
    const auto before = std::exchange(caller_, std::this_thread::get_id());
    lock.unlock();
    (*told)(stop_at, valid_until);
    // The caller that ends it meanwhile destroys it, and not this thread after that has returned.
    told.reset();
    lock.lock();
    caller_ = before;
    lock.unlock();
    returned_.notify_all();
}

lease_state::lease_state(grant won, std::string owner_name, const lease_options& how,
                         leasing::heartbeat machine, ticket in_turn, instant claimed_at,
                         std::shared_ptr<link> at, const net::simulated_node* simulated_home)
    : key{std::move(won.key)},
      owner{std::move(owner_name)},
      token{won.token},
      options{how},
      claimed{claimed_at},
      home{std::move(at)},
      simulated{simulated_home},
      beat{machine},
      turn{std::move(in_turn)},
      lifetime_end_{beat.lifetime_end()},
      valid_until_{beat.valid_until().time_since_epoch().count()} {}

bool lease_state::valid(instant now) const noexcept {
    return lost_.load(std::memory_order_acquire) < 0 && now < valid_until();
}

std::optional<loss_reason> lease_state::lost() const noexcept {
    const int why = lost_.load(std::memory_order_acquire);
    if (is_forked_child()) return loss_reason::closed;
    if (why < 0) return std::nullopt;
    return static_cast<loss_reason>(why);
}

std::optional<loss_reason> lease_state::lost(instant now) const noexcept {
    if (valid(now)) return std::nullopt;
    if (const auto told = lost()) return told;
    return valid_until() >= lifetime_end_ ? loss_reason::lifetime_ended
                                          : loss_reason::validity_ended;
}

bool lease_state::add_handle() noexcept {
    int seen = handles.load(std::memory_order_acquire);
    if (seen > 0) shared.store(true, std::memory_order_release);
    while (seen > 0)
        if (handles.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    return false;
}

bool lease_state::drop_handle() noexcept {
    if (--handles > 0) return false;
    watch.replace({});
    return true;
}

release_options lease_state::parting() const {
    release_options how;
    how.min_hold = options.hold_until_expiry ? release_options::until_expiry : options.min_hold;
    if (done.load(std::memory_order_acquire)) how.done = options.occurrence;
    return how;
}

void lease_state::publish() {
    const auto end = beat.valid_until().time_since_epoch().count();
    if (valid_until_.exchange(end, std::memory_order_acq_rel) == end) return;
    tell_deadlines();
}

void lease_state::tell_deadlines() noexcept {
    const auto latest = lost() ? now() : instant::max();
    watch.tell(std::min(beat.stop_at(), latest), std::min(beat.valid_until(), latest));
}

void lease_state::end(loss_reason why, instant now) {
    lost_.store(static_cast<int>(why), std::memory_order_release);
    turn.give_up();
    stop.request_stop();
    // Who was told to stop before has time until validity ends, as far as they know.
    watch.tell(now, now);
}

}  // namespace pawl::runtime
