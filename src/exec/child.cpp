#include "exec/child.hpp"

#include "base/ensure.hpp"
#include "exec/pidfd.hpp"
#include "exec/terminal.hpp"
#include "exec/wire.hpp"
#include "net/boot_timer.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <utility>

namespace pawl::exec {

using boost::asio::awaitable;
using boost::asio::posix::stream_descriptor;

struct child::state : std::enable_shared_from_this<state> {
    state(const boost::asio::any_io_executor& executor, const launcher& from)
        : from{from}, socket{executor}, watchdog{executor} {}

    const launcher& from;
    descriptor prepared;  // the socket of a guard that waits
    stream_descriptor socket;
    net::boot_timer watchdog;
    instant kill_at = instant::max();
    instant stop_ends = instant::max();  // what was told to stop has to be dead
    instant ready_by = instant::max();   // the guard has to have said that it is there
    instant answer_by = instant::max();  // and this, whether the command runs
    millis start_timeout{};
    pid_t pid = 0;
    pid_t guard = 0;
    // Their pidfds, where the kernel has them.
    descriptor life;
    descriptor guard_life;
    bool over = false;
    bool handed_over = false;  // the guard has been sent the command
    // How far the guard has come with it
    std::optional<report> answer;  // `running` or `rejected`
    bool hung_up = false;          // without an answer
    bool is_due = false;           // one of the instants came, and is to be looked at
    bool cut_short = false;        // it is not to be started any more
    bool expired = false;          // because kill_at has come
    // Whether it is a job of a terminal, and whether it has the terminal at the moment.
    placement place = placement::background;
    placement now_at = placement::background;

    // What the guard has still to be told, when its socket was full. Newer deadlines replace older.
    std::optional<order> deadline_due;
    std::optional<order> stop_due;
    std::bitset<65> signals_due;
    bool flushing = false;

    std::optional<spawn_fault> call_guard();
    std::optional<spawn_fault> start(const command& wanted, const limits& until);
    awaitable<void> wait_for_answer();
    void hear_answer();
    void look_at_start();
    void cut_start_short();
    void kill_guard();
    void resume_watchers();
    awaitable<std::optional<spawn_fault>> fault_of_start();
    awaitable<std::optional<report>> next_report();
    bool flush();
    awaitable<void> flush_when_writable();
    void tell_what_is_due();
    void finish();
    void set_stop_end(std::chrono::nanoseconds grace);
    instant next_due() const;
    void strike();
    awaitable<void> bury();
    void give_back_terminal();
    void pause_with_it(int signal);
    static awaitable<void> watch(std::shared_ptr<state> self);
};

namespace {

std::int64_t since_boot(instant when) {
    return std::chrono::nanoseconds{when.time_since_epoch()}.count();
}

// Between two looks at whether what was killed is dead.
constexpr millis bury_interval{5};

// A guard ends in time what it is told to stop. One that is late by this does not answer.
constexpr millis guard_lateness_max{2'000};

// Where the kernel gave no pidfd, nothing else is known.
bool lives_on(const descriptor& pidfd) {
    if (!pidfd.is_open()) return true;
    pollfd source{pidfd.get(), POLLIN, 0};
    return poll(&source, 1, 0) == 0;
}

exit_status to_status(const report& news) {
    exit_status status;
    status.cause = static_cast<ending>(news.cause);
    if (WIFSIGNALED(news.status)) {
        status.signal = WTERMSIG(news.status);
    } else {
        status.code = WEXITSTATUS(news.status);
    }
    return status;
}

}  // namespace

std::optional<spawn_fault> child::state::call_guard() {
    if (prepared.is_open()) return {};
    auto [ours, theirs] = socket_pair();
    if (!ours.is_open()) return spawn_fault{stage::guard, errno};
    if (const int error = from.fork_guard(theirs)) return spawn_fault{stage::guard, error};
    prepared = std::move(ours);
    return {};
}

std::optional<spawn_fault> child::state::start(const command& wanted, const limits& until) {
    if (lease_clock::now() >= std::min(until.stop_at, until.kill_at))
        return spawn_fault{stage::guard, ETIMEDOUT};
    for (const int stream : wanted.streams) {
        if (fcntl(stream, F_GETFD) < 0) return spawn_fault{stage::guard, errno};
    }
    const descriptor text = memory_file(encode(wanted));
    if (!text.is_open()) return spawn_fault{stage::guard, errno};
    if (const auto fault = call_guard()) return fault;
    order begin{};
    begin.kind = order_kind::start;
    begin.stop_at = since_boot(until.stop_at);
    begin.kill_at = since_boot(until.kill_at);
    begin.grace = std::chrono::nanoseconds{until.grace}.count();
    const std::array<int, 4> beside{text.get(), wanted.streams[0], wanted.streams[1],
                                    wanted.streams[2]};
    boost::system::error_code error;
    socket.assign(prepared.get(), error);
    if (error) return spawn_fault{stage::guard, error.value()};
    // The launcher may have rejected already, and closed: its answer can still be read.
    const auto how = send(prepared.release(), begin, beside);
    handed_over = how == delivery_result::sent;
    if (how == delivery_result::sent || how == delivery_result::closed) return {};
    const int fault = how == delivery_result::full ? ENOBUFS : errno;
    socket.close(error);
    return spawn_fault{stage::guard, fault};
}

// Ends with an answer; where there is none, all that the guard had is dead, or it never has
// anything.
awaitable<void> child::state::wait_for_answer() {
    for (;;) {
        hear_answer();
        if (answer || hung_up || over) co_return;
        if (std::exchange(is_due, false)) {
            look_at_start();
            watchdog.set(next_due());
            continue;
        }
        // A launcher that was stopped is continued: for what a guard has left, and for the next
        // start.
        if (cut_short) from.wake();
        // A guard that says that it is ready from now on starts nothing.
        if (cut_short && guard == 0) co_return;
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        co_await socket.async_wait(stream_descriptor::wait_read, token);
        // The watchdog ends the wait, too.
        if (error && !is_due) co_return;
    }
}

// All that has been said until there is an answer.
void child::state::hear_answer() {
    while (socket.is_open() && !answer) {
        report news{};
        std::array<descriptor, 1> beside;
        const arrival came = receive(socket.native_handle(), news, beside);
        if (came == arrival::nothing) return;
        hung_up = came == arrival::closed;
        if (hung_up) return;
        switch (news.kind) {
            case report_kind::ready:
                guard = news.pid;
                guard_life = std::move(beside[0]);
                from.add_guard(guard);
                if (cut_short) kill_guard();
                break;
            case report_kind::running:
                // Of what is cut short, only the end counts.
                if (cut_short) break;
                pid = news.pid;
                life = std::move(beside[0]);
                answer = news;
                break;
            case report_kind::rejected:
                answer = news;
                break;
            case report_kind::paused:
            case report_kind::ended:
                break;
        }
    }
}

// Of a start without an answer, when one of its instants has come. A guard that is there may be
// busy with a command on a slow disk, or have been stopped; it is cut short only where the command
// has to end.
void child::state::look_at_start() {
    const instant now = lease_clock::now();
    expired = now >= kill_at;
    if (expired || now >= std::min(stop_ends, answer_by) || (now >= ready_by && guard == 0))
        return cut_start_short();
    if (now < ready_by) return;
    ready_by = now + start_timeout;
    if (guard_life.is_open()) signal_pidfd(guard_life, SIGCONT);
}

// The order of these matters: see the guard's start(). What the guard has begun, unheard of or not,
// ends with it: the kernel kills the command, and the launcher the rest, before it hangs up.
void child::state::cut_start_short() {
    cut_short = true;
    shutdown(socket.native_handle(), SHUT_WR);
    kill_guard();
}

void child::state::kill_guard() {
    if (guard_life.is_open()) signal_pidfd(guard_life, SIGKILL);
}

// The launcher continues a guard that has been stopped. A command may have stopped both.
void child::state::resume_watchers() {
    from.wake();
    if (guard_life.is_open()) signal_pidfd(guard_life, SIGCONT);
}

// Nothing: the command runs.
awaitable<std::optional<spawn_fault>> child::state::fault_of_start() {
    if (answer && answer->kind == report_kind::running) co_return std::nullopt;
    if (answer) co_return spawn_fault{static_cast<stage>(answer->where), answer->status};
    const bool ready = guard > 0;
    // It may have begun to run before its guard was killed.
    if (ready && !over && !from.is_alive()) {
        auto burying = bury();
        co_await std::move(burying);
    }
    // A guard that comes from now on finds the socket shut, and begins nothing.
    if (expired) co_return spawn_fault{stage::guard, ready ? ETIME : ETIMEDOUT};
    if (cut_short) co_return spawn_fault{stage::guard, ready ? ENOTRECOVERABLE : EBUSY};
    if (ready && handed_over) co_return spawn_fault{stage::guard, EOWNERDEAD};
    co_return spawn_fault{stage::guard, from.is_alive() ? ESRCH : ECHILD};
}

// Nothing when the guard is gone, or when no caller waits any longer.
awaitable<std::optional<report>> child::state::next_report() {
    for (;;) {
        if (!socket.is_open()) co_return std::nullopt;
        report news{};
        const arrival came = receive(socket.native_handle(), news);
        if (came == arrival::message) co_return news;
        if (came == arrival::closed) co_return std::nullopt;
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        co_await socket.async_wait(stream_descriptor::wait_read, token);
        if (error) co_return std::nullopt;
    }
}

// False when the socket is full: what is due stays due.
bool child::state::flush() {
    if (!socket.is_open()) return true;
    const int number = socket.native_handle();
    for (std::size_t at = 1; at < signals_due.size(); ++at) {
        if (!signals_due.test(at)) continue;
        order what{};
        what.kind = order_kind::signal;
        what.signal = static_cast<std::int32_t>(at);
        if (send(number, what) == delivery_result::full) return false;
        signals_due.reset(at);
    }
    if (stop_due && send(number, *stop_due) == delivery_result::full) return false;
    stop_due.reset();
    if (deadline_due && send(number, *deadline_due) == delivery_result::full) return false;
    deadline_due.reset();
    return true;
}

awaitable<void> child::state::flush_when_writable() {
    const std::shared_ptr<state> self = shared_from_this();
    while (!over && !flush()) {
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        co_await socket.async_wait(stream_descriptor::wait_write, token);
        // The watchdog ends the waits of a start that is due.
        if (error && error != boost::asio::error::operation_aborted) break;
    }
    flushing = false;
}

void child::state::tell_what_is_due() {
    if (over) return;
    if (pid != 0) resume_watchers();
    if (flushing || flush()) return;
    flushing = true;
    boost::asio::co_spawn(socket.get_executor(), flush_when_writable(), boost::asio::detached);
}

void child::state::finish() {
    if (over) return;
    over = true;
    if (guard > 0) from.remove_guard(guard);
    life.close();
    guard_life.close();
    prepared.close();
    boost::system::error_code ignored;
    socket.close(ignored);
    watchdog.wake();
    give_back_terminal();
}

void child::state::give_back_terminal() {
    if (now_at == placement::foreground) take_terminal_back();
    now_at = placement::background;
}

// Stopped at the terminal: by ^Z, so that the shell must see us stop too, or because it wanted the
// terminal that we have got back since (`bg`, then `fg`).
void child::state::pause_with_it(int signal) {
    const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (!wants_terminal || now_at == placement::foreground || !holds_terminal()) {
        give_back_terminal();
        stop_with_the_command();
    }
    if (give_terminal(pid)) now_at = placement::foreground;
}

// For a guard that is dead or frozen. While the guard is there, the command's number is its own:
// the guard waits for the command last, and only once we have hung up. Without the guard it is as
// long as the command lives; what else there is of the group is the launcher's to kill.
void child::state::strike() {
    if (pid > 0 && (lives_on(guard_life) || lives_on(life))) kill(-pid, SIGKILL);
    resume_watchers();
}

// Guard and launcher are dead, so that all that they watched over has become ours, or does when its
// own parent dies.
awaitable<void> child::state::bury() {
    if (guard > 0) from.remove_guard(guard);
    while (from.strike_at_orphans()) {
        auto pause = net::sleep_for(bury_interval);
        co_await std::move(pause);
    }
}

void child::state::set_stop_end(std::chrono::nanoseconds grace) {
    stop_ends = std::min(stop_ends, lease_clock::now() + grace + guard_lateness_max);
    watchdog.set(next_due());
}

instant child::state::next_due() const {
    if (pid != 0) return std::min(kill_at, stop_ends);
    if (is_due || cut_short) return instant::max();
    return std::min({kill_at, stop_ends, ready_by, answer_by});
}

awaitable<void> child::state::watch(std::shared_ptr<state> self) {
    while (!self->over) {
        self->watchdog.set(self->next_due());
        co_await self->watchdog.wait();
        if (self->over || lease_clock::now() < self->next_due()) continue;
        if (self->pid != 0) {
            self->kill_at = self->stop_ends = instant::max();
            self->strike();
            continue;
        }
        // The one that waits for an answer looks whether one is there, and what is to be done.
        self->is_due = true;
        boost::system::error_code ignored;
        self->socket.cancel(ignored);
    }
}

child::child(boost::asio::any_io_executor executor, const launcher& from)
    : state_{std::make_shared<state>(executor, from)} {}

child::~child() {
    if (state_) state_->finish();
}

void child::prepare() {
    base::ensure(!state_->socket.is_open() && !state_->over);
    static_cast<void>(state_->call_guard());
}

awaitable<std::optional<spawn_fault>> child::spawn(command wanted, limits until) {
    const std::shared_ptr<state> me = state_;
    base::ensure(!me->socket.is_open() && !me->over && !wanted.arguments.empty());
    me->kill_at = until.kill_at;
    if (const auto fault = me->start(wanted, until)) {
        me->over = true;
        co_return fault;
    }
    me->start_timeout = until.start_timeout;
    me->ready_by = std::min(until.kill_at, lease_clock::now() + until.start_timeout);
    if (me->stop_due) me->set_stop_end(std::chrono::nanoseconds{me->stop_due->grace});
    me->place = me->now_at = wanted.place;
    // A stop or a signal may have come first; a deadline is part of the start.
    me->deadline_due.reset();
    me->tell_what_is_due();
    auto watching = state::watch(me);
    boost::asio::co_spawn(me->socket.get_executor(), std::move(watching), boost::asio::detached);
    auto waiting = me->wait_for_answer();
    co_await std::move(waiting);
    auto judging = me->fault_of_start();
    const std::optional<spawn_fault> fault = co_await std::move(judging);
    if (fault) me->finish();
    // One of its instants may have come while the answer was on its way.
    if (!fault) me->watchdog.set(me->next_due());
    co_return fault;
}

awaitable<exit_status> child::wait() {
    const std::shared_ptr<state> me = state_;
    base::ensure(me->pid > 0);
    for (;;) {
        const std::optional<report> news = co_await me->next_report();
        if (!news) break;
        if (news->kind == report_kind::ended) {
            me->finish();
            co_return to_status(*news);
        }
        if (news->kind != report_kind::paused || me->place != placement::foreground) continue;
        me->pause_with_it(news->status);
        signal(SIGCONT);
    }
    // With a launcher alive, the end of the socket says that it has killed what the guard left.
    if (!me->over && !me->from.is_alive()) {
        auto burying = me->bury();
        co_await std::move(burying);
    }
    me->finish();
    exit_status status;
    status.signal = SIGKILL;
    status.cause = ending::guard_lost;
    co_return status;
}

void child::extend(instant stop_at, instant kill_at) {
    state_->kill_at = kill_at;
    if (state_->over) return;
    state_->watchdog.set(state_->next_due());
    order what{};
    what.kind = order_kind::deadline;
    what.stop_at = since_boot(stop_at);
    what.kill_at = since_boot(kill_at);
    state_->deadline_due = what;
    state_->tell_what_is_due();
}

void child::signal(int number) {
    if (number < 1 || number >= static_cast<int>(state_->signals_due.size())) return;
    state_->signals_due.set(static_cast<std::size_t>(number));
    state_->tell_what_is_due();
}

void child::stop(millis grace) {
    order what{};
    what.kind = order_kind::stop;
    what.grace = std::chrono::nanoseconds{grace}.count();
    state_->stop_due = what;
    if (state_->socket.is_open()) state_->set_stop_end(grace);
    state_->tell_what_is_due();
}

void child::answer_within(millis wait) {
    if (state_->over || state_->pid != 0 || !state_->socket.is_open()) return;
    state_->answer_by = std::min(state_->answer_by, lease_clock::now() + wait);
    state_->watchdog.set(state_->next_due());
}

pid_t child::pid() const noexcept { return state_->pid; }

pid_t child::guard_pid() const noexcept { return state_->guard; }

}  // namespace pawl::exec
