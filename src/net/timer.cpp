#include "net/timer.hpp"

#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "time/boot_alarm.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

namespace pawl::net {
namespace {

int fresh_alarm() {
    const int file = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (file >= 0) return file;
    throw boost::system::system_error{errno, boost::system::system_category(), "timerfd_create"};
}

}  // namespace

boost::asio::execution_context::id timers::id;

timers::timers(boost::asio::execution_context& owner) : service{owner} {}

timers& timers::of(boost::asio::execution_context& context) {
    return boost::asio::use_service<timers>(context);
}

timers& timers::of(const boost::asio::any_io_executor& executor) {
    return of(boost::asio::query(
        executor, boost::asio::execution::context_as<boost::asio::execution_context&>));
}

std::uint32_t timers::seed() const {
    if (simulated_ != nullptr) return static_cast<std::uint32_t>(simulated_->random());
    return base::fresh_seed();
}

base::id_source timers::ids() const {
    return simulated_ != nullptr ? base::id_source{simulated_->random()} : base::id_source{};
}

void timers::simulate(simulated_node* node) {
    base::ensure(node != nullptr && waiting_.empty() && !alarm_);
    simulated_ = node;
}

instant timers::next() const {
    return waiting_.empty() ? instant::max() : waiting_.begin()->first.at;
}

void timers::fire() {
    const auto now_at = now();
    while (!waiting_.empty() && waiting_.begin()->first.at <= now_at) {
        auto* who = waiting_.begin()->second;
        who->end(true);
    }
}

// A handler that is let go of ends its coroutine, and other timers with it: none is looked at
// twice.
void timers::shutdown() {
    closed_ = true;
    std::vector<parked_handler<bool>> left;
    for (const auto& [when, who] : waiting_) {
        who->place_.reset();
        left.push_back(std::move(who->handler_));
    }
    waiting_.clear();
    alarm_.reset();
    listener_ = {};
}

timers::due timers::add(timer& who, instant at) {
    const due when{at, ++order_};
    waiting_.emplace(when, &who);
    listener_ = who.executor_;
    arm();
    return when;
}

void timers::remove(const due& when) {
    waiting_.erase(when);
    if (waiting_.empty() && listening_) alarm_->cancel();
}

void timers::arm() {
    if (simulated_ != nullptr) return;
    if (!alarm_) alarm_.emplace(host_.value_or(listener_), fresh_alarm());
    // A time that has been set too early costs one look, and setting it costs a system call.
    const auto first = next();
    if (first < armed_) {
        base::ensure(time::set_boot_alarm(alarm_->native_handle(), first));
        armed_ = first;
    }
    listen();
}

void timers::listen() {
    if (listening_ || waiting_.empty()) return;
    listening_ = true;
    // Where the context ends and its alarm's does not, the executor calls this no more.
    auto heard = [this](boost::system::error_code error) {
        listening_ = false;
        if (closed_) return;
        if (!error) {
            std::uint64_t expirations = 0;
            [[maybe_unused]] const auto got =
                ::read(alarm_->native_handle(), &expirations, sizeof expirations);
            armed_ = instant::max();
            fire();
        }
        if (!waiting_.empty()) arm();
    };
    alarm_->async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       boost::asio::bind_executor(listener_, heard));
}

timer::~timer() { end(false); }

instant timer::after(std::chrono::nanoseconds duration) const {
    const auto at = now();
    return duration >= instant::max() - at ? instant::max() : at + duration;
}

void timer::begin(instant when, parked_handler<bool> handler) {
    base::ensure(!handler_);
    if (home_->closed_) return;
    handler_ = std::move(handler);
    place_ = home_->add(*this, when);
}

void timer::move(instant when) {
    if (!handler_ || place_->at == when) return;
    home_->remove(*place_);
    place_ = home_->add(*this, when);
}

void timer::end(bool due) {
    if (!handler_) return;
    alive_.reset();
    if (place_) home_->remove(*std::exchange(place_, std::nullopt));
    auto handler = std::exchange(handler_, {});
    handler.post(due);
}

boost::asio::awaitable<bool> timer::wait_until(instant when) {
    auto start = [this, when](auto handler) {
        auto slot = boost::asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
            alive_ = std::make_shared<timer*>(this);
            slot.assign([mine = std::weak_ptr{alive_}](boost::asio::cancellation_type) {
                if (const auto who = mine.lock()) (*who)->end(false);
            });
        }
        begin(when, parked_handler<bool>{std::move(handler), executor_});
    };
    co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&,
                                                   void(bool)>(start, boost::asio::use_awaitable);
}

boost::asio::awaitable<void> sleep_for(std::chrono::nanoseconds duration) {
    timer pause{co_await boost::asio::this_coro::executor};
    auto waiting = pause.wait_for(duration);
    co_await std::move(waiting);
}

}  // namespace pawl::net
