// Rate limiting of failed log-ins, with a delay that doubles. A machine: it is handed instants.
//
// A subject is an address, or a name. Its first tries are free; then each failure doubles the wait.
// Silence makes it forgotten, by halves.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace pawl::api {

struct throttle_rules {
    int free_tries = 10;
    millis first_wait{1'000};
    millis wait_max{60'000};
    millis half_life{600'000};         // of silence, after which half of the failures are forgotten
    std::size_t subjects_max = 4'096;  // beyond it the one with the fewest failures makes way
};

class throttle {
public:
    explicit throttle(throttle_rules rules);

    // Until it may try again; 0: now.
    millis wait_of(std::string_view subject, instant now) const;
    void add_failure(std::string_view subject, instant now);
    void forgive(std::string_view subject);

    std::size_t size() const noexcept { return subjects_.size(); }

private:
    struct history {
        int failures = 0;
        instant last{};
        instant blocked_until{};
    };
    int failures_of(const history& one, instant now) const;
    millis wait_after(int failures) const;
    void make_room(instant now);

    throttle_rules rules_;
    std::map<std::string, history, std::less<>> subjects_;
};

}  // namespace pawl::api
