// Every law that a journal keeps, as one typed suite. An engine instantiates it with one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, JournalLaws, NAME_engine);
#pragma once

#include "testing/conformance/journal/begin_laws.hpp"
#include "testing/conformance/journal/journal_fixture.hpp"

namespace pawl::conformance {

// A law that is missing here fails the run: GoogleTest compares this list with what it has seen.
REGISTER_TYPED_TEST_SUITE_P(
    JournalLaws, ARunIsWrittenDownAsItBegan, AnUnknownRunIsNotThere,
    ARepeatedBeginGivesTheSameAnswer, AtMostOnceAFiringBegunBySomebodyElseHasRunAlready,
    AtLeastOnceANewerTokenResumesTheFiring, AtLeastOnceANotNewerTokenIsSuperseded,
    ARepeatedResumptionGivesTheSameAnswer, AResumedAttemptKeepsIdCheckpointAndOutput,
    AFiringThatIsOverHasRunAlready, AnAbandonedRunIsResumedAtLeastOnceOnly,
    AnOrphanWithoutAFiringIsResumedUnderItsId, ASkippedFiringIsTakenOverAsAFirstAttempt,
    ASkippedFiringIsNotTakenOverByAnOlderToken, ASkipIsWrittenOnceAndNeverOverARun,
    ARunWithoutALeaseResumesNothing, PartitionsAndFiringsHaveRunsOfTheirOwn,
    TheIdOfAnotherRunIsRejected, ARunWithoutIdOrJobIsRejected, OddTextsAreKeptOrMadeOneLine,
    AFiringIsBegunOnceHoweverManyRaceForIt, AFiringIsBegunOnceAcrossProcesses,
    AFiringIsResumedByOneOfManyWhoRace);

}  // namespace pawl::conformance
