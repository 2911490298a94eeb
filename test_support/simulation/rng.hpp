// Everything that is random in a simulation, from one seed: the same on every platform.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace pawl::simulation {

using nanos = std::chrono::nanoseconds;

// Used by one thread. The distributions of the standard library differ between platforms, the
// engine does not.
class rng {
public:
    explicit rng(std::uint64_t seed) : engine_{seed * 0x9e3779b97f4a7c15U + 1} {}

    double fraction() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
    bool happens(double probability) { return fraction() < probability; }
    // REQUIRES: bound > 0.
    std::size_t below(std::size_t bound) { return engine_() % bound; }
    nanos between(nanos least, nanos most) {
        const auto width = static_cast<double>((most - least).count());
        return least + nanos{static_cast<std::int64_t>(fraction() * width)};
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace pawl::simulation
