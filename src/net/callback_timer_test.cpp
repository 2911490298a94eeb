#include "net/callback_timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;

struct CallbackTimer : testing::Test {
    template <class Function>
    void run(Function first) {
        boost::asio::post(context, std::move(first));
        context.run();
    }

    boost::asio::io_context context;
    std::optional<callback_timer> timer{std::in_place, context.get_executor()};
    int calls = 0;
};

TEST_F(CallbackTimer, CallsWhenTheTimeHasComeAndNotBefore) {
    const auto when = lease_clock::now() + 5ms;
    instant called{};
    run([&] { timer->call_at(when, [&] { called = lease_clock::now(); }); });
    EXPECT_GE(called, when);
}

TEST_F(CallbackTimer, MayBeSetAgainByWhatItCalls) {
    run([&] {
        timer->call_after(1ms, [&] {
            ++calls;
            timer->call_after(1ms, [&] { ++calls; });
        });
    });
    EXPECT_EQ(calls, 2);
}

TEST_F(CallbackTimer, ThatIsCancelledOrDestroyedCallsNothing) {
    run([&] {
        timer->call_after(1ms, [&] { ++calls; });
        timer->cancel();
        timer->call_after(1ms, [&] { ++calls; });
        timer.reset();
    });
    EXPECT_EQ(calls, 0);
}

// What it calls may own it.
TEST_F(CallbackTimer, AContextThatGoesFreesWhatWasToBeCalled) {
    auto own = std::make_unique<boost::asio::io_context>();
    const auto kept = std::make_shared<callback_timer>(own->get_executor());
    kept->call_after(1h, [kept] {});
    own->poll();
    EXPECT_EQ(kept.use_count(), 2);
    own.reset();
    EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace pawl::net
