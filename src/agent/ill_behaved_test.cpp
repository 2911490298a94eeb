// Commands that do not do as they should, and what becomes of them: the run ends, nothing of it is
// left, and the other runs of the agent never notice.
#include "agent/body_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace pawl::agent {
namespace {

using namespace std::chrono_literals;
using namespace crash;
using schedule::stop_cause;

std::vector<pid_t> numbers_in(const std::string& text) {
    std::istringstream words{text};
    std::vector<pid_t> all;
    for (pid_t one = 0; words >> one;) all.push_back(one);
    return all;
}

// SIGTERM ignored: SIGKILL comes after the grace, and not before.
TEST(IllBehaved, WhoIgnoresTermIsKilledAfterTheGrace) {
    body_trial fixture;
    auto job = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done 2> /dev/null");
    job.grace = 200ms;
    instant asked{};
    interference what;
    what.on_output = [&](schedule::body& body, const std::string&) {
        asked = lease_clock::now();
        body.stop(stop_cause::cancelled);
    };
    const auto ended = fixture.run(job, order_of(), what);
    EXPECT_GE(lease_clock::now() - asked, 200ms);
    EXPECT_EQ(ended.how.reason, "stopped (cancelled): killed by SIGKILL");
    EXPECT_EQ(ended.how.exit_status, 128 + SIGKILL);
}

// A lost lease leaves no more time than its lock delay, whatever grace the job has, and also when
// the run was cancelled with all its grace before.
TEST(IllBehaved, ALostLeaseShortensTheGrace) {
    body_trial fixture;
    fixture.surround_with({}, 200ms);
    auto job = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done 2> /dev/null");
    job.grace = 24h;
    instant asked{};
    interference what;
    what.on_output = [&](schedule::body& body, const std::string&) {
        asked = lease_clock::now();
        body.stop(stop_cause::cancelled);
        body.force_stop();
    };
    const auto ended = fixture.run(job, order_of(), what);
    EXPECT_GE(lease_clock::now() - asked, 200ms);
    EXPECT_EQ(ended.how.reason, "stopped (cancelled): killed by SIGKILL");
}

// Two forks and a session of its own are no way out, and neither is keeping stdout open: the run
// ends when the daemon is dead, with what both have written.
TEST(IllBehaved, DaemonsEndWithTheRunAndDoNotHoldItOpen) {
    const scratch_folder folder;
    const std::string pid_file = folder.file("pid");
    body_trial fixture;
    auto job = shell("(setsid sh -c 'trap \"\" TERM; echo $$ > " + pid_file +
                     "; echo from the daemon; while :; do sleep 0.05; done 2> /dev/null' &) & "
                     "while ! test -s " +
                     pid_file + "; do sleep 0.01; done; echo from the command; exit 5");
    job.grace = 100ms;
    const auto ended = fixture.run(job);
    EXPECT_EQ(ended.how.reason, "exit 5");
    EXPECT_THAT(ended.output, testing::HasSubstr("from the daemon\n"));
    EXPECT_THAT(ended.output, testing::HasSubstr("from the command\n"));
    for (const pid_t daemon : numbers_in(text_of(pid_file)))
        EXPECT_FALSE(crash::is_running(daemon));
}

// A process that is no descendant has got hold of the pipe (as a log daemon that was handed it):
// the run ends all the same, with all that was written before.
TEST(IllBehaved, AStrangerWhoHoldsThePipeDoesNotHoldTheRunOpen) {
    body_trial fixture;
    int stolen = -1;
    interference what;
    what.on_output = [&](schedule::body& body, const std::string& text) {
        if (stolen >= 0 || text.find('\n') == std::string::npos) return;
        const std::string pid = std::to_string(numbers_in(text).at(0));
        stolen = open(("/proc/" + pid + "/fd/1").c_str(), O_WRONLY | O_CLOEXEC);
        body.stop(stop_cause::cancelled);
    };
    const auto ended = fixture.run(
        shell(
            "trap 'printf last; exit 0' TERM; echo $$; while :; do sleep 0.05; done 2> /dev/null"),
        order_of(), what);
    ASSERT_GE(stolen, 0);
    EXPECT_EQ(ended.how.reason, "stopped (cancelled): exit 0");
    EXPECT_THAT(ended.output, testing::EndsWith("last"));
    // No process reads any longer, so the stranger is told.
    signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(write(stolen, "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    close(stolen);
}

// A command may close its streams and go on; its end is that of the process.
TEST(IllBehaved, WhoClosesItsStreamsContinuesAndEndsAsItEnds) {
    const scratch_folder folder;
    body_trial fixture;
    const auto ended = fixture.run(
        shell("echo first; exec <&- >&- 2>&-; sleep 0.3; : > " + folder.file("on") + "; exit 7"));
    EXPECT_EQ(ended.output, "first\n");
    EXPECT_EQ(ended.how.reason, "exit 7");
    EXPECT_EQ(access(folder.file("on").c_str(), F_OK), 0);
}

// Every byte arrives as it was written: NULs, invalid UTF-8, no line end for a megabyte.
TEST(IllBehaved, BinaryOutputArrivesAsItWasWritten) {
    const scratch_folder folder;
    std::string bytes;
    for (int at = 0; at < 1'000'000; ++at) bytes.push_back(static_cast<char>(at * 31 % 256));
    std::ofstream{folder.file("bytes"), std::ios::binary} << bytes;
    body_trial fixture;
    const auto ended = fixture.run(job_of({"/bin/cat", folder.file("bytes")}));
    EXPECT_TRUE(ended.how.succeeded);
    EXPECT_TRUE(ended.output == bytes);
}

std::size_t peak_memory_kib() {
    std::istringstream status{text_of("/proc/self/status")};
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
    }
    throw std::runtime_error{"no VmHWM in /proc/self/status"};
}

// From here on the peak counts from what is in use now, and what is freed is no longer at hand.
void forget_peak_memory() {
    malloc_trim(0);
    std::ofstream{"/proc/self/clear_refs"} << "5";
}

void touch_memory(std::size_t bytes) {
    void* all = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ASSERT_NE(all, MAP_FAILED);
    munmap(all, bytes);
}

boost::asio::awaitable<schedule::work_result> run_counting(schedule::body_maker make,
                                                           std::shared_ptr<std::size_t> bytes,
                                                           std::shared_ptr<std::size_t> largest) {
    const auto body = make([bytes, largest](std::string_view chunk) {
        *bytes += chunk.size();
        *largest = std::max(*largest, chunk.size());
    });
    auto order = order_of();
    auto running = body->run(std::move(order));
    schedule::work_result how = co_await std::move(running);
    co_return how;
}

// A gibibyte passes through without staying: the peak of memory hardly rises, and the chunks are no
// longer than promised. The time is generous for a machine with one busy core.
TEST(IllBehaved, AGibibyteOfOutputPassesThroughInBoundedMemoryAndTime) {
    constexpr std::size_t gibibyte = 1u << 30;
    body_trial fixture;
    fixture.run(job_of({"/bin/true"}));
    const auto bytes = std::make_shared<std::size_t>(0);
    const auto largest = std::make_shared<std::size_t>(0);
    forget_peak_memory();
    const std::size_t before = peak_memory_kib();
    const instant began = lease_clock::now();
    auto work = run_counting(
        fixture.maker(job_of({"/usr/bin/head", "-c", std::to_string(gibibyte), "/dev/zero"})),
        bytes, largest);
    const auto how = fixture.loop().wait_for(std::move(work));
    const auto took = std::chrono::duration_cast<millis>(lease_clock::now() - began);
    EXPECT_TRUE(how.succeeded) << how.reason;
    EXPECT_EQ(*bytes, gibibyte);
    EXPECT_LE(*largest, schedule::output_chunk_max);
    const std::size_t after = peak_memory_kib();
    RecordProperty("milliseconds", std::to_string(took.count()));
    RecordProperty("kib", std::to_string(after - before));
    EXPECT_LT(after - before, 4096u);
    // The measure would have seen it.
    touch_memory(64u << 20);
    EXPECT_GT(peak_memory_kib(), after + 8192);
    EXPECT_LT(took, 60s);
}

boost::asio::awaitable<int> run_beside_floods(body_trial& fixture, int floods, int others) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto quiet = std::make_shared<std::size_t>(0);
    std::vector<std::shared_ptr<schedule::body>> flooding;
    const auto running = std::make_shared<int>(floods);
    const auto make_flood = fixture.maker(job_of({"/usr/bin/yes", "flood"}));
    for (int at = 0; at < floods; ++at) {
        flooding.push_back(make_flood([](std::string_view) {}));
        auto work = flooding.back()->run(order_of());
        boost::asio::co_spawn(
            executor, std::move(work),
            [running](std::exception_ptr, const schedule::work_result&) { --*running; });
    }
    int good = 0;
    for (int at = 0; at < others; ++at) {
        auto work = run_counting(fixture.maker(shell("echo here")), quiet, quiet);
        const auto how = co_await std::move(work);
        if (how.succeeded) ++good;
    }
    if (*running != floods) good = -1;
    for (const auto& one : flooding) one->stop(stop_cause::cancelled);
    while (*running > 0) {
        auto token = boost::asio::use_awaitable;
        co_await boost::asio::post(executor, token);
    }
    co_return good;
}

// Commands that write without end take turns with the others: while four of them flood, twenty
// others run from beginning to end, and the floods can still be stopped.
TEST(IllBehaved, AFloodDoesNotStarveOtherRuns) {
    body_trial fixture;
    auto work = run_beside_floods(fixture, 4, 20);
    EXPECT_EQ(fixture.loop().wait_for(std::move(work)), 20);
}

boost::asio::awaitable<int> run_at_once(body_trial& fixture, int count) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto right = std::make_shared<int>(0);
    const auto left = std::make_shared<int>(count);
    const auto make = fixture.maker(shell("echo $0; exit $0"));
    for (int at = 0; at < count; ++at) {
        auto work = run_body(make, order_of({std::to_string(at)}), {});
        boost::asio::co_spawn(
            executor, std::move(work), [=](std::exception_ptr, const trial_result& ended) {
                --*left;
                if (ended.how.exit_status == at && ended.output == std::to_string(at) + "\n")
                    ++*right;
            });
    }
    while (*left > 0) {
        auto token = boost::asio::use_awaitable;
        co_await boost::asio::post(executor, token);
    }
    co_return *right;
}

// A hundred commands at once keep their statuses and their output apart.
TEST(IllBehaved, AHundredAtOnceKeepTheirStatusAndOutputApart) {
    body_trial fixture;
    auto work = run_at_once(fixture, 100);
    EXPECT_EQ(fixture.loop().wait_for(std::move(work)), 100);
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator{"/proc/self/fd"})
        ++count;
    return count;
}

int code_of_a_system_error() {
    boost::asio::io_context loop;
    boost::asio::posix::stream_descriptor none{loop};
    try {
        none.assign(-1);
    } catch (const boost::system::system_error& error) {
        return error.code().value();
    }
    return 0;
}

// An agent that is out of descriptors says so, wherever it runs out, loses none, and goes on when
// there are some again: leave it one, two, three, until it has enough.
TEST(IllBehaved, OutOfDescriptorsIsOneClearLineAndPasses) {
    body_trial fixture;
    ASSERT_TRUE(fixture.run(shell("true")).how.succeeded);
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    // UBSan looks at a type that it meets for the first time through a pipe of its own, and calls
    // one that it cannot look at invalid: it meets this one while there are descriptors.
    EXPECT_EQ(code_of_a_system_error(), EBADF);
    const exec::descriptor first_free{open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const std::size_t open_before = open_descriptors();
    int rejected = 0;
    for (rlim_t spare = 1; spare < 20; ++spare) {
        const rlimit narrow{static_cast<rlim_t>(first_free.get()) + spare, before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &narrow);
        const auto ended = fixture.run(shell("echo here"));
        setrlimit(RLIMIT_NOFILE, &before);
        // The last watchdog ends a moment after its command.
        EXPECT_TRUE(eventually([&] { return open_descriptors() <= open_before; })) << spare;
        if (ended.how.succeeded) continue;
        ++rejected;
        EXPECT_EQ(ended.output, "");
        EXPECT_EQ(ended.how.reason,
                  "cannot run '/bin/sh': its guard did not start: Too many open files");
    }
    EXPECT_GE(rejected, 4);
    EXPECT_LT(rejected, 19);
    EXPECT_EQ(fixture.run(shell("echo here")).output, "here\n");
}

// Without its launcher an agent can start nothing, and says so in one line.
TEST(IllBehaved, WithoutTheLauncherNothingStarts) {
    body_trial fixture;
    kill(fixture.guards().pid(), SIGKILL);
    // Not only ending: its socket is closed as well.
    ASSERT_TRUE(eventually([&] { return !is_running(fixture.guards().pid()); }));
    const auto ended = fixture.run(shell("true"));
    EXPECT_FALSE(ended.how.succeeded);
    EXPECT_FALSE(ended.how.started) << "it may run on another machine";
    EXPECT_EQ(ended.how.reason,
              "cannot run '/bin/sh': its guard did not start: the process that starts guards is "
              "gone");
}

// A launcher that is killed leaves what runs to its guards, which still end it when told to.
TEST(IllBehaved, WhatRunsOutlivesTheLauncherAndStillEndsWhole) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    body_trial fixture;
    interference what;
    what.before = [&](schedule::body& body) {
        // As soon as the command and its daemon write.
        struct watch {
            const exec::launcher* guards;
            const std::string* log;
            schedule::body* body;
            boost::asio::any_io_executor executor;
            void operator()() {
                std::set<pid_t> writers;
                for (const auto& one : entries_of(*log)) writers.insert(one.writer);
                const auto where = executor;
                if (writers.size() < 2) return boost::asio::post(where, std::move(*this));
                kill(guards->pid(), SIGKILL);
                eventually([&] { return !guards->is_alive(); });
                body->stop(stop_cause::cancelled);
            }
        };
        const auto executor = fixture.loop().get_executor();
        boost::asio::post(executor, watch{&fixture.guards(), &log, &body, executor});
    };
    auto job = job_of({TOKEN_WRITER, log, "--daemon", "--ignore-term"});
    job.grace = 100ms;
    const auto ended = fixture.run(job, order_of(), what);
    EXPECT_EQ(ended.how.reason, "stopped (cancelled): killed by SIGKILL");
    for (const auto& one : entries_of(log)) EXPECT_FALSE(crash::is_running(one.writer));
}

// A guard that is killed takes the command and all that it has started with it.
TEST(IllBehaved, AKilledGuardEndsTheRunWithAClearReason) {
    const scratch_folder folder;
    body_trial fixture;
    interference what;
    what.on_output = [](schedule::body&, const std::string& text) {
        if (text.find('\n') == std::string::npos) return;
        kill(numbers_in(text).at(0), SIGKILL);
    };
    const auto ended = fixture.run(shell("echo $PPID; while :; do sleep 0.05; done 2> /dev/null"),
                                   order_of(), what);
    EXPECT_FALSE(ended.how.succeeded);
    EXPECT_EQ(ended.how.reason, "its guard was killed, and the command with it");
    EXPECT_EQ(ended.how.ending, runs::work_ending::guard_lost);
}

// When the agent's loop ends in the middle of a run, the guards end what runs.
TEST(IllBehaved, WhatRunsDiesWithTheLoop) {
    const scratch_folder folder;
    const std::string log = folder.file("log");
    auto fixture = std::make_unique<body_trial>();
    auto job = job_of({TOKEN_WRITER, log, "--daemon"});
    auto work = run_body(fixture->maker(job), order_of(), {});
    boost::asio::co_spawn(fixture->loop().get_executor(), std::move(work), boost::asio::detached);
    std::set<pid_t> writers;
    ASSERT_TRUE(eventually([&] {
        for (const auto& one : entries_of(log)) writers.insert(one.writer);
        return writers.size() == 2;
    }));
    fixture->end_loop();
    for (const pid_t writer : writers)
        EXPECT_TRUE(eventually([&] { return !crash::is_running(writer); }));
}

}  // namespace
}  // namespace pawl::agent
