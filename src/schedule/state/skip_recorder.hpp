// Records which occurrences of a key were let go of, and why.
//
// A driver, beside the work on the queue: no occurrence waits until others have been recorded.
#pragma once

#include "net/timer.hpp"
#include "schedule/job/job_table.hpp"
#include "schedule/queue/key_state.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_state.hpp"

#include <boost/asio/awaitable.hpp>

#include <deque>
#include <map>
#include <memory>

namespace pawl::schedule {

// A row that is older than its occurrence was written by a clock that was fast: what it says came
// due had not.
bool is_premature(const run_record& row, occurrence which) noexcept;

// On the loop only.
class skip_recorder {
public:
    skip_recorder(node_state& node, const control_cache& control)
        : node_{node}, control_{control} {}

    // What the queue has let go of since the last time, and what it lets go of meanwhile.
    void record(const std::shared_ptr<track>& which);
    // The node stops: what was to be written later is written at once.
    void wake_up();

private:
    // Until its row is written.
    struct unwritten_skip {
        skipped_occurrence what;
        instant write_from{};  // others are to have had their turn
        bool told = false;     // to the observer
    };
    using skips = std::deque<unwritten_skip>;
    boost::asio::awaitable<void> keep_recording(std::shared_ptr<track> which);
    void take_skipped(track& which, skips& left);
    bool may_write(const unwritten_skip& one) const;
    boost::asio::awaitable<bool> write(std::shared_ptr<track> which, skips& left);
    boost::asio::awaitable<void> await_turn(std::shared_ptr<track> which, const skips& left);
    void tell(const track& which, unwritten_skip& one);
    void tell_all(const track& which, skips& left);

    node_state& node_;
    const control_cache& control_;
    std::map<const track*, net::timer> waiting_;  // for the turn of others to be over
};

}  // namespace pawl::schedule
