// The machine of partitions, on instants and members that the tests make up. How several of them
// get on with each other is for test_support/simulation.
#include "lease/sharing.hpp"
#include "lease/assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace pawl::leasing {
namespace {

using namespace std::chrono_literals;
using act = sharing::act;

constexpr instant start{1h};
const partition_options thirty{.lease = {.ttl = 30s}};

std::vector<std::uint32_t> member_numbers(std::uint32_t count) {
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    return all;
}

TEST(Assignment, GivesEveryMemberTheFloorOrOneMore) {
    for (std::uint32_t count : {1u, 2u, 7u, 16u, 100u}) {
        for (std::uint32_t members = 1; members <= 12; ++members) {
            const auto owners = assign("reindex", count, member_numbers(members));
            for (const auto member_number : member_numbers(members)) {
                const auto won = std::count(owners.begin(), owners.end(), member_number);
                EXPECT_GE(won, count / members);
                EXPECT_LE(won, (count + members - 1) / members);
            }
        }
    }
}

TEST(Assignment, IsTheSameInWhateverOrderTheMembersAreNamed) {
    EXPECT_EQ(assign("reindex", 16, {0, 3, 7}), assign("reindex", 16, {7, 0, 3}));
}

// A change of release must not shuffle what running members hold.
TEST(Assignment, IsTheSameInEveryRelease) {
    const std::vector<std::uint32_t> expected{2, 2, 1, 0, 2, 0, 1, 0};
    EXPECT_EQ(assign("reindex", 8, {0, 1, 2}), expected);
}

// Goal: one that joins or leaves moves few partitions of the others. Method: what moves over many
// names, beside what has to.
TEST(Assignment, MovesFewWhenAMemberJoins) {
    for (std::uint32_t members = 1; members <= 8; ++members) {
        std::size_t moved = 0, needed = 0;
        for (int name = 0; name < 100; ++name) {
            const auto before = assign(std::to_string(name), 64, member_numbers(members));
            const auto after = assign(std::to_string(name), 64, member_numbers(members + 1));
            for (std::size_t i = 0; i < 64; ++i) moved += before[i] != after[i] ? 1 : 0;
            needed += 64 / (members + 1);
        }
        EXPECT_LE(moved, needed * 8 / 5) << members;
    }
}

TEST(Assignment, ThePartitionsOfOneJobSayNothingAboutAnother) {
    EXPECT_NE(assign("reindex", 64, member_numbers(4)), assign("export", 64, member_numbers(4)));
}

TEST(Member, ItsTextIsReadBackAndNothingElseIs) {
    const auto back = parse_member(member_text(16, 7));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->count, 16u);
    EXPECT_EQ(back->member_number, 7u);
    for (const auto* other :
         {"", "7", "16-", "-7", "16-07", "16-x", "16-7-1", "4294967296-0", "+1-2"})
        EXPECT_FALSE(parse_member(other)) << other;
}

TEST(PartitionOptions, WhatMakesNoSenseIsExplained) {
    EXPECT_FALSE(partition_fault(thirty, 16));
    EXPECT_TRUE(partition_fault(thirty, 0)->starts_with("the number of partitions is 0"));
    EXPECT_TRUE(partition_fault(thirty, 1025)->starts_with("the number of partitions is 1025"));
    EXPECT_TRUE(partition_fault({.interval = 31s}, 16)->starts_with("interval 31s"));
    EXPECT_TRUE(partition_fault({.interval = -1ms}, 16)->starts_with("interval -1ms is negative"));
}

// A member and what it has been told to do. Claims and bodies end only when the test says so.
struct participant {
    sharing machine;
    instant now = start;
    std::set<std::uint32_t> claiming, held, told;
    std::optional<std::uint32_t> announcing;
    bool looking = false;
    bool left = false;
    instant until{};

    explicit participant(std::uint32_t count, partition_options options = thirty)
        : machine{sharing_plan_of("reindex", count, options), start} {}

    // Until it wants to wait or is over.
    act settle() {
        for (;;) {
            const auto step = machine.next(now);
            switch (step.what) {
                case act::look:
                    EXPECT_FALSE(std::exchange(looking, true));
                    break;
                case act::announce:
                    announcing = step.which;
                    break;
                case act::claim:
                    EXPECT_TRUE(claiming.insert(step.which).second);
                    break;
                case act::call_off:
                    EXPECT_EQ(claiming.erase(step.which), 1u);
                    machine.unclaimed(step.which, {}, now, 0.5);
                    break;
                case act::give_up:
                    EXPECT_TRUE(held.contains(step.which));
                    told.insert(step.which);
                    break;
                case act::leave:
                    left = true;
                    machine.left();
                    break;
                case act::wait:
                case act::over:
                    until = step.until;
                    return step.what;
            }
        }
    }
    void see(const std::vector<member>& present) {
        if (!looking) now = std::max(now, until);
        settle();
        EXPECT_TRUE(std::exchange(looking, false));
        machine.looked(present, now, 0.0);
        settle();
    }
    void join(const std::vector<member>& present) {
        see(present);
        ASSERT_TRUE(announcing);
        announcing.reset();
        machine.announced(now);
        settle();
    }
    void win_all() {
        for (const auto which : std::exchange(claiming, {})) {
            machine.granted(which);
            held.insert(which);
        }
        settle();
    }
    void obey() {
        for (const auto which : std::exchange(told, {})) {
            held.erase(which);
            machine.ended(which, term_end::taken_away, now, 0.5);
        }
        settle();
    }
};

TEST(Sharing, TheOnlyMemberClaimsEverythingAtOnce) {
    participant only{16};
    only.join({});
    EXPECT_EQ(only.claiming.size(), 16u);
    only.win_all();
    EXPECT_EQ(only.held.size(), 16u);
}

TEST(Sharing, AMemberTakesTheLowestNumberThatIsFree) {
    participant late{16};
    late.see({{16, 0, 1}, {16, 1, 2}, {16, 3, 3}});
    EXPECT_EQ(late.announcing, 2u);
    late.machine.number_taken(late.now);
    late.settle();
    EXPECT_EQ(late.announcing, 4u);
}

// Goal: one member number whose record is unreadable keeps no member out. Method: the store rejects
// the claim.
TEST(Sharing, ANumberThatCannotBeReadIsPassedOver) {
    participant late{16};
    late.see({});
    EXPECT_EQ(late.announcing, 0u);
    late.machine.announce_failed({errc::rejected, "unreadable"}, late.now, 0.5);
    late.settle();
    EXPECT_EQ(late.announcing, 1u);
    late.machine.announced(late.now);
    late.settle();
    late.see({{16, 1, 1}});
    EXPECT_EQ(late.claiming.size(), 16u);
}

// A store in quarantine says busy to every member number.
TEST(Sharing, TriesFewNumbersBetweenTwoLooks) {
    participant late{16};
    late.see({});
    int tried = 0;
    while (std::exchange(late.announcing, std::nullopt)) {
        ++tried;
        late.machine.number_taken(late.now);
        late.settle();
    }
    EXPECT_EQ(tried, 8);
    EXPECT_EQ(late.until, late.now + 3s);
    late.see({});
    EXPECT_TRUE(late.announcing);
}

// Goal: a member that is told to stop ends, whatever became of its number. Method: it is told so as
// it asks for one, and the answer is one after which it would ask for the next; then between the
// choice of a member number and its claim.
TEST(Sharing, AMemberThatIsStoppedAsItAsksForItsNumberIsOver) {
    participant taken{16}, unreadable{16}, late{16};
    for (auto* one : {&taken, &unreadable}) {
        one->see({});
        ASSERT_EQ(one->announcing, 0u);
        one->machine.call_off();
        EXPECT_EQ(one->settle(), act::wait);
    }
    taken.machine.number_taken(taken.now);
    EXPECT_EQ(taken.settle(), act::over);
    unreadable.machine.announce_failed({errc::rejected, "unreadable"}, unreadable.now, 0.5);
    EXPECT_EQ(unreadable.settle(), act::over);
    late.settle();
    ASSERT_TRUE(late.looking);
    late.machine.looked({}, late.now, 0.0);
    late.machine.call_off();
    EXPECT_EQ(late.settle(), act::over);
}

TEST(Sharing, ANewcomerClaimsItsPartitionsAndNoMore) {
    participant late{16};
    late.join({{16, 0, 1}});
    EXPECT_EQ(late.claiming.size(), 8u);
}

// One sixteenth at a look, and nothing at the first.
TEST(Sharing, WhatIsNoLongerOursIsGivenUpLittleByLittle) {
    participant old{32};
    old.join({});
    old.win_all();
    const std::vector<member> both{{32, 0, 1}, {32, 1, 2}};
    old.see(both);
    EXPECT_TRUE(old.told.empty());
    for (std::size_t kept = 30; kept >= 16; kept -= 2) {
        old.see(both);
        EXPECT_EQ(old.told.size(), 2u);
        old.obey();
        EXPECT_EQ(old.held.size(), kept);
    }
    old.see(both);
    EXPECT_TRUE(old.told.empty());
    EXPECT_EQ(old.held.size(), 16u);
}

TEST(Sharing, AMemberThatCameAndWentMovesNothing) {
    participant old{16};
    old.join({});
    old.win_all();
    for (int i = 0; i < 10; ++i) {
        old.see({{16, 0, 1}, {16, 1, 2}});
        old.see({{16, 0, 1}});
    }
    EXPECT_TRUE(old.told.empty());
    EXPECT_EQ(old.held.size(), 16u);
}

TEST(Sharing, WhatADeadMemberHeldIsClaimedAllAtOnce) {
    participant old{32};
    old.join({{32, 1, 2}});
    old.win_all();
    EXPECT_EQ(old.held.size(), 16u);
    old.see({{32, 0, 1}});
    EXPECT_EQ(old.claiming.size(), 16u);
}

TEST(Sharing, ClaimsOfWhatIsNoLongerOursAreCalledOff) {
    participant old{16};
    old.join({});
    EXPECT_EQ(old.claiming.size(), 16u);
    old.see({{16, 0, 1}, {16, 1, 2}});
    EXPECT_EQ(old.claiming.size(), 8u);
}

// The grant came in the moment in which the claim was called off.
TEST(Sharing, WhatWasGrantedTooLateIsGivenUpAtOnce) {
    participant old{16};
    old.join({});
    const auto claimed = old.claiming;
    old.machine.looked({{16, 0, 1}, {16, 1, 2}}, old.now, 0.0);
    for (const auto which : claimed) {
        old.machine.granted(which);
        old.held.insert(which);
    }
    old.settle();
    EXPECT_EQ(old.told.size(), 8u);
}

TEST(Sharing, LooksAgainWithinAnInterval) {
    for (const double uniform : {0.0, 0.5, 1.0}) {
        participant one{16};
        one.settle();
        one.machine.looked({}, start, uniform);
        one.settle();
        one.machine.announced(start);
        one.settle();
        EXPECT_LE(one.until, start + 3s);
        EXPECT_GE(one.until, start + 2400ms);
    }
}

TEST(Sharing, ABodyThatReturnsIsCalledAgainAfterARest) {
    participant only{1};
    only.join({});
    only.win_all();
    only.machine.ended(0, term_end::given_up, only.now, 0.5);
    EXPECT_EQ(only.settle(), act::wait);
    EXPECT_TRUE(only.claiming.empty());
    only.machine.looked({{1, 0, 1}}, only.now, 0.0);
    only.now += 9s;
    only.settle();
    EXPECT_EQ(only.claiming.size(), 1u);
}

TEST(Sharing, ALostPartitionIsClaimedAgainAtOnce) {
    participant only{1};
    only.join({});
    only.win_all();
    only.machine.ended(0, term_end::taken_away, only.now, 0.5);
    only.settle();
    EXPECT_EQ(only.claiming.size(), 1u);
}

TEST(Sharing, WithoutANumberItKeepsWhatItHasAndWantsNothingNew) {
    participant one{16};
    one.join({{16, 1, 2}});
    one.win_all();
    one.machine.forgotten(one.now);
    one.see({});  // no other is there any more
    EXPECT_TRUE(one.told.empty());
    EXPECT_TRUE(one.claiming.empty());
    EXPECT_EQ(one.announcing, 0u);  // the one that it had
    one.machine.announced(one.now);
    one.settle();
    EXPECT_EQ(one.claiming.size(), 8u);
}

// The same members, and yet another share.
TEST(Sharing, UnderANewMemberNumberItWantsThePartitionsOfThatNumber) {
    participant one{16};
    one.join({{16, 1, 2}});
    const auto before = one.claiming;
    one.machine.forgotten(one.now);
    one.see({{16, 0, 3}});
    EXPECT_EQ(one.announcing, 1u);
    one.machine.announced(one.now);
    one.settle();
    EXPECT_EQ(one.claiming.size(), 8u);
    for (const auto which : before) EXPECT_FALSE(one.claiming.contains(which)) << which;
}

// A member that cuts the work otherwise, and has been there longer, is let finish.
TEST(Sharing, BeginsNothingWhileOlderMembersCutTheWorkOtherwise) {
    participant late{32};
    late.join({{16, 0, 5}});
    EXPECT_TRUE(late.machine.held_back());
    EXPECT_TRUE(late.claiming.empty());
    late.see({{32, 0, 6}});
    EXPECT_FALSE(late.machine.held_back());
    EXPECT_EQ(late.claiming.size(), 32u);
}

TEST(Sharing, ContinuesWhileYoungerMembersCutTheWorkOtherwise) {
    participant old{16};
    old.join({});
    old.win_all();
    for (int i = 0; i < 5; ++i) old.see({{16, 0, 5}, {32, 0, 6}});
    EXPECT_TRUE(old.told.empty());
}

TEST(Sharing, GivesUpEverythingAtOnceToOlderMembersWhoCutTheWorkOtherwise) {
    participant back{32};
    back.join({});
    back.win_all();
    back.see({{16, 0, 5}, {32, 0, 6}});
    EXPECT_EQ(back.told.size(), 32u);
}

// Goal: members with another count begin when the last of these has gone. Method: its member number
// is there until its bodies have stopped.
TEST(Sharing, ItsNumberGoesLastWhereOthersCutTheWorkOtherwise) {
    participant old{16};
    old.join({});
    old.win_all();
    old.see({{16, 0, 1}, {32, 0, 2}});
    EXPECT_EQ(old.held.size(), 16u);
    old.machine.call_off();
    EXPECT_EQ(old.settle(), act::wait);
    EXPECT_EQ(old.told.size(), 16u);
    EXPECT_FALSE(old.left);
    old.obey();
    EXPECT_TRUE(old.left);
    EXPECT_EQ(old.settle(), act::over);
}

TEST(Sharing, AStoreThatIsDownIsAskedAgainWithinAnInterval) {
    participant one{16};
    one.join({});
    one.win_all();
    for (int i = 0; i < 100; ++i) {
        one.now = std::max(one.now, one.until);
        one.settle();
        ASSERT_TRUE(std::exchange(one.looking, false));
        one.machine.look_failed({errc::unreachable, "down"}, one.now, 1.0);
        one.settle();
        EXPECT_GE(one.until, one.now + 50ms);
        EXPECT_LE(one.until, one.now + 3s);
    }
    EXPECT_TRUE(one.told.empty());
}

TEST(Sharing, AStoreThatNeverAnsweredAndNeedsAnAdministratorEndsIt) {
    participant one{16};
    one.settle();
    one.machine.look_failed({errc::denied, "no"}, one.now, 1.0);
    EXPECT_EQ(one.settle(), act::over);
    ASSERT_TRUE(one.machine.fault());
    EXPECT_EQ(one.machine.fault()->code, errc::denied);
}

// The member number goes first, so that the others wait for what is still to be released.
TEST(Sharing, CalledOffItLeavesGivesUpEverythingAndIsOverWhenAllHasEnded) {
    participant one{4};
    one.join({});
    one.claiming.erase(2);
    one.held.insert(2);
    one.machine.granted(2);
    one.machine.call_off();
    EXPECT_EQ(one.settle(), act::wait);
    EXPECT_TRUE(one.left);
    EXPECT_TRUE(one.claiming.empty());
    EXPECT_EQ(one.told, one.held);
    one.machine.ended(2, term_end::taken_away, one.now, 0.5);
    EXPECT_EQ(one.settle(), act::over);
    EXPECT_FALSE(one.machine.fault());
}

}  // namespace
}  // namespace pawl::leasing
