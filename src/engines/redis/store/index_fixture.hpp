// Names of dead records, and what looking at them costs, for the tests of an index.
#pragma once

#include "test_support/servers/redis_server.hpp"

#include <regex>
#include <string>
#include <vector>

namespace pawl::redis {

inline void add_dead_names(const testing_servers::redis_server& server, const std::string& index,
                           int count) {
    std::vector<std::string> command{"ZADD", index};
    for (int i = 0; i < count; ++i) {
        command.emplace_back("0");
        command.push_back("a/" + std::to_string(i));
    }
    server.ask(command);
}

// How often the server has run a command since it began to count.
inline int calls_of(const testing_servers::redis_server& server, const std::string& command) {
    const auto stats = server.ask({"INFO", "commandstats"});
    std::smatch found;
    const std::regex count{"cmdstat_" + command + ":calls=([0-9]+)"};
    return std::regex_search(stats, found, count) ? std::stoi(found[1]) : 0;
}

}  // namespace pawl::redis
