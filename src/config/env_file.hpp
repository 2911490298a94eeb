// A file of NAME=value lines, in which jobs keep what must not stand in the configuration.
#pragma once

#include "config/settings.hpp"

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

constexpr std::size_t env_file_bytes_max = 1u << 20;

struct env_file_content {
    std::vector<variable> variables;  // sorted by name
    std::string fault;                // quotes no value; empty when all is well
    bool readable_by_all = false;
};

// NAME=value; empty lines and lines that begin with '#' are left out; one pair of quotes around a
// value is taken away. Nothing is expanded. The last value of a name holds.
env_file_content parse_env_file(std::string_view text);

// Reads each file once, however many jobs name it.
class env_files {
public:
    // `configuration` is the file that names them: relative paths begin in its folder. The owner of
    // either says what is run.
    explicit env_files(const std::string& configuration);

    const env_file_content& read(const std::string& path);
    // Of a path that the configuration names.
    std::string absolute(const std::string& path) const;

private:
    std::string folder_;
    std::vector<uid_t> owners_;
    std::map<std::string, env_file_content> known_;
};

}  // namespace pawl::config
