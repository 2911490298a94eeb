// What `pawl exec` was asked for.
#pragma once

#include <pawl/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::cli {

struct exec_options {
    std::string key{};
    std::vector<std::string> command{};
    std::string ttl = "30s";
    std::string min_hold = "0s";
    std::string grace = "10s";
    std::string occurrence{};
    std::string on_store_down = "skip";
    std::string wait{};     // empty: do not wait
    std::string timeout{};  // empty: none
    std::optional<int> skip_status{};
    std::optional<std::uint32_t> slots{};  // nothing: the key itself
    bool hold_until_expiry = false;
    bool at_least_once = false;
    bool no_journal = false;
};

// `minute`, `hour` and `day` name the start of the current one in UTC, by this machine's clock:
// when cron fires, that is the time for which the line was due.
std::string named_occurrence(std::string text);

struct exec_plan {
    lease_options lease;
    wait_policy waiting;
    std::optional<millis> timeout;
};

// Throws CLI::ValidationError.
exec_plan plan_of(const exec_options& what);

}  // namespace pawl::cli
