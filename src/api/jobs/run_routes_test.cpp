// Runs over HTTP: lists, output by parts and as it is written, cancels.
#include "api/jobs/run_routes.hpp"

#include "api/jobs/run_output.hpp"
#include "api/request/list_writer.hpp"
#include "test_support/faults/api_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace pawl::api {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using namespace testing;

const std::string replaced = "\xEF\xBF\xBD";
const std::string euro = "\xE2\x82\xAC";

struct run_world : api_world {
    run_world() : api_world{run_routes} {}

    void begin_run(const std::string& id, const std::string& job = "report",
                   const std::string& node = "node-a") {
        run_start start{id, job, "job/" + job};
        start.node = node;
        start.token = fence_token{7};
        start.trigger = "schedule";
        journal([&](pawl::journal& records) { return records.begin(start); });
    }
    void end_run(const std::string& id, run_status how = run_status::completed) {
        run_end end;
        end.status = how;
        run_ref who{id, fence_token{7}};
        journal([&](pawl::journal& records) { return records.finish(who, end); });
    }
    void write(const std::string& id, std::uint64_t offset, const std::string& bytes,
               std::uint64_t limit = 8 << 20) {
        run_ref who{id, fence_token{7}};
        journal([&](pawl::journal& records) {
            return records.append_output(who, offset, bytes, limit);
        });
    }
    void trigger(const std::string& id) {
        run_trigger what;
        what.id = id;
        what.job = "report";
        what.by = "bob";
        journal([&](pawl::journal& records) { return records.add_trigger(what); });
    }
};

std::vector<std::string> ids_in(const http::response& from) {
    std::vector<std::string> ids;
    const auto runs = json_in(from).at("runs").as_array();
    for (const auto& one : runs) ids.emplace_back(one.at("id").as_string());
    return ids;
}

// -- lists

TEST(RunRoutes, RunsAreListedNewestFirstByPagesToTheEnd) {
    run_world world;
    for (const auto* id : {"1", "2", "3", "4", "5"}) world.begin_run(id);
    EXPECT_THAT(world.on_all_pages("/api/v1/runs", ids_in), ElementsAre("5", "4", "3", "2", "1"));
}

TEST(RunRoutes, RunsAreListedByJobStatusAndNode) {
    run_world world;
    world.begin_run("1");
    world.begin_run("2", "other");
    world.begin_run("3", "report", "node-b");
    world.end_run("3", run_status::failed);
    const auto listed = [&](const std::string& query) {
        return ids_in(world.ask({"GET", "/api/v1/runs?" + query}));
    };
    EXPECT_THAT(listed("job=report"), ElementsAre("3", "1"));
    EXPECT_THAT(listed("status=failed"), ElementsAre("3"));
    EXPECT_THAT(listed("node=node-a&job=report"), ElementsAre("1"));
    EXPECT_THAT(listed("job=unknown"), IsEmpty());
    EXPECT_THAT(listed("job=&status="), SizeIs(3));
}

TEST(RunRoutes, WhatIsWrongWithAListIsSaid) {
    run_world world;
    const auto rejected = [&](const std::string& query) {
        const auto answer = world.ask({"GET", "/api/v1/runs?" + query});
        EXPECT_EQ(answer.status, 400u) << query;
        return text_in(answer, "detail");
    };
    EXPECT_THAT(rejected("status=done"), HasSubstr("status is 'done', which is none of started"));
    EXPECT_THAT(rejected("after=nonsense"), HasSubstr("after"));
    EXPECT_THAT(rejected("limit=1001"), HasSubstr("limit"));
    EXPECT_THAT(rejected("limit=0"), HasSubstr("limit is '0'; expected an integer from 1 to 1000"));
    EXPECT_THAT(rejected("statsu=failed"), HasSubstr("did you mean 'status'?"));
}

// Goal: what one page takes is bounded, whatever the runs have saved. Method: more checkpoints than
// fit; the pages have each run once.
TEST(RunRoutes, APageOfLongCheckpointsEndsWhereItIsFull) {
    run_world world;
    const std::string text(checkpoint_bytes_max, 'c');
    std::vector<std::string> begun;
    for (int i = 100; i < 180; ++i) {
        begun.push_back(std::to_string(i));
        world.begin_run(begun.back());
        const run_ref who{begun.back(), fence_token{7}};
        world.journal([&](pawl::journal& records) { return records.checkpoint(who, text); });
    }
    int pages = 0;
    const auto read = [&](const http::response& page) {
        EXPECT_LT(page.body.size(), page_bytes_max + 2 * checkpoint_bytes_max);
        ++pages;
        return ids_in(page);
    };
    const auto listed = world.on_all_pages("/api/v1/runs", read, 1'000);
    EXPECT_GE(pages, 2);
    EXPECT_THAT(listed, UnorderedElementsAreArray(begun));
}

TEST(RunRoutes, ARunIsShownWithItsHistory) {
    run_world world;
    world.begin_run("1");
    world.end_run("1");
    const auto shown = world.ask({"GET", "/api/v1/runs/1"});
    ASSERT_EQ(shown.status, 200u);
    std::vector<std::string> kinds;
    const auto history = json_in(shown).at("history").as_array();
    for (const auto& one : history) kinds.emplace_back(one.at("kind").as_string());
    EXPECT_THAT(kinds, ElementsAre("begun", "completed"));
    EXPECT_EQ(text_in(shown, "triggered_by"), "");
    EXPECT_EQ(text_in(shown, "cancelled_by"), "");
}

TEST(RunRoutes, ARunSaysWhoAskedForItsEndAndWhy) {
    run_world world;
    world.begin_run("1");
    for (const std::string given : {"7", R"("")", R"(" ")"})
        EXPECT_EQ(
            world.ask({"POST", "/api/v1/runs/1/cancel", R"({"reason": )" + given + "}"}).status,
            400u)
            << given;
    EXPECT_EQ(world.ask({"POST", "/api/v1/runs/1/cancel", R"({"reason":"wrong input"})"}).status,
              202u);
    const auto shown = world.ask({"GET", "/api/v1/runs/1"});
    EXPECT_EQ(text_in(shown, "cancelled_by"), "alice");
    EXPECT_EQ(text_in(shown, "cancel_reason"), "wrong input");
    EXPECT_THAT(world.audited(), ElementsAre("alice run.cancel 1 report: wrong input"));
}

TEST(RunRoutes, ARunThatHasNotBegunIsToldFromAnUnknownOne) {
    run_world world;
    world.trigger("waiting");
    for (const auto* path : {"", "/output"}) {
        const auto unknown = world.ask({"GET", std::string{"/api/v1/runs/x"} + path});
        EXPECT_EQ(unknown.status, 404u);
        EXPECT_EQ(text_in(unknown, "detail"), "run 'x' not found; see /api/v1/runs");
        const auto waiting = world.ask({"GET", std::string{"/api/v1/runs/waiting"} + path});
        EXPECT_EQ(waiting.status, 404u);
        EXPECT_THAT(text_in(waiting, "detail"), HasSubstr("is queued"));
        EXPECT_EQ(text_in(waiting, "job"), "report");
    }
}

// -- output by parts

TEST(RunRoutes, OutputIsReadFromAnyByteAsItWasWritten) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, "first \xff line\n");
    const auto all = world.ask({"GET", "/api/v1/runs/1/output"});
    EXPECT_EQ(all.body, "first \xff line\n");
    EXPECT_EQ(field_in(all, "X-Pawl-Output-Offset"), "0");
    EXPECT_EQ(field_in(all, "X-Pawl-Output-Size"), "13");
    EXPECT_THAT(field_in(all, "Content-Type"), HasSubstr("text/plain"));
    const auto some = world.ask({"GET", "/api/v1/runs/1/output?offset=8"});
    EXPECT_EQ(some.body, "line\n");
    EXPECT_EQ(field_in(some, "X-Pawl-Output-Offset"), "8");
    const auto none = world.ask({"GET", "/api/v1/runs/1/output?offset=13"});
    EXPECT_EQ(none.body, "");
    for (const auto* offset : {"-1", "x", "1.5", "9223372036854775808"})
        EXPECT_EQ(world.ask({"GET", std::string{"/api/v1/runs/1/output?offset="} + offset}).status,
                  400u);
}

TEST(RunRoutes, AnAnswerHasAtMostAMebibyteAndTheNextContinuesBehindIt) {
    run_world world;
    world.begin_run("1");
    std::string written;
    for (int i = 0; i < 6; ++i) {
        const std::string chunk(output_chunk_bytes_max, static_cast<char>('a' + i));
        world.write("1", written.size(), chunk);
        written += chunk;
    }
    std::string read;
    std::vector<std::size_t> parts;
    while (read.size() < written.size()) {
        const auto part =
            world.ask({"GET", "/api/v1/runs/1/output?offset=" + std::to_string(read.size())});
        ASSERT_FALSE(part.body.empty());
        parts.push_back(part.body.size());
        read += part.body;
    }
    EXPECT_TRUE(read == written);
    EXPECT_THAT(parts, ElementsAre(output_answer_max, written.size() - output_answer_max));
}

// No answer runs over what was let go of as though it had not been there.
TEST(RunRoutes, WhatWasLetGoOfIsSeenByTheOffset) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, std::string(100, 'a'), 10);
    world.write("1", 100, std::string(100, 'b'), 10);
    world.write("1", 200, "tail", 10);
    const auto part = world.ask({"GET", "/api/v1/runs/1/output"});
    const auto offset = std::stoul(field_in(part, "X-Pawl-Output-Offset"));
    EXPECT_GE(offset, 100u);
    EXPECT_EQ(offset + part.body.size(), 204u);
    EXPECT_THAT(part.body, testing::EndsWith("tail"));
}

// -- output as it is written

TEST(Decode, TextIsLeftAsItIs) {
    EXPECT_EQ(decode("plain " + euro).text, "plain " + euro);
    EXPECT_EQ(decode("plain " + euro).taken, 9u);
}

TEST(Decode, WhatIsNoTextIsReplaced) {
    EXPECT_EQ(decode("a\xff"
                     "b")
                  .text,
              "a" + replaced + "b");
    // A long form, a surrogate, and what lies beyond Unicode.
    EXPECT_EQ(decode("\xC0\x80|").text, replaced + replaced + "|");
    EXPECT_EQ(decode("\xED\xA0\x80|").text, replaced + replaced + replaced + "|");
    EXPECT_EQ(decode("\xF5|").text, replaced + "|");
    EXPECT_EQ(decode("\xE2\x82|").text, replaced + "|");
}

// Goal: no character is broken by where a part ends. Method: each cut of a text.
TEST(Decode, ACharacterThatIsCutIsLeftForTheNextPart) {
    const std::string text = "x" + euro + "\xF0\x9F\x94\x92" + "\xC3\xA9";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        const auto first = decode(std::string_view{text}.substr(0, cut));
        const auto second = decode(std::string_view{text}.substr(first.taken));
        EXPECT_EQ(first.text + second.text, text) << cut;
    }
}

// Takes what is written, for a test to wait for. Thread-safe.
class listener : public http::body_stream {
public:
    boost::asio::awaitable<bool> write(std::shared_ptr<const std::string> bytes) override {
        const std::lock_guard lock{mutex_};
        text_ += *bytes;
        changed_.notify_all();
        co_return !deaf_;
    }
    std::stop_token gone() const override { return hung_up_.get_token(); }

    bool hears(const std::string& what) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, 30s, [&] { return text_.find(what) != std::string::npos; });
    }
    std::string text() const {
        const std::lock_guard lock{mutex_};
        return text_;
    }
    void hang_up() { hung_up_.request_stop(); }
    void stop_listening() {
        const std::lock_guard lock{mutex_};
        deaf_ = true;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::string text_;
    bool deaf_ = false;
    std::stop_source hung_up_;
};

struct follower {
    follower(run_world& world, const std::string& id, std::vector<http::field> fields = {}) {
        asked what{"GET", "/api/v1/runs/" + id + "/output"};
        what.fields = std::move(fields);
        what.fields.push_back({"accept", "text/event-stream"});
        answer = world.ask(what);
        if (answer.stream) done = world.start(answer.stream(ears));
    }
    bool has_ended() { return done.wait_for(30s) == std::future_status::ready; }

    std::shared_ptr<listener> ears = std::make_shared<listener>();
    http::response answer;
    std::future<void> done;
};

TEST(RunRoutes, OutputIsFollowedToItsEnd) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, "one\n");
    follower one{world, "1"};
    EXPECT_EQ(field_in(one.answer, "Content-Type"), "text/event-stream");
    ASSERT_TRUE(
        one.ears->hears("id: 4\nevent: output\ndata: {\"offset\":0,\"text\":\"one\\n\"}\n\n"));
    world.write("1", 4, "two\n");
    ASSERT_TRUE(
        one.ears->hears("id: 8\nevent: output\ndata: {\"offset\":4,\"text\":\"two\\n\"}\n\n"));
    world.end_run("1", run_status::failed);
    ASSERT_TRUE(one.ears->hears("event: end\ndata: {\"status\":\"failed\",\"reason\":\"\"}\n\n"));
    EXPECT_TRUE(one.has_ended());
}

TEST(RunRoutes, ACharacterThatIsWrittenInTwoPiecesIsToldWhole) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, "a" + euro.substr(0, 2));
    follower one{world, "1"};
    ASSERT_TRUE(one.ears->hears("\"text\":\"a\""));
    world.write("1", 3, euro.substr(2) + "b\xE2");
    world.end_run("1");
    ASSERT_TRUE(one.ears->hears("event: end"));
    EXPECT_THAT(one.ears->text(), HasSubstr(euro + "b"));
    // Nothing completes the last one any more.
    EXPECT_THAT(one.ears->text(), HasSubstr(replaced));
}

TEST(RunRoutes, AFollowerIsToldWhatWasLetGoOf) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, std::string(100, 'a'), 10);
    world.write("1", 100, std::string(100, 'b'), 10);
    world.write("1", 200, "tail", 10);
    world.end_run("1");
    follower one{world, "1"};
    ASSERT_TRUE(one.ears->hears("event: end"));
    EXPECT_THAT(one.ears->text(), testing::StartsWith("event: gap\ndata: {\"offset\":"));
}

TEST(RunRoutes, AFollowerThatReturnsContinuesWhereItWas) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, "one\ntwo\n");
    world.end_run("1");
    follower one{world, "1", {{"last-event-id", "4"}}};
    ASSERT_TRUE(one.ears->hears("event: end"));
    EXPECT_THAT(one.ears->text(), HasSubstr("{\"offset\":4,\"text\":\"two\\n\"}"));
    EXPECT_THAT(one.ears->text(), testing::Not(HasSubstr("one")));
}

// What is beyond any output is no place of ours: who sends it would wait for ever.
TEST(RunRoutes, AFollowerWhoseLastEventIsNoneOfOursBeginsAtTheStart) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, "one\n");
    world.end_run("1");
    follower one{world, "1", {{"last-event-id", "18446744073709551615"}}};
    ASSERT_TRUE(one.ears->hears("event: end"));
    EXPECT_THAT(one.ears->text(), HasSubstr("{\"offset\":0,\"text\":\"one\\n\"}"));
}

// Goal: so many follow and no more, though they come at once. Method: all ask before the journal
// has answered anybody; a place that is given back is had by the next.
TEST(RunRoutes, AFollowerHasOneOfTheFewPlaces) {
    run_world world;
    world.begin_run("1");
    asked what{"GET", "/api/v1/runs/1/output"};
    what.fields.push_back({"accept", "text/event-stream"});
    std::vector<std::future<http::response>> all;
    world.on_loop([&] {
        for (std::size_t i = 0; i < followers_max + 10; ++i) {
            what.caller = "user-" + std::to_string(i % 5);
            all.push_back(world.begin(what));
        }
    });
    std::vector<http::response> answers;
    for (auto& one : all) answers.push_back(one.get());
    const auto rejected = std::count_if(answers.begin(), answers.end(),
                                        [](const auto& one) { return one.status == 503; });
    EXPECT_EQ(rejected, 10);
    EXPECT_EQ(world.ask(what).status, 503u);
    answers.clear();
    EXPECT_EQ(world.ask(what).status, 200u);
}

TEST(RunRoutes, OneUserLeavesPlacesToOtherFollowers) {
    run_world world;
    world.begin_run("1");
    asked what{"GET", "/api/v1/runs/1/output"};
    what.fields.push_back({"accept", "text/event-stream"});
    std::vector<http::response> answers;
    for (std::size_t i = 0; i < followers_of_user_max; ++i) answers.push_back(world.ask(what));
    const auto rejected = world.ask(what);
    EXPECT_EQ(rejected.status, 429u);
    EXPECT_THAT(text_in(rejected, "detail"), HasSubstr("user 'alice' follows 125 outputs already"));
    EXPECT_EQ(field_in(rejected, "Retry-After"), "5");
    what.caller = "bob";
    EXPECT_EQ(world.ask(what).status, 200u);
}

TEST(RunRoutes, ARunMayBeFollowedBeforeItBegins) {
    run_world world;
    world.trigger("1");
    follower one{world, "1"};
    ASSERT_EQ(one.answer.status, 200u);
    run_start start{"1", "report", "job/report"};
    start.token = fence_token{7};
    start.trigger = "manual";
    start.consumes_trigger = true;
    world.journal([&](pawl::journal& records) { return records.begin(start); });
    world.write("1", 0, "hello");
    ASSERT_TRUE(one.ears->hears("hello"));
    world.end_run("1");
    EXPECT_TRUE(one.has_ended());
}

TEST(RunRoutes, ARunThatIsWithdrawnEndsForItsFollowersToo) {
    run_world world;
    world.trigger("1");
    follower one{world, "1"};
    ASSERT_EQ(world.ask({"POST", "/api/v1/runs/1/cancel"}).status, 202u);
    ASSERT_TRUE(one.ears->hears("event: end\ndata: {\"status\":\"\""));
    EXPECT_TRUE(one.has_ended());
}

TEST(RunRoutes, AFollowerWhoHasGoneIsLetGoOf) {
    run_world world;
    world.begin_run("1");
    follower hung_up{world, "1"}, deaf{world, "1"};
    hung_up.ears->hang_up();
    EXPECT_TRUE(hung_up.has_ended());
    deaf.ears->stop_listening();
    world.write("1", 0, "x");
    EXPECT_TRUE(deaf.has_ended());
}

TEST(RunRoutes, FollowersSurviveAJournalThatIsAwayForAWhile) {
    run_world world;
    world.begin_run("1");
    follower one{world, "1"};
    world.where().journal_faults->fail_all = errc::unreachable;
    const auto before = world.where().journal_faults->operations.load();
    while (world.where().journal_faults->operations.load() < before + 2) std::this_thread::yield();
    world.where().journal_faults->fail_all = std::nullopt;
    world.write("1", 0, "after");
    EXPECT_TRUE(one.ears->hears("after"));
    one.ears->hang_up();
    EXPECT_TRUE(one.has_ended());
}

// Goal: many viewers of one run cost few looks. Method: fifty from the beginning to the end, with
// every question to the journal counted.
TEST(RunRoutes, FollowersWhoHaveComeEquallyFarShareOneLook) {
    run_world world;
    world.begin_run("1");
    world.write("1", 0, "line\n");
    world.end_run("1");
    const auto before = world.where().journal_faults->operations.load();
    std::vector<std::unique_ptr<follower>> all;
    for (int i = 0; i < 50; ++i) all.push_back(std::make_unique<follower>(world, "1"));
    for (auto& one : all) EXPECT_TRUE(one->has_ended());
    for (auto& one : all) EXPECT_THAT(one->ears->text(), HasSubstr("line\\n"));
    // Each asks whether there is such a run when it comes, and how it ended when it goes.
    EXPECT_LE(world.where().journal_faults->operations.load() - before, 2 * 50 + 40);
}

// -- cancels

TEST(RunRoutes, AnActiveRunIsToldToEnd) {
    run_world world;
    world.begin_run("1");
    const auto answer = world.ask({"POST", "/api/v1/runs/1/cancel"});
    ASSERT_EQ(answer.status, 202u) << answer.body;
    EXPECT_EQ(json::serialize(json_in(answer)),
              R"({"id":"1","job":"report","cancel_requested":true,"withdrawn":false,)"
              R"("run_status":"started"})");
    const auto control_state =
        world.journal([](pawl::journal& records) { return records.read_control_state(); });
    EXPECT_THAT(control_state.cancels, ElementsAre("1"));
    EXPECT_THAT(world.audited(), ElementsAre("alice run.cancel 1 report"));
}

TEST(RunRoutes, ARunThatNoNodeHasIsCancelledAtOnce) {
    run_world world;
    world.begin_run("1");
    world.end_run("1", run_status::abandoned);
    const auto answer = world.ask({"POST", "/api/v1/runs/1/cancel", R"({"reason": "not paid"})"});
    ASSERT_EQ(answer.status, 202u) << answer.body;
    EXPECT_EQ(json_in(answer).at("run_status"), "cancelled");
    const auto shown = json_in(world.ask({"GET", "/api/v1/runs/1"}));
    EXPECT_EQ(shown.at("status"), "cancelled");
    EXPECT_EQ(shown.at("reason"), "cancelled by alice: not paid");
    EXPECT_EQ(shown.at("cancelled_by"), "alice");
    EXPECT_EQ(world.ask({"POST", "/api/v1/runs/1/cancel"}).status, 409u);
}

TEST(RunRoutes, WhoCancelledARunAndWhyStandsInItsHistoryAndInTheAudit) {
    run_world world;
    world.begin_run("1");
    const auto answer =
        world.ask({"POST", "/api/v1/runs/1/cancel", R"({"reason": "the disk is full"})"});
    ASSERT_EQ(answer.status, 202u) << answer.body;
    const auto shown = json_in(world.ask({"GET", "/api/v1/runs/1"}));
    const auto& last = shown.at("history").as_array().back();
    EXPECT_EQ(last.at("kind"), "cancel_requested");
    EXPECT_EQ(last.at("text"), "alice: the disk is full");
    EXPECT_THAT(world.audited(), ElementsAre("alice run.cancel 1 report: the disk is full"));
    const auto rejected = world.ask({"POST", "/api/v1/runs/1/cancel", R"({"reason": "one\ntwo"})"});
    EXPECT_EQ(rejected.status, 400u);
}

TEST(RunRoutes, ARunThatHasNotBegunIsWithdrawn) {
    run_world world;
    world.trigger("1");
    const auto answer = world.ask({"POST", "/api/v1/runs/1/cancel"});
    ASSERT_EQ(answer.status, 202u);
    EXPECT_EQ(json_in(answer).at("withdrawn"), true);
    const auto control_state =
        world.journal([](pawl::journal& records) { return records.read_control_state(); });
    EXPECT_THAT(control_state.triggers, IsEmpty());
    EXPECT_THAT(world.audited(), ElementsAre("alice run.cancel 1 report"));
}

TEST(RunRoutes, ARunThatIsOverIsNotCancelled) {
    run_world world;
    world.begin_run("1");
    world.end_run("1", run_status::timed_out);
    const auto answer = world.ask({"POST", "/api/v1/runs/1/cancel"});
    EXPECT_EQ(answer.status, 409u);
    EXPECT_EQ(text_in(answer, "detail"), "run '1' is over already: timed_out");
    EXPECT_EQ(world.ask({"POST", "/api/v1/runs/x/cancel"}).status, 404u);
    EXPECT_THAT(world.audited(), IsEmpty());
}

}  // namespace
}  // namespace pawl::api
