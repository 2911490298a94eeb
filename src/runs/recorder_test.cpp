#include "runs/recorder.hpp"

#include "engines/memory/journal/memory_journal.hpp"
#include "net/loop.hpp"
#include "test_support/faults/faulty_journal.hpp"

#include <gtest/gtest.h>
#include <boost/asio/post.hpp>

#include <atomic>
#include <ctime>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pawl::runs {
namespace {

using namespace std::chrono_literals;

// Data sets of one process are told apart by their names.
std::string fresh_name() {
    static std::atomic<int> count{0};
    return "run-recorder-test-" + std::to_string(++count);
}

// What the thread that asks has worked.
millis thread_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return millis{now.tv_sec * 1'000 + now.tv_nsec / 1'000'000};
}

struct recorder_world {
    net::loop loop;
    std::shared_ptr<journal> records =
        memory::make_memory_journal(loop, fresh_name(), store_settings{});

    std::shared_ptr<output_room> room = std::make_shared<output_room>();

    std::shared_ptr<run_recorder> recorder(std::uint64_t output_limit = 1 << 20) {
        return std::make_shared<run_recorder>(loop.get_executor(), records, output_limit,
                                              run_recorder::listener{}, room);
    }
    static run_start start_of(std::uint64_t token) {
        run_start start{"run-" + std::to_string(token), "report", "job/report"};
        start.token = fence_token{token};
        start.occurrence = occurrence{1};
        start.delivery = delivery::at_least_once;
        start.trigger = "schedule";
        return start;
    }
    beginning begin(const std::shared_ptr<run_recorder>& who, std::uint64_t token) {
        return loop.wait_for(run_recorder::begin(who, start_of(token), 60s)).value();
    }
    bool finish(const std::shared_ptr<run_recorder>& who, run_status status) {
        run_end how;
        how.status = status;
        return loop.wait_for(run_recorder::finish(who, how, 60s));
    }
    // The recorder is used on the loop only.
    template <class Do>
    void on_loop(Do what) {
        std::promise<void> done;
        boost::asio::post(loop.get_executor(), [&] {
            what();
            done.set_value();
        });
        done.get_future().wait();
    }
};

// Goal: nothing that a run has written is lost when another runner goes on with it. Method: two
// attempts, the second with the shorter words, which lie within what is known already.
TEST(RunRecorder, WhatAFurtherAttemptWritesComesBehindWhatWasWritten) {
    recorder_world one;
    const auto first = one.recorder();
    ASSERT_EQ(one.begin(first, 1).outcome, begin_outcome::begun);
    one.on_loop([&] { first->output("the first attempt; "); });
    ASSERT_TRUE(one.finish(first, run_status::abandoned));
    const auto second = one.recorder();
    const auto begun = one.begin(second, 2);
    ASSERT_EQ(begun.outcome, begin_outcome::resumed);
    one.on_loop([&] { second->output("the second"); });
    ASSERT_TRUE(one.finish(second, run_status::completed));
    const auto part = one.loop.wait_for(one.records->read_output("run-1", 0, 1000)).value();
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->bytes, "the first attempt; the second");
}

// Goal: one write that is refused for good does not keep the end of a run from being written.
// Method: more attempts than a journal keeps.
TEST(RunRecorder, WhatIsRejectedDoesNotStandInTheWayOfTheEnd) {
    recorder_world one;
    const auto who = one.recorder();
    ASSERT_EQ(one.begin(who, 1).outcome, begin_outcome::begun);
    one.on_loop([&] {
        for (int i = 1; i <= attempts_max; ++i) {
            run_end last;
            last.status = run_status::failed;
            last.attempt = i;
            who->next_attempt(last);
        }
    });
    EXPECT_TRUE(one.finish(who, run_status::failed));
    const auto run = one.loop.wait_for(one.records->find_run("run-1")).value();
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->status, run_status::failed);
    EXPECT_EQ(run->attempt, attempts_max);
}

// Goal: a journal that cannot write for a while, as in the middle of a failover, loses no row.
// Method: it is so when the run begins, and again when it ends, for a second each.
TEST(RunRecorder, WhatAJournalCannotWriteForAWhileIsWrittenLater) {
    recorder_world one;
    const auto faults = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, faults);
    const auto who = one.recorder();
    const auto work_again_in_a_second = [&] {
        return std::async(std::launch::async, [&] {
            std::this_thread::sleep_for(1s);
            faults->fail_all = std::nullopt;
        });
    };
    faults->fail_all = errc::unreachable;
    auto back = work_again_in_a_second();
    ASSERT_EQ(one.begin(who, 1).outcome, begin_outcome::begun);
    back.get();
    faults->fail_all = errc::unreachable;
    back = work_again_in_a_second();
    EXPECT_TRUE(one.finish(who, run_status::failed));
    back.get();
    const auto run = one.loop.wait_for(one.records->find_run("run-1")).value();
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->status, run_status::failed);
}

// Goal: what is let go of is what was rejected. Method: a chunk of output is, and while its answer
// is on its way a note and the end come to stand in the queue.
TEST(RunRecorder, ARejectedChunkTakesNoNoteWithIt) {
    recorder_world one;
    const auto faults = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, faults);
    const auto who = one.recorder();
    ASSERT_EQ(one.begin(who, 1).outcome, begin_outcome::begun);
    faults->refuse_output_after = 300ms;
    const auto before = faults->operations.load();
    one.on_loop([&] { who->output("rejected"); });
    while (faults->operations == before) std::this_thread::yield();
    one.on_loop([&] { who->note("kept", "came meanwhile"); });
    EXPECT_TRUE(one.finish(who, run_status::completed));
    std::vector<std::string> kinds;
    for (const auto& event : one.loop.wait_for(one.records->history("run-1")).value())
        kinds.push_back(event.kind);
    EXPECT_EQ(kinds, (std::vector<std::string>{"begun", "kept", "completed"}));
    const auto run = one.loop.wait_for(one.records->find_run("run-1")).value();
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->output_size, 0u);
}

// Goal: no row stays `started` without a runner. Method: the beginning takes effect, and is told so
// when nobody waits for it any more.
TEST(RunRecorder, ARunThatDoesNotTakePlaceEndsSo) {
    recorder_world one;
    const auto late = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, late);
    late->begin_delay = 300ms;
    const auto who = one.recorder();
    EXPECT_FALSE(one.loop.wait_for(run_recorder::begin(who, recorder_world::start_of(1), 50ms)));
    run_end how;
    how.status = run_status::skipped;
    how.reason = "too late";
    one.loop.wait_for([](auto taken) -> boost::asio::awaitable<bool> {
        co_await std::move(taken);
        co_return true;
    }(run_recorder::take_back(who, how)));
    one.on_loop([&] {
        who->output("unheard");
        who->note("note", "unheard");
    });
    EXPECT_FALSE(one.finish(who, run_status::completed));
    const auto run = one.loop.wait_for(one.records->find_run("run-1")).value();
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->status, run_status::skipped);
    EXPECT_EQ(run->reason, "too late");
    EXPECT_EQ(run->output_size, 0u);
}

// Goal: however many runs write while the journal is away, a node keeps its memory. Method: room
// for the output of one and a half runs, and two that write more than that.
TEST(RunRecorder, RunsTogetherKeepNoMoreThanThereIsRoomFor) {
    recorder_world one;
    const auto faults = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, faults);
    one.room->most = 1'500;
    const auto first = one.recorder(1'000), second = one.recorder(1'000);
    ASSERT_EQ(one.begin(first, 1).outcome, begin_outcome::begun);
    auto other = recorder_world::start_of(2);
    other.occurrence = occurrence{2};
    one.loop.wait_for(run_recorder::begin(second, other, 60s));
    faults->fail_all = errc::unreachable;
    one.on_loop([&] {
        for (int i = 0; i < 20; ++i) {
            first->output(std::string(99, 'a') + "\n");
            EXPECT_LE(one.room->kept, 1'500u);
        }
        for (int i = 0; i < 20; ++i) {
            second->output(std::string(99, 'b') + "\n");
            EXPECT_LE(one.room->kept, 1'500u);
        }
        second->output("the last word");
    });
    faults->fail_all = std::nullopt;
    ASSERT_TRUE(one.finish(first, run_status::completed));
    ASSERT_TRUE(one.finish(second, run_status::completed));
    EXPECT_EQ(one.room->kept, 0u);
    const auto run = one.loop.wait_for(one.records->find_run("run-2")).value();
    ASSERT_TRUE(run.has_value());
    EXPECT_EQ(run->output_size, 2'013u);
    const auto part =
        one.loop.wait_for(one.records->read_output("run-2", run->output_size - 13, 1'000)).value();
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->bytes, "the last word");
}

// Goal: a run that writes faster than the journal costs the loop no more for what it keeps. Method:
// 128 MiB into a limit of 64, which moves 64 GiB where all that is kept moves with each piece.
TEST(RunRecorder, AFloodCostsNoMoreTheMoreOfItIsKept) {
    recorder_world one;
    const auto faults = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, faults);
    const auto who = one.recorder(64 << 20);
    ASSERT_EQ(one.begin(who, 1).outcome, begin_outcome::begun);
    faults->fail_all = errc::unreachable;
    const std::string piece(64 << 10, 'x');
    millis taken{};
    one.on_loop([&] {
        const auto before = thread_time();
        for (int i = 0; i < 2'048; ++i) who->output(piece);
        taken = thread_time() - before;
        who->forget();
    });
    EXPECT_LT(taken, 2s);
    EXPECT_EQ(one.room->kept, 0u);
}

// Goal: a flood takes no lines from the others. Method: one run fills the room, another writes
// little.
TEST(RunRecorder, WhoKeepsMostMakesRoomForTheOthers) {
    recorder_world one;
    const auto faults = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, faults);
    one.room->most = 1'000;
    const auto flood = one.recorder(1'000), quiet = one.recorder(1'000);
    ASSERT_EQ(one.begin(flood, 1).outcome, begin_outcome::begun);
    auto other = recorder_world::start_of(2);
    other.occurrence = occurrence{2};
    one.loop.wait_for(run_recorder::begin(quiet, other, 60s));
    faults->fail_all = errc::unreachable;
    one.on_loop([&] {
        flood->output(std::string(1'000, 'f'));
        quiet->output("one line\n");
        EXPECT_EQ(one.room->kept, 1'000u);
        flood->output("the end");
        EXPECT_EQ(one.room->kept, 1'000u);
    });
    faults->fail_all = std::nullopt;
    ASSERT_TRUE(one.finish(flood, run_status::completed));
    ASSERT_TRUE(one.finish(quiet, run_status::completed));
    const auto kept = one.loop.wait_for(one.records->read_output("run-2", 0, 1'000)).value();
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->bytes, "one line\n");
}

// Told as written is only what has been.
TEST(RunRecorder, AnEndThatIsRejectedAsStaleIsNotToldAsWritten) {
    recorder_world one;
    const auto first = one.recorder();
    ASSERT_EQ(one.begin(first, 1).outcome, begin_outcome::begun);
    const auto second = one.recorder();
    ASSERT_EQ(one.begin(second, 2).outcome, begin_outcome::resumed);
    EXPECT_FALSE(one.finish(first, run_status::completed));
    EXPECT_TRUE(first->is_stale());
    EXPECT_TRUE(one.finish(second, run_status::completed));
}

}  // namespace
}  // namespace pawl::runs
