// From a configuration file to settings, or to everything that is wrong with it.
//
// Nothing of a value that may be a secret (a store's URL, a token_hash, what is in an env_file)
// shows in a fault.
#pragma once

#include "config/findings.hpp"
#include "config/settings.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

constexpr std::size_t file_bytes_max = 16u << 20;
constexpr std::size_t faults_shown = 20;

struct parsed_configuration {
    std::string file;
    settings values;              // whole only without a fault
    std::vector<fault> faults;    // by position
    std::vector<fault> warnings;  // what works, but hardly as meant; by position
    std::size_t fault_count = 0;  // also of those that were not kept
    bool sets_nothing = false;    // an empty file, or one of comments alone

    bool usable() const noexcept { return fault_count == 0; }
};

// `file_name` is for messages, and relative paths of env_file and tls start in its folder. `store`
// is the URL that a flag or the environment sets in place of the file's, if one does; `node` is the
// name of an agent that runs already, and keeps it whatever the file says.
parsed_configuration read_configuration(std::string_view text, const std::string& file_name,
                                        std::string_view store = {}, std::string_view node = {});
// A regular file of at most 16 MiB. What cannot be read is a fault.
parsed_configuration read_configuration_file(const std::string& path, std::string_view store = {},
                                             std::string_view node = {});

// "FILE:LINE:COLUMN: what is wrong; what would be right" for the first faults, and, when there are
// more, a line with their count.
std::vector<std::string> describe(const parsed_configuration& read,
                                  std::size_t limit = faults_shown);
// The same form for warnings.
std::vector<std::string> describe_warnings(const parsed_configuration& read);

// What a reload brings, and what it cannot bring.
struct configuration_changes {
    std::vector<std::string> added;    // names of jobs
    std::vector<std::string> removed;  // names of jobs
    std::vector<std::string> changed;  // names of jobs
    // For the log, one for each change, without a secret: what takes effect now,
    std::vector<std::string> lines;
    // and what takes effect only when the agent is started again.
    std::vector<std::string> restarts;

    bool empty() const noexcept { return lines.empty() && restarts.empty(); }
};

configuration_changes differences(const settings& before, const settings& after);

// Why a file that is read again cannot have been meant, though it has no fault: it takes every job
// away, or, where it sets nothing at all, every user. To have neither, an agent is started again.
std::optional<std::string> emptied_fault(const settings& before, const parsed_configuration& after);

// The same where it takes every user away, while the API is open to other machines at `listens`.
// The file may say otherwise of `listen`, which takes a restart.
std::optional<std::string> open_without_users_fault(const base::endpoint& listens,
                                                    const parsed_configuration& after);

}  // namespace pawl::config
