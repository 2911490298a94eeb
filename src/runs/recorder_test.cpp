#include "runs/recorder.hpp"

#include "engines/memory/journal/memory_journal.hpp"
#include "net/loop.hpp"
#include "test_support/faults/faulty_journal.hpp"

#include <gtest/gtest.h>
#include <boost/asio/post.hpp>

#include <atomic>
#include <ctime>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
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
    // On the loop only.
    bool holds_lease = true;
    run_recorder::listener hearing{
        .holds = [this](const std::string&, fence_token) { return holds_lease; }};

    std::shared_ptr<run_recorder> recorder(std::uint64_t output_limit = 1 << 20) {
        return std::make_shared<run_recorder>(loop.get_executor(), records, output_limit, hearing,
                                              room);
    }
    static run_start start_of(std::uint64_t token) {
        run_start start{"run-" + std::to_string(token), "report", "job/report"};
        start.token = fence_token{token};
        start.occurrence = occurrence{1};
        start.delivery = delivery::at_least_once;
        start.trigger = "schedule";
        return start;
    }
    begin_result begin(const std::shared_ptr<run_recorder>& who, std::uint64_t token) {
        return begin(who, start_of(token));
    }
    begin_result begin(const std::shared_ptr<run_recorder>& who, run_start start) {
        return loop.wait_for(run_recorder::begin(who, std::move(start), 60s)).value();
    }
    // One whose beginning is recorded so.
    std::shared_ptr<run_recorder> runner(std::uint64_t token,
                                         begin_outcome how = begin_outcome::begun) {
        auto who = recorder();
        EXPECT_EQ(begin(who, token).outcome, how);
        return who;
    }
    bool save(const std::shared_ptr<run_recorder>& who, const std::string& text) {
        return loop.wait_for(run_recorder::checkpoint(who, text)).value();
    }
    bool finish(const std::shared_ptr<run_recorder>& who, run_status status) {
        run_end how;
        how.status = status;
        return loop.wait_for(run_recorder::finish(who, how, 60s));
    }
    std::optional<run_record> row(const std::string& id) {
        return loop.wait_for(records->find_run(id)).value();
    }
    // As where the journal was restored from a backup that is older than the run.
    void lose_row(const run_ref& which) {
        run_end ended;
        ended.status = run_status::lost;
        ASSERT_TRUE(loop.wait_for(records->finish(which, ended)).value());
        ASSERT_EQ(loop.wait_for(records->prune("report", 0, 0ms, 64)).value(), 1u);
        ASSERT_FALSE(row(which.id));
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
    // Returns when the heartbeat that meets the loss has brought it back.
    void lose_row_before_a_beat(const std::shared_ptr<run_recorder>& who) {
        lose_row(who->mark());
        on_loop([&] { who->on_stale_beat(); });
        while (!row(who->mark().id)) std::this_thread::yield();
    }
};

// Goal: nothing that a run has written is lost when another runner goes on with it. Method: two
// attempts, the second with the shorter words, which lie within what is known already.
TEST(RunRecorder, WhatAFurtherAttemptWritesComesBehindWhatWasWritten) {
    recorder_world one;
    const auto first = one.runner(1);
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

// Goal: one write that is rejected for good does not keep the end of a run from being written.
// Method: more attempts than a journal keeps.
TEST(RunRecorder, WhatIsRejectedDoesNotStandInTheWayOfTheEnd) {
    recorder_world one;
    const auto who = one.runner(1);
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
    const auto who = one.runner(1);
    faults->reject_output_after = 300ms;
    const auto before = faults->operations.load();
    one.on_loop([&] { who->output("rejected"); });
    while (faults->operations == before) std::this_thread::yield();
    one.on_loop([&] { who->add_event("kept", "came meanwhile"); });
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
// when no caller waits for it any more.
TEST(RunRecorder, ARunThatDoesNotTakePlaceEndsSo) {
    recorder_world one;
    const auto late = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, late);
    late->begin_delay = 2s;
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
        who->add_event("note", "unheard");
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
    const auto first = one.runner(1);
    const auto second = one.runner(2, begin_outcome::resumed);
    EXPECT_FALSE(one.finish(first, run_status::completed));
    EXPECT_TRUE(first->is_stale());
    EXPECT_TRUE(one.finish(second, run_status::completed));
}

// Goal: a journal that has lost the row of a run is told of it anew, and no run is stopped for it.
// Method: the row goes, and a note, output, a heartbeat or the end comes first behind it.
TEST(RunRecorder, ARowThatTheJournalHasLostIsWrittenAnew) {
    const std::vector<std::function<void(run_recorder&)>> writings{
        [](run_recorder& who) { who.add_event("kept", "after the loss"); },
        [](run_recorder& who) { who.output("after the loss"); },
        [](run_recorder& who) { who.on_stale_beat(); }, [](run_recorder&) {}};
    for (const auto& write : writings) {
        recorder_world one;
        const auto who = one.runner(1);
        one.on_loop([&] { who->output("before it; "); });
        one.lose_row({"run-1", fence_token{1}});
        one.on_loop([&] { write(*who); });
        EXPECT_TRUE(one.finish(who, run_status::completed));
        EXPECT_FALSE(who->is_stale());
        const auto run = one.row("run-1");
        ASSERT_TRUE(run);
        EXPECT_EQ(run->status, run_status::completed);
        EXPECT_EQ(run->token, fence_token{1});
    }
}

// Goal: a heartbeat alone brings the row back, so that others see the run. Method: nothing is
// written behind it.
TEST(RunRecorder, AHeartbeatBringsALostRowBack) {
    recorder_world one;
    const auto who = one.runner(1);
    one.lose_row_before_a_beat(who);
    EXPECT_EQ(one.row("run-1")->status, run_status::started);
    EXPECT_FALSE(who->is_stale());
    EXPECT_TRUE(one.finish(who, run_status::completed));
}

// Goal: an older copy of the journal makes no run another node's. Method: of a run's two attempts
// it knows the first alone.
TEST(RunRecorder, ARowOfAnEarlierAttemptIsResumed) {
    recorder_world one;
    const auto first = one.runner(1);
    ASSERT_TRUE(one.finish(first, run_status::abandoned));
    const auto second = one.runner(2, begin_outcome::resumed);
    one.lose_row({"run-1", fence_token{2}});
    const auto copy = one.runner(1);
    ASSERT_TRUE(one.finish(copy, run_status::abandoned));
    EXPECT_TRUE(one.finish(second, run_status::completed));
    const auto run = one.row("run-1");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->status, run_status::completed);
    EXPECT_EQ(run->token, fence_token{2});
    EXPECT_EQ(run->attempt, 2);
}

// Goal: a run whose lease is over writes no row anew, which others have ended and pruned. Method:
// its end, a heartbeat and a checkpoint come behind that.
TEST(RunRecorder, ARowThatOthersEndedAndPrunedIsNotWrittenAnew) {
    const std::vector<std::function<void(run_recorder&)>> writings{
        [](run_recorder& who) { who.add_event("kept", "late"); },
        [](run_recorder& who) { who.on_stale_beat(); }, [](run_recorder&) {}};
    for (const auto& write : writings) {
        recorder_world one;
        const auto late = one.runner(1);
        const auto next = one.runner(2, begin_outcome::resumed);
        ASSERT_TRUE(one.finish(next, run_status::completed));
        ASSERT_EQ(one.loop.wait_for(one.records->prune("report", 0, 0ms, 64)).value(), 1u);
        one.on_loop([&] {
            one.holds_lease = false;
            write(*late);
        });
        EXPECT_FALSE(one.finish(late, run_status::abandoned));
        EXPECT_TRUE(late->is_stale());
        EXPECT_FALSE(one.loop.wait_for(run_recorder::checkpoint(late, "page 3")).value());
        EXPECT_FALSE(one.row("run-1"));
    }
}

// Goal: a heartbeat and a write that meet the same loss are one. Method: the heartbeat is answered
// while the write is under way.
TEST(RunRecorder, ALossThatIsMetTwiceAtOnceStopsNothing) {
    recorder_world one;
    const auto faults = std::make_shared<testing_faults::journal_plan>();
    one.records = testing_faults::make_faulty_journal(one.records, faults);
    const auto who = one.recorder();
    bool was_asked = false;
    faults->on_output = [&] {
        if (!std::exchange(was_asked, true)) who->on_stale_beat();
    };
    ASSERT_EQ(one.begin(who, 1).outcome, begin_outcome::begun);
    one.lose_row({"run-1", fence_token{1}});
    one.on_loop([&] { who->output("after the loss"); });
    EXPECT_TRUE(one.finish(who, run_status::completed));
    EXPECT_FALSE(who->is_stale());
    EXPECT_EQ(one.row("run-1")->status, run_status::completed);
    faults->on_output = nullptr;
}

// Goal: a body is not told that it was replaced, because the journal has lost its row.
TEST(RunRecorder, ACheckpointOfALostRowIsSaved) {
    recorder_world one;
    const auto who = one.runner(1);
    one.lose_row({"run-1", fence_token{1}});
    EXPECT_TRUE(one.loop.wait_for(run_recorder::checkpoint(who, "page 3")).value());
    EXPECT_EQ(one.row("run-1")->checkpoint, "page 3");
    EXPECT_TRUE(one.finish(who, run_status::completed));
}

// Goal: who resumes a run whose row was lost goes on from where that was. Method: the checkpoint is
// its own, or that of the attempt before it; an older one of the job is there, which it began with;
// and what comes behind the loss is output alone.
TEST(RunRecorder, ARowThatIsToldAnewHasTheCheckpointOfTheLostOne) {
    for (const bool is_inherited : {false, true}) {
        recorder_world one;
        auto who = one.recorder();
        ASSERT_EQ(one.begin(who, 1).outcome, begin_outcome::begun);
        ASSERT_TRUE(one.save(who, "older"));
        one.lose_row({"run-1", fence_token{1}});
        who = one.recorder();
        std::uint64_t token = 2;
        auto start = one.start_of(token);
        start.starts_from = checkpoint_source::last_saved;
        ASSERT_EQ(one.begin(who, start).checkpoint, "older");
        ASSERT_TRUE(one.save(who, "page 3"));
        if (is_inherited) {
            ASSERT_TRUE(one.finish(who, run_status::abandoned));
            who = one.recorder();
            ASSERT_EQ(one.begin(who, ++token).checkpoint, "page 3");
        }
        one.lose_row({start.id, fence_token{token}});
        one.on_loop([&] { who->output("after the loss"); });
        ASSERT_TRUE(one.finish(who, run_status::abandoned));
        EXPECT_EQ(one.row(start.id)->checkpoint, "page 3");
        const auto next = one.recorder();
        EXPECT_EQ(one.begin(next, ++token).checkpoint, "page 3");
        ASSERT_TRUE(one.finish(next, run_status::completed));
    }
}

// Goal: a loss that was mended counts for no later one. Method: the row is lost twice; in between a
// heartbeat is answered, or a checkpoint is saved; what meets the second loss is a write.
TEST(RunRecorder, ARowThatIsLostTwiceIsToldTwice) {
    for (const bool beats : {false, true}) {
        recorder_world one;
        const auto who = one.runner(1);
        one.lose_row_before_a_beat(who);
        if (beats)
            one.on_loop([&] { who->on_beat(); });
        else
            ASSERT_TRUE(one.save(who, "page 3"));
        one.lose_row({"run-1", fence_token{1}});
        one.on_loop([&] { who->output("after the loss"); });
        EXPECT_TRUE(one.finish(who, run_status::completed));
        EXPECT_FALSE(who->is_stale());
    }
}

// Goal: a run is not taken for another's because a newer run of its job has saved a checkpoint.
// Method: one without a lease saves for itself alone; one under an older token is told why not.
TEST(RunRecorder, ACheckpointOfANewerRunEndsNoOther) {
    for (const std::uint64_t token : {std::uint64_t{0}, std::uint64_t{5}}) {
        recorder_world one;
        const auto newer = one.runner(7);
        ASSERT_TRUE(one.save(newer, "newer"));
        ASSERT_TRUE(one.finish(newer, run_status::completed));
        const auto who = one.recorder();
        auto start = one.start_of(token);
        start.occurrence = occurrence{2};
        ASSERT_EQ(one.begin(who, start).outcome, begin_outcome::begun);
        const auto saved = one.loop.wait_for(run_recorder::checkpoint(who, "mine"));
        if (token == 0) {
            EXPECT_TRUE(saved.value());
        } else {
            ASSERT_TRUE(saved.has_error());
            EXPECT_EQ(saved.error().code, errc::rejected);
            EXPECT_EQ(saved.error().detail, "a newer run of this job has saved a checkpoint");
        }
        EXPECT_FALSE(who->is_stale());
        EXPECT_TRUE(one.finish(who, run_status::completed));
        EXPECT_EQ(one.row(start.id)->checkpoint, token == 0 ? "mine" : "");
    }
}

// Goal: what is another runner's by now is known from a heartbeat alone. Method: a second runner
// has resumed it, or has ended it.
TEST(RunRecorder, AStaleBeatOfARunThatIsAnothersIsToldOnce) {
    for (const bool is_finished : {false, true}) {
        recorder_world one;
        std::atomic<int> told{0};
        run_recorder::listener hearing;
        hearing.on_stale = [&] { ++told; };
        const auto first = std::make_shared<run_recorder>(one.loop.get_executor(), one.records,
                                                          1'000, hearing, one.room);
        ASSERT_EQ(one.begin(first, 1).outcome, begin_outcome::begun);
        const auto second = one.runner(2, begin_outcome::resumed);
        if (is_finished) {
            ASSERT_TRUE(one.finish(second, run_status::completed));
        }
        one.on_loop([&] { first->on_stale_beat(); });
        while (told == 0) std::this_thread::yield();
        one.on_loop([&] { first->on_stale_beat(); });
        EXPECT_FALSE(one.finish(first, run_status::completed));
        EXPECT_TRUE(first->is_stale());
        EXPECT_EQ(told, 1);
        EXPECT_EQ(one.row("run-1")->token, fence_token{2});
    }
}

}  // namespace
}  // namespace pawl::runs
