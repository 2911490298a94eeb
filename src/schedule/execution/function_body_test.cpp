#include "schedule/execution/function_body.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <pthread.h>

#include <latch>
#include <memory>
#include <optional>

namespace pawl::schedule {
namespace {

// While it is there, no thread can be made: the stack of each would be larger than what can be
// addressed.
class no_threads {
public:
    no_threads() {
        pthread_getattr_default_np(&usual_);
        pthread_attr_t none;
        pthread_attr_init(&none);
        pthread_attr_setstacksize(&none, std::size_t{1} << 60);
        pthread_setattr_default_np(&none);
        pthread_attr_destroy(&none);
    }
    ~no_threads() {
        pthread_setattr_default_np(&usual_);
        pthread_attr_destroy(&usual_);
    }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;

private:
    pthread_attr_t usual_;
};

// What came of a body for which there was no thread beside those of the pool.
work_result without_a_thread(const std::shared_ptr<net::blocking_pool>& threads) {
    net::loop loop;
    const auto around = std::make_shared<const function_context>(function_context{
        loop, nullptr, net::attach(loop.get_executor()), threads, std::stop_source{}});
    bool has_run = false;
    auto what = std::make_shared<pawl::job>();
    what->body = [&](const run&) { has_run = true; };
    const auto body = function_bodies(around, what)({});
    work_result ended;
    auto run = [&]() -> async<bool> {
        run_order order;
        auto running = body->run(std::move(order));
        ended = co_await std::move(running);
        co_return true;
    };
    {
        const no_threads here;
        EXPECT_TRUE(loop.wait_for(run()).value());
    }
    EXPECT_FALSE(has_run);
    return ended;
}

// Goal: what never began is not taken for work that failed, so that its occurrence is given back.
// Method: the first thread of the pool cannot be made.
TEST(FunctionBody, WithoutAThreadNothingHasBegun) {
    const auto ended = without_a_thread(std::make_shared<net::blocking_pool>(1));
    EXPECT_FALSE(ended.started);
    EXPECT_THAT(ended.reason, testing::StartsWith("there is no thread for it"));
}

// It would hold its key for as long as the other takes, deaf to all that should end it.
TEST(FunctionBody, WithoutAThreadItDoesNotWaitBehindALongOne) {
    std::latch begun{1}, over{1};
    const auto threads = std::make_shared<net::blocking_pool>(2);
    threads->submit([&] {
        begun.count_down();
        over.wait();
    });
    begun.wait();
    const auto ended = without_a_thread(threads);
    over.count_down();
    EXPECT_FALSE(ended.started);
    EXPECT_THAT(ended.reason, testing::StartsWith("there is no thread for it"));
    threads->stop();
}

}  // namespace
}  // namespace pawl::schedule
