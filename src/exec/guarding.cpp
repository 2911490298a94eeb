#include "exec/guarding.hpp"

#include "base/number.hpp"
#include "exec/child_setup.hpp"
#include "exec/descendants.hpp"
#include "exec/pidfd.hpp"
#include "exec/wire.hpp"
#include "time/boot_alarm.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace pawl::exec {
namespace {

using std::chrono::nanoseconds;

// Of looks for those who have died, one behind the other.
constexpr int passes_max = 64;
// How often it strikes again at something that it may not, or cannot yet, kill.
constexpr nanoseconds strike_interval{50'000'000};

instant to_instant(std::int64_t since_boot) { return instant{nanoseconds{since_boot}}; }

// In real time at the lowest priority: ahead of a machine full of ordinary work. It is not
// inherited.
bool put_ahead(pid_t thread) {
    sched_param lowest{};
    lowest.sched_priority = 1;
    return sched_setscheduler(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
}

// What has been killed dies when it is scheduled, each of its threads for itself; on a busy machine
// that can outlast the margin of a short lease. REQUIRES: a child that has not been waited for.
void raise_priority(pid_t dying) {
    if (!put_ahead(dying)) return;
    for (const pid_t thread : threads_of(dying)) put_ahead(thread);
}

class guarding {
public:
    guarding(descriptor socket, const context& inherited)
        : socket_{std::move(socket)}, inherited_{inherited} {}

    [[noreturn]] void run() {
        retire_from_view("exec-guard");
        children_ended_ = child_signals();
        timer_ = descriptor{timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)};
        if (!children_ended_.is_open() || !timer_.is_open()) give_up(stage::guard, errno);
        introduce();
        for (;;) {
            set_timer();
            std::array<pollfd, 4> sources{
                pollfd{timer_.get(), POLLIN, 0}, pollfd{children_ended_.get(), POLLIN, 0},
                pollfd{exec_result_.get(), POLLIN, 0}, pollfd{socket_.get(), POLLIN, 0}};
            poll(sources.data(), sources.size(), -1);
            if (sources[0].revents != 0) drain(timer_.get());
            // Before new orders: an order that prolongs a deadline which has passed comes too late.
            watch_the_clock();
            if (sources[2].revents != 0) hear_from_command();
            if (sources[1].revents != 0 || unsure_) {
                drain(children_ended_.get());
                wait_for_children();
            }
            if (sources[3].revents != 0) take_orders();
        }
    }

private:
    enum class phase { waiting, running, stopping, killing };

    // ---- orders

    // Before any order is taken: pawl, which has not heard of us, knows that we have started
    // nothing; pawl that has can end us.
    void introduce() {
        const descriptor life = open_pidfd(getpid());
        if (!life.is_open() && (errno == EMFILE || errno == ENFILE)) give_up(stage::guard, errno);
        report news{};
        news.kind = report_kind::ready;
        news.pid = getpid();
        tell_of(life, news);
    }

    void take_orders() {
        while (socket_.is_open()) {
            order what{};
            std::array<descriptor, descriptors_max> beside;
            const arrival came = receive(socket_.get(), what, beside);
            if (came == arrival::nothing) return;
            if (came == arrival::closed) return parent_gone();
            obey(what, beside);
        }
    }

    void obey(const order& what, std::array<descriptor, descriptors_max>& beside) {
        switch (what.kind) {
            case order_kind::start:
                if (phase_ != phase::waiting) return;
                set_limits(what);
                grace_ = nanoseconds{what.grace};
                start(beside);
                return;
            case order_kind::deadline:
                set_limits(what);
                return;
            case order_kind::signal:
                if (!command_reaped_ && command_ > 0) kill(-command_, what.signal);
                return;
            case order_kind::stop:
                stop(ending::asked, lease_clock::now() + nanoseconds{what.grace});
                return;
        }
    }

    void set_limits(const order& what) {
        stop_at_ = to_instant(what.stop_at);
        kill_at_ = to_instant(what.kill_at);
    }

    void parent_gone() {
        socket_.close();
        if (phase_ == phase::waiting) _exit(0);
        stop(ending::asked, lease_clock::now() + grace_);
    }

    // ---- the command's life

    void start(std::array<descriptor, descriptors_max>& beside) {
        // A launcher or guard that was frozen until now must not start what no process waits for:
        // pawl stops sending, and then looks whether we are ready. We have said so, and look now
        // whether it has stopped. So pawl has heard of us, or we start nothing.
        pollfd peer{socket_.get(), POLLRDHUP, 0};
        if (poll(&peer, 1, 0) != 0) _exit(0);
        if (lease_clock::now() >= std::min(stop_at_, kill_at_)) give_up(stage::guard, ETIMEDOUT);
        for (const descriptor& one : beside)
            if (!one.is_open()) give_up(stage::guard, ENFILE);  // there was no room for it
        const auto text = read_memory_file(beside[0].get());
        const auto wanted = text ? decode(*text) : std::nullopt;
        if (!wanted) give_up(stage::guard, E2BIG);
        int ends[2] = {-1, -1};
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) give_up(stage::guard, errno);
        exec_result_ = descriptor{ends[0]};
        const descriptor tell{ends[1]};
        const pid_t guard = getpid();
        command_ = fork();
        if (command_ < 0) give_up(stage::guard, errno);
        if (command_ == 0) {
            const std::array<int, 3> streams{beside[1].get(), beside[2].get(), beside[3].get()};
            set_up_child(*wanted, streams, tell.get(), guard, inherited_);
        }
        // The child does the same; whichever comes first, from now on the group can be signalled.
        setpgid(command_, command_);
        phase_ = phase::running;
    }

    // Its end without a word means that exec succeeded, or that the child died before it.
    void hear_from_command() {
        if (!exec_result_.is_open()) return;
        child_setup_fault fault{};
        const ssize_t got = ::read(exec_result_.get(), &fault, sizeof fault);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        exec_result_.close();
        if (got == static_cast<ssize_t>(sizeof fault)) {
            fault_ = fault;
            return;
        }
        report news{};
        news.kind = report_kind::running;
        news.pid = command_;
        tell_of(open_pidfd(command_), news);
    }

    // The command is waited for last: its number, which is its group's too, can be a stranger's
    // from then on.
    void wait_for_children() {
        if (phase_ == phase::waiting) return;
        unsure_ = false;
        int passes = 0;
        for (auto left = remains::some; left != remains::living;) {
            look_at_command();
            left = reap_others();
            if (left == remains::none && command_ended_) all_dead();
            if (left == remains::none) break;
            // The dead may come as fast as they are reaped, and the clock is to be looked at.
            if (++passes < passes_max) continue;
            unsure_ = true;
            break;
        }
        // A process died, so its children may have become ours.
        if (phase_ == phase::running && command_ended_) {
            stop(ending::by_itself, lease_clock::now() + grace_);
        }
        if (phase_ == phase::stopping) ask_to_end();
        if (phase_ == phase::killing) strike();
    }

    // Without reaping it.
    void look_at_command() {
        const auto id = static_cast<id_t>(command_);
        siginfo_t news{};
        if (waitid(P_PID, id, &news, WSTOPPED | WNOHANG) == 0 && news.si_pid == command_)
            report_pause(news.si_status);
        news = {};
        if (command_ended_ || waitid(P_PID, id, &news, WEXITED | WNOWAIT | WNOHANG) != 0 ||
            news.si_pid != command_)
            return;
        command_ended_ = true;
        status_ = news.si_code == CLD_EXITED ? W_EXITCODE(news.si_status, 0)
                                             : W_EXITCODE(0, news.si_status);
    }

    // What is left beside the command: nothing; the living; or some that were dead, so that others
    // may have become our children since.
    enum class remains { none, living, some };

    remains reap_others() {
        const auto children = descendants();
        if (!children) return reap_blindly();
        auto left = remains::none;
        for (const pid_t pid : *children) {
            if (pid == command_) continue;
            if (left == remains::none) left = remains::living;
            if (waitpid(pid, nullptr, WNOHANG) != pid) continue;
            asked_.erase(std::remove(asked_.begin(), asked_.end(), pid), asked_.end());
            left = remains::some;
        }
        return left;
    }

    // An unreadable list says nothing: it is read again soon. Once there is nothing left to do but
    // to kill, and the group has been struck, only the kernel's word is waited for that no child is
    // left; that costs the group's number.
    remains reap_blindly() {
        unsure_ = true;
        if (phase_ != phase::killing || !command_ended_) return remains::living;
        if (!command_reaped_) kill(-command_, SIGKILL);
        command_reaped_ = true;
        while (waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? remains::none
                                                                    : remains::living;
    }

    void report_pause(int signal) {
        hear_from_command();
        report news{};
        news.kind = report_kind::paused;
        news.status = signal;
        tell(news);
    }

    // ---- its end

    void watch_the_clock() {
        const instant now = lease_clock::now();
        if (phase_ == phase::running && now >= std::min(stop_at_, kill_at_)) {
            // kill_at may be moved behind the grace: a lease can be renewed after stop_at.
            stop(ending::deadline, now + grace_);
        }
        if (phase_ == phase::stopping && now >= std::min(kill_at_, grace_ends_)) {
            phase_ = phase::killing;
        }
        if (phase_ == phase::killing) strike();
    }

    void stop(ending cause, instant grace_ends) {
        if (phase_ == phase::waiting || phase_ == phase::killing) return;
        grace_ends_ = std::min(grace_ends_, grace_ends);
        if (phase_ == phase::running) {
            cause_ = cause;
            phase_ = phase::stopping;
        }
        ask_to_end();
    }

    // SIGTERM, once to each. A stopped process could not act on it, so it is woken.
    void ask_to_end() {
        if (!group_asked_ && !command_reaped_) {
            kill(-command_, SIGTERM);
            kill(-command_, SIGCONT);
            group_asked_ = true;
        }
        for (const pid_t pid : descendants().value_or(std::vector<pid_t>{})) {
            if (group_asked_ && getpgid(pid) == command_) continue;
            if (std::find(asked_.begin(), asked_.end(), pid) != asked_.end()) continue;
            kill(pid, SIGTERM);
            kill(pid, SIGCONT);
            asked_.push_back(pid);
        }
    }

    void strike() {
        const auto children = descendants();
        if (!command_reaped_) kill(-command_, SIGKILL);
        for (const pid_t pid : children.value_or(std::vector<pid_t>{})) kill(pid, SIGKILL);
        for (const pid_t pid : children.value_or(std::vector<pid_t>{})) raise_priority(pid);
    }

    [[noreturn]] void all_dead() {
        hear_from_command();
        if (fault_) give_up(static_cast<stage>(fault_->where), fault_->error);
        report news{};
        news.kind = report_kind::ended;
        news.status = status_;
        news.cause = static_cast<std::uint32_t>(cause_);
        tell(news);
        wait_until_heard();
        _exit(0);
    }

    // Until then pawl may strike at the group, whose number has to stay the command's own.
    void wait_until_heard() {
        while (socket_.is_open()) {
            pollfd peer{socket_.get(), POLLIN, 0};
            poll(&peer, 1, -1);
            order ignored{};
            if (receive(socket_.get(), ignored) == arrival::closed) socket_.close();
        }
    }

    [[noreturn]] void give_up(stage where, int error) {
        report news{};
        news.kind = report_kind::rejected;
        news.where = static_cast<std::uint32_t>(where);
        news.status = error;
        tell(news);
        _exit(0);
    }

    // Waits for room, but with a pause, which may go unheard. Where pawl is gone, reading tells.
    void tell(const report& news, std::span<const int> beside = {}) {
        while (socket_.is_open()) {
            const delivery_result came = send(socket_.get(), news, beside);
            if (came == delivery_result::failed && !beside.empty()) {
                // Too many descriptors of this user are under way between processes.
                beside = {};
                continue;
            }
            if (came != delivery_result::full || news.kind == report_kind::paused) return;
            pollfd peer{socket_.get(), POLLOUT, 0};
            poll(&peer, 1, -1);
        }
    }

    void tell_of(const descriptor& life, const report& news) {
        const std::array<int, 1> beside{life.get()};
        tell(news, life.is_open() ? std::span<const int>{beside} : std::span<const int>{});
    }

    void set_timer() {
        instant next = instant::max();
        if (phase_ == phase::running) next = std::min(stop_at_, kill_at_);
        if (phase_ == phase::stopping) next = std::min(kill_at_, grace_ends_);
        if (phase_ == phase::killing || unsure_)
            next = std::min(next, lease_clock::now() + strike_interval);
        time::set_boot_alarm(timer_.get(), next);
    }

    descriptor socket_;
    const context inherited_;
    descriptor children_ended_;
    descriptor timer_;
    descriptor exec_result_;

    phase phase_ = phase::waiting;
    instant stop_at_ = instant::max();
    instant kill_at_ = instant::max();
    instant grace_ends_ = instant::max();
    nanoseconds grace_{0};

    pid_t command_ = 0;
    bool command_ended_ = false;
    bool command_reaped_ = false;
    bool unsure_ = false;  // what is left could not be read, or not to the end
    int status_ = 0;
    std::optional<child_setup_fault> fault_;
    ending cause_ = ending::by_itself;
    bool group_asked_ = false;
    std::vector<pid_t> asked_;
};

int read_oom_score_adj() {
    const descriptor file{::open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC)};
    char text[16] = {};
    if (!file.is_open() || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
    return base::leading_number<int>(text).value_or(0);
}

// All of it is best effort: without the privilege a guard is an ordinary process.
void outlast_shortages() {
    write_oom_score_adj(-1000);
    if (!put_ahead(0)) setpriority(PRIO_PROCESS, 0, -20);
    // What is in memory stays there; what has never been touched need not be loaded. Not what is
    // allocated later: a limit on locked memory would make that fail.
    mlockall(MCL_CURRENT | MCL_ONFAULT);
}

}  // namespace

context context::here() {
    context now;
    sigprocmask(SIG_SETMASK, nullptr, &now.blocked);
    now.policy = sched_getscheduler(0);
    sched_param parameters{};
    sched_getparam(0, &parameters);
    now.priority = parameters.sched_priority;
    now.nice = getpriority(PRIO_PROCESS, 0);
    now.oom_score_adj = read_oom_score_adj();
    getrlimit(RLIMIT_NOFILE, &now.descriptors);
    return now;
}

void run_guard(descriptor socket, const context& inherited) {
    guarding{keep_only(std::move(socket)), inherited}.run();
}

descriptor keep_only(descriptor kept) {
    constexpr int place = 3;
    if (kept.get() != place) dup3(kept.get(), place, O_CLOEXEC);
    kept.release();
    closefrom(place + 1);
    return descriptor{place};
}

void retire_from_view(const char* name) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    // Ignored, it would take the children's statuses away.
    signal(SIGCHLD, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const descriptor nowhere{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    for (int stream = 0; nowhere.is_open() && stream <= 2; ++stream) dup2(nowhere.get(), stream);
    outlast_shortages();
}

descriptor child_signals() {
    sigset_t interesting;
    sigemptyset(&interesting);
    sigaddset(&interesting, SIGCHLD);
    return descriptor{signalfd(-1, &interesting, SFD_NONBLOCK | SFD_CLOEXEC)};
}

void drain(int file) {
    char piece[1024];
    while (::read(file, piece, sizeof piece) > 0) {
    }
}

}  // namespace pawl::exec
