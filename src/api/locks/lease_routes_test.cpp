// Leases and fences over HTTP, without the server: a real store in memory, real time but short.
#include "api/locks/lease_fixture.hpp"

#include "api/locks/lease_service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Leases, AGrantNamesItsTokenAndItsPlace) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "reports/daily ü", "ttl_ms": 30000})");
    ASSERT_EQ(made.status, 201u) << made.body;
    const auto token = number_in(made, "fence_token");
    EXPECT_EQ(text_in(made, "key"), "reports/daily ü");
    EXPECT_EQ(text_in(made, "owner"), "alice@192.0.2.7");
    EXPECT_EQ(number_in(made, "ttl_ms"), 30'000);
    EXPECT_EQ(number_in(made, "waited_ms"), 0);
    EXPECT_FALSE(json_in(made).contains("claim_id"));
    EXPECT_EQ(field_in(made, "Location"),
              "/api/v1/leases/reports%2Fdaily%20%C3%BC/" + std::to_string(token));
    EXPECT_EQ(number(world.inspect("reports/daily ü")->holder), static_cast<std::uint64_t>(token));
}

// What is wrong with a body is said with its place.
TEST(Leases, ABodyThatIsNoJsonIsToldWhereItBreaks) {
    lease_world world;
    const std::pair<const char*, const char*> all[] = {
        {R"({"key": "k", "ttl_ms": })", "at byte 24"},
        {R"({"key": "k", "ttl_ms": 1000)", "at byte 28"},
        {R"({"key": "k", "ttl_ms": 1000} x)", "extra data at byte 30"},
        {"{\"key\": \"\xff\", \"ttl_ms\": 1000}", "at byte 10"}};
    for (const auto& [body, says] : all) {
        const auto told = world.acquire(body);
        EXPECT_EQ(told.status, 400u) << body;
        EXPECT_THAT(text_in(told, "detail"), HasSubstr(says));
    }
    EXPECT_EQ(world.acquire("{\"key\": \"k\", \"ttl_ms\": 1000}\r\n ").status, 201u);
}

// What lies beyond the years that are written would be taken for the past by some stores, and for
// all time by the others.
TEST(Leases, AnOccurrenceIsWithinTheYearsThatCanBeWritten) {
    lease_world world;
    for (const auto* when : {"9223372036854775807", "9223372036854775", "253402300800000", "-1",
                             "\"1969-12-31T23:59:59Z\""}) {
        const auto told = world.acquire(R"({"key": "k", "ttl_ms": 30000, "occurrence": )" +
                                        std::string{when} + "}");
        EXPECT_EQ(told.status, 400u) << when << ' ' << told.body;
    }
    EXPECT_FALSE(world.inspect("k"));
}

// Goal: no client uses up the future of a key (rule 6), be it by a wrong unit.
TEST(Leases, WhatIsDoneDoesNotLieInTheFuture) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    for (const auto& when : {std::string{"9999-01-01T00:00:00Z"}, occurrence_text(48h)}) {
        const auto told = world.ask({"DELETE", field_in(made, "Location") + "?done=" + when});
        EXPECT_EQ(told.status, 400u) << told.body;
    }
    EXPECT_FALSE(world.is_free("k"));
    EXPECT_FALSE(world.inspect("k")->last_done);
    const auto done = "?done=" + occurrence_text(-1s);
    EXPECT_EQ(world.ask({"DELETE", field_in(made, "Location") + done}).status, 204u);
    EXPECT_TRUE(world.inspect("k")->last_done);
}

TEST(Leases, AKeyWithSlashesIsTheSameEncodedOrNot) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "a/b/c", "ttl_ms": 30000})");
    const auto token = std::to_string(number_in(made, "fence_token"));
    EXPECT_EQ(
        world.ask({"PUT", "/api/v1/leases/a%2Fb%2Fc/" + token, R"({"ttl_ms": 30000})"}).status,
        200u);
    EXPECT_EQ(world.ask({"PUT", "/api/v1/leases/a/b/c/" + token, R"({"ttl_ms": 30000})"}).status,
              200u);
    EXPECT_EQ(world.ask({"DELETE", "/api/v1/leases/a/b/c/" + token}).status, 204u);
    EXPECT_TRUE(world.is_free("a/b/c"));
}

TEST(Leases, ABusyKeySaysWhoHoldsItAndForHowLong) {
    lease_world world;
    const auto first = world.acquire(R"({"key": "k", "owner": "first", "ttl_ms": 29500})");
    const auto second = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    ASSERT_EQ(second.status, 409u);
    EXPECT_EQ(field_in(second, "Content-Type"), "application/problem+json");
    EXPECT_EQ(text_in(second, "owner"), "alice@first");
    EXPECT_EQ(text_in(second, "reason"), "held");
    EXPECT_EQ(number_in(second, "fence_token"), number_in(first, "fence_token"));
    EXPECT_GT(number_in(second, "remaining_ms"), 20'000);
    EXPECT_LE(number_in(second, "remaining_ms"), 29'500);
    EXPECT_THAT(text_in(second, "detail"), HasSubstr("'k' is held by alice@first"));
    // Rounded up: a client that comes back then does not come a moment too early.
    EXPECT_GE(std::stoll(field_in(second, "Retry-After")) * 1000,
              number_in(second, "remaining_ms"));
}

TEST(Leases, TheSameClaimIdGetsTheSameGrant) {
    lease_world world;
    const std::string body = R"({"key": "k", "ttl_ms": 30000, "claim_id": "c-1_A"})";
    const auto first = world.acquire(body);
    ASSERT_EQ(first.status, 201u) << first.body;
    EXPECT_EQ(text_in(first, "claim_id"), "c-1_A");
    const auto again = world.acquire(body);
    ASSERT_EQ(again.status, 201u);
    EXPECT_EQ(number_in(again, "fence_token"), number_in(first, "fence_token"));
    const auto other = world.acquire(R"({"key": "k", "ttl_ms": 30000, "claim_id": "c-2"})");
    EXPECT_EQ(other.status, 409u);
    // No caller gets another's grant by its id.
    asked stranger{"POST", "/api/v1/leases", body};
    stranger.caller = "mallory";
    EXPECT_EQ(world.ask(stranger).status, 409u);
}

// Goal: a claim is safe to repeat through another agent. Method: two APIs over one store.
TEST(Leases, TheSameClaimIdGetsTheSameGrantThroughAnotherAgent) {
    api_store store;
    lease_world one{store}, two{store};
    const std::string body = R"({"key": "k", "ttl_ms": 30000, "claim_id": "c"})";
    const auto first = one.acquire(body), again = two.acquire(body);
    ASSERT_EQ(again.status, 201u);
    EXPECT_EQ(number_in(again, "fence_token"), number_in(first, "fence_token"));
    EXPECT_EQ(two.release(again).status, 204u);
    EXPECT_EQ(one.release(first).status, 409u);
}

TEST(Leases, AnAnswerThatWasLostIsAskedForAgain) {
    lease_world world;
    world.where().faults->answers_to_lose = 2;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    ASSERT_EQ(made.status, 201u) << made.body;
    EXPECT_EQ(number(world.inspect("k")->holder),
              static_cast<std::uint64_t>(number_in(made, "fence_token")));
}

// Goal: a late copy of a claim holds the key for no client (rule 2). Method: the claim is sent once
// more, by the agent or by its client, and a withdrawal that fails as planned tells that it was
// asked for.
TEST(Leases, AClaimThatWasSentAgainIsWithdrawnAfterItsRelease) {
    for (const int lost : {0, 2, 1'000'000}) {
        lease_world world{api_store{.settings = {.name_space = fresh_name_space(),
                                                 .timeout = millis{lost > 2 ? 50 : 5'000}}}};
        auto& faults = *world.where().faults;
        faults.answers_to_lose = lost;
        const std::string body = R"({"key": "k", "ttl_ms": 3600000, "claim_id": "c"})";
        auto made = world.acquire(body);
        faults.answers_to_lose = 0;
        if (lost > 0 && made.status == 503u) made = world.acquire(body);
        ASSERT_EQ(made.status, 201u) << made.body;
        faults.withdrawals_to_fail = 1;
        EXPECT_EQ(world.release(made).status, 204u);
        const auto until = lease_clock::now() + 10s;
        while (lost > 0 && faults.withdrawals_to_fail > 0 && lease_clock::now() < until)
            std::this_thread::yield();
        world.on_loop([] {});
        EXPECT_EQ(faults.withdrawals_to_fail, lost > 0 ? 0 : 1);
    }
}

// Goal: a release ends what was granted under its token, and nothing else. Method: a claim that was
// sent twice expires, and is granted anew under its id; then the old token is released.
TEST(Leases, AReleaseOfAnOldTokenLeavesTheLeaseOfTheSameClaimAlone) {
    lease_world world;
    const std::string brief = R"({"key": "k", "ttl_ms": 200, "claim_id": "c"})";
    const auto old = world.acquire(brief);
    ASSERT_EQ(old.status, 201u) << old.body;
    ASSERT_LT(world.acquire(brief).status, 300u);
    const auto until = lease_clock::now() + 10s;
    while (world.inspect("k") && lease_clock::now() < until) std::this_thread::yield();
    const auto held = world.acquire(R"({"key": "k", "ttl_ms": 3600000, "claim_id": "c"})");
    ASSERT_GT(number_in(held, "fence_token"), number_in(old, "fence_token"));
    EXPECT_EQ(world.release(old).status, 409u);
    world.on_loop([] {});
    EXPECT_EQ(world.acquire(R"({"key": "k", "ttl_ms": 1000, "claim_id": "other"})").status, 409u);
    EXPECT_EQ(world.release(held).status, 204u);
}

// Goal: after a loss of data no client is told of a run that was none. Method: data that are new,
// under a quarantine; the answer that would tell comes, and is lost.
TEST(Leases, WhatTheStoreMayHaveForgottenIsToldAsThat) {
    lease_world world{api_store{.settings = {.name_space = fresh_name_space(), .quarantine = 1s}}};
    const std::string body = R"({"key": "k", "ttl_ms": 1000, "wait_ms": 30000, "occurrence": ")" +
                             occurrence_text(-10s) + "\"}";
    const auto told = world.acquire(body);
    ASSERT_EQ(told.status, 410u) << told.body;
    EXPECT_TRUE(json_in(told).at("forgotten").as_bool());
    EXPECT_FALSE(json_in(told).at("answer_lost").as_bool());
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("may not have run, and will not any more"));
    auto& faults = *world.where().faults;
    world.on_loop([&] {
        world.hooks().after_acquire = [&](auto&) { faults.fail_all = errc::outcome_unknown; };
    });
    EXPECT_EQ(world.acquire(body).status, 503u);
}

TEST(Leases, AClaimOfUnknownOutcomeIsWithdrawn) {
    lease_world world{api_store{.settings = {.name_space = fresh_name_space(), .timeout = 50ms}}};
    world.where().faults->answers_to_lose = 1'000'000;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 3600000})");
    ASSERT_EQ(made.status, 503u) << made.body;
    EXPECT_NE(field_in(made, "Retry-After"), "");
    world.where().faults->answers_to_lose = 0;
    EXPECT_EQ(world.acquire(R"({"key": "k", "ttl_ms": 30000, "wait_ms": 10000})").status, 201u);
}

// Goal: a claim that may have marked its occurrence itself is not told that it has run. Method: its
// first request has no answer, another claim takes the key when that lease has expired, and the
// request is repeated.
TEST(Leases, AnOccurrenceThatAnEarlierRequestMayHaveMarkedIsToldAsThat) {
    lease_world world{api_store{.settings = {.name_space = fresh_name_space(), .timeout = 500ms}}};
    world.where().faults->answers_to_lose = 1'000'000;
    const std::string body =
        R"({"key": "k", "ttl_ms": 200, "claim_id": "c", "occurrence": "2026-01-02T03:04:05Z"})";
    ASSERT_EQ(world.acquire(body).status, 503u);
    world.where().faults->answers_to_lose = 0;
    const auto other = world.acquire(R"({"key": "k", "ttl_ms": 30000, "wait_ms": 10000})");
    ASSERT_EQ(other.status, 201u) << other.body;
    ASSERT_EQ(world.release(other).status, 204u);
    const auto again = world.acquire(body);
    EXPECT_EQ(again.status, 410u) << again.body;
    EXPECT_NE(again.body.find(R"("answer_lost":true)"), std::string::npos) << again.body;
}

// A client may be repeating its claim through another agent: what it is granted there must not be
// taken from it here.
TEST(Leases, AClaimWithTheClientsOwnIdIsNeverWithdrawn) {
    lease_world world{api_store{.settings = {.name_space = fresh_name_space(), .timeout = 50ms}}};
    world.where().faults->answers_to_lose = 1'000'000;
    const std::string body = R"({"key": "k", "ttl_ms": 3600000, "claim_id": "c"})";
    ASSERT_EQ(world.acquire(body).status, 503u);
    world.where().faults->answers_to_lose = 0;
    const auto held = world.inspect("k");
    ASSERT_TRUE(held);
    const auto again = world.acquire(body);
    ASSERT_EQ(again.status, 201u);
    EXPECT_EQ(static_cast<std::uint64_t>(number_in(again, "fence_token")), number(held->holder));
}

TEST(Leases, AWaiterIsGrantedWhenTheHolderReleases) {
    lease_world world;
    const auto first = world.acquire(R"({"key": "k", "ttl_ms": 60000})");
    auto waiter = world.begin_to_acquire(R"({"key": "k", "ttl_ms": 30000, "wait_ms": 30000})");
    ASSERT_TRUE(world.waits("k", 1));
    const auto began = lease_clock::now();
    EXPECT_EQ(waiter.wait_for(50ms), std::future_status::timeout);
    ASSERT_EQ(world.release(first).status, 204u);
    const auto second = waiter.get();
    ASSERT_EQ(second.status, 201u) << second.body;
    EXPECT_GT(number_in(second, "fence_token"), number_in(first, "fence_token"));
    // Trust may be counted from so much later than the request, and no later.
    EXPECT_GE(number_in(second, "waited_ms"), 50);
    EXPECT_LE(number_in(second, "waited_ms"),
              std::chrono::ceil<millis>(lease_clock::now() - began).count() + 10'000);
}

TEST(Leases, AWaiterIsGrantedWhenTheLeaseRunsOut) {
    lease_world world;
    world.acquire(R"({"key": "k", "ttl_ms": 2000})");
    const auto second = world.acquire(R"({"key": "k", "ttl_ms": 30000, "wait_ms": 30000})");
    ASSERT_EQ(second.status, 201u) << second.body;
    EXPECT_GT(number_in(second, "waited_ms"), 0);
}

TEST(Leases, AWaitThatIsOverEndsAsBusy) {
    lease_world world;
    world.acquire(R"({"key": "k", "owner": "first", "ttl_ms": 60000})");
    const auto began = lease_clock::now();
    auto ahead = world.begin_to_acquire(R"({"key": "k", "ttl_ms": 30000, "wait_ms": 30000})");
    const auto second = world.acquire(R"({"key": "k", "ttl_ms": 30000, "wait_ms": 100})");
    EXPECT_GE(lease_clock::now() - began, 100ms);
    ASSERT_EQ(second.status, 409u);
    // Also for one that stood in line behind another.
    EXPECT_EQ(text_in(second, "owner"), "alice@first");
    EXPECT_EQ(ahead.wait_for(0s), std::future_status::timeout);
}

// Goal: rule 12, one remote waiter per key. Method: the verbs that forty waiters cost are counted.
TEST(Leases, WaitersOfOneKeyShareOneWaiterAtTheStoreAndAreServedInOrder) {
    lease_world world;
    auto holder = world.acquire(R"({"key": "k", "ttl_ms": 60000})");
    const auto before = world.where().faults->operations.load();
    std::vector<std::future<http::response>> waiters;
    for (int i = 0; i < 40; ++i)
        waiters.push_back(
            world.begin_to_acquire(R"({"key": "k", "ttl_ms": 60000, "wait_ms": 60000})"));
    // Answered after all of them have been begun, on the same loop.
    world.ask({"POST", "/api/v1/fences/f", R"({"fence_token": 1})"});
    EXPECT_LE(world.where().faults->operations.load() - before, 3);
    std::int64_t last = number_in(holder, "fence_token");
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        ASSERT_EQ(world.release(holder).status, 204u);
        holder = waiters[i].get();
        ASSERT_EQ(holder.status, 201u) << holder.body;
        EXPECT_GT(number_in(holder, "fence_token"), last);
        last = number_in(holder, "fence_token");
        if (i + 1 < waiters.size()) {
            EXPECT_EQ(waiters[i + 1].wait_for(0s), std::future_status::timeout);
        }
    }
}

TEST(Leases, OneWhoHangsUpLeavesTheLine) {
    lease_world world;
    const auto first = world.acquire(R"({"key": "k", "ttl_ms": 60000})");
    std::stop_source at_head, behind;
    const std::string body = R"({"key": "k", "ttl_ms": 60000, "wait_ms": 60000})";
    auto one = world.begin_to_acquire(body, at_head.get_token());
    auto two = world.begin_to_acquire(body, behind.get_token());
    auto three = world.begin_to_acquire(body);
    ASSERT_TRUE(world.waits("k", 1));
    behind.request_stop();
    EXPECT_EQ(two.get().status, 503u);
    at_head.request_stop();
    EXPECT_EQ(one.get().status, 503u);
    ASSERT_EQ(world.release(first).status, 204u);
    EXPECT_EQ(three.get().status, 201u);
}

TEST(Leases, AWaiterThatFindsTheLineFullIsToldSoAtOnce) {
    lease_world world;
    world.acquire(R"({"key": "k0", "ttl_ms": 60000})");
    asked waits{"POST", "/api/v1/leases", R"({"key": "k0", "ttl_ms": 60000, "wait_ms": 60000})"};
    std::vector<std::future<http::response>> waiters;
    for (std::size_t i = 0; i < claim_waiters_max; ++i) {
        waits.caller = "user-" + std::to_string(i / claim_waiters_of_user_max);
        waiters.push_back(world.begin(waits));
    }
    const auto told = world.acquire(R"({"key": "k1", "ttl_ms": 60000, "wait_ms": 1})");
    EXPECT_EQ(told.status, 503u);
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("ask again without wait_ms"));
    EXPECT_EQ(world.acquire(R"({"key": "k1", "ttl_ms": 60000})").status, 201u);
}

// One user waits for all that he may, and others wait beside.
TEST(Leases, OneUserLeavesRoomInTheLineToOthers) {
    lease_world world;
    world.acquire(R"({"key": "k0", "ttl_ms": 60000})");
    asked waits{"POST", "/api/v1/leases", R"({"key": "k0", "ttl_ms": 60000, "wait_ms": 60000})"};
    waits.caller = "flood";
    std::vector<std::future<http::response>> waiters;
    for (std::size_t i = 0; i < claim_waiters_of_user_max; ++i)
        waiters.push_back(world.begin(waits));
    const auto told = world.ask(waits);
    EXPECT_EQ(told.status, 429u);
    EXPECT_EQ(field_in(told, "Retry-After"), "1");
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("user 'flood' has 512 requests that wait"));
    EXPECT_EQ(world.acquire(R"({"key": "k1", "ttl_ms": 60000, "wait_ms": 1})").status, 201u);
}

// Goal: what no client will use is free at once, and its occurrence is another's to run. Method:
// the client hangs up between the store's grant and its answer.
TEST(Leases, AGrantForAClientThatHasGoneIsGivenBack) {
    lease_world world;
    std::stop_source client;
    bool granted = false;
    world.hooks().after_acquire = [&](result<acquire_result<grant>>& answer) {
        granted = answer.has_value() && std::holds_alternative<grant>(*answer);
        client.request_stop();
    };
    const auto body =
        R"({"key": "k", "ttl_ms": 3600000, "occurrence": ")" + occurrence_text(-1min) + "\"}";
    EXPECT_EQ(world.begin_to_acquire(body, client.get_token()).get().status, 503u);
    EXPECT_TRUE(granted);
    EXPECT_TRUE(world.is_free("k"));
    world.hooks().after_acquire = {};
    EXPECT_EQ(world.acquire(body).status, 201u);
}

// Goal: the same where its end was behind the grant among what the loop has to look at. Method: the
// client goes in the turn after the store's answer.
TEST(Leases, AGrantForAWaiterThatWasAboutToGoIsGivenBack) {
    lease_world world;
    std::stop_source client;
    const auto go = [&]() -> boost::asio::awaitable<void> {
        co_await boost::asio::post(boost::asio::use_awaitable);
        client.request_stop();
    };
    std::future<void> gone;
    world.hooks().after_acquire = [&](result<acquire_result<grant>>&) { gone = world.start(go()); };
    const std::string body = R"({"key": "k", "ttl_ms": 3600000, "wait_ms": 60000})";
    EXPECT_EQ(world.begin_to_acquire(body, client.get_token()).get().status, 503u);
    gone.get();
    EXPECT_TRUE(world.is_free("k"));
}

TEST(Leases, AGrantUnderTheClientsOwnIdIsLeftToItsRepetition) {
    lease_world world;
    std::stop_source client;
    world.hooks().after_acquire = [&](result<acquire_result<grant>>&) { client.request_stop(); };
    const std::string body = R"({"key": "k", "ttl_ms": 3600000, "claim_id": "mine"})";
    world.begin_to_acquire(body, client.get_token()).get();
    const auto held = world.inspect("k");
    ASSERT_TRUE(held);
    const auto again = world.acquire(body);
    ASSERT_EQ(again.status, 201u);
    EXPECT_EQ(static_cast<std::uint64_t>(number_in(again, "fence_token")), number(held->holder));
}

TEST(Leases, AnOccurrenceIsGrantedOnce) {
    lease_world world;
    const auto due = occurrence_text(-1min);
    const auto body = R"({"key": "k", "ttl_ms": 30000, "occurrence": ")" + due + "\"}";
    const auto first = world.acquire(body);
    ASSERT_EQ(first.status, 201u) << first.body;
    EXPECT_EQ(world.acquire(body).status, 409u);
    ASSERT_EQ(world.release(first).status, 204u);
    const auto again = world.acquire(body);
    ASSERT_EQ(again.status, 410u) << again.body;
    EXPECT_EQ(text_in(again, "last_occurrence"), due);
}

TEST(Leases, AtLeastOnceIsDoneWhenItIsReleasedAsDone) {
    lease_world world;
    const auto due = occurrence_text(-1min);
    const auto body =
        R"({"key": "k", "ttl_ms": 30000, "at_least_once": true, "occurrence": ")" + due + "\"}";
    ASSERT_EQ(world.release(world.acquire(body)).status, 204u);
    const auto second = world.acquire(body);
    ASSERT_EQ(second.status, 201u);
    ASSERT_EQ(world.ask({"DELETE", field_in(second, "Location") + "?done=" + due}).status, 204u);
    EXPECT_EQ(world.acquire(body).status, 410u);
}

// The grant has marked it, and nothing has run.
TEST(Leases, AnOccurrenceThatWasNotStartedIsGivenBackWithItsLease) {
    lease_world world;
    const auto due = occurrence_text(-1min);
    const auto body = [&](const std::string& id) {
        return R"({"key": "k", "ttl_ms": 30000, "claim_id": ")" + id + R"(", "occurrence": ")" +
               due + "\"}";
    };
    const auto first = world.acquire(body("one"));
    ASSERT_EQ(first.status, 201u) << first.body;
    const auto ending = "?not_started=" + due + "&claim_id=";
    const auto lease = field_in(first, "Location");
    EXPECT_EQ(world.ask({"DELETE", lease + ending + "other"}).status, 409u);
    EXPECT_FALSE(world.is_free("k"));
    ASSERT_EQ(world.ask({"DELETE", lease + ending + "one"}).status, 204u);
    const auto second = world.acquire(body("two"));
    ASSERT_EQ(second.status, 201u) << second.body;
    // Only what is held under its token.
    EXPECT_EQ(world.ask({"DELETE", lease + ending + "two"}).status, 409u);
    EXPECT_FALSE(world.is_free("k"));
}

// Its client waited for something else, and found its lease over.
TEST(Leases, AnOccurrenceThatWasNotStartedIsGivenBackAlsoBehindItsLease) {
    lease_world world;
    const auto due = occurrence_text(-1min);
    const auto made = world.acquire(
        R"({"key": "k", "ttl_ms": 1000, "claim_id": "one", "occurrence": ")" + due + "\"}");
    ASSERT_EQ(made.status, 201u) << made.body;
    while (!world.is_free("k")) std::this_thread::yield();
    const auto ending = field_in(made, "Location") + "?not_started=" + due + "&claim_id=";
    EXPECT_EQ(world.ask({"DELETE", ending + "other"}).status, 409u);
    EXPECT_EQ(world.ask({"DELETE", ending + "one"}).status, 204u);
    EXPECT_EQ(world
                  .acquire(R"({"key": "k", "ttl_ms": 30000, "claim_id": "two", "occurrence": ")" +
                           due + "\"}")
                  .status,
              201u);
}

TEST(Leases, AnOccurrenceFarAheadIsEarly) {
    lease_world world;
    const auto body =
        R"({"key": "k", "ttl_ms": 30000, "occurrence": ")" + occurrence_text(1h) + "\"}";
    const auto rejected = world.acquire(body);
    ASSERT_EQ(rejected.status, 409u);
    EXPECT_EQ(text_in(rejected, "reason"), "early");
}

TEST(Leases, ARenewalMovesTheEndOfTheLease) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 10000})");
    const auto renewed = world.ask({"PUT", field_in(made, "Location"), R"({"ttl_ms": 60000})"});
    ASSERT_EQ(renewed.status, 200u) << renewed.body;
    EXPECT_EQ(number_in(renewed, "ttl_ms"), 60'000);
    EXPECT_EQ(number_in(renewed, "fence_token"), number_in(made, "fence_token"));
    EXPECT_GT(world.inspect("k")->remaining, 30s);
}

TEST(Leases, ALeaseThatAnotherClientTookIsLost) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 1000})");
    ASSERT_EQ(world.acquire(R"({"key": "k", "ttl_ms": 30000, "wait_ms": 10000})").status, 201u);
    const auto lost = world.ask({"PUT", field_in(made, "Location"), R"({"ttl_ms": 30000})"});
    ASSERT_EQ(lost.status, 409u);
    EXPECT_THAT(text_in(lost, "detail"), HasSubstr("stop now"));
    EXPECT_EQ(world.release(made).status, 409u);
}

TEST(Leases, ARenewalWithoutAnAnswerIsNoLoss) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    world.where().faults->renewals_to_fail = 1;
    const asked renewal{"PUT", field_in(made, "Location"), R"({"ttl_ms": 30000})"};
    const auto unknown = world.ask(renewal);
    EXPECT_EQ(unknown.status, 503u);
    EXPECT_EQ(field_in(unknown, "Retry-After"), "1");
    EXPECT_EQ(world.ask(renewal).status, 200u);
    // A store of several parts says so of one lease.
    world.on_loop([&] {
        world.hooks().after_renew = [](result<std::vector<pawl::renewal>>& answer) {
            answer->front() = pawl::renewal::unknown;
        };
    });
    EXPECT_EQ(world.ask(renewal).status, 503u);
}

TEST(Leases, AtLeastKeepsTheKeyFromEverybody) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    ASSERT_EQ(world.ask({"DELETE", field_in(made, "Location") + "?at_least_ms=20000"}).status,
              204u);
    const auto rejected = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    ASSERT_EQ(rejected.status, 409u);
    EXPECT_EQ(text_in(rejected, "reason"), "cooldown");
    EXPECT_EQ(number_in(rejected, "fence_token"), 0);
}

TEST(Leases, AStoreThatIsDownIs503) {
    lease_world world;
    world.where().faults->fail_all = errc::unreachable;
    for (const auto& one : {asked{"POST", "/api/v1/leases", R"({"key": "k", "ttl_ms": 30000})"},
                            asked{"PUT", "/api/v1/leases/k/7", R"({"ttl_ms": 30000})"},
                            asked{"DELETE", "/api/v1/leases/k/7"},
                            asked{"POST", "/api/v1/fences/f", R"({"fence_token": 1})"}}) {
        const auto told = world.ask(one);
        EXPECT_EQ(told.status, 503u) << one.method;
        EXPECT_EQ(field_in(told, "Retry-After"), "1");
    }
}

struct bad_claim {
    const char* body;
    const char* says;
};

TEST(Leases, WhatIsWrongWithAClaimIsSaidInOneLine) {
    lease_world world;
    const std::vector<bad_claim> all{
        {"", "key is missing"},
        {R"({"key": "k"})", "ttl_ms is missing"},
        {R"({"key": "", "ttl_ms": 30000})", "the key is empty"},
        {R"({"key": "a\u0007b", "ttl_ms": 30000})", "control character at byte 2"},
        {R"({"key": "k", "ttl_ms": 0})", "ttl_ms is not an integer from 1 to 604800000"},
        {R"({"key": "k", "ttl_ms": 604800001})", "ttl_ms is not an integer"},
        {R"({"key": "k", "ttl_ms": 3})", "leaves no time in which"},
        {R"({"key": "k", "ttl_ms": "30s"})", "ttl_ms is not an integer"},
        {R"({"key": "k", "ttl_ms": 30000, "owner": ""})", "the owner is empty"},
        {R"({"key": "k", "ttl_ms": 30000, "owner": "a\nb"})", "the owner has a control character"},
        {R"({"key": "k", "ttl_ms": 30000, "wait_ms": 60001})", "wait_ms is not an integer"},
        {R"({"key": "k", "ttl_ms": 30000, "occurrence": "tomorrow"})", "occurrence is not a time"},
        {R"({"key": "k", "ttl_ms": 30000, "at_least_once": true})", "give occurrence"},
        {R"({"key": "k", "ttl_ms": 30000, "claim_id": ""})", "claim_id '' is not 1 to 64"},
        {R"({"key": "k", "ttl_ms": 30000, "claim_id": "a/b"})", "claim_id 'a/b' is not 1 to 64"},
        {R"({"key": "k", "ttl_ms": 30000, "ttl": 1})", "unknown member 'ttl'"},
        {R"(["k"])", "not a JSON object"},
    };
    for (const auto& [body, says] : all) {
        const auto rejected = world.acquire(body);
        EXPECT_EQ(rejected.status, 400u) << body;
        EXPECT_THAT(text_in(rejected, "detail"), HasSubstr(says)) << body;
        EXPECT_EQ(text_in(rejected, "detail").find('\n'), std::string::npos);
    }
    const auto long_key = std::string(513, 'k');
    EXPECT_EQ(world.acquire(R"({"ttl_ms": 30000, "key": ")" + long_key + "\"}").status, 400u);
    const auto long_id = std::string(65, 'c');
    EXPECT_EQ(
        world.acquire(R"({"key": "k", "ttl_ms": 30000, "claim_id": ")" + long_id + "\"}").status,
        400u);
    EXPECT_FALSE(world.inspect("k"));
}

TEST(Leases, ATokenIsAWholeNumberBelowTwoToThe53) {
    lease_world world;
    for (const auto* text :
         {"0", "-1", "1e3", "abc", "7%20", "9007199254740992", "99999999999999999999999", "0x10"}) {
        const auto path = std::string{"/api/v1/leases/k/"} + text;
        EXPECT_EQ(world.ask({"PUT", path, R"({"ttl_ms": 30000})"}).status, 400u) << text;
        EXPECT_EQ(world.ask({"DELETE", path}).status, 400u) << text;
    }
    EXPECT_EQ(
        world.ask({"PUT", "/api/v1/leases/k/9007199254740991", R"({"ttl_ms": 30000})"}).status,
        409u);
}

TEST(Leases, HowALeaseEndsIsCheckedBeforeItEnds) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    for (const auto* query :
         {"?at_least_ms=-1", "?at_least_ms=1s", "?at_least_ms=604800001", "?done=yesterday",
          "?at_last_ms=5", "?claim_id=a", "?not_started=2026-01-02T03:04:05Z",
          "?not_started=2026-01-02T03:04:05Z&claim_id=a%20b",
          "?not_started=2026-01-02T03:04:05Z&claim_id=a&at_least_ms=5",
          "?not_started=2999-01-02T03:04:05Z&claim_id=a"})
        EXPECT_EQ(world.ask({"DELETE", field_in(made, "Location") + query}).status, 400u) << query;
    EXPECT_FALSE(world.is_free("k"));
}

TEST(Fences, ATokenIsStaleOnceANewerOneWasSeen) {
    lease_world world;
    const auto check = [&](const std::string& body) {
        return world.ask({"POST", "/api/v1/fences/ledger/2026", body});
    };
    EXPECT_EQ(check(R"({"fence_token": 5})").status, 204u);
    EXPECT_EQ(check(R"({"fence_token": 5})").status, 204u);
    EXPECT_EQ(check(R"({"fence_token": 5, "rule": "reject_not_newer"})").status, 409u);
    EXPECT_EQ(check(R"({"fence_token": 6, "rule": "reject_not_newer"})").status, 204u);
    const auto stale = check(R"({"fence_token": 5})");
    ASSERT_EQ(stale.status, 409u);
    EXPECT_EQ(number_in(stale, "newest"), 6);
    EXPECT_EQ(check(R"({"fence_token": 0})").status, 400u);
    EXPECT_EQ(check(R"({"fence_token": 9007199254740992})").status, 400u);
    EXPECT_EQ(check(R"({"fence_token": 7, "rule": "newest"})").status, 400u);
    EXPECT_EQ(check("{}").status, 400u);
}

// At 7a8108b the first of these closed the resource for good.
TEST(Fences, ATokenThatWasNeverIssuedIsRejectedAndNotRemembered) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    const auto token = number_in(made, "fence_token");
    for (const auto invented : {std::int64_t{9007199254740991}, token + 3'600'000'000}) {
        const auto told = world.ask({"POST", "/api/v1/fences/ledger",
                                     R"({"fence_token": )" + std::to_string(invented) + "}"});
        EXPECT_EQ(told.status, 400u) << told.body;
        EXPECT_THAT(text_in(told, "detail"), HasSubstr("cannot have been issued"));
    }
    EXPECT_EQ(world
                  .ask({"POST", "/api/v1/fences/ledger",
                        R"({"fence_token": )" + std::to_string(token) + "}"})
                  .status,
              204u);
}

TEST(Leases, WhatIsDoneThroughTheApiIsCounted) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    world.ask({"PUT", field_in(made, "Location"), R"({"ttl_ms": 30000})"});
    world.release(made);
    world.ask({"PUT", field_in(made, "Location"), R"({"ttl_ms": 30000})"});
    world.ask({"POST", "/api/v1/fences/f", R"({"fence_token": 2})"});
    world.ask({"POST", "/api/v1/fences/f", R"({"fence_token": 1})"});
    const auto text = world.metrics();
    for (const auto* line :
         {"pawl_lock_acquire_total{outcome=\"granted\"} 1",
          "pawl_lock_acquire_total{outcome=\"busy\"} 1",
          "pawl_lock_renew_total{outcome=\"renewed\"} 1",
          "pawl_lock_renew_total{outcome=\"lost\"} 1", "pawl_lock_hold_seconds_count 1",
          "pawl_fence_rejected_total{resource=\"f\"} 1",
          "pawl_lock_owner_heartbeat_timestamp_seconds{owner=\""})
        EXPECT_THAT(text, HasSubstr(line));
}

}  // namespace
}  // namespace pawl::api
