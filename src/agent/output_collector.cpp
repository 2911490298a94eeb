#include "agent/output_collector.hpp"

#include "base/ensure.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace pawl::agent {

using boost::asio::awaitable;
using boost::asio::posix::stream_descriptor;
using schedule::output_chunk_max;

struct output_collector::state {
    state(const boost::asio::any_io_executor& executor, schedule::output_sink to)
        : pipe{executor}, sink{std::move(to)} {}

    stream_descriptor pipe;
    schedule::output_sink sink;

    std::size_t pass_on(std::size_t bytes_max);
    void close();
    static awaitable<void> read(std::shared_ptr<state> self);
};

// How much there was: nothing also when the pipe is empty. The buffer lives for one call, so that a
// run which writes nothing holds no memory.
std::size_t output_collector::state::pass_on(std::size_t bytes_max) {
    std::array<char, output_chunk_max> chunk;
    ssize_t got = 0;
    do {
        got = ::read(pipe.native_handle(), chunk.data(), std::min(bytes_max, chunk.size()));
    } while (got < 0 && errno == EINTR);
    const bool empty_for_now = got < 0 && errno == EAGAIN;
    if (got <= 0 && !empty_for_now) close();
    if (got <= 0) return 0;
    const auto size = static_cast<std::size_t>(got);
    if (sink) sink({chunk.data(), size});
    return size;
}

void output_collector::state::close() {
    boost::system::error_code ignored;
    pipe.close(ignored);
}

awaitable<void> output_collector::state::read(std::shared_ptr<state> self) {
    while (self->pipe.is_open()) {
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        co_await self->pipe.async_wait(stream_descriptor::wait_read, token);
        if (error || !self->pipe.is_open()) co_return;
        self->pass_on(output_chunk_max);
    }
}

output_collector::output_collector(const boost::asio::any_io_executor& executor,
                                   schedule::output_sink sink)
    : state_{std::make_shared<state>(executor, std::move(sink))} {}

output_collector::~output_collector() { state_->close(); }

exec::descriptor output_collector::open() {
    base::ensure(!state_->pipe.is_open());
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    exec::descriptor ours{ends[0]};
    exec::descriptor theirs{ends[1]};
    // Ours alone: few commands are written for a stdout that does not wait.
    fcntl(ours.get(), F_SETFL, O_NONBLOCK);
    boost::system::error_code error;
    state_->pipe.assign(ours.get(), error);
    if (error) {
        errno = error.value();
        return {};
    }
    ours.release();
    auto reading = state::read(state_);
    boost::asio::co_spawn(state_->pipe.get_executor(), std::move(reading), boost::asio::detached);
    return theirs;
}

awaitable<void> output_collector::finish() {
    const std::shared_ptr<state> me = state_;
    int waiting = 0;
    if (me->pipe.is_open()) ioctl(me->pipe.native_handle(), FIONREAD, &waiting);
    auto rest = static_cast<std::size_t>(std::max(waiting, 0));
    while (rest > 0 && me->pipe.is_open()) {
        const std::size_t got = me->pass_on(std::min(rest, output_chunk_max));
        if (got == 0) break;
        rest -= got;
        if (rest == 0) break;
        auto token = boost::asio::use_awaitable;
        co_await boost::asio::post(me->pipe.get_executor(), token);
    }
    me->close();
}

}  // namespace pawl::agent
