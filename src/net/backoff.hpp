// When to connect again after attempts that failed: later each time, and not all nodes at once.
#pragma once

#include <pawl/types.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

namespace pawl::net {

class backoff {
public:
    static constexpr millis first{10};
    static constexpr millis longest{1000};

    explicit backoff(std::uint32_t seed) : random_{seed} {}

    // One more attempt has failed: how long to wait before the next. Jitter over the upper half:
    // nodes that lost a server together do not come back so.
    millis failed() {
        const auto step = std::min<millis>(longest, first * (1 << failures_));
        failures_ = std::min(failures_ + 1, doublings_max);
        std::uniform_int_distribution<millis::rep> spread{step.count() / 2, step.count()};
        return millis{spread(random_)};
    }
    void succeeded() noexcept { failures_ = 0; }

private:
    static constexpr int doublings_max = 7;
    static_assert(first * (1 << doublings_max) >= longest);

    std::minstd_rand random_;
    int failures_ = 0;  // in a row, as far as they lengthen the pause
};

}  // namespace pawl::net
