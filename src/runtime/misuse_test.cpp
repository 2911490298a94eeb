// What a program should not do: each has one answer, which says what to do instead, and none of
// them crashes, hangs or touches what belongs to another process.
#include <pawl/pawl.hpp>

#include "test_support/faults/world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The words of a caller's mistake; empty where it is none.
template <class Call>
std::string mistake_of(Call call) {
    try {
        call();
    } catch (const std::logic_error& error) {
        return error.what();
    }
    return {};
}

// Goal: an awaitable that is first awaited after the end of its `locks` says so. Method: all that
// run work, whose bodies would use what is gone.
TEST(Misuse, ACallThatBeginsAfterTheEndOfItsLocksIsClosed) {
    world one;
    auto a = std::make_optional(one.open());
    const job work{.name = "j", .lease = {.ttl = 1min}, .body = [](const run&) { FAIL(); }};
    auto running = a->async_run(work);
    auto leading = a->async_lead("l", {.ttl = 1min}, {}, [](const term&) { FAIL(); });
    auto sharing = a->async_run_partitions("p", 2, {}, [](const partition&) { FAIL(); },
                                           {.lease = {.ttl = 1min}});
    a.reset();
    boost::asio::io_context context;
    const auto code_of = [&](auto call) {
        auto ended = boost::asio::co_spawn(context, std::move(call), boost::asio::use_future);
        context.restart();
        context.run();
        try {
            ended.get();
        } catch (const store_error& error) {
            return error.code();
        }
        return errc::rejected;
    };
    EXPECT_EQ(code_of(std::move(running)), errc::closed);
    EXPECT_EQ(code_of(std::move(leading)), errc::closed);
    EXPECT_EQ(code_of(std::move(sharing)), errc::closed);
}

// Goal: trust ends with the object that renews. Method: leases of two kinds outlive their `locks`.
TEST(Misuse, ALeaseThatOutlivesItsLocksIsLost) {
    struct listening : observer {
        std::atomic<int> closed{0};
        void on_lost(std::string_view, fence_token, loss_reason why) override {
            if (why == loss_reason::closed) ++closed;
        }
    };
    world one;
    const auto ears = std::make_shared<listening>();
    std::optional<lease> renewed, manual;
    std::stop_token told;
    {
        auto a = one.open({.observer = ears});
        renewed = a.try_acquire("k", {.ttl = 1min});
        manual = a.try_acquire("m", {.ttl = 1min, .renew = renewal_mode::manual});
        told = renewed->stop_token();
        EXPECT_FALSE(told.stop_requested());
    }
    EXPECT_TRUE(told.stop_requested());
    for (auto* held : {&*renewed, &*manual}) {
        EXPECT_FALSE(held->valid());
        EXPECT_EQ(held->lost(), loss_reason::closed);
        EXPECT_FALSE(held->renew());
        EXPECT_EQ(held->release(), release_outcome::unknown);
    }
    EXPECT_EQ(ears->closed, 2);
    // Its holder may still be at work: the TTL has to pass.
    EXPECT_TRUE(rejected(one.open().try_acquire("k", {.ttl = 1min})));
}

TEST(Misuse, AReleaseOnAHandleOfManySaysSo) {
    world one;
    auto a = one.open();
    auto first = a.try_acquire("k", {.ttl = 1min});
    auto second = first->share();
    EXPECT_EQ(first->release(), release_outcome::still_shared);
    boost::asio::io_context context;
    auto third = second.share();
    auto ending = third.async_release();
    auto ended = boost::asio::co_spawn(context, std::move(ending), boost::asio::use_future);
    context.run();
    EXPECT_EQ(ended.get(), release_outcome::still_shared);
    EXPECT_EQ(second.release(), release_outcome::released);
}

// What is made to be awaited, and never is, does not keep the key.
TEST(Misuse, AnAsyncReleaseThatIsNotAwaitedReleases) {
    world one;
    auto a = one.open(), b = one.open();
    auto held = a.try_acquire("k", {.ttl = 1min});
    {
        const auto forgotten = held->async_release();
    }
    EXPECT_TRUE(b.acquire("k", {.ttl = 1min}, 10s));
}

TEST(Misuse, AnEmptyHandleHasOneAnswerForEachMember) {
    world one;
    auto a = one.open();
    auto held = a.try_acquire("k", {.ttl = 1min});
    lease kept = std::move(*held);
    auto& empty = *held;
    EXPECT_FALSE(empty);
    EXPECT_FALSE(empty.valid());
    EXPECT_EQ(empty.valid_until(), instant::min());
    EXPECT_TRUE(empty.stop_token().stop_requested());
    EXPECT_FALSE(empty.lost());
    EXPECT_FALSE(empty.renew());
    for (const auto& said :
         {mistake_of([&] { static_cast<void>(empty.key()); }),
          mistake_of([&] { static_cast<void>(empty.owner()); }),
          mistake_of([&] { static_cast<void>(empty.token()); }),
          mistake_of([&] { static_cast<void>(empty.share()); }),
          mistake_of([&] { empty.mark_done(); }), mistake_of([&] { empty.mark_not_started(); }),
          mistake_of([&] { empty.watch_deadline([](instant, instant) {}); }),
          mistake_of([&] { empty.release(); }),
          mistake_of([&] { static_cast<void>(empty.async_release()); })})
        EXPECT_THAT(said, HasSubstr("this lease handle is empty"));
    EXPECT_EQ(kept.release(), release_outcome::released);
}

TEST(Misuse, WhatWasNotAcquiredSaysSo) {
    const acquired<lease> nothing;
    acquired<lease> none{std::nullopt};
    EXPECT_FALSE(nothing);
    EXPECT_FALSE(none.has_value());
    EXPECT_THAT(mistake_of([&] { static_cast<void>(none->token()); }),
                HasSubstr("nothing was acquired"));
    EXPECT_THAT(mistake_of([&] { static_cast<void>(*nothing); }),
                HasSubstr("nothing was acquired"));
    world one;
    auto a = one.open();
    auto won = a.try_acquire("k", {.ttl = 1min});
    const auto moved = std::move(won);
    EXPECT_TRUE(moved);
    EXPECT_FALSE(won);  // NOLINT(bugprone-use-after-move): what is left of it is the question
}

TEST(Misuse, MovedFromLocksSaySo) {
    world one;
    auto a = one.open();
    auto b = std::move(a);
    // What is left of it is the question.
    // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    for (const auto& said :
         {mistake_of([&] { static_cast<void>(a.try_acquire("k", {.ttl = 1min})); }),
          mistake_of([&] { static_cast<void>(a.async_try_acquire("k", {.ttl = 1min})); }),
          mistake_of([&] { static_cast<void>(a.owner()); }),
          mistake_of([&] { static_cast<void>(a.get_executor()); }), mistake_of([&] {
              a.run({.name = "k", .lease = {.ttl = 1min}, .body = [](const run&) {}});
          })})
        EXPECT_THAT(said, HasSubstr("moved from"));
    // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    a = std::move(b);
    EXPECT_TRUE(a.try_acquire("k", {.ttl = 1min}));
}

// It would wait for itself; the lease is released all the same.
TEST(Misuse, ACallThatBlocksOnPawlsOwnLoopSaysSo) {
    world one;
    auto a = one.open(), b = one.open();
    auto held = a.try_acquire("k", {.ttl = 1min});
    std::promise<std::pair<std::string, std::string>> said;
    boost::asio::post(a.get_executor(), [&] {
        auto acquiring = mistake_of([&] { static_cast<void>(a.try_acquire("x", {.ttl = 1min})); });
        auto releasing = mistake_of([&] { held->release(); });
        said.set_value({std::move(acquiring), std::move(releasing)});
    });
    const auto [acquiring, releasing] = said.get_future().get();
    EXPECT_THAT(acquiring, HasSubstr("pawl's own loop"));
    EXPECT_THAT(releasing, HasSubstr("pawl's own loop"));
    EXPECT_TRUE(b.acquire("k", {.ttl = 1min}, 10s));
}

// Runs in the child of a fork(); how many of its checks failed.
int in_child(locks& inherited, lease& held) {
    int failed = 0;
    const auto check = [&](bool right) { failed += right ? 0 : 1; };
    check(!held.valid());
    check(held.valid_until() < lease_clock::now());
    check(held.lost() == loss_reason::closed);
    check(held.stop_token().stop_requested());
    check(!held.renew());
    check(mistake_of([&] { static_cast<void>(held.share()); }).find("fork()") != std::string::npos);
    check(held.release() == release_outcome::lost);
    for (const auto& said :
         {mistake_of([&] { static_cast<void>(inherited.try_acquire("k", {.ttl = 1min})); }),
          mistake_of([&] { static_cast<void>(inherited.async_try_acquire("k", {.ttl = 1min})); }),
          mistake_of([&] { static_cast<void>(inherited.inspect("k")); }),
          mistake_of([&] { static_cast<void>(inherited.traits()); })})
        check(said.find("opened before fork()") != std::string::npos);
    const auto gone = std::move(inherited);
    return failed;
}

// Goal: what a child inherits is dead, says so, and does nothing to its parent. Method: a child
// that uses and destroys all of it; the parent's lease goes on.
TEST(Misuse, InTheChildOfAForkEveryHandleIsDead) {
    world one;
    auto a = std::make_unique<locks>(one.open());
    auto held = std::make_unique<acquired<lease>>(a->try_acquire("k", {.ttl = 1min}));
    ASSERT_TRUE(*held);
    const auto child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        // Whatever hangs is a failure too.
        alarm(30);
        int failed = in_child(*a, **held);
        held.reset();
        a.reset();
        _exit(failed);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE((*held)->valid());
    auto b = one.open();
    EXPECT_TRUE(rejected(b.try_acquire("k", {.ttl = 1min})));
    EXPECT_EQ((*held)->release(), release_outcome::released);
    EXPECT_TRUE(b.try_acquire("k", {.ttl = 1min}));
}

// Goal: the end of a set does not wait for a thread that its process does not have. Method: a fork
// while the parent's set is being told to stop.
TEST(Misuse, InTheChildOfAForkASetEndsAlsoWhileItsParentIsToldToStop) {
    world one;
    auto a = std::make_unique<locks>(one.open());
    auto held = std::make_unique<acquired<lease_set>>(a->acquire_all({"k", "l"}, {.ttl = 1min}));
    ASSERT_TRUE(*held);
    std::latch told{1}, forked{1};
    const std::stop_callback stopping{(*held)->stop_token(), [&] {
                                          told.count_down();
                                          forked.wait();
                                      }};
    std::thread closing{[&] { a.reset(); }};
    told.wait();
    const auto child = fork();
    if (child == 0) {
        alarm(30);
        held.reset();
        _exit(0);
    }
    forked.count_down();
    closing.join();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
}

}  // namespace
}  // namespace pawl
