// How much one user can change in an hour.
//
// Each pause, resume, run and cancel is an entry of the audit, under the name of the user and never
// only counted: who did it must stay known. So a user who alternates them in a loop is told to
// wait. A machine: it is handed instants.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace pawl::api {

// Programs that request runs, some each second, fit in.
constexpr std::size_t changes_per_hour_max = 20'000;

class change_limit {
public:
    // How long until the user may change something again; nothing: now.
    std::optional<millis> wait_of(const std::string& user, instant now) const;
    // Something was changed. Requests that change nothing are not counted.
    void count(const std::string& user, instant now);

private:
    struct window {
        instant ends{};
        std::size_t count = 0;
    };
    // As many as users.
    std::map<std::string, window> windows_;
};

}  // namespace pawl::api
