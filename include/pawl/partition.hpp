// Partitions: work that is cut into a fixed number of parts, spread over whoever is there.
//
//     locks.share("reindex", 16, shutdown, [](const pawl::partition& mine) {
//         reindex(mine.index, mine.count, mine.stop);  // returns when mine.stop is requested
//     });
//
// Each partition is a key of its own, NAME/0 to NAME/15, and its lease alone decides who runs it. A
// member shows itself by a lease NAME/members/COUNT-SLOT. All members work out the same fair share
// from who is there, so each runs floor(count/members) or one more.
// Source: seed 004, sharded locks; docs/leaders.md.
#pragma once

#include <pawl/options.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace pawl {

// What the body of a partition is given, once for each time that its lease is granted.
struct partition {
    std::uint32_t index = 0;  // from 0
    std::uint32_t count = 0;
    std::string key{};    // NAME/INDEX
    fence_token token{};  // higher than that of every run of this partition before
    // Requested when somebody else is to run it, when shutting down, when the lease is lost, and
    // `grace` before trust in it would end. What was said of term::stop holds here too.
    std::stop_token stop{};
};

// Called on a thread of its own for each partition that is held.
using partition_body = std::function<void(const partition&)>;

// A partition held is a thread.
constexpr std::uint32_t partitions_max = 1024;

struct share_options {
    // Of every partition, and of what shows that the member is there. A dead member's partitions
    // are free after the ttl.
    lease_options lease{.ttl = millis{30'000}};
    // How often a member looks who is there, at the latest; 0: a tenth of the ttl, at least 10 ms.
    // A member that has joined is given its share from the second look of the others on, a
    // sixteenth of all partitions at each, so that whoever comes and goes does not stir up
    // everybody.
    millis interval{0};
};

// What is wrong with these options, in one line that says what would be right, or nothing. Comes on
// top of validate() and leadership_fault() for the lease.
std::optional<std::string> share_fault(const share_options& options, std::uint32_t count);

}  // namespace pawl
