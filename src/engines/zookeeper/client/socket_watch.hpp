// Waits on a loop for a socket that another object owns and may close at any moment.
//
// It watches a duplicate: the number of a socket that was closed may be another file's the next
// moment, and what the loop then let go of would be that file.
#pragma once

#include "net/loop.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace pawl::zookeeper {

// Used on its loop only.
class socket_watch final : private net::io_object {
public:
    explicit socket_watch(const net::loop::executor_type& executor)
        : net::io_object{executor}, reads_{executor}, writes_{executor} {}

    // False when the system is out of descriptors.
    bool follow(int socket) {
        leave();
        socket_ = socket;
        return copy_into(reads_);
    }

    // Ends its waits.
    void leave() {
        ++left_;
        boost::system::error_code ignored;
        reads_.close(ignored);
        end_wait_to_write();
    }

    // Rises when it leaves a socket: a wait that ends later was for that.
    std::uint64_t times_left() const noexcept { return left_; }

    template <class Handler>
    void wait_to_read(Handler handler) {
        reads_.async_wait(descriptor_type::wait_read, std::move(handler));
    }

    // By a copy of its own: what has been waited for in this direction once is told of it for ever.
    // False when the system is out of descriptors. REQUIRES: no other such wait.
    template <class Handler>
    bool wait_to_write(Handler handler) {
        if (!copy_into(writes_)) return false;
        writes_.async_wait(descriptor_type::wait_write, std::move(handler));
        return true;
    }
    void end_wait_to_write() {
        boost::system::error_code ignored;
        writes_.close(ignored);
    }

private:
    void context_ends() noexcept override { leave(); }
    using descriptor_type =
        boost::asio::posix::basic_stream_descriptor<net::loop::io_executor_type>;

    bool copy_into(descriptor_type& into) const {
        const int copy = fcntl(socket_, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) return false;
        boost::system::error_code error;
        into.assign(copy, error);
        if (error) ::close(copy);
        return !error;
    }

    descriptor_type reads_, writes_;
    int socket_ = -1;
    std::uint64_t left_ = 0;
};

}  // namespace pawl::zookeeper
