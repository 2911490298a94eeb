#include "schedule/queue/ranking.hpp"

#include "schedule/queue/stable_hash.hpp"

#include <algorithm>
#include <cmath>

namespace pawl::schedule {
namespace {

// A full node comes after all that are not.
constexpr double weight_of_full = 1.0 / 1024;
constexpr double share_of_busy = 0.25;
constexpr std::uint64_t salt_of_delays = 0x9e3779b97f4a7c15U;

std::uint64_t hash_with(std::string_view key, occurrence which) noexcept {
    return stable_hash(hash_of(key) ^ stable_hash(static_cast<std::uint64_t>(number(which)) + 1));
}

// Between 0 and 1, and neither of them.
double fraction_of(std::uint64_t hash) noexcept {
    return (static_cast<double>(hash >> 11U) + 0.5) * 0x1p-53;
}

}  // namespace

double weight_of(const ranked_node& node) noexcept {
    const auto size = std::max<double>(node.running_max, 1);
    if (node.running >= std::max(node.running_max, 1U)) return size * weight_of_full;
    const bool is_busy = node.running > node.running_max / 2;
    return is_busy ? size * share_of_busy : size;
}

node_ranking::node_ranking(std::string_view me) : me_{me}, own_hash_{hash_of(me)} {}

void node_ranking::follow(const std::vector<ranked_node>& nodes) {
    before_ = std::move(now_);
    now_ = {};
    for (const auto& one : nodes) {
        const auto weight = weight_of(one);
        if (one.id == me_) {
            now_.own_weight = weight;
            continue;
        }
        const auto found =
            std::find_if(now_.classes.begin(), now_.classes.end(),
                         [&](const weighted& alike) { return alike.weight == weight; });
        auto& among = found == now_.classes.end() ? now_.classes.emplace_back() : *found;
        among.weight = weight;
        among.hashes.push_back(hash_of(one.id));
        ++now_.others;
    }
    if (before_.others == 0) before_ = now_;
}

// The score of a node is u^(1 / weight), its u drawn from the hash of the node with the occurrence:
// rendezvous hashing with weights. A node of another weight is ahead where its u exceeds ours
// raised to the quotient of the two, so one power serves for all of that weight.
std::size_t node_ranking::place_in(const list& nodes, std::uint64_t what) const {
    const auto own = fraction_of(stable_hash(own_hash_ ^ what));
    std::size_t ahead = 0;
    for (const auto& alike : nodes.classes) {
        const auto bar =
            alike.weight == nodes.own_weight ? own : std::pow(own, alike.weight / nodes.own_weight);
        for (const auto hash : alike.hashes)
            if (fraction_of(stable_hash(hash ^ what)) > bar && ++ahead == places_max) return ahead;
    }
    return ahead;
}

std::size_t node_ranking::place(std::string_view key, occurrence which) const {
    const auto what = hash_with(key, which);
    const auto present = place_in(now_, what);
    return present == 0 ? 0 : std::min(present, place_in(before_, what));
}

double shared_uniform(std::string_view key, occurrence which) noexcept {
    return fraction_of(stable_hash(hash_with(key, which) ^ salt_of_delays));
}

millis hold_back_of(std::size_t place, millis interval) noexcept {
    if (place == 0) return millis{0};
    const auto back = static_cast<long>(std::min(place, places_max)) - 1;
    const auto near = hold_back_first + hold_back_step * back;
    return place < places_max ? near : std::max(near, std::min(interval / 8, hold_back_far));
}

instant aligned(instant at, millis step, millis phase) noexcept {
    const lease_clock::duration whole = step;
    const auto past = (at.time_since_epoch() - lease_clock::duration{phase}) % whole;
    if (past.count() == 0) return at;
    return past.count() > 0 ? at + (whole - past) : at - past;
}

}  // namespace pawl::schedule
