// For the tests of the scheduler: when and under which lease their jobs run.
#pragma once

#include "test_support/faults/schedule_world.hpp"

#include <chrono>

namespace pawl {

constexpr lease_options brief{.ttl = std::chrono::seconds{5}, .grace = millis{0}};
const schedule_options each_second{.cron = "* * * * * *"};
const schedule_options when_asked{};

}  // namespace pawl
