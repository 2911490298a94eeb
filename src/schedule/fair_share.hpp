// Which node should take which partition of a job: a function of the live nodes, the same on all.
//
// A hint, never the truth: the partition's lease decides who runs it. Nodes other than the one
// named here only hold back for a while, so that work is spread and nothing is left lying.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::schedule {

// The place of `node` in the line for this partition, from 0; `nodes.size()` for one that is not
// among them. REQUIRES: nodes are sorted and distinct. Every node is first in line for
// floor(count/n) or ceil(count/n) of the partitions; a node that joins or leaves moves few others.
std::size_t place_in_line(std::string_view job, std::uint32_t partition, std::uint32_t count,
                          const std::vector<std::string>& nodes, std::string_view node);

}  // namespace pawl::schedule
