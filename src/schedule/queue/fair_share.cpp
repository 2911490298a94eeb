#include "schedule/queue/fair_share.hpp"

#include "base/ensure.hpp"
#include "schedule/queue/stable_hash.hpp"

#include <algorithm>
#include <numeric>

namespace pawl::schedule {
namespace {

// The order in which partitions choose: no node is to be left with the highest numbers.
std::vector<std::uint32_t> order_of_choice(std::uint64_t job, std::uint32_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    const auto key = [&](std::uint32_t partition) { return stable_hash(job + partition); };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto first = key(a);
        const auto second = key(b);
        return first != second ? first < second : a < b;
    });
    return order;
}

}  // namespace

fair_shares::fair_shares(std::string_view job, std::uint32_t count, std::vector<std::string> nodes)
    : job_{hash_of(job)}, nodes_{std::move(nodes)}, first_(count) {
    for (const auto& each : nodes_) hashes_.push_back(hash_of(each));
    if (nodes_.empty()) return;
    const auto least = count / nodes_.size();
    auto with_one_more = count % nodes_.size();
    std::vector<std::size_t> load(nodes_.size());
    for (const auto partition : order_of_choice(job_, count)) {
        const auto full = with_one_more > 0 ? least + 1 : least;
        std::size_t chosen = nodes_.size();
        std::uint64_t highest = 0;
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            if (load[node] >= full) continue;
            const auto ranked = weight(node, partition);
            if (chosen < nodes_.size() && ranked <= highest) continue;
            chosen = node;
            highest = ranked;
        }
        base::ensure(chosen < nodes_.size());
        if (++load[chosen] > least) --with_one_more;
        first_[partition] = static_cast<std::uint32_t>(chosen);
    }
}

std::uint64_t fair_shares::weight(std::size_t node, std::uint32_t partition) const noexcept {
    return stable_hash(hashes_[node] ^ stable_hash(job_ ^ (partition + 1)));
}

std::size_t fair_shares::rank(std::uint32_t partition, std::string_view node) const {
    base::ensure(partition < first_.size());
    const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), node);
    if (found == nodes_.end() || *found != node) return nodes_.size();
    const auto asked = static_cast<std::size_t>(found - nodes_.begin());
    const std::size_t first = first_[partition];
    if (asked == first) return 0;
    const auto own = weight(asked, partition);
    std::size_t place = 1;
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
        if (other == first || other == asked) continue;
        const auto ranked = weight(other, partition);
        if (ranked > own || (ranked == own && other < asked)) ++place;
    }
    return place;
}

std::size_t rank_of(std::string_view job, std::uint32_t partition, std::uint32_t count,
                    const std::vector<std::string>& nodes, std::string_view node) {
    return fair_shares{job, count, nodes}.rank(partition, node);
}

}  // namespace pawl::schedule
