// How the occurrences of one key are taken: what becomes of one while its predecessor runs, when it
// counts as done, and how late it may begin.
#pragma once

#include <pawl/policies.hpp>
#include <pawl/types.hpp>

namespace pawl::schedule {

struct queue_rules {
    overlap when_running = overlap::skip;
    pawl::delivery delivery = pawl::delivery::at_most_once;
    millis lateness_max{3'600'000};  // how late an occurrence may begin
    bool hold_until_expiry =
        false;  // leases are kept until they expire: a busy key is nothing to wait for
};

// A later occurrence must not pass one that may still be run: the store would not grant that one
// any more.
constexpr bool takes_in_order(const queue_rules& rules) noexcept {
    return rules.when_running == overlap::queue || rules.delivery == delivery::at_least_once;
}

// Does not wait for a busy key: what one node has skipped another may still have in mind.
constexpr bool gives_way(const queue_rules& rules) noexcept { return !takes_in_order(rules); }

// Other nodes may have skipped it, as an overlap, while this one had no part in that.
constexpr bool may_be_skipped(const queue_rules& rules) noexcept {
    return rules.when_running == overlap::skip;
}

}  // namespace pawl::schedule
