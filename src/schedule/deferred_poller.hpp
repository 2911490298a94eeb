// Polls, for all keys at once, whether others have run what this node has left to them, and claims
// what has not run.
//
// A driver: what a look means is deferral's to say.
#pragma once

#include "net/timer.hpp"
#include "schedule/acquirer.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/state/node_state.hpp"

#include <pawl/results.hpp>

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace pawl::schedule {

// On the loop only.
class deferred_poller {
public:
    deferred_poller(node_state& node, acquirer& keys);

    // Something was left to others in the queue of this key.
    void watch(const std::shared_ptr<track>& which);

    // For as long as the node lives.
    boost::asio::awaitable<void> keep_looking();
    void wake_up() { timer_.cancel(); }
    // When nodes look is spread over the interval between two looks.
    millis phase() const noexcept { return phase_; }

private:
    using tracks = std::vector<std::shared_ptr<track>>;

    std::optional<instant> next_look();
    tracks due_until(instant when) const;
    boost::asio::awaitable<void> look_at(tracks which);
    void heed(const std::shared_ptr<track>& which, const std::optional<record>& seen);
    void act_on(const std::shared_ptr<track>& which, const std::vector<deferral::finding>& found);
    void ask(const std::shared_ptr<track>& which, occurrence what);
    boost::asio::awaitable<void> consult(std::shared_ptr<track> which, deferral::finding about);

    node_state& node_;
    acquirer& acquirer_;
    net::timer timer_;
    const millis phase_;
    tracks watched_;
};

}  // namespace pawl::schedule
