// What a command writes to its stdout and stderr, on its way to what records it.
//
// Both streams are one pipe, so that their lines stay in the order in which they were written;
// which stream a line came from is not known. The loop reads one chunk a turn: a command that
// writes without end takes turns with everybody else, is slowed down by the pipe and not by a
// buffer that grows, and waits for nothing but the sink.
#pragma once

#include "exec/descriptor.hpp"
#include "schedule/job/body.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

namespace pawl::agent {

// Used on its executor only.
class output_collector {
public:
    output_collector(const boost::asio::any_io_executor& executor, schedule::output_sink sink);
    // What is still in the pipe is lost.
    ~output_collector();
    output_collector(const output_collector&) = delete;
    output_collector& operator=(const output_collector&) = delete;

    // Begins to read, and returns the end to write to. Closed when the system is out of
    // descriptors; errno says so. Called once.
    exec::descriptor open();

    // For when all writers are dead: passes on what they have left in the pipe, and closes it. Does
    // not wait for its end, which never comes while a process that is no descendant of the command
    // has got hold of it.
    boost::asio::awaitable<void> finish();

private:
    struct state;
    // Shared with the coroutine that reads, which may die as late as the loop.
    std::shared_ptr<state> state_;
};

}  // namespace pawl::agent
