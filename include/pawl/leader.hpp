// Leadership: a key of which one process over all nodes holds the lease, for as long as it lives.
//
//     locks.lead("billing/leader", {.ttl = 15s}, shutdown, [](const pawl::term& term) {
//         serve(term.token, term.stop);  // returns when term.stop is requested
//     });
//
// One leader at a time is what the lease promises while nothing is frozen or cut off. The leader's
// effects are safe beyond that only where they carry its token (<pawl/fence.hpp>): the next
// leader's is higher.
// Source: seed 004, leader election by a lease that is renewed; docs/leaders.md.
#pragma once

#include <pawl/options.hpp>
#include <pawl/types.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl {

// What a leader's body is given, once for each time it is elected.
struct term {
    std::string key{};
    fence_token token{};  // higher than that of every leader before; send it with every write
    // Requested when shutting down, when the lease is lost, and `grace` before trust in it would
    // end. The body returns soon after. One that goes on is waited for all the same, and may then
    // work beside the next leader: only the token tells the two apart.
    std::stop_token stop{};
    std::uint64_t number = 0;  // which term of this call it is, from 1
};

// Called on a thread that may block: the caller's own with lead(), one of its own with
// async_lead().
using term_body = std::function<void(const term&)>;

// What of these options makes no sense for a lease that is held again and again, in one line that
// names the option and what would do: `firing`, `renewing::manual`, `reentrancy::instance`. Comes
// on top of validate(). Partitions are held to the same.
std::optional<std::string> leadership_fault(const lease_options& options);

}  // namespace pawl
