// The nodes of a store together: who is asked, and how many must agree.
#pragma once

#include "engines/redlock/store/node.hpp"
#include "engines/redlock/store/redlock_settings.hpp"
#include "engines/redlock/store/round.hpp"

#include <pawl/clock.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::redlock {

// Used on its loop only, but for close_from_anywhere.
class quorum {
public:
    quorum(net::loop& where, redlock_settings settings);

    const store_settings& settings() const noexcept { return settings_.common; }
    std::size_t size() const noexcept { return nodes_.size(); }
    std::size_t majority() const noexcept { return majority_of(nodes_.size()); }
    const std::shared_ptr<node>& at(std::size_t which) const { return nodes_[which]; }
    const net::loop::executor_type& executor() const noexcept { return executor_; }
    // When a verb that begins now must have ended.
    instant deadline() const { return lease_clock::now() + settings_.common.timeout; }

    // Nodes that are down are left out while the others are a majority: then why they are down.
    std::vector<std::optional<failure>> left_out() const;

    using question = std::function<void(node& whom, std::size_t which, answer_taker taker)>;
    // Asks all but those left out, for whom the round has a failure at once.
    std::shared_ptr<round> ask(const question& what) const;

    failure minority(const round& votes, errc code) const;
    // What an answer that no node should give means.
    failure unexpected(std::size_t which, std::string_view what) const {
        return {errc::protocol, nodes_[which]->place() +
                                    " does not speak RESP: an unexpected answer to " +
                                    std::string{what}};
    }

    // Names in every node.
    const std::string lock_prefix, fence_prefix, channel_prefix, index, marker;

    // Thread-safe. No caller waits for an answer any more.
    void close_from_anywhere();

private:
    const redlock_settings settings_;
    const net::loop::executor_type executor_;
    std::vector<std::shared_ptr<node>> nodes_;
};

}  // namespace pawl::redlock
