#include "engines/sqlite/client/wake_file.hpp"

#include "base/descriptor.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pawl::sqlite {

wake_file::wake_file(std::string path, std::string database)
    : path_{std::move(path)}, database_{std::move(database)} {}

wake_file::~wake_file() {
    if (events_ >= 0) ::close(events_);
}

// All who may use the database have to touch it when they end a lease, and to read it while they
// wait.
void wake_file::make() const {
    const base::descriptor made{
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0660)};
    struct stat database{};
    if (!made || ::stat(database_.c_str(), &database) != 0) return;
    if (::geteuid() == 0 && ::fchown(made.get(), database.st_uid, database.st_gid) != 0) return;
    ::fchmod(made.get(), database.st_mode & 0777);
}

std::optional<failure> wake_file::watch() {
    if (events_ < 0) events_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (inotify_add_watch(events_, path_.c_str(), IN_ATTRIB) >= 0) return std::nullopt;
    make();
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
