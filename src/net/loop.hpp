// The thread of control that everything of one store runs on, and the way in for callers that
// block.
//
// One thread at a time drives the io_context, so the loop is its own strand: state that is touched
// only from handlers needs no lock. Usually that thread is the loop's own. A caller that blocks
// would pay two thread switches for each request if it waited for that thread; so while it waits,
// it drives the loop itself, and runs the blocking work that it asked for (SQLite's) itself as
// well.
//
// Or the loop is a guest in an io_context of the application's, which the application runs: then
// there is no thread of the loop's own, and no other thread drives it.
#pragma once

#include "base/identity.hpp"
#include "net/attachment.hpp"
#include "net/blocking_pool.hpp"
#include "net/fork_check.hpp"
#include "net/guest.hpp"
#include "net/timer.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

namespace pawl::net {

// Whose clock a loop goes by.
struct turned_by {
    simulated_node* clock;
};

// Thread-safe. Its destructor drops whatever still runs on it, and must not race with a caller that
// waits. Coroutines keep what they use alive by shared_ptr, because they may die as late as that.
class loop {
public:
    loop();
    // Of a simulated node: no thread drives it. The simulation calls turn() and, when the time
    // has come, clocks().fire(). No caller may block in it.
    explicit loop(simulated_node& node);
    // Driven by threads as any other, while `clock` says what time it is: the owner of that calls
    // clocks().fire() on the loop. Null: the system's clocks.
    explicit loop(const turned_by& who);
    // A guest of `host`, which outlives it or ends it. It is ended by leave().
    static std::shared_ptr<loop> guest_of(boost::asio::io_context& host);
    ~loop();
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    using executor_type = loop_executor;
    // Of the context that its sockets are in.
    using io_executor_type = boost::asio::io_context::executor_type;
    // Thread-safe.
    executor_type get_executor() const;
    // Of its timers, attachments and coroutines.
    boost::asio::execution_context& context() noexcept {
        return guest_ ? static_cast<boost::asio::execution_context&>(*guest_) : context_;
    }

    // Whether it is run by a thread that runs `other`, which cannot wait for it.
    bool runs_in(const boost::asio::execution_context& other) const noexcept {
        return &other == &context_ || &other == guest_.get();
    }
    // A guest has a host, which runs it and goes on without it.
    bool is_guest() const noexcept { return guest_ != nullptr; }
    // The end of a guest: what waits on it ends, as if its context were destroyed; what it still
    // has in the host's reactor ends with that one's next turns, and the loop after that. Callers
    // that block get errc::closed. On the host's thread, or when the host's context ends.
    static void leave(std::shared_ptr<loop> self);
    // The end of what a guest does, without the end of the guest, in two steps, so that several
    // guests of one host can take each of them together: what waits in it is let go of by the
    // second.
    void begin_ending() noexcept;
    void finish_ending() noexcept;
    // While one exists, this thread runs something for which the end of a guest waits: a call of it
    // that blocks is let go of before.
    class body_scope {
    public:
        body_scope() noexcept;
        ~body_scope();
        body_scope(const body_scope&) = delete;
        body_scope& operator=(const body_scope&) = delete;
    };
    bool has_ended() const noexcept {
        return guest_ && (!life_ || life_->ended.load(std::memory_order_acquire));
    }

    // Runs `use`, which must not wait for the loop, unless the loop has ended, and keeps the host
    // of a guest from ending it meanwhile. Not on the loop. Thread-safe.
    template <class Use>
    bool unless_ended(Use use) {
        const std::lock_guard lock{mutex_};
        if (has_ended()) return false;
        use();
        return true;
    }
    // Of a guest that has ended: while it is kept, its host ends nothing of it. Not taken on the
    // thread that ends it. Thread-safe.
    std::unique_lock<std::mutex> hold_end();

    // Above the engines, no code reads another clock. On the loop only.
    instant now() const { return clocks_.now(); }
    time::wall_instant wall() const { return clocks_.wall(); }
    timers& clocks() noexcept { return clocks_; }
    // Where ids come from; one for each object that needs some.
    base::id_source ids() { return clocks_.ids(); }

    // Runs what is ready in a simulated node; how much that was.
    std::size_t turn();

    // In the child of a fork(): there is no thread to drive it, and its sockets are the parent's.
    bool is_forked_child() const noexcept { return process_.is_forked_child(); }
    // True on the thread that drives the loop at this moment.
    bool is_driving() const noexcept;
    // True when that thread is a blocked caller's, who runs what run_blocking() is given himself.
    bool is_visited() const noexcept;

    // How long a caller that blocks waits until the host of a guest runs for the first time. Set
    // before anything runs, by tests.
    std::chrono::milliseconds host_timeout{10'000};

    // Runs `work` on the loop and returns what it returns, or throws what it throws. Blocks. Throws
    // std::logic_error when called from a handler or a coroutine of this loop, where it could never
    // end, in the child of a fork(), and where the host of a guest does not run: nothing has begun
    // then.
    template <class T>
    T wait_for(boost::asio::awaitable<T> work) {
        std::optional<T> value;
        loop_driver me;
        enter(me);
        auto begin = [this, &me, &value, work = std::move(work)]() mutable {
            boost::asio::co_spawn(
                get_executor(), store_into(std::move(work), value),
                [this, &me](const std::exception_ptr& raised) { finish(me, raised); });
        };
        if (me.begun)
            boost::asio::post(get_executor(),
                              [begun = me.begun, begin = std::move(begin)]() mutable {
                                  if (!begun->exchange(true)) begin();
                              });
        else
            begin();
        drive_until_done(me);
        if (me.error) std::rethrow_exception(me.error);
        return std::move(*value);
    }

    void wait_for(boost::asio::awaitable<void> work) {
        auto done = [](boost::asio::awaitable<void> todo) -> boost::asio::awaitable<bool> {
            co_await std::move(todo);
            co_return true;
        };
        wait_for(done(std::move(work)));
    }

    // Runs a job that blocks away from the loop: on the blocked caller's thread if it was a blocked
    // caller that led here, else on the pool. Await it on the loop. The job must not throw.
    template <class Job>
    boost::asio::awaitable<std::invoke_result_t<Job&>> run_blocking(Job job) {
        using value_type = std::invoke_result_t<Job&>;
        struct shared_state {
            explicit shared_state(Job&& todo) : job{std::move(todo)} {}
            Job job;
            std::optional<value_type> value;
        };
        auto state = std::make_shared<shared_state>(std::move(job));
        auto start = [this, state](auto handler) {
            // A handler is move-only, and std::function wants copies.
            auto resume = std::make_shared<decltype(handler)>(std::move(handler));
            submit([this, state, resume] {
                state->value.emplace(state->job());
                boost::asio::post(get_executor(), [resume] { std::move (*resume)(); });
            });
        };
        co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
            start, boost::asio::use_awaitable);
        co_return std::move(*state->value);
    }

    // Runs a job that blocks on the pool, whatever thread drives the loop, and waits for nothing.
    // Once the loop has ended the job is destroyed, and not run. Thread-safe.
    void hand_to_pool(blocking_job job) { pool_.submit(std::move(job)); }

    // While one exists, a thread waits for the loop without driving it, so the loop's own thread
    // takes over at once when a blocked caller leaves. Work that can wait a millisecond needs none.
    class attention {
    public:
        explicit attention(loop& where) : where_{where} { ++where_.attended_; }
        ~attention() { --where_.attended_; }
        attention(const attention&) = delete;
        attention& operator=(const attention&) = delete;

    private:
        loop& where_;
    };

private:
    // A caller that blocks in wait_for, and drives the loop when no other thread does.
    struct loop_driver {
        bool done = false;  // under mutex_
        bool in_body = false;
        std::exception_ptr error;
        // Of a guest: that its host has begun the work, or that the caller has given it up before.
        std::shared_ptr<std::atomic<bool>> begun;
        // Touched by the driver's own thread only. No deque, which would allocate for each call.
        std::vector<blocking_job> operations;
        std::condition_variable changed;
    };

    template <class T>
    static boost::asio::awaitable<void> store_into(boost::asio::awaitable<T> work,
                                                   std::optional<T>& value) {
        value.emplace(co_await std::move(work));
    }

    explicit loop(boost::asio::io_context& host);
    void release_drivers(bool of_bodies);
    void submit(blocking_job job);
    void enter(loop_driver& me);
    void finish(loop_driver& who, std::exception_ptr error);
    void wait_for_host(loop_driver& me, std::unique_lock<std::mutex>& lock);
    void drive_until_done(loop_driver& me);
    void run_operations(loop_driver& me, std::unique_lock<std::mutex>& lock);
    void step_aside();
    void drive_for_ever();
    bool may_take_over(std::unique_lock<std::mutex>& lock);
    // No thread drives, and no blocked caller is there to do so. REQUIRES: mutex_ is held.
    bool is_deserted() const { return !driven_ && drivers_.size() == away_; }

    const fork_check process_;
    // First: coroutines that die with the context still count down.
    std::atomic<int> attended_{0};
    // Before the context: what ends with that may hand over jobs, which are destroyed then. Its
    // threads start with the first job.
    blocking_pool pool_{2};
    std::optional<boost::asio::io_context> own_context_;
    boost::asio::io_context& context_;
    // Null where it is no guest.
    std::unique_ptr<guest_context> guest_;
    std::shared_ptr<guest_life> life_;
    timers& clocks_;
    // So that the thread that runs the context does not run out of work.
    std::optional<boost::asio::executor_work_guard<io_executor_type>> keep_open_;
    std::mutex end_mutex_;  // taken before mutex_, by who ends a guest
    std::mutex mutex_;
    std::condition_variable own_turn_;
    // Under mutex_
    std::vector<loop_driver*> drivers_;
    std::size_t away_ = 0;  // how many of them are on an operation
    bool driven_ = false;
    bool stopping_ = false;
    bool own_sleeps_deeply_ = false;
    std::uint64_t turns_ = 0;  // rises whenever a loop driver comes or goes
    // Last, so that it starts when the rest is there.
    std::thread own_;
};

}  // namespace pawl::net
