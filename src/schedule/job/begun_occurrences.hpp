// Which occurrences of the keys of a job have begun on this node: how they ended is its to record.
//
// A machine without I/O.
#pragma once

#include <pawl/types.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::schedule {

// Of a key, the newest. A beginning is recorded within seconds once the journal answers, in which
// no more begin.
constexpr std::size_t begun_kept_max = 16;

// Used by one thread at a time.
class begun_occurrences {
public:
    void add(const std::string& key, occurrence which) {
        auto& all = by_key_[key];
        if (std::ranges::find(all, which) != all.end()) return;
        if (all.size() == begun_kept_max) all.erase(all.begin());
        all.push_back(which);
    }
    bool has(const std::string& key, occurrence which) const {
        const auto found = by_key_.find(key);
        return found != by_key_.end() &&
               std::ranges::find(found->second, which) != found->second.end();
    }

private:
    std::unordered_map<std::string, std::vector<occurrence>> by_key_;  // in the order of their
                                                                       // beginnings
};

}  // namespace pawl::schedule
