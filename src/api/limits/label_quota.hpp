// Names of a user's programs that become labels of metrics.
//
// All users share the labels of a metric. One who invents names has a quarter of them for a day;
// what comes after that is counted under `_other`, and other users' names keep labels of their own.
// A machine: it is handed instants.
#pragma once

#include "metrics/instruments.hpp"

#include <pawl/clock.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace pawl::api {

constexpr std::size_t labels_of_user_max = metrics::labels_max / 4;
// What all others are counted under, here as in the registry.
constexpr std::string_view shared_label = "_other";

class label_quota {
public:
    // Whether it has a label of its own.
    bool admit(const std::string& user, const std::string& name, instant now);

private:
    struct window {
        instant ends{};
        std::set<std::string> names;
    };
    // As many as users.
    std::map<std::string, window> windows_;
};

}  // namespace pawl::api
