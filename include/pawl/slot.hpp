// One place of a semaphore: at most `count` holders over all processes, each with its own number.
#pragma once

#include <pawl/lease.hpp>

#include <cstdint>
#include <memory>

namespace pawl {

namespace runtime {
class lease_state;
}

// The most slots that one semaphore can have.
constexpr std::uint32_t slots_max = 256;

// A lease on one of the keys NAME/0 to NAME/(count-1); locks::try_acquire_slot() and
// locks::acquire_slot() make it. It is used as any lease is. Its token rises for its own key: so
// the number of the slot goes with the token to a resource that several slots write to, or each
// slot writes to a place of its own.
class [[nodiscard]] slot : public lease {
public:
    // For pawl itself.
    slot(std::shared_ptr<runtime::lease_state> held, std::uint32_t index, std::uint32_t count);

    // Which one it is: 0 to count() - 1. No other holder has the same one while the lease is valid.
    [[nodiscard]] std::uint32_t index() const noexcept { return index_; }

    // How many there are, as it was asked for.
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

private:
    std::uint32_t index_;
    std::uint32_t count_;
};

}  // namespace pawl
