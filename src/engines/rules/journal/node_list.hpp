// Which nodes a list has where more were seen within a day than it has room for. Each start of an
// agent is a node of its own, and one that crashes leaves its entry: by name alone those of a crash
// loop would hide the nodes that live.
#pragma once

#include <pawl/spi/journal.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace pawl::journals {

// Those that were seen last, as many as a list has, by name.
inline void shorten(std::vector<node_entry>& nodes) {
    if (nodes.size() > page_limit_max) {
        const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(page_limit_max);
        std::nth_element(nodes.begin(), end, nodes.end(),
                         [](const node_entry& a, const node_entry& b) {
                             return std::tie(b.last_seen, a.id) < std::tie(a.last_seen, b.id);
                         });
        nodes.erase(end, nodes.end());
    }
    std::sort(nodes.begin(), nodes.end(), [](const node_entry& a, const node_entry& b) {
        return std::tie(a.name, a.id) < std::tie(b.name, b.id);
    });
}

}  // namespace pawl::journals
