// Semaphores over HTTP, without the server: a real store in memory.
#include "api/locks/lease_fixture.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string slot_of(const std::string& name, int slots, int wait_ms = 0) {
    return R"({"key": ")" + name + R"(", "slots": )" + std::to_string(slots) +
           R"(, "ttl_ms": 600000, "wait_ms": )" + std::to_string(wait_ms) + "}";
}

std::string free_slots(lease_world& world, const std::string& name, int slots) {
    std::string free;
    for (int i = 0; i < slots; ++i)
        if (world.is_free(name + '/' + std::to_string(i))) free += std::to_string(i);
    return free;
}

// What is given back in the background is free within a bounded time.
bool come_free(lease_world& world, const std::string& name, int slots, std::size_t count) {
    const auto until = lease_clock::now() + 20s;
    while (lease_clock::now() < until)
        if (free_slots(world, name, slots).size() == count) return true;
    return false;
}

TEST(LeaseSlots, EachGrantIsALeaseOnAKeyOfItsOwn) {
    lease_world world;
    std::vector<http::response> held;
    std::set<std::string> keys;
    for (int i = 0; i < 3; ++i) {
        held.push_back(world.acquire(slot_of("gpu", 3)));
        ASSERT_EQ(held.back().status, 201u) << held.back().body;
        const auto key = text_in(held.back(), "key");
        EXPECT_EQ(key, "gpu/" + std::to_string(number_in(held.back(), "slot")));
        const auto token = static_cast<std::uint64_t>(number_in(held.back(), "fence_token"));
        EXPECT_EQ(number(world.inspect(key)->holder), token);
        keys.insert(key);
    }
    EXPECT_EQ(keys.size(), 3u);
    const auto none = world.acquire(slot_of("gpu", 3));
    EXPECT_EQ(none.status, 409u);
    EXPECT_EQ(text_in(none, "detail"), "all 3 slots of 'gpu' are held");
    EXPECT_GT(number_in(none, "remaining_ms"), 0);
    // It is renewed and released as any lease.
    const auto place = field_in(held.front(), "Location");
    EXPECT_EQ(world.ask({"PUT", place, R"({"ttl_ms": 600000})"}).status, 200u);
    EXPECT_EQ(world.release(held.front()).status, 204u);
    const auto next = world.acquire(slot_of("gpu", 3));
    EXPECT_EQ(text_in(next, "key"), text_in(held.front(), "key"));
    EXPECT_GT(number_in(next, "fence_token"), number_in(held.front(), "fence_token"));
}

TEST(LeaseSlots, AKeyThatIsHeldByItselfCounts) {
    lease_world world;
    ASSERT_EQ(world.acquire(R"({"key": "gpu/1", "ttl_ms": 600000})").status, 201u);
    EXPECT_EQ(text_in(world.acquire(slot_of("gpu", 2)), "key"), "gpu/0");
    EXPECT_EQ(world.acquire(slot_of("gpu", 2)).status, 409u);
}

// Whichever slot is released first ends the wait, by the store's push: the TTL is far away.
TEST(LeaseSlots, AWaiterTakesWhicheverSlotIsFreeFirst) {
    for (std::size_t which = 0; which < 3; ++which) {
        lease_world world;
        std::vector<http::response> held;
        for (int i = 0; i < 3; ++i) held.push_back(world.acquire(slot_of("gpu", 3)));
        auto waiter = world.begin_to_acquire(slot_of("gpu", 3, 60'000));
        for (const auto& one : held) ASSERT_TRUE(world.waits(text_in(one, "key"), 1));
        ASSERT_EQ(world.release(held[which]).status, 204u);
        const auto got = waiter.get();
        ASSERT_EQ(got.status, 201u) << got.body;
        EXPECT_EQ(text_in(got, "key"), text_in(held[which], "key"));
        // It waits for the others no more.
        for (const auto& one : held) EXPECT_TRUE(world.waits(text_in(one, "key"), 0));
        EXPECT_EQ(free_slots(world, "gpu", 3), "");
    }
}

// Goal: a request holds one slot, also where two are granted to it. Method: both are released
// before the loop has looked at either.
TEST(LeaseSlots, WhatAWaiterWinsTooMuchIsGivenBack) {
    for (int round = 0; round < 20; ++round) {
        lease_world world;
        std::vector<http::response> held;
        for (int i = 0; i < 2; ++i) held.push_back(world.acquire(slot_of("gpu", 2)));
        auto waiter = world.begin_to_acquire(slot_of("gpu", 2, 60'000));
        for (const auto& one : held) ASSERT_TRUE(world.waits(text_in(one, "key"), 1));
        std::vector<std::future<http::response>> released;
        for (const auto& one : held)
            released.push_back(world.begin({"DELETE", field_in(one, "Location")}));
        for (auto& one : released) EXPECT_EQ(one.get().status, 204u);
        EXPECT_EQ(waiter.get().status, 201u);
        EXPECT_TRUE(come_free(world, "gpu", 2, 1));
    }
}

TEST(LeaseSlots, AWaitThatIsOverEndsAsBusy) {
    lease_world world;
    ASSERT_EQ(world.acquire(slot_of("gpu", 1)).status, 201u);
    const auto began = lease_clock::now();
    auto ahead = world.begin_to_acquire(slot_of("gpu", 1, 60'000));
    ASSERT_TRUE(world.waits("gpu/0", 1));
    // This one stands in line behind another.
    const auto told = world.acquire(slot_of("gpu", 1, 100));
    EXPECT_GE(lease_clock::now() - began, 100ms);
    EXPECT_EQ(told.status, 409u);
    EXPECT_EQ(text_in(told, "owner"), "alice@192.0.2.7");
    EXPECT_EQ(ahead.wait_for(0s), std::future_status::timeout);
}

// Rule 12: one remote waiter for each key, and the requests are served in their order. Method: the
// verbs that twenty waiters cost are counted.
TEST(LeaseSlots, WaitersShareOneWaiterAtTheStoreAndAreServedInOrder) {
    lease_world world;
    auto holder = world.acquire(slot_of("gpu", 1));
    const auto before = world.where().faults->operations.load();
    std::vector<std::future<http::response>> waiters;
    for (int i = 0; i < 20; ++i)
        waiters.push_back(world.begin_to_acquire(slot_of("gpu", 1, 60'000)));
    // Answered after all of them have been begun, on the same loop. Of the first, two claims and a
    // wait; and the fence.
    world.ask({"POST", "/api/v1/fences/f", R"({"fence_token": 1})"});
    EXPECT_LE(world.where().faults->operations.load() - before, 4);
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        ASSERT_EQ(world.release(holder).status, 204u);
        holder = waiters[i].get();
        ASSERT_EQ(holder.status, 201u) << holder.body;
        if (i + 1 < waiters.size()) {
            EXPECT_EQ(waiters[i + 1].wait_for(0s), std::future_status::timeout);
        }
    }
}

TEST(LeaseSlots, AClientThatHangsUpLeavesNothingBehind) {
    lease_world world;
    std::vector<http::response> held;
    for (int i = 0; i < 2; ++i) held.push_back(world.acquire(slot_of("gpu", 2)));
    std::stop_source at_head, behind;
    auto one = world.begin_to_acquire(slot_of("gpu", 2, 60'000), at_head.get_token());
    auto two = world.begin_to_acquire(slot_of("gpu", 2, 60'000), behind.get_token());
    for (const auto& each : held) ASSERT_TRUE(world.waits(text_in(each, "key"), 1));
    behind.request_stop();
    EXPECT_EQ(two.get().status, 503u);
    at_head.request_stop();
    EXPECT_EQ(one.get().status, 503u);
    for (const auto& each : held) EXPECT_EQ(world.release(each).status, 204u);
    EXPECT_TRUE(come_free(world, "gpu", 2, 2));
    EXPECT_EQ(world.acquire(slot_of("gpu", 2)).status, 201u);
}

// Goal: a slot is held for no client that has gone. Method: it hangs up between the store's grant
// and the answer, and where it waits in the turn behind it, too.
TEST(LeaseSlots, AGrantForAClientThatHasGoneIsGivenBack) {
    for (const int wait_ms : {0, 60'000}) {
        lease_world world;
        std::stop_source client;
        world.hooks().after_acquire = [&](result<acquire_result<grant>>&) {
            client.request_stop();
        };
        auto told = world.begin_to_acquire(slot_of("gpu", 4, wait_ms), client.get_token());
        EXPECT_EQ(told.get().status, 503u);
        EXPECT_TRUE(come_free(world, "gpu", 4, 4));
    }
}

TEST(LeaseSlots, AGrantForAWaiterThatWasAboutToGoIsGivenBack) {
    lease_world world;
    std::stop_source client;
    const auto go = [&]() -> boost::asio::awaitable<void> {
        co_await boost::asio::post(boost::asio::use_awaitable);
        client.request_stop();
    };
    std::future<void> gone;
    world.hooks().after_acquire = [&](result<acquire_result<grant>>&) { gone = world.start(go()); };
    auto told = world.begin_to_acquire(slot_of("gpu", 4, 60'000), client.get_token());
    EXPECT_EQ(told.get().status, 503u);
    gone.get();
    EXPECT_TRUE(come_free(world, "gpu", 4, 4));
}

// Goal: a store that fails is no busy semaphore. Method: all its answers are rejections.
TEST(LeaseSlots, AStoreThatFailsIsSaidSo) {
    lease_world world;
    world.where().faults->fail_all = errc::denied;
    for (const int wait_ms : {0, 10'000})
        EXPECT_EQ(world.acquire(slot_of("gpu", 4, wait_ms)).status, 502u);
}

// Goal: one request that waits for many keys is no cheaper a flood than many requests. Method: two
// semaphores of 256 are waited for, and there is room for no third wait of this user until they
// end.
TEST(LeaseSlots, EachKeyThatIsWaitedForCounts) {
    lease_world world;
    const int most = static_cast<int>(slots_max);
    for (const auto* name : {"a", "b"})
        for (int i = 0; i < most; ++i)
            ASSERT_EQ(world
                          .acquire(R"({"key": ")" + std::string{name} + '/' + std::to_string(i) +
                                   R"(", "ttl_ms": 600000})")
                          .status,
                      201u);
    std::stop_source gone;
    std::vector<std::future<http::response>> waiters;
    for (const auto* name : {"a", "b"}) {
        waiters.push_back(world.begin_to_acquire(slot_of(name, most, 60'000), gone.get_token()));
        for (int i = 0; i < most; ++i)
            ASSERT_TRUE(world.waits(std::string{name} + '/' + std::to_string(i), 1));
    }
    EXPECT_EQ(world.acquire(slot_of("c", 1, 60'000)).status, 429u);
    EXPECT_EQ(world.acquire(slot_of("c", 2)).status, 429u);
    gone.request_stop();
    for (auto& one : waiters) EXPECT_EQ(one.get().status, 503u);
    EXPECT_EQ(world.acquire(slot_of("c", 1, 60'000)).status, 201u);
}

TEST(LeaseSlots, WhatMakesNoSenseIsRejected) {
    lease_world world;
    const auto rejection = [&](const std::string& members) {
        const auto told = world.acquire(R"({"ttl_ms": 1000, )" + members + "}");
        EXPECT_EQ(told.status, 400u) << told.body;
        return text_in(told, "detail");
    };
    EXPECT_THAT(rejection(R"("key": "gpu", "slots": 0)"), HasSubstr("slots"));
    EXPECT_THAT(rejection(R"("key": "gpu", "slots": 257)"), HasSubstr("256"));
    EXPECT_THAT(rejection(R"("key": "gpu", "slots": "2")"), HasSubstr("slots"));
    EXPECT_THAT(rejection(R"("key": "gpu", "slots": 2, "claim_id": "c")"), HasSubstr("claim_id"));
    EXPECT_THAT(rejection(R"("key": "gpu", "slots": 2, "occurrence": "2026-01-02T03:04:05Z")"),
                HasSubstr("occurrence"));
    EXPECT_NE(rejection(R"("key": "", "slots": 2)"), "");
    EXPECT_NE(rejection(R"("slots": 2, "key": ")" + std::string(511, 'k') + '"'), "");
    // Nor what only its slots' keys are: job/0 is the key of a job.
    for (const auto* name : {"job/nightly", "job", "pawl"}) {
        asked reserved{"POST", "/api/v1/leases", slot_of(name, 2)};
        reserved.role = config::user_role::client;
        EXPECT_EQ(world.ask(reserved).status, 403u) << name;
    }
}

}  // namespace
}  // namespace pawl::api
