// One attempt at a claim on all nodes: carries what the majority_claim says to them, and back.
//
// Lives until the last node has answered, whether a caller still waits or not: late promises are
// confirmed, or given back.
#pragma once

#include "engines/redlock/store/majority_claim.hpp"
#include "engines/redlock/store/quorum.hpp"
#include "net/event.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace pawl::redlock {

class acquisition : public std::enable_shared_from_this<acquisition> {
public:
    // `attempt` is unique among all attempts at this claim; it and the id are words without spaces.
    acquisition(std::shared_ptr<quorum> among, claim wanted, std::string id, std::string attempt,
                instant deadline);

    // Asks all nodes. REQUIRES: once, and before wait().
    void start();
    // True when there is an outcome; false when cancelled: then the attempt is abandoned.
    boost::asio::awaitable<bool> wait() { return decided_.wait(); }
    // The outcome, or why there is none.
    majority_claim::outcome outcome() const;

    // No caller wants the outcome: what was promised is given back.
    void abandon();

private:
    void ask(std::size_t node);
    void hear(std::size_t node, const node_answer& got);
    vote read(std::size_t node, const redis::reply& got) const;
    void follow(const std::vector<order>& orders);
    void confirm(const order& what);
    void withdraw(const order& what);

    // Constant after construction
    const std::shared_ptr<quorum> among_;
    const claim wanted_;
    const std::string id_;
    const std::string attempt_;
    const instant deadline_;

    // On the loop only
    majority_claim claim_;
    net::event decided_;
};

}  // namespace pawl::redlock
