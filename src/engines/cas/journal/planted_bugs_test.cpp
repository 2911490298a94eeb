// A sweep that cannot fail proves nothing: with a bug put in on purpose, a law is seen broken.
#include "engines/cas/journal/cas_crash_sweep_fixture.hpp"
#include "engines/cas/journal/cas_planted_bugs_fixture.hpp"
#include "engines/cas/journal/cas_race_sweep_fixture.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace pawl::cas {
namespace {

template <class Medium, class... Arguments>
media_maker planted(Arguments... how) {
    return [=](net::loop& where, std::shared_ptr<record_table> table) -> std::shared_ptr<medium> {
        return std::make_shared<Medium>(where, std::move(table), how...);
    };
}

std::optional<violation> crashed(media_maker by) {
    auto all = verbs_of_runners();
    for (auto& each : verbs_of_others()) all.push_back(std::move(each));
    return crash_sweep{std::move(by)}.over(all);
}

std::optional<violation> raced(media_maker by) {
    std::vector<race_of_two> all;
    for (const auto& part : {races_of_beginnings(), races_of_triggers(), races_of_runners(),
                             races_of_checkpoints(), races_of_prunes(), races_of_what_is_shared()})
        all.insert(all.end(), part.begin(), part.end());
    return race_sweep{std::move(by)}.over(all);
}

struct bug {
    const char* name;
    const char* breaks;
    media_maker by;
    std::optional<violation> (*sweep)(media_maker);
    law found_by;
    const char* found_at;  // the first verb or race that shows it
};
void PrintTo(const bug& which, std::ostream* to) { *to << which.name; }

const std::vector<bug> bugs{
    {"RunBeforeItsEntries", "lists lead to a run from when it is there",
     planted<run_first>(prefixes{"runs", "active:"}), crashed, law::views_agree,
     "begin of an occurrence,"},
    {"RunBeforeItsParts", "what a run refers to is there before the run says so",
     planted<run_first>(prefixes{"part/"}), crashed, law::views_agree,
     "begin from the last checkpoint,"},
    {"TriggerTakenFirst", "a trigger goes by the write that begins its run",
     planted<trigger_first>(), crashed, law::one_step, "begin that answers a trigger,"},
    {"EntriesPrunedFirst", "a pruned run's entries go last, as they lead to the rest",
     planted<entries_first>(), crashed, law::nothing_left, "prune,"},
    {"NoRepair", "readers remove what lost processes have left", planted<no_repair>(), crashed,
     law::nothing_left, "prune,"},
    {"OwnWriteUnknown", "a write without an answer is known again by its nonce",
     planted<own_write_unknown>(), crashed, law::true_answer, "skip,"},
    {"EntryLost", "an active run is among those that are active",
     planted<lost_writes>(prefixes{"active:"}), crashed, law::views_agree,
     "begin of an occurrence,"},
    {"RunPutBlindly", "a run is written over in the state that was decided on",
     planted<blind_put>(prefixes{"run/", "due/"}), raced, law::in_turn, "one occurrence,"},
    {"AuditPutBlindly", "an audit entry is written where its number is free",
     planted<blind_put>(prefixes{"audit:"}), raced, law::in_turn, "audit,"},
    {"CheckpointPutBlindly", "an older token saves nothing over a newer one",
     planted<blind_put>(prefixes{"saved/"}), raced, law::in_turn, "two runs,"},
    {"RemovedBlindly", "what is removed is what was looked at", planted<blind_erase>(), raced,
     law::in_turn, "to answer and to remove,"},
    {"OfferHoldsAtOnce", "a checkpoint counts from when its run has taken it",
     planted<offer_holds_at_once>(), raced, law::in_turn, "checkpoint,"},
    {"OfferNotWithheld", "an offer that was passed over can be taken no more", planted<no_touch>(),
     raced, law::in_turn, "two runs,"},
};

class PlantedJournalBug : public testing::TestWithParam<bug> {};

// Goal: the sweeps would notice. Method: the product as it is, over a medium that takes one of its
// protections away.
TEST_P(PlantedJournalBug, IsFound) {
    const auto& one = GetParam();
    const auto found = one.sweep(one.by);
    ASSERT_TRUE(found) << "no law was broken, though it does not hold that " << one.breaks;
    EXPECT_EQ(name_of(found->broken), name_of(one.found_by)) << found->how;
    EXPECT_TRUE(found->how.starts_with(one.found_at)) << found->how;
}

INSTANTIATE_TEST_SUITE_P(Journal, PlantedJournalBug, testing::ValuesIn(bugs),
                         [](const auto& one) { return std::string{one.param.name}; });

// The media themselves show nothing.
TEST(PlantedJournalBugs, WithoutOneNothingIsFound) {
    for (const auto sweep : {crashed, raced}) {
        const auto found = sweep(planted<honest_medium>());
        EXPECT_FALSE(found) << name_of(found->broken) << ": " << found->how;
    }
}

}  // namespace
}  // namespace pawl::cas
