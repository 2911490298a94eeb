// Work on one loop that a coroutine of any executor awaits.
//
// Boost's co_spawn hands the caller's cancellation to the other thread as a bare pointer, and posts
// to an executor whose context may be gone. Here the two sides share an operation, and whichever
// goes first takes itself out of it:
//
// - A cancellation requests a stop of the work. Work that is left at_once goes on alone, and its
//   caller gets operation_aborted; of work that is left when_done the caller gets the end.
// - A caller whose coroutine is destroyed, by itself or with its context, requests the stop as
//   well, and waits for work that is left when_done: that may use what the caller owns.
// - A loop that goes away ends its operations with errc::closed.
#pragma once

#include "net/loop.hpp"
#include "net/parked_handler.hpp"

#include <pawl/errors.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <unordered_set>
#include <utility>

namespace pawl::net {

enum class leave { at_once, when_done };

// What a call gets whose `locks` object was destroyed meanwhile.
inline failure locks_closed() {
    return {errc::closed, "the locks object was destroyed during the call"};
}

// An operation that a caller awaits.
class awaited_operation {
public:
    // Its caller's context goes. First all are told to stop; then their handlers are destroyed, and
    // with them the callers' coroutines.
    virtual void request_stop() noexcept = 0;
    virtual void abandon() noexcept = 0;

    awaited_operation(const awaited_operation&) = delete;
    awaited_operation& operator=(const awaited_operation&) = delete;

protected:
    awaited_operation() = default;
    ~awaited_operation() = default;
};

// The operations that one execution context's coroutines await. Thread-safe; may be looked at after
// the context has gone.
class awaited_operations {
public:
    static std::shared_ptr<awaited_operations> of(boost::asio::execution_context& context);

    // Runs `begin` and takes `one` in, unless the context is going.
    template <class Begin>
    bool take_in(awaited_operation& one, Begin begin) {
        const std::lock_guard lock{mutex_};
        if (closed_) return false;
        begin();
        all_.insert(&one);
        return true;
    }
    // Takes `one` out and runs `deliver` while the context is sure to be there. Does neither if it
    // is not in here any more.
    template <class Deliver>
    void take_out(awaited_operation& one, Deliver deliver) {
        const std::lock_guard lock{mutex_};
        if (all_.erase(&one) != 0) deliver();
    }
    void close() noexcept;

private:
    std::mutex mutex_;
    bool closed_ = false;
    std::unordered_set<awaited_operation*> all_;
};

template <class T>
class remote_operation final : public awaited_operation,
                               public std::enable_shared_from_this<remote_operation<T>> {
public:
    remote_operation(boost::asio::execution_context& callers, std::stop_source stop, leave how)
        : stop_{std::move(stop)}, how_{how}, home_{awaited_operations::of(callers)} {}

    // On the caller's side, once.
    template <class Handler>
    void start(Handler handler, const boost::asio::any_io_executor& caller, loop& where,
               boost::asio::awaitable<T> work) {
        const auto self = this->shared_from_this();
        auto slot = boost::asio::get_associated_cancellation_slot(handler);
        parked waiting{std::move(handler), caller};
        if (!home_->take_in(*this, [&] { waiting_ = std::move(waiting); })) return;
        if (slot.is_connected())
            slot.assign([weak = std::weak_ptr{self}](boost::asio::cancellation_type) {
                if (const auto op = weak.lock()) op->cancel();
            });
        under_way_ = true;
        boost::asio::co_spawn(where.get_executor(), attended(where, std::move(work)),
                              arrival{self});
    }

    // On the caller's side.
    void cancel() {
        if (how_ == leave::when_done) {
            stop_.request_stop();
            return;
        }
        // Before the caller goes on, who may look at what is left of it; and in one step with that,
        // or the end of the work that is told to stop would come first now and then.
        home_->take_out(*this, [&] {
            stop_.request_stop();
            std::exchange(waiting_, parked{}).post(aborted(), std::nullopt);
        });
    }

    void request_stop() noexcept override { stop_.request_stop(); }

    void abandon() noexcept override {
        const auto self = this->shared_from_this();
        waiting_.reset();
    }

    // The caller's coroutine is over, or is destroyed.
    void left(bool may_wait) noexcept {
        if (!under_way_ || done_.load()) return;
        stop_.request_stop();
        if (how_ == leave::when_done && may_wait) done_.wait(false);
    }

private:
    using parked = parked_handler<std::exception_ptr, std::optional<T>>;

    static std::exception_ptr aborted() {
        return std::make_exception_ptr(
            boost::system::system_error{boost::asio::error::operation_aborted});
    }
    static std::exception_ptr closed() {
        return std::make_exception_ptr(store_error{locks_closed()});
    }

    // What co_spawn calls at the end of the work, or destroys with the loop.
    struct arrival {
        explicit arrival(std::shared_ptr<remote_operation> what) : op{std::move(what)} {}
        arrival(arrival&&) noexcept = default;
        arrival& operator=(arrival&&) = delete;
        ~arrival() {
            if (op) std::exchange(op, nullptr)->arrived(closed(), std::nullopt);
        }
        void operator()(std::exception_ptr error, std::optional<T> value) {
            std::exchange(op, nullptr)->arrived(std::move(error), std::move(value));
        }
        std::shared_ptr<remote_operation> op;
    };

    // A caller waits for the loop without driving it. Through an optional, as co_spawn wants values
    // that can be made from nothing.
    static boost::asio::awaitable<std::optional<T>> attended(loop& where,
                                                             boost::asio::awaitable<T> work) {
        const loop::attention prompt{where};
        co_return std::optional<T>{co_await std::move(work)};
    }

    // On the loop.
    void arrived(std::exception_ptr error, std::optional<T> value) noexcept {
        done_.store(true);
        done_.notify_all();
        home_->take_out(*this, [&] {
            std::exchange(waiting_, parked{}).post(std::move(error), std::move(value));
        });
    }

    // Constant after construction. No executor of the caller's: it may not outlive its context.
    std::stop_source stop_;
    leave how_;
    std::shared_ptr<awaited_operations> home_;
    // State
    parked waiting_;          // of the coroutine that takes the operation out of `home_`
    bool under_way_ = false;  // the caller's
    std::atomic<bool> done_{false};
};

// Awaits `work` on the loop, from wherever this is awaited. `stop` is what the work listens to. On
// the loop itself it costs nothing unless it can be cancelled. `way` keeps the loop from going
// until the work is there.
template <class T>
boost::asio::awaitable<T> await_on(loop& where, boost::asio::awaitable<T> work,
                                   std::stop_source stop = std::stop_source{std::nostopstate},
                                   leave how = leave::at_once, std::shared_ptr<void> way = {}) {
    if (where.is_forked_child()) throw std::logic_error{opened_before_fork};
    const auto here = co_await boost::asio::this_coro::executor;
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    // One that the coroutine has outlived, to clean up, is none of this call's.
    const auto outlived = cancellation.cancelled();
    if (here == boost::asio::any_io_executor{where.get_executor()} &&
        !cancellation.slot().is_connected()) {
        way.reset();
        co_return co_await std::move(work);
    }
    boost::asio::execution_context& callers = boost::asio::query(
        here, boost::asio::execution::context_as<boost::asio::execution_context&>);
    const auto op = std::make_shared<remote_operation<T>>(callers, std::move(stop), how);
    struct departure {
        remote_operation<T>& op;
        bool may_wait;
        ~departure() { op.left(may_wait); }
    };
    // Coroutines of the context that runs the loop are destroyed with it, when nothing there ends
    // any more.
    const departure at_the_end{*op, !where.runs_in(callers)};
    auto start = [&](auto handler) {
        // On the stack: where several threads run the caller's executor, the coroutine may go on,
        // and be gone, before start() has returned.
        const auto open_until_sent = std::move(way);
        const auto mine = op;  // NOLINT(performance-unnecessary-copy-initialization): outlives it
        mine->start(std::move(handler), here, where, std::move(work));
    };
    auto value = co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&,
                                                      void(std::exception_ptr, std::optional<T>)>(
        start, boost::asio::use_awaitable);
    // Called off when the answer was on its way already: no caller would look at it.
    if (how == leave::at_once &&
        (cancellation.cancelled() & ~outlived) != boost::asio::cancellation_type::none)
        throw boost::system::system_error{boost::asio::error::operation_aborted};
    co_return std::move(*value);
}

}  // namespace pawl::net
