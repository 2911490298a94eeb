#include "cli/demo/drill_events.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

namespace pawl::cli {

void drill_events::take(const std::string& who, const std::string& line) {
    std::istringstream words{line};
    drill_event now;
    std::int64_t at = 0;
    words >> now.what >> now.token >> at >> now.newest;
    now.who = who;
    now.at = instant{std::chrono::nanoseconds{at}};
    if (now.what == "writing") {
        begun_[who] = now.at;
        return;
    }
    const auto fault = fault_times_.find(who);
    const bool survived = fault != fault_times_.end() && now.at > fault->second;
    const auto begun = begun_.find(who);
    if (now.what == "wrote" && survived && begun != begun_.end() && begun->second <= fault->second)
        now.what = "had_written";
    all_.push_back(std::move(now));
}

void drill_events::add(const std::string& who, const std::string& what, std::uint64_t token,
                       instant at, std::uint64_t newest) {
    all_.push_back({at, who, what, token, newest});
}

void drill_events::inject(const std::string& who, instant at) { fault_times_[who] = at; }

std::size_t drill_events::count(const std::string& who, const std::string& what) const {
    return static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(),
                      [&](const drill_event& one) { return one.who == who && one.what == what; }));
}

drill_event drill_events::last(const std::string& who, const std::string& what) const {
    drill_event found;
    for (const auto& one : all_)
        if (one.who == who && one.what == what) found = one;
    return found;
}

}  // namespace pawl::cli
