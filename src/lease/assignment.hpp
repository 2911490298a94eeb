// Who should hold which partition: a function of who is there, so that all members agree on it
// without a word.
//
// A hint, never the truth: the lease of a partition decides who holds it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace pawl::leasing {

// For each partition the member whose it should be; members are named by their numbers. Every
// member is given floor(count / members) or one more, and one that joins or leaves moves few
// others. REQUIRES: members are distinct, and there is one at least. Source: rendezvous hashing
// (Thaler and Ravishankar, 1998), with a quota for each member.
std::vector<std::uint32_t> assign(std::string_view name, std::uint32_t count,
                                  const std::vector<std::uint32_t>& members);

}  // namespace pawl::leasing
