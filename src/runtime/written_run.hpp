// A run that a program makes by itself, locks::run, as it is written down: that it began, that it
// lives, how far it has come, how it ended.
#pragma once

#include "net/loop.hpp"
#include "net/timer.hpp"
#include "runtime/core.hpp"
#include "runtime/run_recorder.hpp"

#include <pawl/job.hpp>
#include <pawl/lease.hpp>
#include <pawl/spi/journal.hpp>

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl::runtime {

// How long a run waits for its journal before it begins without it, and ends without it.
constexpr millis library_journal_patience{2'000};
constexpr std::size_t library_runs_kept = 1'000;  // of each job

// Of the run of this job under this lease; what is written carries its token.
run_start start_of(const job& what, const lease& held, const std::string& owner);
// What the body is told of itself.
run order_of(const run_start& start, const beginning& begun, std::stop_token stop);

class written_run : public std::enable_shared_from_this<written_run> {
public:
    using self_ptr = std::shared_ptr<written_run>;

    written_run(core& home, run_start start);

    // The coroutines are awaited on the loop. Without a journal, or with one that does not answer,
    // the run begins all the same.
    static boost::asio::awaitable<beginning> begin(self_ptr self);
    static boost::asio::awaitable<bool> end(self_ptr self, run_end how);

    // Somebody else has begun it since: known when it has been ended.
    bool is_stale() const { return recorder_ && recorder_->is_stale(); }

    // For run::save, from the body's thread; empty where there is no journal.
    std::function<bool(std::string_view)> saver();

    // Requested when somebody cancels the run, or when it turns out to be somebody else's.
    std::stop_token told() const { return told_.get_token(); }
    bool was_cancelled() const { return cancelled_; }

private:
    static boost::asio::awaitable<void> beat(self_ptr self);
    static boost::asio::awaitable<void> prune(self_ptr self);
    boost::asio::awaitable<void> open();

    // Constant after construction
    core& home_;
    net::loop& loop_;
    const run_start start_;
    std::stop_source told_;
    // State, on the loop
    std::shared_ptr<journal> journal_;
    std::shared_ptr<run_recorder> recorder_;
    net::timer timer_;
    bool ended_ = false;
    std::atomic<bool> cancelled_{false};
};

}  // namespace pawl::runtime
