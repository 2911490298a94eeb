// Every law that a journal keeps, as one typed suite. An engine instantiates it with one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, JournalLaws, NAME_engine);
#pragma once

#include "test_support/conformance/journal/begin_laws.hpp"
#include "test_support/conformance/journal/checkpoint_laws.hpp"
#include "test_support/conformance/journal/control_laws.hpp"
#include "test_support/conformance/journal/heartbeat_laws.hpp"
#include "test_support/conformance/journal/journal_fixture.hpp"
#include "test_support/conformance/journal/output_laws.hpp"
#include "test_support/conformance/journal/registry_laws.hpp"
#include "test_support/conformance/journal/run_list_laws.hpp"
#include "test_support/conformance/journal/runner_laws.hpp"

namespace pawl::conformance {

// A law that is missing here fails the run: GoogleTest compares this list with what it has seen.
REGISTER_TYPED_TEST_SUITE_P(
    JournalLaws, ARunIsWrittenDownAsItBegan, AnUnknownRunIsNotThere,
    ARepeatedBeginGivesTheSameAnswer, AtMostOnceAnOccurrenceBegunByAnotherNodeHasRunAlready,
    AtLeastOnceANewerTokenResumesTheOccurrence, AtLeastOnceANotNewerTokenIsSuperseded,
    ARepeatedResumptionGivesTheSameAnswer, AResumedAttemptKeepsIdCheckpointAndOutput,
    AnOccurrenceThatIsOverHasRunAlready, AnAbandonedRunIsResumedAtLeastOnceOnly,
    AnOrphanWithoutAnOccurrenceIsResumedUnderItsId, ASkippedOccurrenceIsTakenOverAsAFirstAttempt,
    ASkippedOccurrenceIsNotTakenOverByAnOlderToken, ASkipIsWrittenOnceAndNeverOverARun,
    ARunWithoutALeaseResumesNothing, PartitionsAndOccurrencesHaveRunsOfTheirOwn,
    TheIdOfAnotherRunIsRejected, ARunWithoutIdOrJobIsRejected, OddTextsAreKeptOrMadeOneLine,
    AnOccurrenceIsBegunOnceHoweverManyRaceForIt, AnOccurrenceIsBegunOnceAcrossProcesses,
    AnOccurrenceIsResumedByOneOfManyWhoRace, AStaleRunnerIsRejectedInEveryVerbAndChangesNothing,
    ARunThatIsOverOrAbandonedTakesNoMore, EachEndIsWrittenDownWithItsReason, AnAbandonedRunHasNoEnd,
    ARepeatedFinishIsTrueAndChangesNothing, AnEndThatIsNoneIsRejected,
    ARunThatNeverStartedIsTakenOverAsAFirstAttempt,
    TheNextAttemptIsCountedOnceHoweverOftenItIsAsked, HistoryIsInOrderAndARepeatedNoteIsAddedOnce,
    OfManyEventsTheFirstAndTheNewestAreKept, ACancelIsToldToTheRunnerAndStandsOnTheControlState,
    ACancelledRunThatWasAbandonedIsOverAtOnce, ACancelAfterTheRunWasJudgedIsTheEnd,
    ARunToBeCancelledIsJudgedCancelled, ARunToBeCancelledIsNotLeftToOthersByItsRunner,
    ARunToBeCancelledIsNotResumed, AHeartbeatMovesTheLastSignOfLifeByTheJournalsClock,
    ABatchIsAnsweredRunByRunInOrder, FiveHundredRunsBeatAtOnce, ARunIsStaleAfterTheSilenceItSpokeOf,
    AFurtherAttemptHasTheSilenceOfItsOwnRunner, StaleRunsAreListedUpToALimit,
    AStaleRunIsJudgedOnceAndItsRunnerIsRejected, ARunThatIsResponsiveIsNotJudged,
    ARunJudgedAbandonedIsAnOrphanUntilItIsResumed, ACheckpointIsKeptToTheByte,
    ACheckpointThatIsTooLargeIsRejectedAndTheOldOneStays,
    ACheckpointIsRejectedOnceANewerTokenOfTheJobHasSavedOne, ARunWithoutALeaseSavesForItselfAlone,
    ARunIsGivenWhatItsJobSavedLastIfItAsks, AResumedRunHasItsOwnCheckpointNotTheLastSaved,
    OutputIsReadBackAsItWasWritten, AChunkThatIsThereAlreadyIsNotAddedAgain, AGapIsTold,
    BehindTheEndThereIsNothingYet, TheLastOfMuchOutputIsKept,
    WithoutABoundForItNoOutputIsKeptButCounted, AChunkThatIsTooLargeIsRejected,
    OutputIsFollowedWhileItGrows, PagesOfRunsAreTheNewestFirstAndCompleteAtEverySize,
    AListedRunIsAsItIsWhenShown, FiltersNarrowAListAloneAndTogether,
    PagesAreCompleteWhileRunsAreAdded, ARunThatIsTakenOverKeepsItsPlace,
    ACursorThatNoPageGaveIsRejected, PruningKeepsTheNewestThatAreOver,
    PruningByAgeTakesThoseThatEndedLongAgo, WhatIsNotOverIsNeverPruned,
    WithARunGoAllThatBelongsToItButWhatItsJobSaved, ATriggerStandsOnTheControlStateAsItWasAsked,
    ATriggerIsAddedOnceAndRemovedOnce, ATriggerIsAnsweredByARunWithItsId,
    ATriggerThatIsGoneBeginsNothing, ATriggerIsAnsweredOnceHoweverManyRaceForIt,
    AControlStateShowsTheOldestTriggersOfEachJobUpToItsBound,
    AControlStateShowsTheOldestOrphansOfEachJobUpToItsBound, APauseIsSeenByAllUntilItIsTakenBack,
    PublishedJobsAreListedInByteOrder, APublishedJobIsFoundAsItWasGiven,
    SinceTellsHowLongAJobHasHadItsSchedule, SinceMovesWhereSlotsBecomePartitions,
    AResumedJobHasBeenDueOnlySinceThen, AJobThatIsEnabledAgainHasBeenDueOnlySinceThen,
    OnlyWhoPublishedAJobLastRetiresIt, NodesAreListedByNameWithTheirAge,
    OfManyNodesThoseSeenLastAreListed, ANodeWithoutAnIdIsRejected,
    AnAuditEntryIsChainedToTheOneBefore, TheAuditIsOneChainHoweverManyWrite,
    NamespacesNeverSeeEachOther, ARestartKeepsEverything);

}  // namespace pawl::conformance
