// How calls of handles end and renew leases, which may outlive the loop.
#pragma once

#include "runtime/engine.hpp"
#include "runtime/link.hpp"

#include <pawl/errors.hpp>

#include <memory>
#include <utility>

namespace pawl::runtime {

// The last handle of a lease on its way into a release that may never begin: then the lease is
// released in the background.
class last_handle {
public:
    explicit last_handle(std::shared_ptr<lease_state> who) : who_{std::move(who)} {}
    last_handle(last_handle&&) noexcept = default;
    last_handle& operator=(last_handle&&) = delete;
    ~last_handle() {
        if (who_) engine::release_in_background(std::move(who_));
    }
    const std::shared_ptr<lease_state>& get() const noexcept { return who_; }
    std::shared_ptr<lease_state> take() { return std::exchange(who_, nullptr); }

private:
    std::shared_ptr<lease_state> who_;
};

// Waits on the loop for what `begin(engine)` returns; `gone` where the loop has ended, or does so
// meanwhile. Throws as loop::wait_for() does.
template <class T, class Begin>
T wait_at(link& home, T gone, Begin begin) {
    const link::visit here{home};
    if (!here) return gone;
    try {
        return here.loop().wait_for(begin(here.running()));
    } catch (const store_error&) {
        return gone;  // the context of a guest went away meanwhile
    }
}

}  // namespace pawl::runtime
