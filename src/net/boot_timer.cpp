#include "net/boot_timer.hpp"

namespace pawl::net {

boost::asio::awaitable<void> boot_timer::wait() {
    auto waiting = timer_.wait_until(when_);
    const bool fired = co_await std::move(waiting);
    // Where it has not, this may be gone.
    if (fired) when_ = instant::max();
}

}  // namespace pawl::net
