#include "engines/memory/journal/journal_data.hpp"

#include "engines/rules/journal/fair_order.hpp"
#include "time/clocks.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace pawl::memory {

std::int64_t journal_data::system_time() {
    return std::chrono::floor<millis>(time::wall_now().time_since_epoch()).count();
}

std::shared_ptr<journal_data> journal_data::of(const std::string& name) {
    static std::mutex registry_mutex;
    static std::map<std::string, std::shared_ptr<journal_data>> registry;
    const std::lock_guard lock{registry_mutex};
    auto& found = registry[name];
    if (!found) found = std::make_shared<journal_data>();
    return found;
}

std::optional<journals::run_row> journal_data::row_of(const std::string& id) const {
    const auto* known = runs.find(id);
    if (known == nullptr) return std::nullopt;
    return known->row;
}

void journal_data::write(const journals::begin_decision& decided) {
    if (decided.write == journals::begin_write::insert) runs.insert(decided.row, decided.event);
    if (decided.write == journals::begin_write::update) runs.update(decided.row, decided.event);
}

// Of each job its oldest, then of each its second; the oldest first.
std::vector<run_trigger> journal_data::first_triggers(std::size_t limit) const {
    std::vector<std::string_view> names;
    std::vector<const run_trigger*> waiting;
    for (const auto& [place, one] : triggers) {
        names.push_back(one.job);
        waiting.push_back(&one);
    }
    auto chosen = journals::fair_order(names);
    chosen.resize(std::min(chosen.size(), limit));
    std::sort(chosen.begin(), chosen.end());
    std::vector<run_trigger> shown;
    shown.reserve(chosen.size());
    for (const auto place : chosen) shown.push_back(*waiting[place]);
    return shown;
}

}  // namespace pawl::memory
