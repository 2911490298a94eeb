// Claims one of the slots of a semaphore, each of which is a key of its own.
//
// Who does not wait looks at the slots one after another, from a random one on, so that processes
// that come together do not meet at the same. Who waits stands in one line with all of this process
// that wait for the same name; the first in it asks for all slots at once, as any waiter asks for
// one key, and takes the first that is granted. What else is granted meanwhile is given back.
#pragma once

#include "runtime/engine.hpp"
#include "runtime/local_queue.hpp"

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

    std::string key_of(std::uint32_t index) const { return name + "/" + std::to_string(index); }
};

struct slot_grant {
    std::uint32_t index;
    std::shared_ptr<lease_state> held;
};
using slot_claimed = acquire_result<slot_grant, cancelled>;

// On the loop only.
class slot_claimer : public std::enable_shared_from_this<slot_claimer> {
public:
    explicit slot_claimer(std::shared_ptr<engine> where);

    // REQUIRES: validate() had nothing to say about the options, and the count is 1 or more.
    static async<slot_claimed> claim(std::shared_ptr<slot_claimer> self, slot_request wanted,
                                     std::stop_token stop);
    // How many of this process stand behind the one that asks.
    std::size_t waiting(const std::string& name) const { return lines_->waiting(name); }

private:
    // Looks at the first in any case.
    static async<slot_claimed> try_each(std::shared_ptr<slot_claimer> self, slot_request wanted,
                                        instant until, std::stop_token stop);
    static async<slot_claimed> wait_for_any(std::shared_ptr<slot_claimer> self, slot_request wanted,
                                            instant until, std::stop_token stop);

    // Constant after construction
    const std::shared_ptr<engine> where_;
    const std::shared_ptr<local_queue> lines_ = std::make_shared<local_queue>();
    // State
    std::minstd_rand random_;
};

}  // namespace pawl::runtime
