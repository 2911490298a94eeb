#include "net/boot_timer.hpp"

#include "base/ensure.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace pawl::net {

boot_timer::boot_timer(const boost::asio::any_io_executor& executor)
    : descriptor_{executor, timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)} {
    base::ensure(descriptor_.native_handle() >= 0);
}

void boot_timer::set(instant when) {
    if (when == when_) return;
    when_ = when;
    itimerspec setting{};
    if (when != instant::max()) {
        // Zero would disarm it: a time that has passed is the first nanosecond since boot.
        const auto since_boot = std::max(when.time_since_epoch(), std::chrono::nanoseconds{1});
        setting.it_value.tv_sec = since_boot.count() / 1'000'000'000;
        setting.it_value.tv_nsec = since_boot.count() % 1'000'000'000;
    }
    base::ensure(
        timerfd_settime(descriptor_.native_handle(), TFD_TIMER_ABSTIME, &setting, nullptr) == 0);
}

void boot_timer::wake() { set(instant{}); }

boost::asio::awaitable<void> boot_timer::wait() {
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read, token);
    if (error) co_return;
    std::uint64_t expirations = 0;
    // Fails with EAGAIN when the timer was moved between its firing and now: then it has not fired.
    [[maybe_unused]] const auto got =
        ::read(descriptor_.native_handle(), &expirations, sizeof expirations);
    when_ = instant::max();
}

}  // namespace pawl::net
