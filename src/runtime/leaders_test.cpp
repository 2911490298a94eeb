// Leadership and partitions over a store in memory, with threads as processes. Time here is real
// but short; decisions about time are tested on virtual time in src/lease and
// test_support/simulation.
#include <pawl/pawl.hpp>

#include "lease/assignment.hpp"
#include "test_support/faults/world.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr auto timeout_of_tests = 60s;

// lead() on a thread of its own.
struct candidate {
    candidate(locks& at, lease_options options, term_body body)
        : outcome{std::async(std::launch::async,
                             [&at, options, body = std::move(body), stop = shutdown.get_token()] {
                                 return at.lead("leader", options, stop, body);
                             })} {}
    ~candidate() { shutdown.request_stop(); }

    std::stop_source shutdown;
    std::future<std::uint64_t> outcome;
};

TEST(Leader, OneLeadsAtATimeAndEachUnderAHigherToken) {
    world one;
    auto a = one.open(), b = one.open(), c = one.open();
    std::atomic<int> leading{0}, terms{0};
    std::latch enough{12};
    std::atomic<std::uint64_t> newest{0};
    std::atomic<bool> overlapped{false}, fallen{false};
    const term_body body = [&](const term& now) {
        if (++leading != 1) overlapped = true;
        if (newest.exchange(number(now.token)) >= number(now.token)) fallen = true;
        --leading;
        if (++terms <= 12) enough.count_down();
    };
    const lease_options options{.ttl = 5s};
    candidate first{a, options, body}, second{b, options, body}, third{c, options, body};
    enough.wait();
    for (auto* who : {&first, &second, &third}) who->shutdown.request_stop();
    const auto served = first.outcome.get() + second.outcome.get() + third.outcome.get();
    EXPECT_EQ(served, static_cast<std::uint64_t>(terms));
    EXPECT_FALSE(overlapped);
    EXPECT_FALSE(fallen);
}

// A leader that gives up leadership does not win it again before one that waits for it.
TEST(Leader, OneThatReturnsLeavesTheNextTermToAWaiter) {
    world one;
    auto a = one.open(), b = one.open();
    std::latch elected{1}, waiting{1};
    std::promise<fence_token> first, second;
    candidate here{a, {.ttl = 1min}, [&](const term& now) {
                       if (now.number > 1) return wait_for_stop(now.stop);
                       first.set_value(now.token);
                       elected.count_down();
                       waiting.wait();
                   }};
    elected.wait();
    const int before = one.faults->operations;
    candidate there{b, {.ttl = 1min}, [&](const term& now) {
                        second.set_value(now.token);
                        wait_for_stop(now.stop);
                    }};
    while (one.faults->operations == before) std::this_thread::yield();
    waiting.count_down();
    EXPECT_GT(number(second.get_future().get()), number(first.get_future().get()));
}

// The store goes silent: the leader must be told to stop before the store could elect another.
TEST(Leader, StepsDownBeforeTheLeasePasses) {
    world one;
    auto a = one.open();
    std::latch elected{1};
    std::promise<instant> stopped;
    std::atomic<bool> first{true};
    candidate only{a, {.ttl = 15s, .grace = 5s}, [&](const term& now) {
                       if (!first.exchange(false)) return wait_for_stop(now.stop);
                       elected.count_down();
                       wait_for_stop(now.stop);
                       stopped.set_value(lease_clock::now());
                   }};
    elected.wait();
    one.faults->fail_all = errc::outcome_unknown;
    const auto silent = lease_clock::now();
    EXPECT_LT(stopped.get_future().get(), silent + 15s);
    one.faults->fail_all = std::nullopt;
}

TEST(Leader, CampaignsAgainAfterAForcedRelease) {
    world one;
    auto a = one.open(), b = one.open();
    std::promise<fence_token> tokens[2];
    candidate only{a, {.ttl = 6s, .grace = 0ms}, [&](const term& now) {
                       if (now.number <= 2) tokens[now.number - 1].set_value(now.token);
                       wait_for_stop(now.stop);
                   }};
    const auto force_released = tokens[0].get_future().get();
    ASSERT_TRUE(b.force_release("leader", force_released, 0ms));
    EXPECT_GT(number(tokens[1].get_future().get()), number(force_released));
    only.shutdown.request_stop();
    EXPECT_EQ(only.outcome.get(), 2u);
}

// Nothing can end a body but itself. Its token is what keeps it from doing harm.
TEST(Leader, ABodyThatIgnoresItsStopIsWaitedForWhileTheNextLeads) {
    world one;
    auto a = one.open(), b = one.open();
    std::promise<fence_token> old_token, new_token;
    std::latch next_leads{1};
    candidate deaf{a, {.ttl = 6s, .grace = 0ms}, [&](const term& now) {
                       if (now.number > 1) return;
                       old_token.set_value(now.token);
                       next_leads.wait();
                       EXPECT_TRUE(now.stop.stop_requested());
                   }};
    const auto force_released = old_token.get_future().get();
    candidate next{b, {.ttl = 1min}, [&](const term& now) {
                       new_token.set_value(now.token);
                       wait_for_stop(now.stop);
                   }};
    ASSERT_TRUE(b.force_release("leader", force_released, 0ms));
    const auto newer = new_token.get_future().get();
    EXPECT_GT(number(newer), number(force_released));
    EXPECT_EQ(deaf.outcome.wait_for(0s), std::future_status::timeout);
    EXPECT_TRUE(b.check_fence("ledger", newer).accepted);
    EXPECT_FALSE(a.check_fence("ledger", force_released).accepted);
    deaf.shutdown.request_stop();
    next_leads.count_down();
    EXPECT_EQ(deaf.outcome.get(), 1u);
}

TEST(Leader, WhatTheBodyThrowsComesOutOnceTheKeyIsFree) {
    world one;
    auto a = one.open(), b = one.open();
    std::stop_source never;
    EXPECT_THROW(a.lead("leader", {.ttl = 1min}, never.get_token(),
                        [](const term&) { throw std::runtime_error{"disk full"}; }),
                 std::runtime_error);
    EXPECT_TRUE(b.try_acquire("leader", {.ttl = 1min}));
}

TEST(Leader, ShutdownEndsTheTermAndTheCall) {
    world one;
    auto a = one.open(), b = one.open();
    std::latch elected{1};
    candidate only{a, {.ttl = 1min}, [&](const term& now) {
                       elected.count_down();
                       wait_for_stop(now.stop);
                   }};
    elected.wait();
    only.shutdown.request_stop();
    EXPECT_EQ(only.outcome.get(), 1u);
    EXPECT_TRUE(b.try_acquire("leader", {.ttl = 1min}));
}

TEST(Leader, ShutdownEndsTheWaitForAKeyThatIsHeld) {
    world one;
    auto a = one.open(), b = one.open();
    const auto held = b.try_acquire("leader", {.ttl = 1min});
    const int before = one.faults->operations;
    candidate only{a, {.ttl = 1min}, [](const term&) { FAIL(); }};
    while (one.faults->operations == before) std::this_thread::yield();
    only.shutdown.request_stop();
    EXPECT_EQ(only.outcome.get(), 0u);
}

// A rest of two days, were it not for the shutdown.
TEST(Leader, ShutdownEndsTheRestBetweenTwoTerms) {
    world one;
    auto a = one.open(), b = one.open();
    std::latch elected{1};
    candidate only{a, {.ttl = ttl_max}, [&](const term&) { elected.count_down(); }};
    elected.wait();
    EXPECT_TRUE(b.acquire("leader", {.ttl = 1min}, timeout_of_tests));
    only.shutdown.request_stop();
    EXPECT_EQ(only.outcome.get(), 1u);
}

TEST(Leader, ShutDownBeforeItBeganItNeverLeads) {
    world one;
    auto a = one.open();
    std::stop_source shutdown;
    shutdown.request_stop();
    EXPECT_EQ(a.lead("leader", {.ttl = 1min}, shutdown.get_token(), [](const term&) { FAIL(); }),
              0u);
}

TEST(Leader, AStoreThatIsDownIsAskedAgainWithPausesUntilItAnswers) {
    world one;
    auto a = one.open();
    one.faults->fail_all = errc::unreachable;
    std::latch elected{1};
    const auto began = lease_clock::now();
    candidate only{a, {.ttl = 1min}, [&](const term& now) {
                       elected.count_down();
                       wait_for_stop(now.stop);
                   }};
    while (one.faults->operations < 3) std::this_thread::yield();
    // At least half of 50 ms, and then of 100 ms.
    EXPECT_GE(lease_clock::now() - began, 75ms);
    one.faults->fail_all = std::nullopt;
    elected.wait();
}

TEST(Leader, AStoreThatRejectsFromTheStartIsAnError) {
    world one;
    auto a = one.open();
    one.faults->fail_all = errc::denied;
    try {
        a.lead("leader", {.ttl = 1min}, {}, [](const term&) {});
        FAIL() << "no error";
    } catch (const store_error& error) {
        EXPECT_EQ(error.code(), errc::denied);
    }
}

TEST(Leader, OptionsThatMakeNoSenseAreRejected) {
    world one;
    auto a = one.open();
    const term_body body = [](const term&) {};
    EXPECT_THROW(a.lead("", {.ttl = 1min}, {}, body), option_error);
    EXPECT_THROW(a.lead("leader", {}, {}, body), option_error);
    EXPECT_THROW(a.lead("leader", {.ttl = 1min, .renew = renewal_mode::manual}, {}, body),
                 option_error);
    EXPECT_THROW(a.lead("leader", {.ttl = 1min}, {}, nullptr), option_error);
}

TEST(AsyncLead, RunsEachTermAwayFromTheCallersThread) {
    world one;
    auto a = one.open();
    boost::asio::io_context context;
    std::stop_source shutdown;
    std::atomic<bool> elsewhere{false};
    const auto here = std::this_thread::get_id();
    const term_body body = [&](const term& now) {
        elsewhere = std::this_thread::get_id() != here;
        if (now.number == 3) shutdown.request_stop();
    };
    const lease_options options{.ttl = 50ms};
    auto terms =
        boost::asio::co_spawn(context, a.async_lead("leader", options, shutdown.get_token(), body),
                              boost::asio::use_future);
    context.run();
    EXPECT_EQ(terms.get(), 3u);
    EXPECT_TRUE(elsewhere);
}

// What the partitions of one share do, seen from above. Thread-safe.
class gathering {
public:
    explicit gathering(std::uint32_t count) : runner_(count) {}

    // Runs a partition until told to stop, as `who`.
    partition_body body(int who) {
        return [this, who](const partition& mine) {
            enter(who, mine);
            wait_for_stop(mine.stop);
            leave(mine);
        };
    }
    bool wait_until(const std::map<int, int>& shares) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, timeout_of_tests, [&] { return shares_now() == shares; });
    }
    int overlaps() const {
        const std::lock_guard lock{mutex_};
        return overlaps_;
    }

private:
    struct run {
        int who = 0;  // 0: none
        fence_token newest{};
    };

    void enter(int who, const partition& mine) {
        const std::lock_guard lock{mutex_};
        auto& one = runner_.at(mine.index);
        if (one.who != 0 || number(mine.token) <= number(one.newest)) ++overlaps_;
        one = {who, mine.token};
        changed_.notify_all();
    }
    void leave(const partition& mine) {
        const std::lock_guard lock{mutex_};
        runner_.at(mine.index).who = 0;
        changed_.notify_all();
    }
    std::map<int, int> shares_now() const {
        std::map<int, int> shares;
        for (const auto& one : runner_)
            if (one.who != 0) ++shares[one.who];
        return shares;
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<run> runner_;
    int overlaps_ = 0;
};

// Nothing here waits for a lease to run out but where a member is cut off, and a busy machine may
// leave a body without its core for longer than a short lease lasts.
const partition_options quick{.lease = {.ttl = 10s}, .interval = 20ms};
const partition_options brief{.lease = {.ttl = 2s}, .interval = 20ms};

// share() on a thread of its own.
struct participant {
    participant(locks& at, std::uint32_t count, partition_body body, std::string name = "reindex",
                partition_options options = quick)
        : outcome{std::async(std::launch::async, [&at, count, name, options, body = std::move(body),
                                                  stop = shutdown.get_token()] {
              at.run_partitions(name, count, stop, body, options);
          })} {}
    ~participant() { shutdown.request_stop(); }

    void end() {
        shutdown.request_stop();
        outcome.get();
    }

    std::stop_source shutdown;
    std::future<void> outcome;
};

TEST(Partitions, TheOnlyMemberRunsAllOfThem) {
    world one;
    auto a = one.open();
    gathering all{16};
    participant only{a, 16, all.body(1)};
    EXPECT_TRUE(all.wait_until({{1, 16}}));
}

// Join, join, leave: each time everybody comes to hold a fair share, and no partition is ever run
// by two.
TEST(Partitions, AreDividedFairlyAmongTheMembersAndNeverRunTwice) {
    world one;
    auto a = one.open(), b = one.open(), c = one.open();
    gathering all{16};
    participant first{a, 16, all.body(1)};
    ASSERT_TRUE(all.wait_until({{1, 16}}));
    participant second{b, 16, all.body(2)};
    ASSERT_TRUE(all.wait_until({{1, 8}, {2, 8}}));
    participant third{c, 16, all.body(3)};
    // Slots are taken from the lowest on.
    std::map<int, int> fair;
    for (const auto slot : leasing::assign("reindex", 16, {0, 1, 2}))
        ++fair[static_cast<int>(slot) + 1];
    ASSERT_TRUE(all.wait_until(fair));
    first.end();
    ASSERT_TRUE(all.wait_until({{2, 8}, {3, 8}}));
    second.end();
    ASSERT_TRUE(all.wait_until({{3, 16}}));
    EXPECT_EQ(all.overlaps(), 0);
}

TEST(Partitions, OfOneProcessAreDividedToo) {
    world one;
    auto a = one.open();
    gathering all{4};
    participant first{a, 4, all.body(1)}, second{a, 4, all.body(2)};
    EXPECT_TRUE(all.wait_until({{1, 2}, {2, 2}}));
    EXPECT_EQ(all.overlaps(), 0);
}

// Cut off, a member stops its bodies before the others can begin, and has its share again when it
// is back.
TEST(Partitions, OfAMemberThatIsCutOffAreTakenOver) {
    world one;
    auto wires = std::make_shared<testing_faults::plan>();
    auto a = one.open_with(wires);
    auto b = one.open();
    gathering all{8};
    // A body has a third of it between its stop and the next holder.
    const partition_options roomy{.lease = {.ttl = 12s}, .interval = 20ms};
    participant first{a, 8, all.body(1), "reindex", roomy},
        second{b, 8, all.body(2), "reindex", roomy};
    ASSERT_TRUE(all.wait_until({{1, 4}, {2, 4}}));
    wires->fail_all = errc::outcome_unknown;
    ASSERT_TRUE(all.wait_until({{2, 8}}));
    wires->fail_all = std::nullopt;
    ASSERT_TRUE(all.wait_until({{1, 4}, {2, 4}}));
    EXPECT_EQ(all.overlaps(), 0);
}

TEST(Partitions, ABodyThatReturnsIsCalledAgainUnderAHigherToken) {
    world one;
    auto a = one.open();
    std::latch thrice{3};
    std::vector<fence_token> tokens;
    participant only{a, 1,
                     [&](const partition& mine) {
                         if (tokens.size() == 3) return wait_for_stop(mine.stop);
                         tokens.push_back(mine.token);
                         EXPECT_EQ(mine.key, "reindex/0");
                         EXPECT_EQ(mine.count, 1u);
                         thrice.count_down();
                     },
                     "reindex", brief};
    thrice.wait();
    only.end();
    EXPECT_LT(number(tokens[0]), number(tokens[1]));
    EXPECT_LT(number(tokens[1]), number(tokens[2]));
}

TEST(Partitions, WhatABodyThrowsComesOutOnceAllOthersHaveStoppedAndAreFree) {
    world one;
    auto a = one.open(), b = one.open();
    gathering all{4};
    std::latch others{3};
    const auto wait = all.body(1);
    participant only{a, 4, [&](const partition& mine) {
                         if (mine.index == 2) {
                             others.wait();
                             throw std::runtime_error{"disk full"};
                         }
                         others.count_down();
                         wait(mine);
                     }};
    EXPECT_THROW(only.outcome.get(), std::runtime_error);
    EXPECT_TRUE(all.wait_until({}));
    for (int i = 0; i < 4; ++i)
        EXPECT_TRUE(b.try_acquire("reindex/" + std::to_string(i), {.ttl = 1min}));
}

TEST(Partitions, WaitForOlderMembersWhoCutTheWorkOtherwise) {
    world one;
    auto a = one.open(), b = one.open();
    gathering fours{4}, eights{8};
    std::atomic<int> fours_running{0};
    const auto four = fours.body(1);
    participant old{a, 4, [&](const partition& mine) {
                        ++fours_running;
                        four(mine);
                        // It takes its time to stop: the others look a few times.
                        const int before = one.faults->operations;
                        while (one.faults->operations < before + 20) std::this_thread::yield();
                        --fours_running;
                    }};
    ASSERT_TRUE(fours.wait_until({{1, 4}}));
    const auto body = eights.body(2);
    participant late{b, 8, [&](const partition& mine) {
                         EXPECT_EQ(fours_running, 0);
                         body(mine);
                     }};
    // It has come, and looked a few times.
    while (!b.inspect("reindex/members/8-0")) std::this_thread::yield();
    const int before = one.faults->operations;
    while (one.faults->operations < before + 20) std::this_thread::yield();
    old.end();
    EXPECT_TRUE(eights.wait_until({{2, 8}}));
}

// "reindex/members" cut in 2 has the keys reindex/members/0 and /1, and they are no members.
TEST(Partitions, OfANameThatEndsInMembersAreNoMembers) {
    world one;
    auto a = one.open(), b = one.open();
    gathering outer{4}, inner{2};
    participant first{a, 4, outer.body(1)};
    participant second{b, 2, inner.body(2), "reindex/members"};
    EXPECT_TRUE(inner.wait_until({{2, 2}}));
    EXPECT_TRUE(outer.wait_until({{1, 4}}));
}

TEST(Partitions, AStoreThatIsDownIsWaitedFor) {
    world one;
    auto a = one.open();
    one.faults->fail_all = errc::unreachable;
    gathering all{4};
    participant only{a, 4, all.body(1)};
    while (one.faults->operations < 3) std::this_thread::yield();
    one.faults->fail_all = std::nullopt;
    EXPECT_TRUE(all.wait_until({{1, 4}}));
}

TEST(Partitions, AStoreThatRejectsFromTheStartIsAnError) {
    world one;
    auto a = one.open();
    one.faults->fail_all = errc::protocol;
    try {
        a.run_partitions("reindex", 4, {}, [](const partition&) {}, quick);
        FAIL() << "no error";
    } catch (const store_error& error) {
        EXPECT_EQ(error.code(), errc::protocol);
    }
}

TEST(Partitions, OptionsThatMakeNoSenseAreRejected) {
    world one;
    auto a = one.open();
    const partition_body body = [](const partition&) {};
    EXPECT_THROW(a.run_partitions("", 4, {}, body), option_error);
    EXPECT_THROW(a.run_partitions(std::string(500, 'x'), 4, {}, body), option_error);
    EXPECT_THROW(a.run_partitions("reindex", 0, {}, body), option_error);
    EXPECT_THROW(a.run_partitions("reindex", partitions_max + 1, {}, body), option_error);
    EXPECT_THROW(a.run_partitions("reindex", 4, {}, body, {.interval = 1min}), option_error);
    EXPECT_THROW(a.run_partitions("reindex", 4, {}, body, {.lease = {}}), option_error);
    EXPECT_THROW(a.run_partitions("reindex", 4, {}, nullptr), option_error);
}

TEST(AsyncRunPartitions, RunsThePartitionsUntilItIsShutDown) {
    world one;
    auto a = one.open();
    boost::asio::io_context context;
    std::stop_source shutdown;
    std::atomic<int> running{0};
    const partition_body body = [&](const partition& mine) {
        if (++running == 4) shutdown.request_stop();
        wait_for_stop(mine.stop);
    };
    auto done = boost::asio::co_spawn(
        context, a.async_run_partitions("reindex", 4, shutdown.get_token(), body, quick),
        boost::asio::use_future);
    context.run();
    EXPECT_NO_THROW(done.get());
    EXPECT_EQ(running, 4);
}

}  // namespace
}  // namespace pawl
