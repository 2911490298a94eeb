#include "engines/sqlite/client/wake_file.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pawl::sqlite {

wake_file::wake_file(std::string path) : path_{std::move(path)} {}

wake_file::~wake_file() {
    if (events_ >= 0) ::close(events_);
}

std::optional<failure> wake_file::watch() {
    if (events_ < 0) events_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (inotify_add_watch(events_, path_.c_str(), IN_ATTRIB) >= 0) return std::nullopt;
    const int made = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0660);
    if (made >= 0) ::close(made);
    if (inotify_add_watch(events_, path_.c_str(), IN_ATTRIB) >= 0) return std::nullopt;
    return failure{errc::rejected,
                   "the wake file " + path_ + " cannot be watched: " + std::strerror(errno)};
}

boost::asio::posix::stream_descriptor wake_file::listen(
    const boost::asio::io_context::executor_type& on) {
    return {on, ::fcntl(events_, F_DUPFD_CLOEXEC, 0)};
}

void wake_file::drain() {
    std::array<char, 4096> events;
    while (::read(events_, events.data(), events.size()) > 0) {
    }
}

}  // namespace pawl::sqlite
