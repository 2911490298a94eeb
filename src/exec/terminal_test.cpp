// A person at a terminal: pawl runs on a pseudo-terminal as a shell's job would.
#include "exec/terminal.hpp"

#include "exec/exec_fixture.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace pawl::exec {
namespace {

using crash::eventually;
using crash::scratch_folder;
using crash::text_of;

// Both sides of a pseudo-terminal, with a process as its session leader, as a shell is, that runs
// `body` in a job of its own in the foreground. It exits with 0 when the job has ended with 0.
class session {
public:
    explicit session(const std::function<void()>& body) {
        int screen = -1;
        leader_ = forkpty(&screen, nullptr, nullptr, nullptr);
        screen_ = descriptor{screen};
        if (leader_ != 0) return;
        signal(SIGTTOU, SIG_IGN);
        const pid_t job = crash::run_in_process([&] {
            setpgid(0, 0);
            tcsetpgrp(STDIN_FILENO, getpid());
            signal(SIGTTOU, SIG_DFL);
            body();
        });
        setpgid(job, job);
        tcsetpgrp(STDIN_FILENO, job);
        _exit(follow(job));
    }
    ~session() {
        kill(leader_, SIGKILL);
        crash::wait_for_process(leader_);
    }

    void type(const std::string& keys) const {
        [[maybe_unused]] const auto wrote = write(screen_.get(), keys.data(), keys.size());
    }
    // Everything on the screen until the session has ended.
    int end() {
        char piece[256];
        while (read(screen_.get(), piece, sizeof piece) > 0) {
        }
        const int status = crash::wait_for_process(leader_);
        leader_ = fork_nothing();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    }

private:
    // So that the destructor has a child to end.
    static pid_t fork_nothing() {
        return crash::run_in_process([] { pause(); });
    }

    // A shell's `fg`: each time the job stops it takes the terminal, and gives it back at once.
    static int follow(pid_t job) {
        for (int stops = 0;; ++stops) {
            int status = 0;
            waitpid(job, &status, WUNTRACED);
            if (!WIFSTOPPED(status)) return WIFEXITED(status) ? WEXITSTATUS(status) + stops : 99;
            tcsetpgrp(STDIN_FILENO, getpid());
            tcsetpgrp(STDIN_FILENO, job);
            kill(-job, SIGCONT);
        }
    }

    pid_t leader_ = -1;
    descriptor screen_;
};

void run_in_foreground(const std::string& script) {
    if (!holds_terminal()) _exit(90);
    trial fixture;
    command wanted = shell(script);
    wanted.place = placement::foreground;
    const exit_status status = fixture.run(std::move(wanted));
    // The terminal is ours again when the command has ended.
    if (!holds_terminal()) _exit(91);
    _exit(status.as_shell());
}

// A command started by hand can read what is typed, and leaves the terminal to us when it ends.
TEST(Terminal, IsTheCommandsWhileItRuns) {
    const scratch_folder folder;
    const std::string typed = folder.file("typed");
    session person{[&] { run_in_foreground("read word; echo $word > " + typed + "; exit 3"); }};
    person.type("hello\n");
    EXPECT_EQ(person.end(), 3);
    EXPECT_EQ(text_of(typed), "hello\n");
}

// ^C reaches the command, in its own group, and not pawl.
TEST(Terminal, InterruptReachesTheCommandOnly) {
    const scratch_folder folder;
    const std::string ready = folder.file("ready");
    session person{[&] {
        run_in_foreground("trap 'exit 5' INT; echo > " + ready + "; while :; do sleep 0.01; done");
    }};
    ASSERT_TRUE(eventually([&] { return !text_of(ready).empty(); }));
    person.type("\x03");
    EXPECT_EQ(person.end(), 5);
}

// ^Z stops the job as the shell sees it, once, and `fg` lets it go on reading.
TEST(Terminal, SuspendStopsPawlTooAndForegroundContinues) {
    const scratch_folder folder;
    const std::string ready = folder.file("ready");
    const std::string typed = folder.file("typed");
    session person{[&] {
        run_in_foreground("echo > " + ready + "; read word; echo $word > " + typed + "; exit 3");
    }};
    ASSERT_TRUE(eventually([&] { return !text_of(ready).empty(); }));
    person.type("\x1a");
    person.type("after\n");
    // One more than the command's own: the session counts how often the job stopped.
    EXPECT_EQ(person.end(), 4);
    EXPECT_EQ(text_of(typed), "after\n");
}

// In a pipeline the terminal stays with the job: stdout is no terminal, so nothing is given away.
TEST(Terminal, IsNotTakenFromAPipeline) {
    session person{[] {
        std::array<int, 2> ends{};
        if (pipe(ends.data()) != 0) _exit(92);
        dup2(ends[1], STDOUT_FILENO);
        _exit(holds_terminal() ? 1 : 0);
    }};
    EXPECT_EQ(person.end(), 0);
}

}  // namespace
}  // namespace pawl::exec
