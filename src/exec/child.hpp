// A command that runs under a guard, as pawl sees it.
//
// The guard is what kills; this only tells it until when the command may live. Should the guard not
// keep its word (killed, or frozen), this strikes at the command's group itself.
#pragma once

#include "exec/command.hpp"
#include "exec/launcher.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>

namespace pawl::exec {

// Used on its executor only, which one thread drives at a time.
class child {
public:
    // The launcher must outlive this. Throws boost::system::system_error when the system is out of
    // descriptors.
    child(boost::asio::any_io_executor executor, const launcher& from);
    // A command that still runs is ended as if this process had died; no caller waits for that.
    ~child();
    child(child&&) = default;
    child& operator=(child&&) = delete;

    // Has a guard forked that waits for the command, for a caller who will have one in a moment.
    // What fails here is told by spawn. REQUIRES: before spawn.
    void prepare();

    // Nothing: the command runs. REQUIRES: called once.
    boost::asio::awaitable<std::optional<spawn_fault>> spawn(command wanted, limits until);

    // Ends when the command and all that it left behind are dead. What it left behind is told to
    // end when the command has ended, and killed after the grace. A command that is stopped while
    // it has the terminal (^Z) stops this process too. REQUIRES: after spawn; called once.
    boost::asio::awaitable<exit_status> wait();

    // Moves both instants, to any value; cheap, for every renewal. An instant that has passed
    // already stays passed. REQUIRES: spawn has begun, or this does nothing.
    void extend(instant stop_at, instant kill_at);
    // Passes a signal to the command's process group.
    void signal(int number);
    // SIGTERM now and SIGKILL after the grace, or at kill_at if that is earlier. Before spawn, this
    // and signal() take effect as soon as the command runs.
    void stop(millis grace);
    // A start that is not answered within this time is cut short, and what its guard has begun is
    // dead when spawn ends. REQUIRES: spawn has begun and has not ended, or this does nothing.
    void answer_within(millis wait);

    pid_t pid() const noexcept;        // of the command, which is its process group too; 0: none
    pid_t guard_pid() const noexcept;  // 0: none

private:
    struct state;
    // Shared with the coroutines that wait for the guard, which may die as late as the loop.
    std::shared_ptr<state> state_;
};

}  // namespace pawl::exec
