// Partitions: work that is cut into a fixed number of parts, spread over the processes there are.
//
//     locks.run_partitions("reindex", 16, shutdown, [](const pawl::partition& mine) {
//         reindex(mine.index, mine.count, mine.stop);  // returns when mine.stop is requested
//     });
//
// Each partition is a key of its own, here reindex/0 to reindex/15, and its lease alone decides who
// runs it. A process that takes part, a member, shows itself by a lease NAME/members/COUNT-SLOT.
// All members compute the same fair share from the members they see. So each runs
// floor(count / members) partitions or one more. Parts of N elements are often called shards.
#pragma once

#include <pawl/options.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl {

// What the body of a partition is given, once for each time that its lease is granted. Valid while
// the body runs.
struct partition {
    // Which part it is, from 0.
    std::uint32_t index = 0;

    // How many parts there are.
    std::uint32_t count = 0;

    // The key of the part: NAME/INDEX.
    std::string key{};

    // Higher than that of every run of this partition before. Send it with every write.
    fence_token token{};

    // Requested when another member is to run it, at shutdown, when the lease is lost, and `grace`
    // before it stops being valid. A body that does not return is waited for, as with term::stop.
    std::stop_token stop{};
};

// Called on a thread of its own for each partition that is held, so on several at once: each call
// has a copy of the body of its own, and shares what that refers to.
using partition_body = std::function<void(const partition&)>;

// The most partitions of one name. Each one that is held needs a thread.
constexpr std::uint32_t partitions_max = 1024;

// How a process takes part; each member has a default.
struct partition_options {
    // The options of every partition's lease, and of the lease by which the member shows itself. A
    // dead member's partitions are free after the ttl. Default: a ttl of 30 s. See validate() and
    // leadership_fault() for the bounds.
    lease_options lease{.ttl = millis{30'000}};

    // How often a member looks which members there are, at the latest. A new member is believed
    // from the second look of the others on. A look moves at most a sixteenth of all partitions,
    // so that one process that comes or goes disturbs few.
    // Default: 0, a tenth of the ttl and at least 10 ms. At most the ttl.
    millis interval{0};
};

// What is wrong with these options and this number of partitions: one line that says what would do.
// Nothing: they are valid. `count` is 1 to partitions_max. In addition to validate() and
// leadership_fault() for the lease. Thread-safe.
[[nodiscard]] std::optional<std::string> partition_fault(const partition_options& options,
                                                         std::uint32_t count);

// Which of `count` partitions a key belongs to, such as a tenant's name: the same in every process,
// on every machine, and in every version of pawl. Keys spread evenly. With one partition more, a
// key stays where it is or moves to the new one (rendezvous hashing).
// Bytes of any length. `count` is 1 to partitions_max; 0 counts as 1, and more as it is.
// Thread-safe.
[[nodiscard]] std::uint32_t partition_of(std::string_view key, std::uint32_t count) noexcept;

}  // namespace pawl
