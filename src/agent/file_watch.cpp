#include "agent/file_watch.hpp"

#include "net/boot_timer.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

namespace pawl::agent {
namespace {

using boost::asio::awaitable;
namespace fs = std::filesystem;

constexpr std::uint32_t signs = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
                                IN_ONLYDIR;

// The places in which something has to change before the path leads to another file: where the
// file itself is, and where each link on the way is.
struct route {
    std::set<std::string> folders;
    std::set<std::string> names;
};

route route_to(const std::string& path) {
    route found;
    std::deque<fs::path> left;
    std::error_code unknown;
    for (const auto& part : fs::absolute(path, unknown)) left.push_back(part);
    fs::path here{"/"};
    std::size_t links = 0;
    while (!left.empty()) {
        const fs::path part = left.front();
        left.pop_front();
        if (part.empty() || part == "/" || part == ".") continue;
        if (part == "..") {
            here = here.parent_path();
            continue;
        }
        std::error_code failed;
        const auto target = fs::read_symlink(here / part, failed);
        const bool is_link = !failed && ++links <= links_followed_max;
        if (is_link || left.empty()) {
            found.folders.insert(here);
            found.names.insert(part);
        }
        if (!is_link) {
            here /= part;
            continue;
        }
        if (target.is_absolute()) here = "/";
        left.insert(left.begin(), target.begin(), target.end());
    }
    return found;
}

struct look {
    file_appearance seen;
    route way;
};

// Blocks as long as the file system does.
struct looking {
    std::string path;

    look operator()() const { return {appearance_of(path), route_to(path)}; }
};

}  // namespace

file_appearance appearance_of(const std::string& path) {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) return std::nullopt;
    return file_appearance{{about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec,
                            about.st_mtim.tv_nsec, about.st_ctim.tv_sec, about.st_ctim.tv_nsec}};
}

struct file_watch::state : std::enable_shared_from_this<state> {
    state(net::loop& on, std::string what, file_appearance known_before, millis interval)
        : where{on},
          path{std::move(what)},
          looked_at_every{interval},
          timer{on.get_executor()},
          inotify{on.get_executor()},
          known{known_before} {
        const int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (descriptor >= 0) inotify.assign(descriptor);
        follow(route_to(path));
    }

    // True when a folder is watched from now on that was not before.
    bool follow(const route& way) {
        names = way.names;
        if (!inotify.is_open()) return false;
        std::set<int> wanted;
        for (const auto& folder : way.folders) {
            const int id = inotify_add_watch(inotify.native_handle(), folder.c_str(), signs);
            if (id >= 0) wanted.insert(id);
        }
        for (const int id : watched)
            if (!wanted.contains(id)) inotify_rm_watch(inotify.native_handle(), id);
        const bool is_new =
            !std::includes(watched.begin(), watched.end(), wanted.begin(), wanted.end());
        watched = std::move(wanted);
        return is_new;
    }

    // Wakes the coroutine at the next sign.
    void listen() {
        if (listening || !inotify.is_open()) return;
        listening = true;
        inotify.async_wait(boost::asio::posix::descriptor_base::wait_read,
                           [self = shared_from_this()](boost::system::error_code failed) {
                               self->listening = false;
                               if (!failed) self->timer.wake();
                           });
    }

    // Takes what has come; true when one of it is about our file.
    bool take_signs() {
        bool concerned = false;
        alignas(inotify_event) std::array<char, std::size_t{16} * 1024> events{};
        while (inotify.is_open()) {
            const auto size = ::read(inotify.native_handle(), events.data(), events.size());
            if (size <= 0) break;
            for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
                inotify_event one{};
                std::memcpy(&one, events.data() + at, sizeof one);
                const char* name = events.data() + at + sizeof one;
                concerned = concerned || one.len == 0 || names.contains(name);
                at += sizeof one + one.len;
            }
        }
        return concerned;
    }

    net::loop& where;
    const std::string path;
    const millis looked_at_every;
    net::boot_timer timer;
    boost::asio::posix::stream_descriptor inotify;
    file_appearance known;  // when changed() last told of it
    std::set<std::string> names;
    std::set<int> watched;
    bool listening = false;
    bool stopped = false;
    std::uint64_t looks = 0;
};

file_watch::file_watch(net::loop& where, std::string path, file_appearance known,
                       millis looked_at_every)
    : state_{std::make_shared<state>(where, std::move(path), known, looked_at_every)} {}

file_watch::~file_watch() {
    stop();
    // The handler lets go of the state.
    if (state_->inotify.is_open()) state_->inotify.close();
}

std::uint64_t file_watch::looks() const noexcept { return state_->looks; }

void file_watch::stop() {
    state_->stopped = true;
    state_->timer.wake();
}

awaitable<bool> file_watch::changed() { return watch(state_); }

awaitable<bool> file_watch::watch(std::shared_ptr<state> shared) {
    auto& me = *shared;
    auto newest = me.known;
    instant settled_at = instant::max(), settled_at_last = instant::max();
    // First of all: something may have happened since the last call.
    instant look_at{};
    while (!me.stopped) {
        const bool told = me.take_signs();
        if (told || lease_clock::now() >= std::min(look_at, settled_at)) {
            auto looked = me.where.run_blocking(looking{me.path});
            const look found = co_await std::move(looked);
            const instant now = lease_clock::now();
            // What happened before the new folders were watched is not reported.
            look_at = me.follow(found.way) ? now : now + me.looked_at_every;
            ++me.looks;
            if (found.seen != newest) {
                newest = found.seen;
                settled_at_last = std::min(settled_at_last, now + file_settles_within);
                settled_at = std::min(now + file_settles_in, settled_at_last);
            }
            if (now >= settled_at) {
                settled_at = settled_at_last = instant::max();
                if (newest && newest != me.known) {
                    me.known = newest;
                    co_return true;
                }
            }
        }
        if (me.stopped) break;
        me.listen();
        me.timer.set(std::min(settled_at, look_at));
        auto waiting = me.timer.wait();
        co_await std::move(waiting);
    }
    co_return false;
}

}  // namespace pawl::agent
