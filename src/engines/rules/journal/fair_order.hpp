// In which order requested runs and orphans are read where there are more than a look shows: of
// each job its oldest, then of each its second, and so on. So no job's many keep another's few
// waiting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::journals {

// The places in this list of jobs, oldest first, in that order.
inline std::vector<std::size_t> fair_order(const std::vector<std::string_view>& jobs) {
    std::map<std::string_view, std::size_t> turns;
    std::vector<std::pair<std::size_t, std::size_t>> order;
    order.reserve(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) order.emplace_back(turns[jobs[i]]++, i);
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> places;
    places.reserve(order.size());
    for (const auto& [turn, place] : order) places.push_back(place);
    return places;
}

// The places of the first `limit` in that order, the oldest first.
inline std::vector<std::size_t> fair_choice(const std::vector<std::string_view>& jobs,
                                            std::size_t limit) {
    auto places = fair_order(jobs);
    places.resize(std::min(places.size(), limit));
    std::sort(places.begin(), places.end());
    return places;
}

}  // namespace pawl::journals
