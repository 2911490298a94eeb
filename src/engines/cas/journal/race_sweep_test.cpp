#include "engines/cas/journal/cas_race_sweep_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pawl::cas {
namespace {

void expect_no_violation(const std::vector<race_of_two>& all) {
    const auto found = race_sweep{}.over(all);
    EXPECT_FALSE(found) << name_of(found->broken) << ": " << found->how;
}

// Goal: of two verbs, one happens before the other. Method: hold the one at each of its requests in
// turn while the other runs: both answers, and all that is seen, are as if they had come in turn.
TEST(RaceSweep, TwoWhoBeginHappenInTurn) { expect_no_violation(races_of_beginnings()); }
TEST(RaceSweep, TriggersAreAnsweredOrRemovedInTurn) { expect_no_violation(races_of_triggers()); }
TEST(RaceSweep, RunnersAndThoseWhoTakeOverHappenInTurn) { expect_no_violation(races_of_runners()); }
TEST(RaceSweep, CheckpointsOfOneJobHappenInTurn) { expect_no_violation(races_of_checkpoints()); }
TEST(RaceSweep, WhoPrunesAndWhoReadsHappenInTurn) { expect_no_violation(races_of_prunes()); }
TEST(RaceSweep, WhatAllShareIsChangedInTurn) { expect_no_violation(races_of_what_is_shared()); }

}  // namespace
}  // namespace pawl::cas
