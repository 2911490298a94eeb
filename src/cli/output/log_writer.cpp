#include "cli/output/log_writer.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace pawl::cli {

void log_writer::drop_when_full() {
    const std::lock_guard lock{mutex_};
    how_ = when_full::drop;
    unblocked_.close();
    is_socket_ = false;
    struct stat facts{};
    if (::fstat(file_, &facts) != 0) return;
    is_socket_ = S_ISSOCK(facts.st_mode);
    // Others write to the pipe too, such as a command of `pawl exec`: between a look at its room
    // and the write it may be full. O_NONBLOCK on the descriptor that they share would be theirs as
    // well.
    if (!S_ISFIFO(facts.st_mode)) return;
    const auto name = "/proc/self/fd/" + std::to_string(file_);
    unblocked_ = base::descriptor{::open(name.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)};
}

void log_writer::wait_when_full() {
    const std::lock_guard lock{mutex_};
    how_ = when_full::wait;
}

void log_writer::write(std::string_view line, const note_maker& note) {
    const std::lock_guard lock{mutex_};
    if ((tell(note) && put(line)) || how_ == when_full::wait) return;
    ++lost_;
    kept_ = line;
}

void log_writer::tell_lost(const note_maker& note) {
    const std::lock_guard lock{mutex_};
    tell(note);
}

// False where that has no room either. The last line is not lost to a reader that is waited for.
bool log_writer::tell(const note_maker& note) {
    if (lost_ == 0) return true;
    const bool keeps = how_ == when_full::wait;
    std::string text{is_cut_ ? "\n" : ""};
    if (const auto lost = keeps ? lost_ - 1 : lost_; lost > 0) text += note(lost);
    if (keeps) text += kept_;
    if (!put(text)) return false;
    lost_ = 0;
    is_cut_ = false;
    kept_.clear();
    return true;
}

// A pipe that has room has it for PIPE_BUF bytes, which are written all or not at all.
bool log_writer::put(std::string_view text) {
    const bool waits = how_ == when_full::wait;
    const auto all = text.size();
    while (!text.empty()) {
        const auto piece = waits ? text : text.substr(0, PIPE_BUF);
        const ssize_t written = waits || has_room() ? put_some(piece) : -1;
        if (written < 0 && text.size() < all) is_cut_ = true;
        if (written < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

ssize_t log_writer::put_some(std::string_view piece) const {
    for (;;) {
        ssize_t written = -1;
        if (how_ == when_full::drop && is_socket_)
            written = ::send(file_, piece.data(), piece.size(), MSG_DONTWAIT);
        else if (how_ == when_full::drop && unblocked_.is_open())
            written = ::write(unblocked_.get(), piece.data(), piece.size());
        else
            written = ::write(file_, piece.data(), piece.size());
        if (written >= 0 || errno != EINTR) return written;
    }
}

bool log_writer::has_room() const {
    pollfd source{file_, POLLOUT, 0};
    return ::poll(&source, 1, 0) > 0;
}

const std::shared_ptr<log_writer>& standard_error() {
    static const auto one = std::make_shared<log_writer>(STDERR_FILENO);
    return one;
}

}  // namespace pawl::cli
