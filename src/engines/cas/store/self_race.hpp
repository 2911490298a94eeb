// A self-test of a medium: eight writers race for one record, and exactly one of them must win.
//
// There are servers that take the condition of a write and do not look at it, or look at it and let
// several through at once. A lease on them is held by two sooner or later, so they are rejected.
#pragma once

#include "engines/cas/store/versioned_records.hpp"

#include <chrono>
#include <cstddef>
#include <memory>

namespace pawl::cas {

constexpr std::size_t racers = 8;
// A server that lets two through now and then is caught the sooner the more often they race: so
// many rounds at least, and more where the server is near.
constexpr int race_rounds_min = 3;
constexpr int race_rounds_max = 64;
constexpr std::chrono::nanoseconds race_time = std::chrono::milliseconds{100};

// Races on a scratch record, which is erased afterwards. How many rounds it took; `unsupported`
// when the medium let two win, or kept another state than the winner's. Any other failure: the race
// has come to no end. `on` outlives the await.
async<int> race(const std::shared_ptr<versioned_records>& on, instant until);

}  // namespace pawl::cas
