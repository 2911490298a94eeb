#include "lease/assignment.hpp"

#include "base/ensure.hpp"

#include <algorithm>
#include <tuple>

namespace pawl::leasing {
namespace {

// FNV-1a: the same on every platform and in every release, as std::hash is not.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char letter : text) {
        hash ^= static_cast<unsigned char>(letter);
        hash *= 0x100000001b3U;
    }
    return hash;
}

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

struct score {
    std::uint64_t weight;
    std::uint32_t part;
    std::size_t rank;  // of the member

    bool operator<(const score& other) const {
        return std::tie(other.weight, part, rank) < std::tie(weight, other.part, other.rank);
    }
};

}  // namespace

std::vector<std::uint32_t> assign(std::string_view name, std::uint32_t count,
                                  const std::vector<std::uint32_t>& members) {
    base::ensure(!members.empty());
    const auto salt = hash_of(name);
    std::vector<score> scores;
    scores.reserve(count * members.size());
    for (std::uint32_t part = 0; part < count; ++part) {
        const auto of_part = mixed(salt ^ part);
        for (std::size_t rank = 0; rank < members.size(); ++rank)
            scores.push_back({mixed(of_part ^ members[rank]), part, rank});
    }
    std::sort(scores.begin(), scores.end());

    // The highest scores go first. `extras` members are given one more than the others, so that the
    // quotas add up to the count and nothing is left over.
    const auto quota = count / members.size();
    auto extras = count % members.size();
    constexpr auto unassigned = static_cast<std::size_t>(-1);
    std::vector<std::size_t> winner(count, unassigned);
    std::vector<std::size_t> won(members.size(), 0);
    for (const score& one : scores) {
        if (winner[one.part] != unassigned || won[one.rank] > quota) continue;
        if (won[one.rank] == quota) {
            if (extras == 0) continue;
            --extras;
        }
        ++won[one.rank];
        winner[one.part] = one.rank;
    }
    std::vector<std::uint32_t> owners(count);
    std::transform(winner.begin(), winner.end(), owners.begin(),
                   [&](std::size_t rank) { return members[rank]; });
    return owners;
}

}  // namespace pawl::leasing
