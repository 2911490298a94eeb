// What a drill has seen, in the order in which it was told, and which writes were late.
#pragma once

#include <pawl/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pawl::cli {

// A line of a worker, or what was done to it.
struct drill_event {
    instant at{};
    std::string who;
    std::string what;
    std::uint64_t token = 0;
    std::uint64_t newest = 0;
};

class drill_events {
public:
    // A line as run_drill_worker() tells it. A write that was begun before the fault and answered
    // after it becomes `had_written`: it was in time, though its holder learned of it late.
    void take(const std::string& who, const std::string& line);
    void add(const std::string& who, const std::string& what, std::uint64_t token, instant at,
             std::uint64_t newest = 0);
    // A fault was injected into `who`: what it begins from now on is late.
    void inject(const std::string& who, instant at);

    std::size_t count(const std::string& who, const std::string& what) const;
    drill_event last(const std::string& who, const std::string& what) const;
    const std::vector<drill_event>& all() const noexcept { return all_; }

private:
    std::vector<drill_event> all_;
    std::map<std::string, instant> begun_;        // each worker's newest write
    std::map<std::string, instant> fault_times_;  // when
};

}  // namespace pawl::cli
