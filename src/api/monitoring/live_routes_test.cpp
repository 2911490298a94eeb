// Who may look on, and what they are told.
#include "api/monitoring/live_routes.hpp"

#include "api/monitoring/live.hpp"
#include "net/event.hpp"
#include "test_support/faults/api_world.hpp"
#include "test_support/faults/eventually.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

http::response look_on(api_world& world, const std::string& user) {
    asked what{"GET", "/api/v1/events"};
    what.caller = user;
    return world.ask(what);
}

TEST(LiveRoutes, OneUserLeavesStreamsToOthers) {
    api_world world{live_routes};
    std::vector<http::response> open;
    for (std::size_t i = 0; i < viewers_of_user_max; ++i) open.push_back(look_on(world, "alice"));
    const auto rejected = look_on(world, "alice");
    EXPECT_EQ(rejected.status, 429U);
    EXPECT_EQ(field_in(rejected, "Retry-After"), "5");
    EXPECT_THAT(text_in(rejected, "detail"),
                HasSubstr("user 'alice' has 250 event streams already"));
    EXPECT_EQ(look_on(world, "bob").status, 200U);
    open.pop_back();
    EXPECT_EQ(look_on(world, "alice").status, 200U);
}

// Keeps each event. Where it does not take all, it stops at the first of runs until it is resumed.
class stream_reader final : public http::body_stream {
public:
    explicit stream_reader(bool takes_all = true) : takes_all_{takes_all} {}

    boost::asio::awaitable<bool> write(std::shared_ptr<const std::string> text) override {
        {
            const std::lock_guard lock{mutex_};
            told_ += *text;
        }
        changed_.notify_all();
        if (!takes_all_ && text->starts_with("event: runs")) {
            auto waiting = resumed_.wait();
            co_await std::move(waiting);
        }
        co_return true;
    }
    std::stop_token gone() const override { return {}; }

    void resume() { resumed_.set(); }  // on the loop
    // Sooner or later.
    bool is_told(const std::string& part) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, std::chrono::minutes{2},
                                 [&] { return told_.find(part) != std::string::npos; });
    }
    std::string told() {
        const std::lock_guard lock{mutex_};
        return told_;
    }

private:
    const bool takes_all_;
    net::event resumed_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string told_;
};

std::future<void> follow(api_world& world, const std::string& topic,
                         const std::shared_ptr<stream_reader>& reader) {
    return world.start(world.ask({"GET", "/api/v1/events?topics=" + topic}).stream(reader));
}

void begin_run(api_world& world, const std::string& id, const std::string& checkpoint) {
    run_start start{id, "report", "job/report"};
    start.token = fence_token{7};
    start.trigger = "manual";
    world.journal([&](pawl::journal& records) { return records.begin(start); });
    const run_ref who{id, fence_token{7}};
    world.journal([&](pawl::journal& records) { return records.checkpoint(who, checkpoint); });
}

// Each begins and ends at once.
void run_many(api_world& world, int count, const std::string& prefix) {
    const auto running = [](pawl::journal& records, int left, std::string name) -> async<int> {
        for (; left > 0; --left) {
            run_start start{name + "-" + std::to_string(left), "report", "job/report"};
            start.token = fence_token{7};
            const run_ref who{start.id, start.token};
            auto beginning = records.begin(std::move(start));
            static_cast<void>(co_await std::move(beginning));
            auto finishing = records.finish(who, run_end{});
            static_cast<void>(co_await std::move(finishing));
        }
        co_return 0;
    };
    world.journal([&](pawl::journal& records) { return running(records, count, prefix); });
}

bool are_told(stream_reader& reader, int count, const std::string& prefix) {
    const auto told = reader.told();
    for (int i = 1; i <= count; ++i)
        if (told.find("\"" + prefix + "-" + std::to_string(i) + "\"") == std::string::npos)
            return false;
    return true;
}

void append_audit(api_world& world, int count, const std::string& target) {
    const auto appending = [](pawl::journal& records, int left, std::string name) -> async<int> {
        for (; left > 0; --left) {
            audit_draft what;
            what.actor = "alice";
            what.action = "job.run";
            what.target = name + "-" + std::to_string(left) + ";";
            auto one = records.append_audit(std::move(what));
            static_cast<void>(co_await std::move(one));
        }
        co_return 0;
    };
    world.journal([&](pawl::journal& records) { return appending(records, count, target); });
}

// Goal: what changes behind `hello` is told, whatever a first look has read by then. Method: it
// says at each page that it reads of a first look whether the viewer has been greeted.
TEST(LiveRoutes, HelloComesBehindTheFirstLook) {
    api_world world{live_routes};
    for (int i = 0; i < 40; ++i) begin_run(world, "run-" + std::to_string(i), "");
    const auto reader = std::make_shared<stream_reader>();
    world.where().journal_faults->turns_late = 3;
    std::string told_meanwhile;
    int pages = 0;
    world.on_loop([&] {
        world.where().journal_faults->on_runs_read = [&] {
            // The newest, and those that are under way, of two pages each.
            if (++pages <= 4) told_meanwhile += reader->told();
        };
    });
    auto following = follow(world, "runs", reader);
    ASSERT_TRUE(reader->is_told("event: hello"));
    begin_run(world, "new", "");
    EXPECT_TRUE(reader->is_told("\"new\""));
    world.on_loop([&] {
        EXPECT_GT(pages, 4);
        EXPECT_EQ(told_meanwhile, "");
    });
    EXPECT_THAT(reader->told(), Not(HasSubstr("event: gap")));
}

// Goal: a journal that is slow keeps no viewer waiting for `hello`, and what changed meanwhile is
// not missed. Method: the first look takes longer than a viewer waits.
TEST(LiveRoutes, BehindALateFirstLookTheListIsToBeReadAgain) {
    api_world world{live_routes};
    world.where().journal_faults->audit_delay = hello_wait_max + millis{1'000};
    const auto reader = std::make_shared<stream_reader>();
    auto following = follow(world, "audit", reader);
    ASSERT_TRUE(reader->is_told("event: hello"));
    EXPECT_THAT(reader->told(), Not(HasSubstr("event: gap")));
    EXPECT_TRUE(reader->is_told("event: gap"));
    EXPECT_THAT(reader->told(), HasSubstr(R"("topic":"audit")"));
}

// Goal: a viewer that lags keeps no more than so many bytes of events alive. Method: one stops
// at the first event and another takes all; those after it are larger together than a backlog may
// be. In JSON a control character has six.
TEST(LiveRoutes, AViewerWhoLagsByTooManyBytesIsLetGoOf) {
    api_world world{live_routes};
    const std::string saved(1'000, '\x01');
    const auto slow = std::make_shared<stream_reader>(false);
    const auto quick = std::make_shared<stream_reader>();
    auto lags = follow(world, "runs", slow);
    auto keeps_up = follow(world, "runs", quick);
    ASSERT_TRUE(quick->is_told("event: hello"));
    for (int round = 1; round <= 9; ++round) {
        for (int i = 0; i < 100; ++i)
            begin_run(world, "run-" + std::to_string(1000 * round + i), saved);
        ASSERT_TRUE(quick->is_told("\"run-" + std::to_string(1000 * round + 99) + "\""));
    }
    world.on_loop([&] { slow->resume(); });
    EXPECT_EQ(lags.wait_for(std::chrono::seconds{30}), std::future_status::ready);
    EXPECT_EQ(keeps_up.wait_for(std::chrono::seconds{0}), std::future_status::timeout);
}

// Goal: what jobs save does not fill the memory of those who look on, and that they have saved it
// is told all the same.
TEST(LiveRoutes, ALongCheckpointIsLeftOutOfEvents) {
    api_world world{live_routes};
    begin_run(world, "one", "page 1");
    const auto reader = std::make_shared<stream_reader>();
    auto following = follow(world, "runs", reader);
    ASSERT_TRUE(reader->is_told("event: hello"));
    const run_ref who{"one", fence_token{7}};
    world.journal([&](pawl::journal& records) { return records.checkpoint(who, "page 5"); });
    EXPECT_TRUE(reader->is_told(R"("checkpoint":"page 5")"));
    const std::string saved(checkpoint_bytes_max, 'c');
    world.journal([&](pawl::journal& records) { return records.checkpoint(who, saved); });
    EXPECT_TRUE(reader->is_told(R"("checkpoint":"")"));
    EXPECT_LT(reader->told().size(), checkpoint_bytes_max);
}

// Goal: a run that many newer ones hide from the list's first page is watched until it ends.
TEST(LiveRoutes, TheEndOfARunBehindManyThatRunIsTold) {
    api_world world{live_routes};
    for (int i = 0; i < 250; ++i) begin_run(world, "run-" + std::to_string(i), "");
    const auto reader = std::make_shared<stream_reader>();
    auto following = follow(world, "runs", reader);
    ASSERT_TRUE(reader->is_told("event: hello"));
    const run_ref oldest{"run-0", fence_token{7}};
    world.journal([&](pawl::journal& records) { return records.finish(oldest, run_end{}); });
    EXPECT_TRUE(reader->is_told("\"completed\""));
    EXPECT_THAT(reader->told(), Not(HasSubstr("event: gap")));
}

// Goal: runs that begin and end between two looks are told, or that there are more.
TEST(LiveRoutes, ABurstOfRunsIsToldOrThatThereAreMore) {
    api_world world{live_routes};
    const auto reader = std::make_shared<stream_reader>();
    auto following = follow(world, "runs", reader);
    ASSERT_TRUE(reader->is_told("event: hello"));
    run_many(world, 150, "some");
    EXPECT_TRUE(eventually([&] { return are_told(*reader, 150, "some"); }));
    EXPECT_THAT(reader->told(), Not(HasSubstr("event: gap")));
    run_many(world, 250, "many");
    EXPECT_TRUE(eventually([&] {
        return reader->told().find(R"("topic":"runs")") != std::string::npos ||
               are_told(*reader, 250, "many");
    }));
}

// Goal: no entry of the audit is skipped without a word.
TEST(LiveRoutes, EachNewEntryOfTheAuditIsToldOrThatThereAreMore) {
    api_world world{live_routes};
    append_audit(world, 60, "old");
    const auto reader = std::make_shared<stream_reader>();
    auto following = follow(world, "audit", reader);
    ASSERT_TRUE(reader->is_told("event: hello"));
    append_audit(world, 120, "new");
    EXPECT_TRUE(reader->is_told("new-1;"));
    EXPECT_TRUE(reader->is_told("new-120;"));
    append_audit(world, 2'000, "many");
    EXPECT_TRUE(reader->is_told("event: gap"));
    append_audit(world, 1, "last");
    EXPECT_TRUE(reader->is_told("last-1;"));
    EXPECT_THAT(reader->told(), HasSubstr(R"("topic":"audit")"));
    EXPECT_THAT(reader->told(), Not(HasSubstr("many-")));
    EXPECT_THAT(reader->told(), Not(HasSubstr("old-")));
}

// Goal: a client that holds many keys neither has the locks of others told as gone while they are
// held, nor hides those of jobs. Method: it takes more than are looked at, which come before all
// others.
TEST(LiveRoutes, LocksBehindTheManyOfAClientAreNotToldAsGone) {
    api_world world{live_routes};
    const auto& questions = world.where().faults->operations;
    std::vector<std::string> keys;
    for (int i = 0; i < 19'998; ++i) keys.push_back("!/" + std::to_string(i));
    keys.emplace_back("job/report");
    keys.emplace_back("z");
    world.hold(std::move(keys));
    const auto reader = std::make_shared<stream_reader>();
    const int before = questions;
    auto following = follow(world, "locks", reader);
    // It may take longer than a viewer waits for `hello`.
    ASSERT_TRUE(eventually([&] { return questions > before + 23; }));
    world.hold({"!/more", "!/one more"});
    EXPECT_TRUE(reader->is_told("\"!/one more\""));
    world.hold({"job/other"});
    EXPECT_TRUE(reader->is_told("\"job/other\""));
    EXPECT_THAT(reader->told(), Not(HasSubstr(R"("gone":[")")));
}

// Goal: of more jobs than are looked at, none that is there is told as gone. Method: one more comes
// before them all, and pushes the last behind the bound.
TEST(LiveRoutes, AJobBehindManyIsNotToldAsGone) {
    api_world world{live_routes};
    std::vector<job_entry> jobs(jobs_watched_max);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].name = "job-" + std::to_string(10'000 + i);
        jobs[i].definition = "{}";
    }
    const auto publish = [&] {
        world.journal([&](pawl::journal& records) { return records.publish(jobs); });
    };
    publish();
    const auto reader = std::make_shared<stream_reader>();
    auto following = follow(world, "jobs", reader);
    ASSERT_TRUE(reader->is_told("event: hello"));
    jobs.emplace_back().name = "first";
    jobs.back().definition = "{}";
    publish();
    EXPECT_TRUE(reader->is_told(R"("name":"first")"));
    EXPECT_THAT(reader->told(), Not(HasSubstr("job-11999")));
}

// Goal: a look that ends by an exception, as for want of memory, leaves no viewer waiting for
// events that do not come. Method: the stream ends, and the next viewer is told what changes.
TEST(LiveRoutes, ALookThatThrowsEndsItsStreamsAndTheNextIsTold) {
    std::atomic<bool> throws{false};
    api_world world{live_routes};
    world.on_loop([&] {
        world.where().journal_faults->on_runs_read = [&] {
            if (throws.exchange(false)) throw std::bad_alloc{};
        };
    });
    const auto first = std::make_shared<stream_reader>();
    auto ended = follow(world, "runs", first);
    ASSERT_TRUE(first->is_told("event: hello"));
    throws = true;
    EXPECT_EQ(ended.wait_for(std::chrono::minutes{1}), std::future_status::ready);
    EXPECT_THAT(world.log(), Contains(HasSubstr("event streams ended topic=runs")));
    const auto next = std::make_shared<stream_reader>();
    auto following = follow(world, "runs", next);
    ASSERT_TRUE(next->is_told("event: hello"));
    begin_run(world, "one", "page 1");
    EXPECT_TRUE(next->is_told("\"one\""));
}

// Counted when they are asked for, and not when they begin: many may come at once.
TEST(LiveRoutes, WhereAllStreamsAreTakenTheNextIsToldSo) {
    api_world world{live_routes};
    std::vector<http::response> open;
    for (std::size_t i = 0; i < viewers_max; ++i)
        open.push_back(look_on(world, "user-" + std::to_string(i % 5)));
    EXPECT_EQ(open.back().status, 200U);
    const auto rejected = look_on(world, "user-0");
    EXPECT_EQ(rejected.status, 503U);
    EXPECT_THAT(text_in(rejected, "detail"), HasSubstr("there are 1000 viewers already"));
}

}  // namespace
}  // namespace pawl::api
