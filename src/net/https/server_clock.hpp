// The clock of a service, as its answers tell it: requests are signed with a time that it accepts.
#pragma once

#include "net/https/https_pool.hpp"
#include "net/loop.hpp"

#include <chrono>

namespace pawl::net {

// On its loop only.
class server_clock {
public:
    explicit server_clock(const loop& where) : where_{where} {}

    // As it stood when the answer came, which is later than when it was stamped.
    void hear(const https_response& answer) {
        if (!answer.date) return;
        heard_ = *answer.date -
                 std::chrono::floor<std::chrono::seconds>(where_.wall().time_since_epoch());
    }
    // How far it was from now() when it was last heard.
    std::chrono::seconds off() const noexcept { return heard_ - corrected_; }
    // From here on now() is what was heard.
    void correct() noexcept { corrected_ = heard_; }
    time::wall_instant now() const { return where_.wall() + corrected_; }

private:
    const loop& where_;
    std::chrono::seconds heard_{0};      // ahead of ours
    std::chrono::seconds corrected_{0};  // the same, as far as it counts
};

}  // namespace pawl::net
