// Races for runs across processes: children of the test's own program begin, and say what they won.
#pragma once

#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/store_settings.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pawl::conformance {

using journal_address_opener = std::shared_ptr<journal> (*)(net::loop&, const std::string& address,
                                                            store_settings settings);
// Makes an engine known to the children of this binary by its name.
bool register_journal_opener(const std::string& engine, journal_address_opener open);

// What the racers are to do; their processes get it on the command line.
struct race {
    std::string engine;
    std::string address;
    std::string name_space;
    std::string job;
    std::int64_t occurrences = 0;  // each racer begins 1, 2, … of them
};

// How often each of the occurrences was begun, over all of the processes; empty if one ended badly.
std::vector<int> race_in_children(int processes, const race& what);

// The main program of a racer: none if the arguments are not for one, else its exit status.
std::optional<int> racer_main(const std::vector<std::string>& arguments);

}  // namespace pawl::conformance
