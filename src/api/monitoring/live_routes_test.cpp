// Who may look on.
#include "api/monitoring/live_routes.hpp"

#include "net/event.hpp"
#include "test_support/faults/api_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using ::testing::HasSubstr;

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

// Takes each event, but for those after it has been told to take no more: then it stops at the
// next.
class stream_reader final : public http::body_stream {
public:
    explicit stream_reader(bool takes_all) : takes_all_{takes_all} {}

    boost::asio::awaitable<bool> write(std::shared_ptr<const std::string> text) override {
        {
            const std::lock_guard lock{mutex_};
            if (text->starts_with("event: runs")) ++runs_told_;
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
    bool is_told(int count) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, std::chrono::minutes{2},
                                 [&] { return runs_told_ >= count; });
    }

private:
    const bool takes_all_;
    net::event resumed_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int runs_told_ = 0;
};

// Goal: a viewer that lags keeps no more than so many bytes of events alive. Method: one stops
// at the first event and another takes all; three more are larger together than a backlog may be.
TEST(LiveRoutes, AViewerWhoLagsByTooManyBytesIsLetGoOf) {
    api_world world{live_routes};
    const std::string saved(checkpoint_bytes_max, 'c');
    const auto change = [&](int round) {
        for (int i = 0; i < 30; ++i) {
            run_start start{std::to_string(100 * round + i), "report", "job/report"};
            start.token = fence_token{7};
            start.trigger = "manual";
            world.journal([&](pawl::journal& records) { return records.begin(start); });
            const run_ref who{start.id, fence_token{7}};
            world.journal([&](pawl::journal& records) { return records.checkpoint(who, saved); });
        }
    };
    const auto slow = std::make_shared<stream_reader>(false);
    const auto quick = std::make_shared<stream_reader>(true);
    const asked what{"GET", "/api/v1/events?topics=runs"};
    const auto both = {world.ask(what), world.ask(what)};
    auto lags = world.start(both.begin()[0].stream(slow));
    auto keeps_up = world.start(both.begin()[1].stream(quick));
    int told = 0;
    for (int round = 1; round <= 5; ++round) {
        change(round);
        ASSERT_TRUE(quick->is_told(++told));
    }
    world.on_loop([&] { slow->resume(); });
    EXPECT_EQ(lags.wait_for(std::chrono::seconds{30}), std::future_status::ready);
    EXPECT_EQ(keeps_up.wait_for(std::chrono::seconds{0}), std::future_status::timeout);
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
