// Claims one of the slots of a semaphore, each of which is a key of its own, and renews it.
#pragma once

#include "runtime/engine.hpp"
#include "runtime/local_queue.hpp"
#include "runtime/slot_search.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stop_token>
#include <string>

namespace pawl::runtime {

// What is asked for: one of the keys NAME/0 to NAME/(count-1).
struct slot_request {
    std::string name;
    std::uint32_t count;
    lease_options options;
    millis wait;  // 0: do not wait

    std::string key_of(std::uint32_t index) const { return key_of_slot(name, index); }
};

using slot_grant = slot_won<std::shared_ptr<lease_state>>;
using slot_claimed = slot_answer<std::shared_ptr<lease_state>>;

// On the loop only.
class slot_claimer : public std::enable_shared_from_this<slot_claimer> {
public:
    explicit slot_claimer(std::shared_ptr<engine> where);

    // REQUIRES: check_slots() had nothing to say about it.
    static async<slot_claimed> claim(std::shared_ptr<slot_claimer> self, slot_request wanted,
                                     std::stop_token stop);
    // The slot that a caller looks at first.
    std::uint32_t any_of(std::uint32_t count);
    // How many of this process stand behind the one that asks.
    std::size_t waiting(const std::string& name) const { return lines_->waiting(name); }

private:
    // Constant after construction
    const std::shared_ptr<engine> where_;
    const std::shared_ptr<local_queue> lines_ = std::make_shared<local_queue>();
    // State
    std::minstd_rand random_;
};

}  // namespace pawl::runtime
