// Releases that have no answer, and grants to users who were removed: what is ended all the
// same, and what the audit says of it.
#include "api/locks/lease_fixture.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace pawl::api {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

// The next release takes effect, and has no answer.
void lose_a_release(lease_world& world) {
    world.on_loop([&] {
        world.hooks().after_release = [&](result<bool>& answer) {
            answer = failure{errc::outcome_unknown, "the answer was lost, as planned"};
            world.hooks().after_release = {};
        };
    });
}

// The second request finds the lease gone, perhaps by the first one: that is no proof that it was
// held until now.
TEST(LeaseReleases, AReleaseWhoseAnswerWasLostIsNotSaidToBeOne) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 30000})");
    lose_a_release(world);
    const auto told = world.release(made);
    ASSERT_EQ(told.status, 409u);
    EXPECT_THAT(text_in(told, "detail"), HasSubstr("an earlier request may have released it"));
    EXPECT_TRUE(world.is_free("k"));
}

// Goal: a release that took effect is in the audit, and no late copy of its claim holds the key.
// Method: a claim that was sent twice; its release has no answer, and a withdrawal that fails as
// planned tells that it was asked for.
TEST(LeaseReleases, AReleaseWhoseAnswerWasLostIsAuditedAndBuried) {
    lease_world world;
    const std::string body = R"({"key": "k", "ttl_ms": 3600000, "claim_id": "c"})";
    ASSERT_EQ(world.acquire(body).status, 201u);
    const auto made = world.acquire(body);
    lose_a_release(world);
    world.where().faults->withdrawals_to_fail = 1;
    ASSERT_EQ(world.release(made).status, 409u);
    EXPECT_EQ(world.where().faults->withdrawals_to_fail, 0);
    EXPECT_THAT(world.audited(), Contains(HasSubstr("lease.release k (whether it took effect")));
    EXPECT_EQ(world.acquire(R"({"key": "k", "ttl_ms": 1000})").status, 201u);
}

// Goal: what another client took was not released. Method: the first request has no answer and no
// effect, and before the second the lease is ended and the key taken.
TEST(LeaseReleases, AReleaseOfWhatWasTakenMeanwhileIsInNoAudit) {
    lease_world world;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 60000})");
    ASSERT_EQ(world.release(made).status, 204u);
    ASSERT_EQ(world.acquire(R"({"key": "k", "ttl_ms": 60000})").status, 201u);
    lose_a_release(world);
    const auto before = world.audited().size();
    EXPECT_EQ(world.release(made).status, 409u);
    EXPECT_EQ(world.audited().size(), before);
}

// Goal: what may be held for a client is in the audit. Method: the store answers neither a claim
// with an id of the client's, nor its release.
TEST(LeaseReleases, WhatHasNoAnswerAtAllIsAuditedInDoubt) {
    lease_world world{api_store{.settings = {.name_space = fresh_name_space(), .timeout = 50ms}}};
    world.where().faults->answers_to_lose = 1'000'000;
    EXPECT_EQ(world.acquire(R"({"key": "k", "ttl_ms": 3600000, "claim_id": "c"})").status, 503u);
    EXPECT_THAT(
        world.audited(),
        Contains(HasSubstr("lease.acquire k (whether it took effect is not known) for 1h")));
    world.where().faults->answers_to_lose = 0;
    const auto made = world.acquire(R"({"key": "k", "ttl_ms": 3600000, "claim_id": "c"})");
    ASSERT_LT(made.status, 300u) << made.body;
    world.on_loop([&] {
        world.hooks().after_release = [](result<bool>& answer) {
            answer = failure{errc::outcome_unknown, "the answer was lost, as planned"};
        };
    });
    EXPECT_EQ(world.release(made).status, 503u);
    EXPECT_THAT(world.audited(), Contains(HasSubstr("lease.release k (whether it took effect")));
}

// Goal: what was granted to a user who may have no leases any more is given back, however long the
// store is away (rule 2). Method: withdrawals fail for several timeouts.
TEST(LeaseReleases, WhatARemovedUserWasGrantedIsGivenBackInTheEnd) {
    lease_world world{api_store{.settings = {.name_space = fresh_name_space(), .timeout = 50ms}}};
    asked late{"POST", "/api/v1/leases", R"({"key": "k", "ttl_ms": 3600000})"};
    late.is_still_admitted = [] { return false; };
    auto& faults = *world.where().faults;
    faults.withdrawals_to_fail = 1'000'000;
    EXPECT_EQ(world.ask(late).status, 401u);
    const auto gone_on = lease_clock::now() + 500ms;
    while (lease_clock::now() < gone_on) std::this_thread::yield();
    EXPECT_FALSE(world.is_free("k"));
    faults.withdrawals_to_fail = 0;
    const auto until = lease_clock::now() + 20s;
    while (!world.is_free("k") && lease_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(world.is_free("k"));
    EXPECT_THAT(world.audited(), Contains(HasSubstr("given back, as the user was removed")));
}

}  // namespace
}  // namespace pawl::api
