#include "exec/descendants.hpp"

#include "tests/crash/observation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>

namespace pawl::exec {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Optional;

// Both ways must find the same, also where a process has a name made to mislead, and where /proc
// offers only one of them: start children, list, end them, list again.
TEST(Descendants, BothWaysFindChildrenAndOnlyThose) {
    const pid_t plain = crash::run_in_process([] { pause(); });
    const pid_t odd = crash::run_in_process([] {
        prctl(PR_SET_NAME, "x) R 1 (");
        pause();
    });
    ASSERT_TRUE(crash::eventually(
        [&] { return crash::text_of("/proc/" + std::to_string(odd) + "/comm") == "x) R 1 (\n"; }));
    for (const auto& found : {descendants_from_list(), descendants_from_walk()}) {
        EXPECT_THAT(found, Optional(Contains(plain)));
        EXPECT_THAT(found, Optional(Contains(odd)));
        EXPECT_THAT(found, Optional(Not(Contains(getpid()))));
        EXPECT_THAT(found, Optional(Not(Contains(getppid()))));
    }
    for (const pid_t pid : {plain, odd}) {
        kill(pid, SIGKILL);
        crash::wait_for_process(pid);
    }
    EXPECT_THAT(descendants_from_list(), Optional(Not(Contains(odd))));
    EXPECT_THAT(descendants_from_walk(), Optional(Not(Contains(odd))));
}

// Goal: a process that is ending is told from one that lives, also while it is not waited for.
TEST(Descendants, AProcessThatIsEndingIsTold) {
    const pid_t living = crash::run_in_process([] { pause(); });
    EXPECT_FALSE(is_ending(living));
    EXPECT_FALSE(is_ending(getpid()));
    kill(living, SIGKILL);
    siginfo_t news{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(living), &news, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(is_ending(living));
    crash::wait_for_process(living);
    EXPECT_FALSE(is_ending(living));
}

TEST(Descendants, EachThreadOfAProcessIsFound) {
    std::promise<pid_t> other;
    std::jthread waiting{[&](const std::stop_token& stop) {
        other.set_value(gettid());
        std::mutex mutex;
        std::unique_lock lock{mutex};
        std::condition_variable_any{}.wait(lock, stop, [] { return false; });
    }};
    EXPECT_THAT(threads_of(getpid()), IsSupersetOf({getpid(), other.get_future().get()}));
    const pid_t gone = crash::run_in_process([] { pause(); });
    EXPECT_THAT(threads_of(gone), Contains(gone));
    kill(gone, SIGKILL);
    crash::wait_for_process(gone);
    EXPECT_THAT(threads_of(gone), IsEmpty());
}

}  // namespace
}  // namespace pawl::exec
