#include "exec/launcher.hpp"

#include "base/ensure.hpp"
#include "exec/descendants.hpp"
#include "exec/descriptor_limit.hpp"
#include "exec/folder.hpp"
#include "exec/guarding.hpp"
#include "exec/wire.hpp"

#include <pawl/clock.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace pawl::exec {
namespace {

// The one byte that asks for a guard; its socket travels beside it.
constexpr char please_guard = 'g';

constexpr int look_again_ms = 50;

// A guard that is stopped more often than this has something that stops it without end, and may
// never get to its work.
constexpr int stops_max = 200;
constexpr std::chrono::seconds stops_counted_for{10};

// The launcher's own process.
class launching {
public:
    launching(descriptor socket, const context& inherited, std::string folder)
        : control_{std::move(socket)}, inherited_{inherited}, folder_{std::move(folder)} {}

    [[noreturn]] void run() {
        control_ = keep_only(std::move(control_));
        retire_from_view("exec-launcher");
        children_ended_ = child_signals();
        raise_descriptor_limit();
        take_spare();
        while (control_.is_open() || !watched_.empty() || !bereaved_.empty()) {
            std::array<pollfd, 2> sources{pollfd{control_.get(), POLLIN, 0},
                                          pollfd{children_ended_.get(), POLLIN, 0}};
            // What is left of a dead guard is looked for until it can be said that nothing is.
            poll(sources.data(), sources.size(), bereaved_.empty() ? -1 : look_again_ms);
            if (sources[1].revents != 0) drain(children_ended_.get());
            clean_up();
            if (sources[0].revents != 0) hear();
        }
        remove_folder(folder_);
        _exit(0);
    }

private:
    struct watched {
        pid_t guard;
        // Kept open, so that pawl sees the end of a guard only when its orphans are dead too.
        descriptor socket;
        int stops = 0;  // since then
        instant stops_since{};
    };

    // Without room for a socket the request would be lost, and no process could answer it.
    void hear() {
        char order = 0;
        std::array<descriptor, 1> sockets;
        spare_.close();
        const arrival came = receive(control_.get(), order, sockets);
        const int error = take_spare();
        if (came == arrival::closed) control_.close();
        if (came != arrival::message || order != please_guard || !sockets[0].is_open()) return;
        if (error != 0) return reject(sockets[0], error);
        if (watched_.size() >= guards_max) return reject(sockets[0], EAGAIN);
        const pid_t pid = fork();
        if (pid < 0) return reject(sockets[0], errno);
        if (pid == 0) run_guard(std::move(sockets[0]), inherited_);
        watched_.push_back({.guard = pid, .socket = std::move(sockets[0])});
    }

    static void reject(const descriptor& socket, int error) {
        report answer{};
        answer.kind = report_kind::rejected;
        answer.where = static_cast<std::uint32_t>(stage::guard);
        answer.status = error;
        send(socket.get(), answer);
    }

    // Every death and every stop below us leads here again, so one pass over our children is enough
    // each time.
    void clean_up() {
        for (;;) {
            int status = 0;
            const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
            if (pid <= 0) break;
            const auto guard = std::find_if(watched_.begin(), watched_.end(),
                                            [&](const watched& one) { return one.guard == pid; });
            if (guard == watched_.end()) continue;
            if (WIFSTOPPED(status)) {
                resume(*guard);
                continue;
            }
            bereaved_.push_back(std::move(guard->socket));
            watched_.erase(guard);
        }
        if (bereaved_.empty()) return;
        // Those of the dead are kept open until this has been read.
        spare_.close();
        const auto children = descendants();
        take_spare();
        const auto is_guard = [&](pid_t pid) {
            return std::any_of(watched_.begin(), watched_.end(),
                               [&](const watched& one) { return one.guard == pid; });
        };
        bool orphans = !children;
        for (const pid_t pid : children.value_or(std::vector<pid_t>{})) {
            if (is_guard(pid)) continue;
            orphans = true;
            kill(pid, SIGKILL);
        }
        if (!orphans) bereaved_.clear();
    }

    // A command can stop its own guard, and no other process would continue it. With a guard that
    // is killed everything ends that it watches.
    static void resume(watched& stopped) {
        const instant now = lease_clock::now();
        if (now - stopped.stops_since > stops_counted_for) {
            stopped.stops = 0;
            stopped.stops_since = now;
        }
        kill(stopped.guard, ++stopped.stops > stops_max ? SIGKILL : SIGCONT);
    }

    // 0, or else errno.
    int take_spare() {
        if (spare_.is_open()) return 0;
        spare_ = descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
        return spare_.is_open() ? 0 : errno;
    }

    descriptor control_;
    // In the place of the next one that is needed, when all others are taken.
    descriptor spare_;
    const context inherited_;
    const std::string folder_;
    descriptor children_ended_;
    std::vector<watched> watched_;
    std::vector<descriptor> bereaved_;
};

void open_standard_streams() {
    for (;;) {
        descriptor file{::open("/dev/null", O_RDWR)};
        if (!file.is_open() || file.get() > 2) return;
        file.release();
    }
}

}  // namespace

launcher launcher::start(controlling_terminal which) {
    open_standard_streams();
    auto [ours, theirs] = socket_pair();
    if (!ours.is_open()) throw std::system_error{errno, std::generic_category(), "socketpair"};
    const context inherited = context::here();
    // When launcher and guards are dead, what they watched over becomes our child.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    auto strangers = descendants().value_or(std::vector<pid_t>{});
    std::string folder = make_folder();
    // Until it is out of our process group, a ^C would end the launcher.
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    const pid_t pid = fork();
    const int error = errno;
    if (pid != 0) sigprocmask(SIG_SETMASK, &inherited.blocked, nullptr);
    if (pid < 0) {
        remove_folder(folder);
        throw std::system_error{error, std::generic_category(), "fork"};
    }
    if (pid == 0) {
        ours.close();
        if (which == controlling_terminal::none) setsid();
        launching{std::move(theirs), inherited, std::move(folder)}.run();
    }
    launcher made{std::move(ours), pid, std::move(folder)};
    made.ours_ = std::make_unique<own_children>();
    made.ours_->kept.insert(strangers.begin(), strangers.end());
    made.ours_->kept.insert(pid);
    return made;
}

launcher::~launcher() {
    if (!ours_) return;  // moved from
    socket_.close();
    wake();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    // One that was killed could not.
    if (WIFSIGNALED(status)) remove_folder(folder_);
}

int launcher::fork_guard(const descriptor& socket) const {
    if (!socket_.is_open()) return ECHILD;
    const std::array<int, 1> beside{socket.get()};
    switch (send(socket_.get(), please_guard, beside)) {
        case delivery_result::sent:
            return 0;
        case delivery_result::full:
            return EBUSY;
        case delivery_result::closed:
            return ECHILD;
        case delivery_result::failed:
            break;
    }
    return errno;
}

// It is our child, and waited for last of all.
void launcher::wake() const { kill(pid_, SIGCONT); }

void launcher::add_guard(pid_t guard) const {
    const std::lock_guard lock{ours_->mutex};
    ours_->kept.insert(guard);
}

void launcher::remove_guard(pid_t guard) const {
    const std::lock_guard lock{ours_->mutex};
    ours_->kept.erase(guard);
}

bool launcher::strike_at_orphans() const {
    base::ensure(!is_alive());
    // It closes its socket a moment before its children become ours.
    siginfo_t news{};
    const bool ending =
        waitid(P_PID, static_cast<id_t>(pid_), &news, WEXITED | WNOWAIT | WNOHANG) == 0 &&
        news.si_pid != pid_;
    const std::lock_guard lock{ours_->mutex};
    const auto children = descendants();
    bool left = ending || !children;
    for (const pid_t pid : children.value_or(std::vector<pid_t>{})) {
        if (ours_->kept.contains(pid)) continue;
        left = true;
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, WNOHANG);
    }
    return left;
}

bool launcher::is_alive() const {
    // One that is killed may have closed the sockets of its guards, and not yet this one.
    pollfd source{socket_.get(), 0, 0};
    return poll(&source, 1, 0) == 0 && !is_ending(pid_);
}

}  // namespace pawl::exec
