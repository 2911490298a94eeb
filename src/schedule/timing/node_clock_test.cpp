#include "schedule/timing/node_clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::schedule {
namespace {

using namespace std::chrono_literals;
using finding = node_clock::finding;
using whom = node_clock::compared_with;

const wall_instant noon{std::chrono::hours{500'000}};

// How this node's clock is corrected.
millis correction(const node_clock& clock) {
    return std::chrono::floor<millis>(noon - clock.corrected(noon));
}

struct told {
    millis ahead;  // of the journal's clock, at the middle of the request
    millis request;
    finding what;
    millis by;
    millis corrected_by;
};

struct comparing {
    const char* what;
    std::vector<told> answers;
};

std::ostream& operator<<(std::ostream& out, const comparing& one) { return out << one.what; }

class NodeClockCompares : public testing::TestWithParam<comparing> {};

// A clock goes by the journal's once it is off by more than is tolerated, and by its own again only
// where it is well within that: each answer of the journal is given in turn.
TEST_P(NodeClockCompares, WithTheJournals) {
    node_clock clock{whom::journal};
    int n = 0;
    for (const auto& one : GetParam().answers) {
        const auto middle = noon - one.ahead;
        const auto found = clock.compare(middle, noon - one.request / 2, noon + one.request / 2);
        EXPECT_EQ(found.what, one.what) << "answer " << n;
        EXPECT_EQ(found.by, one.by) << "answer " << n;
        EXPECT_EQ(correction(clock), one.corrected_by) << "answer " << n;
        ++n;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Answers, NodeClockCompares,
    testing::Values(
        comparing{"one that is right stays", {{0ms, 10ms, finding::nothing_new, 0ms, 0ms}}},
        comparing{"what is tolerated is not corrected",
                  {{500ms, 10ms, finding::nothing_new, 0ms, 0ms},
                   {-500ms, 10ms, finding::nothing_new, 0ms, 0ms}}},
        comparing{"one that is ahead", {{501ms, 10ms, finding::ahead, 501ms, 501ms}}},
        comparing{"one that is behind", {{-900ms, 10ms, finding::behind, 900ms, -900ms}}},
        comparing{"a request that took long says nothing",
                  {{9s, 1'002ms, finding::nothing_new, 0ms, 0ms}}},
        comparing{"a clock that was put back meanwhile says nothing",
                  {{9s, -100ms, finding::nothing_new, 0ms, 0ms}}},
        comparing{"at the edge it does not go back and forth",
                  {{600ms, 10ms, finding::ahead, 600ms, 600ms},
                   {400ms, 10ms, finding::nothing_new, 0ms, 600ms},
                   {251ms, 10ms, finding::nothing_new, 0ms, 600ms},
                   {250ms, 10ms, finding::agrees_again, 0ms, 0ms}}},
        comparing{"only what changes much is told anew",
                  {{2s, 10ms, finding::ahead, 2s, 2s},
                   {2'499ms, 10ms, finding::nothing_new, 0ms, 2s},
                   {2'500ms, 10ms, finding::ahead, 2'500ms, 2'500ms},
                   {-1s, 10ms, finding::behind, 1s, -1s}}}));

struct observation {
    millis passed;  // since the last look
    millis local;   // by which the wall clock moved meanwhile
    std::optional<millis> put_back;
    std::optional<millis> last_right;  // from noon
};

struct looking {
    const char* what;
    std::vector<observation> looks;
};

std::ostream& operator<<(std::ostream& out, const looking& one) { return out << one.what; }

class NodeClockLooks : public testing::TestWithParam<looking> {};

// A step back shows between two looks; where it undoes most of a step forward, since when the clock
// had been wrong is known as well.
TEST_P(NodeClockLooks, ForSteps) {
    node_clock clock{whom::journal};
    instant now{1h};
    auto local = noon;
    EXPECT_FALSE(clock.look(now, local)) << "the first look has nothing to compare with";
    int n = 0;
    for (const auto& one : GetParam().looks) {
        now += one.passed;
        local += one.local;
        const auto found = clock.look(now, local);
        ASSERT_EQ(found.has_value(), one.put_back.has_value()) << "look " << n;
        if (found) {
            EXPECT_EQ(std::chrono::floor<millis>(found->by), *one.put_back) << "look " << n;
            ASSERT_EQ(found->last_right.has_value(), one.last_right.has_value()) << "look " << n;
            if (one.last_right) {
                EXPECT_EQ(*found->last_right, noon + *one.last_right) << "look " << n;
            }
        }
        ++n;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Steps, NodeClockLooks,
    testing::Values(
        looking{"time that passes is no step", {{1s, 1s, {}, {}}, {1h, 1h, {}, {}}}},
        looking{"what keeping a clock right looks like is no step",
                {{1s, 800ms, {}, {}}, {1s, 1'200ms, {}, {}}, {1s, 799ms, 201ms, {}}}},
        looking{"a step back", {{1s, -9s, 10s, {}}}},
        looking{"a step forward that is undone has been wrong since the look before it",
                {{1s, 1s, {}, {}}, {1s, 1h, {}, {}}, {1s, -1h, 1h + 1s, 1s}}},
        looking{"less than half of a step forward is another step back",
                {{1s, 1h, {}, {}}, {1s, -20min, 20min + 1s, {}}}},
        looking{"a step forward is undone once",
                {{1s, 1h, {}, {}}, {1s, -1h, 1h + 1s, 0s}, {1s, -1h, 1h + 1s, {}}}},
        looking{"two steps forward are undone by one back",
                {{1s, 1h, {}, {}}, {1s, 2h, {}, {}}, {1s, -3h, 3h + 1s, 0s}}},
        looking{
            "or one after the other",
            {{1s, 1h, {}, {}}, {1s, 2h, {}, {}}, {1s, -2h, 2h + 1s, 1h}, {1s, -1h, 1h + 1s, 0s}}},
        looking{"or by two steps back that are less than half of it each, and a third",
                {{1s, 1h, {}, {}},
                 {1s, -20min, 20min + 1s, {}},
                 {1s, -15min, 15min + 1s, {}},
                 {1s, -20min, 20min + 1s, 0s}}},
        looking{"what undoes the last alone leaves the one before it",
                {{1s, 2h, {}, {}},
                 {1s, 1h, {}, {}},
                 {1s, -40min, 40min + 1s, 2h},
                 {1s, -2h, 2h + 1s, 0s}}}));

// Goal: nothing that a node handed out before it was told what its clock is worth counts. Method:
// the first to tell says that it is a year ahead, and a second one another hour.
TEST(NodeClock, TheFirstCorrectionSaysThatItNeverWasRight) {
    for (const auto told_by : {whom::journal, whom::store}) {
        node_clock clock{told_by};
        const auto correct = [&](wall_instant by) {
            if (told_by == whom::journal)
                clock.compare(by, noon, noon);
            else
                clock.follow_store(noon, by);
        };
        EXPECT_FALSE(clock.look(instant{1h}, noon));
        correct(noon - 24h * 365);
        const auto first = clock.look(instant{1h}, noon);
        ASSERT_TRUE(first);
        EXPECT_EQ(first->last_right, wall_instant::min());

        correct(noon - 24h * 365 - 1h);
        const auto second = clock.look(instant{1h}, noon);
        ASSERT_TRUE(second);
        EXPECT_EQ(second->last_right, std::nullopt);
    }
}

// The journal's clock shows a step of this one as well: what its correction moves is a step.
TEST(NodeClock, ACorrectionIsAStepOfWhatTheSchedulesGoBy) {
    node_clock clock{whom::journal};
    EXPECT_FALSE(clock.look(instant{1h}, noon));
    EXPECT_EQ(clock.compare(noon - 10s, noon, noon).what, finding::ahead);

    const auto found = clock.look(instant{1h} + 1s, noon + 1s);

    ASSERT_TRUE(found);
    EXPECT_EQ(found->by, 10s);
}

// What the store has told of a clock is true of it until it steps; the journal tells again.
TEST(NodeClock, AStepEndsWhatOnlyTheStoreHasTold) {
    for (const auto who : {whom::store, whom::journal}) {
        node_clock clock{who};
        clock.follow_store(noon, noon - 90s);
        EXPECT_EQ(correction(clock), 90s);
        clock.look(instant{1h}, noon);
        clock.look(instant{1h} + 1s, noon + 1s);
        EXPECT_EQ(correction(clock), 90s) << "no step";

        clock.look(instant{1h} + 2s, noon - 88s);

        EXPECT_EQ(correction(clock), who == whom::store ? 0s : 90s);
    }
}

}  // namespace
}  // namespace pawl::schedule
