// What one look has found changed, in parts of which each makes one event.
//
// A part is small, so that many viewers can be sent one at a time. Where more has changed than the
// bound of all parts, none is told: reading the list anew costs a viewer less.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::api {

// A part ends with the entry that fills it.
constexpr std::size_t event_bytes_max = std::size_t{256} * 1024;
// Half of what a viewer may have untaken.
constexpr std::size_t told_bytes_max = std::size_t{2} * 1024 * 1024;

class event_parts {
public:
    // The text of one JSON document.
    void add(std::string_view entry);
    // There is more, which is not added.
    void miss();

    bool is_too_much() const noexcept { return too_much_; }
    // Each without its brackets.
    const std::vector<std::string>& all() const noexcept { return all_; }

private:
    std::vector<std::string> all_;
    std::size_t bytes_ = 0;
    bool too_much_ = false;
};

}  // namespace pawl::api
