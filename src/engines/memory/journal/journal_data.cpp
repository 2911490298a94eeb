#include "engines/memory/journal/journal_data.hpp"

#include "engines/rules/journal/fair_order.hpp"
#include "net/fork_check.hpp"
#include "time/clocks.hpp"

#include <chrono>
#include <limits>
#include <string_view>

namespace pawl::memory {
namespace {

// A thread of the parent's may hold a mutex at a fork(): its child begins with none of this.
struct registry {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<journal_data>> by_name;  // under the mutex
};
constinit net::one_per_process<registry> known_data;

}  // namespace

std::int64_t journal_data::system_time() {
    return std::chrono::floor<millis>(time::wall_now().time_since_epoch()).count();
}

std::shared_ptr<journal_data> journal_data::of(const std::string& name) {
    auto& all = known_data.get();
    const std::lock_guard lock{all.mutex};
    auto& found = all.by_name[name];
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

std::vector<run_trigger> journal_data::first_triggers(std::size_t limit) const {
    std::vector<std::string_view> names;
    std::vector<const run_trigger*> waiting;
    for (const auto& [place, one] : triggers) {
        names.push_back(one.job);
        waiting.push_back(&one);
    }
    std::vector<run_trigger> shown;
    for (const auto place : journals::fair_choice(names, limit)) shown.push_back(*waiting[place]);
    return shown;
}

std::vector<run_record> journal_data::first_orphans(std::size_t limit) const {
    const auto left =
        runs.with_status(run_status::abandoned, std::numeric_limits<std::size_t>::max(),
                         [](const kept_run& run) { return journals::is_orphan(run.row.record); });
    std::vector<std::string_view> names;
    for (const auto* run : left) names.push_back(run->job);
    std::vector<run_record> shown;
    for (const auto place : journals::fair_choice(names, limit)) {
        shown.push_back(*left[place]);
        std::string{}.swap(shown.back().checkpoint);
    }
    return shown;
}

}  // namespace pawl::memory
