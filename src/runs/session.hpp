// One run from its beginning to its end, as it is recorded: for the command, the library and
// the agent.
//
// A journal keeps no lock. Where there is none, or where it does not answer, the run takes place
// all the same, and what was to be written is written when the journal is back (recorder.hpp).
#pragma once

#include "net/loop.hpp"
#include "net/timer.hpp"
#include "runs/recorder.hpp"
#include "runs/run_result.hpp"

#include <pawl/spi/journal.hpp>

#include <boost/asio/awaitable.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::runtime {
class engine;
}

namespace pawl::runs {

// How long the beginning and the end of a run wait for the journal.
constexpr millis journal_timeout{2'000};
// Runs of each job that are kept where none is configured.
constexpr std::size_t runs_kept = 1'000;

// On the loop only, unless it says otherwise. Kept alive by what it still has to write. What
// lets go of it last may be on any thread, such as a body's: it ends on the loop.
class run_session : public std::enable_shared_from_this<run_session> {
public:
    using self_ptr = std::shared_ptr<run_session>;

    struct listener {
        // The journal failed, or works again (nothing).
        std::function<void(const failure*)> on_renewal_failures{};
        // Cancelled by a user, or lost: it turned out to be another node's. Told again with
        // every heartbeat.
        std::function<void(stop_cause)> on_told{};
    };
    struct settings {
        std::shared_ptr<journal> where{};  // null: nothing is written, and everything succeeds
        listener who{};
        std::uint64_t output_limit = 0;
        std::shared_ptr<output_room> room = std::make_shared<output_room>();
        // Whether this process holds a key under a token: lease_look(). Nothing: it does not, and a
        // row that the journal has lost is not written anew.
        std::function<bool(const std::string& key, fence_token under)> holds{};
        // Where not, a node that has many runs asks the journal for all of them (heed()).
        bool says_that_it_lives = true;
    };
    static self_ptr make(net::loop& loop, settings how);

    // Nothing where the journal did not answer within `timeout`: the run may begin, and its
    // beginning is recorded when the journal is back. REQUIRES: called once, before the others.
    static boost::asio::awaitable<std::optional<begin_result>> begin(
        self_ptr self, run_start start, millis timeout = journal_timeout);
    void output(std::string_view bytes) { recorder_->output(bytes); }
    void add_event(std::string kind, std::string text);
    void next_attempt(run_end last);
    // Saves progress: false where this run is another node's by now, or over.
    static async<bool> checkpoint(self_ptr self, std::string text);
    // True when it was recorded within `timeout`, or will never have to be; it is tried
    // further in any case. REQUIRES: called once, unless forget() or take_back() is.
    static boost::asio::awaitable<bool> end(self_ptr self, run_end how,
                                            millis timeout = journal_timeout);
    // Nothing more is written, and no caller waits any longer.
    void forget();
    // The run does not take place, and what the journal may have been told of it ends so.
    static boost::asio::awaitable<void> take_back(self_ptr self, run_end how);

    // What the journal answered to a heartbeat of this run.
    void heed(heartbeat_result answer);

    bool has_begun() const noexcept { return recorder_->has_begun(); }
    // Known late, at its end perhaps: another node has begun it since, or judged it.
    bool is_stale() const noexcept { return recorder_->is_stale(); }
    // Thread-safe.
    bool was_cancelled() const noexcept { return cancelled_; }
    const run_ref& mark() const noexcept { return recorder_->mark(); }

private:
    run_session(net::loop& loop, settings how);

    static boost::asio::awaitable<void> live(self_ptr self);
    void tell(stop_cause why);

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<journal> journal_;
    const listener listener_;
    const bool says_that_it_lives_;
    std::shared_ptr<run_recorder> recorder_;
    // State
    net::timer timer_;
    bool over_ = false;
    std::atomic<bool> cancelled_{false};
};

// For run_session::settings::holds.
std::function<bool(const std::string& key, fence_token under)> lease_look(
    const std::shared_ptr<runtime::engine>& engine);

// Whether a run that the journal does not let begin has marked its occurrence in vain: it was begun
// at least once, was interrupted, and is to be resumed as that, though its job is at-most-once by
// now. The claim is given back then.
boost::asio::awaitable<bool> is_left_to_resume(std::shared_ptr<journal> where, run_start start,
                                               begin_result told);

// Whether this run is the one in sixteen after which its process prunes, so that not each pays for
// it.
bool is_one_to_prune_after(std::string_view id) noexcept;
// Lets a bite of the old runs of a job go; what is left, or fails, is the next one's.
async<std::size_t> prune(std::shared_ptr<journal> where, std::string job, std::size_t kept);
// The same for runs that belong to no job of an agent's, which would say how many are to be kept.
boost::asio::awaitable<void> prune_own(std::shared_ptr<journal> where, std::string job);

}  // namespace pawl::runs
