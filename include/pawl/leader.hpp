// Leadership: one process over all nodes holds a key for as long as it lives, and works meanwhile.
//
//     locks.lead("billing/leader", {.ttl = 15s}, shutdown, [](const pawl::term& term) {
//         serve(term.token, term.stop);  // returns when term.stop is requested
//     });
//
// The lease promises one leader at a time while no process is frozen or cut off. Beyond that the
// leader's effects are safe only where they carry its token (<pawl/fence.hpp>): the token of the
// next leader is higher. locks::lead() says how a term begins and ends.
#pragma once

#include <pawl/options.hpp>
#include <pawl/types.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl {

// What a leader's body is given, once for each time it is elected. Valid while the body runs.
struct term {
    // The key that the leader holds.
    std::string key{};

    // Higher than that of every leader before. Send it with every write.
    fence_token token{};

    // Requested at shutdown, when the lease is lost, and `grace` before it stops being valid. The
    // body returns soon after. lead() waits for a body that does not. Such a body may work beside
    // the next leader, and only the token tells the two apart.
    std::stop_token stop{};

    // Which term of this call it is, from 1.
    std::uint64_t number = 0;
};

// Called on a thread that may block: the caller's own with lead(), a new one with async_lead().
using term_body = std::function<void(const term&)>;

// What is wrong with these options for a lease that is held again and again: one line that names
// the option and what would do. Nothing: they are valid. It rejects an `occurrence`,
// renewal_mode::manual and reentrancy::instance, in addition to validate(). It holds for lead(),
// for partitions and for the jobs of a scheduler. Thread-safe.
[[nodiscard]] std::optional<std::string> leadership_fault(const lease_options& options);

}  // namespace pawl
