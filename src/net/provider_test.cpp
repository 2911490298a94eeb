// What becomes of an answer that is late, null or an exception, and where the function runs.
#include "net/provider.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <thread>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;
using thing = std::shared_ptr<int>;

boost::asio::awaitable<result<thing>> ask(std::shared_ptr<provider<thing>> from,
                                          std::chrono::milliseconds bound) {
    co_return co_await provider<thing>::ask(from, lease_clock::now() + bound, "place");
}

std::shared_ptr<provider<thing>> made_by(loop& where, std::function<thing()> make) {
    return provider<thing>::of(std::move(make), where);
}

std::string rejection(std::function<thing()> make) {
    loop where;
    const auto from = made_by(where, std::move(make));
    const auto got = where.wait_for(ask(from, 10s));
    if (got.has_value()) return "given";
    EXPECT_EQ(got.error().code, errc::unreachable);
    return got.error().detail;
}

TEST(Provider, ThereIsNoneWithoutAFunction) {
    loop where;
    EXPECT_EQ(made_by(where, {}), nullptr);
}

// Even for a caller who drives the loop: its deadline holds while the function blocks.
TEST(Provider, CallsItsFunctionOnAnotherThread) {
    loop where;
    std::thread::id called_on;
    const auto from = made_by(where, [&] {
        called_on = std::this_thread::get_id();
        return std::make_shared<int>(7);
    });
    const auto got = where.wait_for(ask(from, 10s));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(**got, 7);
    EXPECT_NE(called_on, std::this_thread::get_id());
}

TEST(Provider, SaysInOneLineWhyThereIsNothing) {
    EXPECT_EQ(rejection([] { return thing{}; }), "place: the application gave no connection");
    EXPECT_EQ(rejection([]() -> thing { throw std::runtime_error{"pool empty\nsee the log"}; }),
              "place: the application gave no connection: pool empty");
    EXPECT_EQ(rejection([]() -> thing { throw 7; }),
              "place: the application gave no connection: it threw");
}

// Goal: a function that is too slow holds no caller up, what it gives in the end is released, and
// it is not called without end meanwhile.
TEST(Provider, ALateAnswerIsReleased) {
    std::latch go{1};
    std::atomic<int> calls{0}, released{0};
    {
        loop where;
        const auto from = made_by(where, [&] {
            ++calls;
            go.wait();
            return thing{new int{1}, [&](const int* number) {
                             delete number;
                             ++released;
                         }};
        });
        EXPECT_EQ(where.wait_for(ask(from, 30ms)).error().detail,
                  "place: the application gave no connection in time");
        while (calls == 0) std::this_thread::yield();
        EXPECT_EQ(where.wait_for(ask(from, 30ms)).error().detail,
                  "place: the application gave no connection in time");
        // The second may have been given up before its thread began.
        for (int i = 0; i < 3 && calls < 2; ++i) static_cast<void>(where.wait_for(ask(from, 1s)));
        const auto another = where.wait_for(ask(from, 10s));
        EXPECT_NE(another.error().detail.find("has not returned"), std::string::npos);
        EXPECT_EQ(calls, 2);
        go.count_down();
        while (released == 0) std::this_thread::yield();
    }
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(released, 2);
}

// The loop waits for the function, and what it gave then goes with the loop.
TEST(Provider, TheEndOfTheLoopReleasesWhatIsUnderWay) {
    std::atomic<int> alive{0};
    std::latch go{1};
    std::thread opener;
    {
        loop where;
        const auto from = made_by(where, [&] {
            ++alive;
            opener = std::thread{[&] { go.count_down(); }};
            go.wait();
            return thing{new int{1}, [&](const int* number) {
                             delete number;
                             --alive;
                         }};
        });
        static_cast<void>(where.wait_for(ask(from, 1ms)));
    }
    if (opener.joinable()) opener.join();
    EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace pawl::net
