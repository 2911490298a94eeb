// Keeps leases between their grant and the coroutine that asked for them, which may have ended.
#pragma once

#include "net/fork_check.hpp"
#include "runtime/engine.hpp"

#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace pawl::runtime {

// Whom an acquire listens to: its program, the coroutine that awaits it, and the end of `locks`.
struct listened_to {
    std::stop_token program, waiter, closing;

    // It was called off by the end of `locks`, and not by its program.
    bool was_closed() const noexcept {
        return closing.stop_requested() && !program.stop_requested();
    }
};

// What is not taken out is given back, the last first: the caller has gone meanwhile, or something
// else that belongs to it was not granted. Thread-safe as far as different objects are concerned.
class grants_in_transit {
public:
    grants_in_transit() = default;
    grants_in_transit(grants_in_transit&& other) noexcept : all_{std::exchange(other.all_, {})} {}
    grants_in_transit& operator=(grants_in_transit&&) = delete;
    ~grants_in_transit() { give_back(); }

    void add(std::shared_ptr<lease_state> one) { all_.push_back(std::move(one)); }
    void give_back() noexcept {
        for (; !all_.empty(); all_.pop_back()) engine::let_go_unused(std::move(all_.back()));
    }
    bool empty() const noexcept { return all_.empty(); }
    // On the loop.
    void leave_renewal_to_caller() {
        for (const auto& one : all_) one->beat.leave_renewal_to_caller();
    }
    bool valid(instant now) const {
        for (const auto& one : all_)
            if (!one->valid(now)) return false;
        return true;
    }
    std::vector<std::shared_ptr<lease_state>> take() && { return std::exchange(all_, {}); }

private:
    std::vector<std::shared_ptr<lease_state>> all_;
};

}  // namespace pawl::runtime
