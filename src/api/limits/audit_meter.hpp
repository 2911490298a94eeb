// Keeps the audit from being flooded: of what one user does over and over, the first of each minute
// are written one by one, and the others are counted. A machine: it is handed instants.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::api {

struct audit_rules {
    std::size_t told_max = 10;
    millis window{60'000};
};

// There are as many windows as users and kinds of actions, which are few.
class audit_meter {
public:
    struct left_out {
        std::string actor, action;
        std::size_t count = 0;
    };

    explicit audit_meter(audit_rules rules = {}) : rules_{rules} {}

    // True: write it. False: it is counted.
    bool admit(const std::string& actor, const std::string& action, instant now);
    // What was only counted in the windows that are over by now.
    std::vector<left_out> take_over(instant now);
    // When the first window ends in which something was only counted.
    std::optional<instant> next_end() const;

private:
    struct window {
        instant ends{};
        std::size_t count = 0;
    };

    audit_rules rules_;
    std::map<std::pair<std::string, std::string>, window> windows_;
};

}  // namespace pawl::api
