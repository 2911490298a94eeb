// Records which occurrences of a key were let go of, and why.
//
// A driver, beside the work on the queue: no occurrence waits until others have been recorded.
#pragma once

#include "schedule/job/job_table.hpp"
#include "schedule/queue/key_state.hpp"
#include "schedule/state/control_cache.hpp"
#include "schedule/state/node_state.hpp"

#include <boost/asio/awaitable.hpp>

#include <deque>
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

private:
    // Until its row is written.
    struct unwritten_skip {
        skipped_occurrence what;
        bool told = false;  // to the observer
    };
    boost::asio::awaitable<void> keep_recording(std::shared_ptr<track> which);
    boost::asio::awaitable<void> write(std::shared_ptr<track> which,
                                       std::deque<unwritten_skip>& left);
    void tell(const track& which, std::deque<unwritten_skip>& skipped);

    node_state& node_;
    const control_cache& control_;
};

}  // namespace pawl::schedule
