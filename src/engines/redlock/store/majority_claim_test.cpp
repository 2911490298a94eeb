// The majority_claim without any server: every order in which answers may come, decided by hand.
#include "engines/redlock/store/majority_claim.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::redlock {
namespace {

using namespace std::chrono_literals;
using kind = order::kind;

class race {
public:
    explicit race(std::size_t nodes = 3) : machine{nodes, nodes / 2 + 1} {}

    // Gives an answer; the orders that follow are kept.
    race& hears(std::size_t node, vote what) {
        machine.voted(node, std::move(what), orders);
        return *this;
    }
    race& confirms(std::size_t node, result<bool> agreed) {
        machine.confirmed(node, std::move(agreed), orders);
        return *this;
    }
    std::size_t told(kind what, std::size_t node) const {
        return static_cast<std::size_t>(
            std::count_if(orders.begin(), orders.end(),
                          [&](const order& one) { return one.what == what && one.node == node; }));
    }
    template <class Outcome>
    const Outcome* outcome() const {
        const auto& so_far = machine.result_so_far();
        return so_far ? std::get_if<Outcome>(&*so_far) : nullptr;
    }
    bool is_open() const { return !machine.result_so_far(); }

    majority_claim machine;
    std::vector<order> orders;
};

promised gives(std::uint64_t token) { return {fence_token{token}}; }
held_already again(std::uint64_t token) { return {fence_token{token}}; }
turned_down busy_with(std::uint64_t holder, std::uint64_t last, millis remaining = 10s,
                      const std::string& id = "other") {
    turned_down told;
    told.holder = fence_token{holder};
    told.last = fence_token{last};
    told.remaining = remaining;
    told.id = id;
    told.owner = id + "'s owner";
    return told;
}
turned_down promised_to(const std::string& id) { return busy_with(0, 0, 10s, id); }
turned_down because(busy_reason reason, millis remaining = 10s) {
    turned_down told;
    told.reason = reason;
    told.remaining = remaining;
    return told;
}
failure down(errc code = errc::unreachable) { return {code, "host:1: down"}; }

// ---- Winning

TEST(Election, TheHighestPromiseIsTheTokenAndIsWrittenBackToAllThatPromised) {
    race one;
    one.hears(0, gives(100));
    EXPECT_TRUE(one.orders.empty());
    one.hears(2, gives(130));
    EXPECT_EQ(one.machine.token(), fence_token{130});
    EXPECT_EQ(one.told(kind::confirm, 0), 1u);
    EXPECT_EQ(one.told(kind::confirm, 2), 1u);
    one.confirms(0, true);
    EXPECT_TRUE(one.is_open());
    one.confirms(2, true);
    ASSERT_NE(one.outcome<majority_claim::won>(), nullptr);
    EXPECT_EQ(one.outcome<majority_claim::won>()->token, fence_token{130});
}

// Goal: the slowest node is not waited for, and joins all the same; under the token of the lock,
// not under its own.
TEST(Election, ALatePromiseJoinsUnderTheTokenOfTheLock) {
    race one;
    one.hears(0, gives(100)).hears(1, gives(90)).confirms(0, true).confirms(1, true);
    ASSERT_NE(one.outcome<majority_claim::won>(), nullptr);
    one.hears(2, gives(500));
    EXPECT_EQ(one.told(kind::confirm, 2), 1u);
    EXPECT_EQ(one.machine.token(), fence_token{100});
    one.confirms(2, false);
    EXPECT_NE(one.outcome<majority_claim::won>(), nullptr);
    // It would hold the key back from others once the lock is let go.
    EXPECT_EQ(one.told(kind::undo, 2), 1u);
}

TEST(Election, OneThatDoesNotConfirmIsMadeUpForByALateOne) {
    race one;
    one.hears(0, gives(1)).hears(1, gives(2)).confirms(0, true).confirms(1, false);
    EXPECT_TRUE(one.is_open());
    one.hears(2, gives(1)).confirms(2, true);
    EXPECT_NE(one.outcome<majority_claim::won>(), nullptr);
}

TEST(Election, OneDeadNodeOfThreeAndTwoOfFiveChangeNothing) {
    race three;
    three.hears(1, down()).hears(0, gives(5)).hears(2, gives(6));
    three.confirms(0, true).confirms(2, true);
    EXPECT_NE(three.outcome<majority_claim::won>(), nullptr);
    race five{5};
    five.hears(0, down()).hears(1, down(errc::denied)).hears(2, gives(5)).hears(3, gives(5));
    EXPECT_EQ(number(five.machine.token()), 0u);
    five.hears(4, gives(5)).confirms(2, true).confirms(3, true).confirms(4, true);
    EXPECT_NE(five.outcome<majority_claim::won>(), nullptr);
}

// ---- The same claim again

TEST(Election, AClaimThatHadBeenWonIsWonUnderTheSameToken) {
    race one;
    one.hears(0, again(70)).hears(1, again(70));
    ASSERT_NE(one.outcome<majority_claim::won>(), nullptr);
    EXPECT_EQ(one.outcome<majority_claim::won>()->token, fence_token{70});
    EXPECT_TRUE(one.orders.empty());
    one.hears(2, gives(99));
    EXPECT_EQ(one.told(kind::confirm, 2), 1u);
}

// Goal: a node that promised late must not give a won claim another token. Method: its promise
// comes before the second confirmation is heard of.
TEST(Election, AClaimThatMayHaveBeenWonWaitsForTheOthers) {
    race one;
    one.hears(0, again(70)).hears(2, gives(99));
    EXPECT_TRUE(one.is_open());
    EXPECT_TRUE(one.orders.empty());
    one.hears(1, again(70));
    ASSERT_NE(one.outcome<majority_claim::won>(), nullptr);
    EXPECT_EQ(one.outcome<majority_claim::won>()->token, fence_token{70});
}

TEST(Election, AClaimThatWasHalfWonIsWrittenBackAnew) {
    race one;
    one.hears(0, again(70)).hears(2, gives(99)).hears(1, down());
    EXPECT_EQ(one.machine.token(), fence_token{99});
    EXPECT_EQ(one.told(kind::confirm, 0), 1u);
    EXPECT_EQ(one.told(kind::confirm, 2), 1u);
}

// ---- Losing

TEST(Election, AHolderThatIsConfirmedIsTheAnswerAndPromisesAreGivenBack) {
    race one;
    one.hears(0, gives(9)).hears(1, busy_with(7, 7, 3s)).hears(2, busy_with(0, 6, 9s));
    const auto* told = one.outcome<busy>();
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(told->holder, fence_token{7});
    EXPECT_EQ(told->reason, busy_reason::held);
    EXPECT_EQ(told->owner, "other's owner");
    EXPECT_EQ(told->remaining, 3s);  // then nodes 0 and 1 are free
    EXPECT_EQ(one.told(kind::undo, 0), 1u);
}

TEST(Election, TwoOfThreeSufficeToReject) {
    race one;
    one.hears(0, busy_with(7, 7)).hears(1, busy_with(7, 7));
    EXPECT_NE(one.outcome<busy>(), nullptr);
    one.hears(2, gives(8));
    EXPECT_EQ(one.told(kind::undo, 2), 1u);
    EXPECT_EQ(one.told(kind::confirm, 2), 0u);
}

// Goal: a node that has not heard of a forced release does not outvote one that has.
TEST(Election, TheNewestNodeSaysWhoHoldsAndForHowLong) {
    race one;
    auto in_cooldown = because(busy_reason::cooldown, 2s);
    in_cooldown.last = fence_token{8};
    one.hears(0, in_cooldown).hears(1, busy_with(7, 7, 60s));
    const auto* told = one.outcome<busy>();
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(told->reason, busy_reason::cooldown);
    EXPECT_EQ(number(told->holder), 0u);
    EXPECT_EQ(told->remaining, 2s);
}

TEST(Election, ASplitVoteIsWorthAnotherTry) {
    race one;
    one.hears(0, gives(5)).hears(1, promised_to("b")).hears(2, promised_to("c"));
    EXPECT_NE(one.outcome<majority_claim::split>(), nullptr);
    EXPECT_EQ(one.told(kind::undo, 0), 1u);
}

TEST(Election, AnotherClaimWithAMajorityOfPromisesIsAheadOfUs) {
    race one;
    one.hears(0, gives(5)).hears(1, promised_to("b")).hears(2, promised_to("b"));
    ASSERT_NE(one.outcome<busy>(), nullptr);
    EXPECT_EQ(one.outcome<busy>()->owner, "b's owner");
}

TEST(Election, PromisesThatRanOutBeforeTheyWereConfirmedAreASplitVote) {
    race one;
    one.hears(0, gives(5)).hears(1, gives(6)).hears(2, down()).confirms(0, true);
    one.confirms(1, false);
    EXPECT_NE(one.outcome<majority_claim::split>(), nullptr);
    EXPECT_EQ(one.told(kind::undo, 0), 1u);
    EXPECT_EQ(one.told(kind::undo, 1), 1u);
}

// ---- Occurrences and quarantine

TEST(Election, DoneIsWhatAMajoritySays) {
    race one;
    one.hears(0, already_done{occurrence{5}}).hears(1, already_done{occurrence{7}});
    ASSERT_NE(one.outcome<already_done>(), nullptr);
    EXPECT_EQ(one.outcome<already_done>()->last, occurrence{7});
    race minority;
    minority.hears(0, already_done{occurrence{5}}).hears(1, gives(8)).hears(2, gives(9));
    EXPECT_EQ(minority.machine.token(), fence_token{9});
}

// Goal: an occurrence that a majority knows to be done is not called busy. Method: a node that
// keeps quiet answers before the second that knows.
TEST(Election, DoneIsWaitedForWhileAMajorityMaySayIt) {
    race one;
    one.hears(0, already_done{occurrence{5}}).hears(1, because(busy_reason::quarantined));
    EXPECT_TRUE(one.is_open());
    one.hears(2, already_done{occurrence{5}});
    EXPECT_NE(one.outcome<already_done>(), nullptr);
    race held;
    held.hears(0, already_done{occurrence{5}}).hears(1, busy_with(7, 7));
    EXPECT_NE(held.outcome<busy>(), nullptr);
}

// One says it is done, one does not know, one is silent: the silent one knows.
TEST(Election, DoneByAMinorityCannotBeToldWithoutTheOthers) {
    race one;
    one.hears(0, already_done{occurrence{5}}).hears(1, gives(8)).hears(2, down());
    ASSERT_NE(one.outcome<failure>(), nullptr);
    EXPECT_EQ(one.outcome<failure>()->code, errc::unreachable);
    EXPECT_EQ(one.told(kind::undo, 1), 1u);
}

TEST(Election, TooFewNodesOutOfQuarantineIsQuarantine) {
    race one;
    one.hears(0, because(busy_reason::quarantined, 4s)).hears(1, gives(8)).hears(2, down());
    ASSERT_NE(one.outcome<busy>(), nullptr);
    EXPECT_EQ(one.outcome<busy>()->reason, busy_reason::quarantined);
    EXPECT_EQ(one.outcome<busy>()->remaining, 4s);
    race enough;
    enough.hears(0, because(busy_reason::quarantined)).hears(1, gives(8)).hears(2, gives(9));
    EXPECT_EQ(enough.machine.token(), fence_token{9});
}

// ---- Failing

TEST(Election, WithoutAMajorityThereIsOneLineWithEachNodesReason) {
    race one;
    one.hears(0, failure{errc::unreachable, "a:1: rejected"}).hears(2, gives(4));
    one.hears(1, failure{errc::outcome_unknown, "b:2: no answer"});
    const auto* why = one.outcome<failure>();
    ASSERT_NE(why, nullptr);
    EXPECT_EQ(why->code, errc::unreachable);
    EXPECT_EQ(why->detail, "a:1: rejected; b:2: no answer: 1 of 3 nodes answered, 2 must");
    EXPECT_EQ(one.told(kind::undo, 2), 1u);
    // The claim may still arrive at b, and must then find that it was given up.
    EXPECT_EQ(one.told(kind::forget, 1), 1u);
    EXPECT_EQ(one.told(kind::forget, 0), 0u);
}

// Goal: what waiting does not cure is not called unreachable. Method: one wrong password, then two.
TEST(Election, AReasonThatDoesNotPassCountsWhenItStandsInTheWay) {
    race one;
    one.hears(0, down(errc::denied)).hears(1, down());
    EXPECT_EQ(one.hears(2, gives(1)).outcome<failure>()->code, errc::unreachable);
    race two;
    two.hears(0, down(errc::denied)).hears(1, down(errc::denied)).hears(2, gives(1));
    EXPECT_EQ(two.outcome<failure>()->code, errc::denied);
}

// Goal: a majority that is full is no outage, which a job could run through. Method: two full nodes
// of three, then one.
TEST(Election, AMajorityThatCannotWriteForNowIsThere) {
    const vote full{failure{errc::unreachable, "full", true}};
    race two, one;
    two.hears(0, full).hears(1, full).hears(2, gives(1));
    ASSERT_NE(two.outcome<failure>(), nullptr);
    EXPECT_EQ(two.outcome<failure>()->code, errc::unreachable);
    EXPECT_FALSE(is_outage(*two.outcome<failure>()));
    one.hears(0, full).hears(1, down()).hears(2, gives(1));
    EXPECT_TRUE(is_outage(*one.outcome<failure>()));
}

// Goal: a majority that may have confirmed is undone by none but the claimer.
TEST(Election, AConfirmationWithoutAnswerIsAnUnknownOutcome) {
    race one;
    one.hears(0, gives(5)).hears(1, gives(6)).hears(2, down()).confirms(0, true);
    one.confirms(1, down(errc::outcome_unknown));
    ASSERT_NE(one.outcome<failure>(), nullptr);
    EXPECT_EQ(one.outcome<failure>()->code, errc::outcome_unknown);
    EXPECT_EQ(one.told(kind::undo, 0), 0u);
}

TEST(Election, WhoGivesUpGivesBackWhatComesLater) {
    race one;
    one.hears(0, gives(5));
    one.machine.abandon(one.orders);
    EXPECT_EQ(one.told(kind::undo, 0), 1u);
    one.hears(1, gives(6)).hears(2, down(errc::outcome_unknown));
    EXPECT_EQ(one.told(kind::undo, 1), 1u);
    EXPECT_EQ(one.told(kind::forget, 2), 1u);
    EXPECT_EQ(one.told(kind::confirm, 1), 0u);
}

}  // namespace
}  // namespace pawl::redlock
