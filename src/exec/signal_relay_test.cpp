#include "exec/signal_relay.hpp"

#include "exec/exec_fixture.hpp"

#include <boost/asio/post.hpp>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>

namespace pawl::exec {
namespace {

using namespace std::chrono_literals;
using crash::eventually;
using crash::run_in_process;
using crash::scratch_folder;
using crash::text_of;
using crash::wait_for_process;

boost::asio::awaitable<exit_status> run_relayed(net::loop& loop, const launcher& from,
                                                command wanted) {
    child running{loop.get_executor(), from};
    const limits until{};
    // Before the command: who sees that it runs may send signals.
    const signal_relay relay{loop, [&](int signal) { running.signal(signal); }};
    co_await running.spawn(std::move(wanted), until);
    co_return co_await running.wait();
}

// Another process that passes its signals on to a command, and ends with the command's status.
pid_t relaying(const std::string& script) {
    return run_in_process([&] {
        launcher from = launcher::start();
        net::loop loop;
        auto work = run_relayed(loop, from, shell(script));
        _exit(loop.wait_for(std::move(work)).as_shell());
    });
}

// A script that says what it hears, until it hears TERM.
std::string listener(const std::string& log) {
    std::string script = "trap 'exit 7' TERM;";
    for (const char* name : {"HUP", "INT", "QUIT", "USR1", "USR2", "WINCH"}) {
        script += std::string{" trap 'echo "} + name + " >> " + log + "' " + name + ";";
    }
    return script + " echo READY >> " + log + "; while :; do sleep 0.01 & wait; done";
}

// What pawl receives the command receives: send each signal and wait until the command says so.
TEST(SignalRelay, PassesOnWhatPawlReceives) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    const pid_t pid = relaying(listener(log));
    const auto hears = [&](const char* word) {
        return eventually([&] { return text_of(log).find(word) != std::string::npos; });
    };
    ASSERT_TRUE(hears("READY"));
    // The command is ready somewhat before the relay is; an INT that came too early would end us.
    ASSERT_TRUE(eventually([&] {
        const std::string status = text_of("/proc/" + std::to_string(pid) + "/status");
        const std::size_t caught = status.find("SigCgt:");
        return caught != std::string::npos &&
               (std::stoull(status.substr(caught + 8, 16), nullptr, 16) >> (SIGTSTP - 1) & 1) == 1;
    }));
    kill(pid, SIGHUP);
    EXPECT_TRUE(hears("HUP"));
    kill(pid, SIGINT);
    EXPECT_TRUE(hears("INT"));
    kill(pid, SIGQUIT);
    EXPECT_TRUE(hears("QUIT"));
    kill(pid, SIGUSR1);
    EXPECT_TRUE(hears("USR1"));
    kill(pid, SIGUSR2);
    EXPECT_TRUE(hears("USR2"));
    kill(pid, SIGWINCH);
    EXPECT_TRUE(hears("WINCH"));
    kill(pid, SIGTERM);
    const int status = wait_for_process(pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

// ^Z in a pipeline stops pawl and the command alike, and a continued pawl continues the command.
TEST(SignalRelay, StopsWithTheCommandAndContinuesIt) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    const pid_t pid = relaying("exec " + std::string{TOKEN_WRITER} + " " + log + " --for 60000");
    ASSERT_TRUE(eventually([&] { return !crash::entries_of(log).empty(); }));
    const pid_t command = crash::entries_of(log).front().writer;
    const auto state_of = [](pid_t who) {
        const std::string stat = text_of("/proc/" + std::to_string(who) + "/stat");
        const std::size_t name_end = stat.rfind(')');
        return name_end == std::string::npos ? '?' : stat[name_end + 2];
    };
    // Once: a second one, still on its way when the first has stopped it, would stop it again.
    kill(pid, SIGTSTP);
    ASSERT_TRUE(eventually([&] { return state_of(pid) == 'T' && state_of(command) == 'T'; }));
    kill(pid, SIGCONT);
    EXPECT_TRUE(eventually([&] { return state_of(command) != 'T' && state_of(pid) != 'T'; }));
    kill(command, SIGTERM);
    const int status = wait_for_process(pid);
    EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

// Goal: no relay ends beside a signal that is being passed on.
TEST(SignalRelayDeathTest, EndsOnItsLoopOnly) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            net::loop loop;
            signal_relay(loop, [](int) {});
        },
        "signal_relay.cpp");
}

// Nothing is seen of a failure here but by a sanitizer that looks for leaks: tools/check.
TEST(SignalRelay, LeavesNothingBehindOnALoopThatEndsAtOnce) {
    net::loop loop;
    std::promise<void> gone;
    boost::asio::post(loop.get_executor(), [&] {
        std::make_unique<signal_relay>(loop, [](int) {}).reset();
        gone.set_value();
    });
    gone.get_future().wait();
}

// nohup must go on working: a signal that is ignored when the relay begins stays ignored.
TEST(SignalRelay, LeavesIgnoredSignalsIgnored) {
    const pid_t pid = run_in_process([] {
        signal(SIGHUP, SIG_IGN);
        net::loop loop;
        const signal_relay relay{loop, [](int) { _exit(1); }};
        raise(SIGHUP);
        raise(SIGHUP);
        struct sigaction now{};
        sigaction(SIGHUP, nullptr, &now);
        _exit(now.sa_handler == SIG_IGN ? 0 : 2);
    });
    EXPECT_EQ(wait_for_process(pid), 0);
}

}  // namespace
}  // namespace pawl::exec
