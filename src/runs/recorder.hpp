// Records one run while it goes on, in order, however slow or absent the journal is.
//
// A journal keeps no lock, so a run does not stop because its journal does: what cannot be written
// now is kept, within bounds, and written later. The same holds for a row that the journal has
// lost, as where it was restored from a backup: the run is told to it anew. Output is gathered, so
// that a command that writes a gigabyte costs a few writes a second.
#pragma once

#include "net/timer.hpp"
#include "runs/unwritten_output.hpp"
#include "runtime/core.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/journal.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::runs {

constexpr millis output_gathered_for{250};
using runtime::recording_timeout;
constexpr millis record_retry_first{100};
constexpr millis record_retry_longest{5'000};
// How often runners say that they are alive, and how long without one they count as alive.
constexpr millis run_heartbeat_interval{2'000};
constexpr millis run_heartbeat_timeout{8'000};

class run_recorder;

// How much output the runs of one node may keep together while it is not recorded. On the loop
// only.
struct output_room {
    std::size_t most = 64 << 20;
    std::size_t kept = 0;
    std::vector<run_recorder*> users{};
};

// On the loop only. Kept alive by what it still has to write.
class run_recorder : public std::enable_shared_from_this<run_recorder> {
public:
    struct listener {
        // The journal failed, or works again (nothing).
        std::function<void(const failure*)> on_renewal_failures{};
        // Known late: this run is another node's, or over. What it writes is rejected.
        std::function<void()> on_stale{};
        // Whether this process holds the key under the token. Then a row that is gone was lost by
        // the journal; else others may have ended the run, and pruned it. Nothing: it does not.
        std::function<bool(const std::string& key, fence_token under)> holds{};
    };
    // Without a journal nothing is written, and everything succeeds. Of output that there is no
    // room for, the run that keeps most loses its oldest.
    run_recorder(boost::asio::any_io_executor executor, std::shared_ptr<journal> where,
                 std::uint64_t output_limit, listener who,
                 std::shared_ptr<output_room> room = std::make_shared<output_room>());
    ~run_recorder();
    run_recorder(const run_recorder&) = delete;
    run_recorder& operator=(const run_recorder&) = delete;

    using self_ptr = std::shared_ptr<run_recorder>;

    // Nothing when the journal did not answer within `timeout`: the run may begin, and its
    // beginning is recorded when the journal is back.
    static boost::asio::awaitable<std::optional<begin_result>> begin(self_ptr self, run_start start,
                                                                     millis timeout);
    void output(std::string_view bytes);
    void add_event(std::string kind, std::string text);
    void next_attempt(run_end last);
    // True when it was recorded within `timeout`; it is tried further in any case.
    // REQUIRES: called once, unless forget() or take_back() is.
    static boost::asio::awaitable<bool> finish(self_ptr self, run_end how, millis timeout);
    // The same for a run whose work never began, ended as `skipped`. True also when no row of it is
    // there or will ever be: then its occurrence may be given back.
    static boost::asio::awaitable<bool> finish_unstarted(self_ptr self, run_end how,
                                                         millis timeout);
    // Answers as journal::checkpoint does, behind the beginning. False: the row is not this run's.
    // `rejected`: it is, and a newer run of the job has saved one.
    static async<bool> checkpoint(self_ptr self, std::string text);
    // A heartbeat was answered as if this run were another node's. It is, or the journal has lost
    // its row: how its beginning is answered, once more, says which.
    void on_stale_beat();
    // One was answered as this run's.
    void on_beat() noexcept { asked_again_ = false; }
    // Gives the journal up: nothing more is written, and no caller waits any longer.
    void forget();
    // The run does not take place: nothing more is written, and what the journal may have been told
    // of its beginning ends so. Returns when that is known, or recording_timeout is over.
    static boost::asio::awaitable<void> take_back(self_ptr self, run_end how);

    // The row's, which may be an older one than was offered.
    const run_ref& mark() const noexcept { return mark_; }
    bool is_stale() const noexcept { return stale_; }
    bool has_begun() const noexcept { return begun_; }

private:
    enum class what { saved_checkpoint, note, next_attempt, finish };
    struct writing {
        what kind = what::note;
        std::string word;
        std::string text;
        run_end how;
    };

    enum class sending { beginning, saved_checkpoint, output, front_of_queue };

    void enqueue(writing one);
    // As if it had been written.
    void let_go_of_output(std::size_t bytes);
    void make_room();
    void start_pump();
    static boost::asio::awaitable<void> pump(self_ptr self);
    static async<bool> write_next(self_ptr self);
    static async<bool> write_begin(self_ptr self);
    static async<bool> write_output(self_ptr self);
    static async<bool> write_front(self_ptr self);
    bool is_beginning() const noexcept;
    bool restores_checkpoint() const noexcept;
    bool has_work() const noexcept;
    boost::asio::awaitable<void> wait_for_news(instant end);
    boost::asio::awaitable<void> wait_until_idle(millis timeout);
    void tell_waiters();
    // True when the pump should go on.
    bool survive(const failure& why);
    void let_go_of_rejected(const failure& why);
    // False where the row is not this run's to write any more.
    bool begin_again();
    void become_stale();

    // Constant after construction
    boost::asio::any_io_executor executor_;
    std::shared_ptr<journal> journal_;
    std::uint64_t output_limit_;
    listener listener_;
    std::shared_ptr<output_room> room_;
    // State
    std::optional<run_start> start_;  // to be told
    std::optional<run_start> told_;   // what the journal has taken
    std::optional<begin_result> beginning_;
    run_ref mark_;
    std::string saved_;  // the last checkpoint, for a row that is told anew
    bool begun_ = false;
    bool may_have_begun_ = false;  // what was sent of its beginning may take effect
    bool asked_again_ = false;     // since anything else was written
    bool stale_ = false;
    bool closed_ = false;  // stale, rejected or forgotten: nothing more is written
    bool pumping_ = false;
    bool finished_ = false;  // its end has been written
    // What is on its way, or was last: more may have come to be written since it left.
    sending sent_ = sending::beginning;
    std::optional<instant> ending_since_;
    std::deque<writing> queue_;
    unwritten_output gathered_;
    std::uint64_t written_ = 0;  // bytes of output in front of what is gathered
    std::optional<instant> failing_since_;
    int failures_ = 0;
    net::timer pause_;
    std::vector<net::timer*> waiters_;  // cancelled when something was written
};

}  // namespace pawl::runs
