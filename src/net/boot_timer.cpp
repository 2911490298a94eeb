#include "net/boot_timer.hpp"

#include "base/ensure.hpp"
#include "time/boot_alarm.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace pawl::net {

namespace {

int fresh_timer() {
    const int file = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (file >= 0) return file;
    throw boost::system::system_error{errno, boost::system::system_category(), "timerfd_create"};
}

}  // namespace

boot_timer::boot_timer(const boost::asio::any_io_executor& executor)
    : descriptor_{executor, fresh_timer()} {}

void boot_timer::set(instant when) {
    if (when == when_) return;
    when_ = when;
    base::ensure(time::set_boot_alarm(descriptor_.native_handle(), when));
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
