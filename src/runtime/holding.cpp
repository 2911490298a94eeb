#include "runtime/holding.hpp"

namespace pawl::runtime {

holding::holding(grant won, std::string owner_name, const lease_options& how,
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
      trust_end_{beat.trust_end().time_since_epoch().count()} {}

bool holding::trusted(instant now) const noexcept {
    return lost_.load(std::memory_order_acquire) < 0 && now < trust_end();
}

std::optional<loss_reason> holding::lost() const noexcept {
    const int why = lost_.load(std::memory_order_acquire);
    if (why < 0) return std::nullopt;
    return static_cast<loss_reason>(why);
}

bool holding::add_handle() noexcept {
    int seen = handles.load(std::memory_order_acquire);
    if (seen > 0) shared.store(true, std::memory_order_release);
    while (seen > 0)
        if (handles.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    return false;
}

farewell holding::parting() const {
    farewell how;
    how.at_least = options.hold ? farewell::until_expiry : options.at_least;
    if (done.load(std::memory_order_acquire)) how.done = options.firing;
    return how;
}

void holding::publish() {
    const auto end = beat.trust_end().time_since_epoch().count();
    if (trust_end_.exchange(end, std::memory_order_acq_rel) == end) return;
    if (watch) watch(beat.stop_at(), beat.trust_end());
}

void holding::end(loss_reason why) {
    lost_.store(static_cast<int>(why), std::memory_order_release);
    turn.give_up();
    stop.request_stop();
}

}  // namespace pawl::runtime
