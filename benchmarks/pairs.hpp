// Acquire and release through the library: the work that every engine's benchmark measures.
#pragma once

#include <pawl/locks.hpp>

#include <functional>
#include <string>
#include <vector>

namespace pawl::benchmarks {

constexpr lease_options half_a_minute{.ttl = millis{30'000}};

// One coroutine, one pair after the other; adds the time of each, in microseconds.
void time_async_pairs(locks& store, const std::string& key, int count,
                      std::vector<double>& samples);
// A row of the table: one caller that blocks, beside one of the bare client.
void compare_one_caller(locks& store, int rounds, const std::string& what,
                        const std::function<void()>& bare_pair);
// Another: one coroutine beside the same, in turns of so many pairs.
void compare_one_coroutine(locks& store, int turns, int pairs_a_turn,
                           const std::function<void()>& bare_pair);

// So many coroutines at once, each on a key of its own: the prefix and its number.
double pairs_per_second(locks& store, int callers, int pairs_each,
                        const std::string& prefix = "many/ours/");

}  // namespace pawl::benchmarks
