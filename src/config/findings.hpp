// Everything that is wrong with a configuration, as it is found.
#pragma once

#include "config/settings.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

// More are counted, not kept.
constexpr std::size_t faults_kept_max = 1000;

struct fault {
    // Line and column, from 1; line 0 when it is about the file as a whole.
    place at;
    // "what is wrong; what would be right"
    std::string what;
};

// The first faults by position are kept, in whatever order they are found.
class findings {
public:
    void add_fault(place at, std::string what);
    void add_warning(place at, std::string what);

    std::size_t fault_count() const noexcept { return fault_count_; }
    // From here on it is not worth much work to find out exactly where something stands.
    bool has_plenty() const noexcept { return fault_count_ > faults_kept_max; }

    // Sorted, each once.
    std::vector<fault> take_faults();
    std::vector<fault> take_warnings();

private:
    std::vector<fault> faults_;
    std::vector<fault> warnings_;
    std::size_t fault_count_ = 0;
};

// The text of a user, in quotes, printable and short.
std::string quoted(std::string_view text);

}  // namespace pawl::config
