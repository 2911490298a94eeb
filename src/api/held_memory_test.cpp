// What a user asks for at once takes a bounded part of the memory, whatever the journal has.
//
// The bytes are counted where they are allocated. The journal is as slow as one on a network, so
// that all requests are under way at the same time.
#include "api/auth/token.hpp"
#include "api/bare_api_fixture.hpp"
#include "api/jobs/run_output.hpp"
#include "engines/memory/journal/memory_journal.hpp"
#include "engines/rules/journal/checked_journal.hpp"
#include "test_support/faults/eventually.hpp"
#include "test_support/faults/faulty_journal.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

std::atomic<std::size_t> bytes_live{0};
std::atomic<std::size_t> bytes_peak{0};

void count(void* made) {
    const auto live = bytes_live += malloc_usable_size(made);
    auto peak = bytes_peak.load();
    while (live > peak && !bytes_peak.compare_exchange_weak(peak, live)) {
    }
}

}  // namespace

void* operator new(std::size_t bytes) {
    void* made = std::malloc(bytes == 0 ? 1 : bytes);
    if (made == nullptr) throw std::bad_alloc{};
    count(made);
    return made;
}
void operator delete(void* which) noexcept {
    if (which != nullptr) bytes_live -= malloc_usable_size(which);
    std::free(which);
}
void operator delete(void* which, std::size_t) noexcept { operator delete(which); }

namespace pawl::api {
namespace {

constexpr std::size_t asked_at_once = 40;
constexpr std::size_t growth_max = std::size_t{100} * 1000 * 1000;
constexpr std::size_t long_text = 60'000;
constexpr std::size_t runs_kept = 991;
constexpr std::size_t runs_queued = 700;

// Of a network.
constexpr int turns_late = 3;

// Made before the journal that it is told to.
struct slowness {
    std::shared_ptr<testing_faults::journal_plan> faults_ =
        std::make_shared<testing_faults::journal_plan>();
};

class HeldMemory : protected slowness, public BareApi {
protected:
    HeldMemory()
        : BareApi{[faults = faults_](net::loop& where) {
              auto real = pawl::memory::make_memory_journal(where, fresh_name(), store_settings{});
              return journals::checked(
                  testing_faults::make_faulty_journal(std::move(real), faults));
          }} {
        authorizer::parts auth;
        auth.loop = &core_.loop();
        config::user_settings one;
        one.name = "otto";
        one.role = config::user_role::operator_;
        one.token_hash = hash_of(token_, {.memory_kib = 8, .passes = 1});
        auth.users.push_back(std::move(one));
        api::parts parts;
        parts.around = around_;
        parts.auth = std::make_shared<authorizer>(std::move(auth));
        api_ = std::make_shared<api>(std::move(parts));
        publish("cp", 1);
    }

    static std::string fresh_name() {
        static int made = 0;
        return "held-" + std::to_string(++made);
    }
    template <class Verb>
    auto journal(const Verb& verb) {
        return core_.loop().wait_for(verb(*around_->records)).value();
    }
    void publish(const std::string& name, std::uint32_t partitions) {
        job_entry entry;
        entry.name = name;
        entry.partitions = partitions;
        entry.definition = R"({"arguments": true})";
        entry.node = "node-a";
        journal([&](pawl::journal& on) {
            return on.publish(std::vector<job_entry>{std::move(entry)});
        });
    }
    void keep_runs(const std::string& job, std::size_t partitions) {
        for (std::size_t i = 0; i < runs_kept; ++i) {
            run_start start{job + std::to_string(i), job, "job/" + job};
            start.token = fence_token{i + 1};
            start.partition = static_cast<std::uint32_t>(i % partitions);
            start.trigger = "manual";
            run_ref who{start.id, start.token};
            journal([&](pawl::journal& on) { return on.begin(start); });
            journal(
                [&](pawl::journal& on) { return on.checkpoint(who, std::string(long_text, 'c')); });
            if (partitions == 1)
                journal([&](pawl::journal& on) { return on.finish(who, run_end{}); });
        }
    }
    // As a version without a bound on them may have left them.
    void queue_runs() {
        for (std::size_t i = 0; i < runs_queued; ++i) {
            run_trigger what;
            what.id = "queued-" + std::to_string(i);
            what.job = "cp";
            what.arguments = {std::string(long_text, 'a')};
            journal([&](pawl::journal& on) { return on.add_trigger(what); });
        }
    }

    std::future<http::response> begin(const std::string& method, const std::string& target,
                                      const std::string& body, const std::string& accept = {}) {
        auto asked = std::make_shared<http::request>();
        const auto mark = target.find('?');
        asked->method = method;
        asked->path = target.substr(0, mark);
        if (mark != std::string::npos) asked->query = target.substr(mark + 1);
        asked->peer = "192.0.2.1";
        asked->body = body;
        if (!body.empty()) asked->fields.push_back({"content-type", "application/json"});
        if (!accept.empty()) asked->fields.push_back({"accept", accept});
        asked->fields.push_back({"authorization", "Bearer " + token_});
        return boost::asio::co_spawn(core_.loop().get_executor(),
                                     api::answer(api_, std::move(asked)), boost::asio::use_future);
    }
    // Places are given back where the server does it: on the loop.
    void drop(http::response answer) {
        const auto dropping = [](http::response one) -> boost::asio::awaitable<bool> {
            one = http::response{};
            co_return true;
        };
        core_.loop().wait_for(dropping(std::move(answer)));
    }
    struct outcome {
        std::vector<unsigned> statuses{};
        std::size_t growth = 0;
        std::string last_body{};
    };
    // Forty at once, each of which is taken as soon as it is there.
    outcome flood(const std::string& method, const std::string& target,
                  const std::string& body = {}) {
        begin("GET", "/api/v1/session", "").get();  // the token is known from now on
        faults_->turns_late = turns_late;
        const auto before = bytes_live.load();
        bytes_peak = before;
        std::vector<std::future<http::response>> all;
        for (std::size_t i = 0; i < asked_at_once; ++i) all.push_back(begin(method, target, body));
        outcome found;
        while (!all.empty()) {
            const auto one = std::find_if(all.begin(), all.end(), [](const auto& each) {
                return each.wait_for(std::chrono::milliseconds{1}) == std::future_status::ready;
            });
            if (one == all.end()) continue;
            auto answer = one->get();
            all.erase(one);
            found.statuses.push_back(answer.status);
            found.last_body = answer.body;
            drop(std::move(answer));
        }
        found.growth = bytes_peak - before;
        faults_->turns_late = 0;
        RecordProperty("growth", std::to_string(found.growth));
        std::printf("%s %s: %zu MB\n", method.c_str(), target.c_str(), found.growth / 1'000'000);
        return found;
    }

    const std::string token_ = fresh_token("otto");
};

TEST_F(HeldMemory, DryRunsReadNoMoreThanTheyShow) {
    keep_runs("cp", 1);
    const auto seen = flood("POST", "/api/v1/jobs/cp/runs", R"({"dry_run": true, "resume": true})");
    EXPECT_THAT(seen.statuses, testing::Each(200U));
    EXPECT_THAT(seen.last_body, testing::HasSubstr(std::string(long_text, 'c')));
    EXPECT_LT(seen.growth, growth_max);
}

TEST_F(HeldMemory, PausesKeepNoArgumentsOfQueuedRuns) {
    queue_runs();
    const auto seen = flood("POST", "/api/v1/jobs/cp/pause", R"({"reason": "because"})");
    EXPECT_THAT(seen.statuses, testing::Each(200U));
    EXPECT_LT(seen.growth, growth_max);
}

TEST_F(HeldMemory, RequestsForARunKeepNoArgumentsOfOthers) {
    queue_runs();
    const auto seen = flood("POST", "/api/v1/jobs/cp/runs", "{}");
    EXPECT_THAT(seen.statuses, testing::Each(202U));
    EXPECT_LT(seen.growth, growth_max);
}

TEST_F(HeldMemory, CancelsKeepNoArgumentsOfQueuedRuns) {
    queue_runs();
    const auto seen = flood("POST", "/api/v1/runs/unknown/cancel");
    EXPECT_THAT(seen.statuses, testing::Each(404U));
    EXPECT_LT(seen.growth, growth_max);
}

TEST_F(HeldMemory, ListsOfJobsKeepNoArgumentsOfQueuedRuns) {
    queue_runs();
    const auto seen = flood("GET", "/api/v1/jobs");
    EXPECT_THAT(seen.statuses, testing::Each(200U));
    EXPECT_LT(seen.growth, growth_max);
}

// One who has gone when the first part comes.
class deaf_stream : public http::body_stream {
public:
    boost::asio::awaitable<bool> write(std::shared_ptr<const std::string>) override {
        co_return false;
    }
    std::stop_token gone() const override { return {}; }
};

TEST_F(HeldMemory, FollowersOfOutputsLeaveNoMoreThanSoManyParts) {
    run_start start{"long", "cp", "job/cp"};
    start.token = fence_token{1};
    start.trigger = "manual";
    const run_ref who{"long", start.token};
    journal([&](pawl::journal& on) { return on.begin(start); });
    for (std::uint64_t at = 0; at < 2 * output_chunk_bytes_max; at += output_chunk_bytes_max)
        journal([&](pawl::journal& on) {
            return on.append_output(who, at, std::string(output_chunk_bytes_max, 'o'), 8 << 20);
        });
    const auto before = bytes_live.load();
    for (int offset = 0; offset < 500; ++offset) {
        auto answer = begin("GET", "/api/v1/runs/long/output?offset=" + std::to_string(offset), "",
                            "text/event-stream")
                          .get();
        ASSERT_EQ(answer.status, 200U);
        boost::asio::co_spawn(core_.loop().get_executor(),
                              answer.stream(std::make_shared<deaf_stream>()),
                              boost::asio::use_future)
            .get();
        drop(std::move(answer));
    }
    // A part may have been given twice the room that it takes.
    EXPECT_LT(bytes_live - before, 3 * parts_kept_max * output_chunk_bytes_max);
}

TEST_F(HeldMemory, AJobOfManyPartitionsShowsCheckpointsWithinABound) {
    publish("wide", 1'024);
    keep_runs("wide", 1'024);
    const auto seen = flood("GET", "/api/v1/jobs/wide");
    EXPECT_THAT(seen.statuses, testing::Each(200U));
    EXPECT_LT(seen.growth, growth_max);
}

// Takes each event until it is told to take no more.
class event_reader : public http::body_stream {
public:
    boost::asio::awaitable<bool> write(std::shared_ptr<const std::string>) override {
        co_return !over_;
    }
    std::stop_token gone() const override { return {}; }
    void end() { over_ = true; }

private:
    std::atomic<bool> over_{false};
};

// By how much the memory grows while one looks on, until `holds`.
class FollowedMemory : public HeldMemory {
protected:
    std::size_t growth_of(const std::string& topic, const std::function<bool()>& holds) {
        auto answer = begin("GET", "/api/v1/events?topics=" + topic, "").get();
        EXPECT_EQ(answer.status, 200U);
        const auto before = bytes_live.load();
        bytes_peak = before;
        const auto reader = std::make_shared<event_reader>();
        auto following = boost::asio::co_spawn(core_.loop().get_executor(), answer.stream(reader),
                                               boost::asio::use_future);
        EXPECT_TRUE(eventually(holds));
        const auto growth = bytes_peak - before;
        std::printf("%s: %zu MB\n", topic.c_str(), growth / 1'000'000);
        reader->end();
        following.get();
        drop(std::move(answer));
        return growth;
    }
};

TEST_F(FollowedMemory, EventsOfRunsReadAFewCheckpointsAtATime) {
    keep_runs("cp", 1);
    const int before = faults_->operations;
    EXPECT_LT(growth_of("runs", [&] { return faults_->operations > before + 20; }),
              std::size_t{10'000'000});
}

TEST_F(FollowedMemory, EventsOfJobsKeepNoLongCheckpoints) {
    for (int i = 0; i < 300; ++i) {
        const auto name = "job-" + std::to_string(i);
        publish(name, 1);
        run_start start{name, name, "job/" + name};
        start.token = fence_token{1};
        start.trigger = "manual";
        journal([&](pawl::journal& on) { return on.begin(start); });
        const run_ref who{start.id, start.token};
        journal([&](pawl::journal& on) { return on.checkpoint(who, std::string(long_text, 'c')); });
    }
    const int before = faults_->control_reads;
    EXPECT_LT(growth_of("jobs", [&] { return faults_->control_reads > before + 2; }),
              std::size_t{10'000'000});
}

}  // namespace
}  // namespace pawl::api
