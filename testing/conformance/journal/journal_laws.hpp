// Every law that a journal keeps, as one typed suite. An engine instantiates it with one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, JournalLaws, NAME_engine);
#pragma once

#include "testing/conformance/journal/begin_laws.hpp"
#include "testing/conformance/journal/board_laws.hpp"
#include "testing/conformance/journal/checkpoint_laws.hpp"
#include "testing/conformance/journal/heartbeat_laws.hpp"
#include "testing/conformance/journal/journal_fixture.hpp"
#include "testing/conformance/journal/output_laws.hpp"
#include "testing/conformance/journal/registry_laws.hpp"
#include "testing/conformance/journal/run_list_laws.hpp"
#include "testing/conformance/journal/runner_laws.hpp"

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
    AFiringIsResumedByOneOfManyWhoRace, AStaleRunnerIsRefusedInEveryVerbAndChangesNothing,
    ARunThatIsOverOrAbandonedTakesNoMore, EachEndIsWrittenDownWithItsReason, AnAbandonedRunHasNoEnd,
    ARepeatedFinishIsTrueAndChangesNothing, AnEndThatIsNoneIsRejected,
    ARunThatNeverStartedIsTakenOverAsAFirstAttempt,
    TheNextAttemptIsCountedOnceHoweverOftenItIsAsked, HistoryIsInOrderAndARepeatedNoteIsAddedOnce,
    OfManyEventsTheFirstAndTheNewestAreKept, ACancelIsToldToTheRunnerAndStandsOnTheBoard,
    ACancelOfAnAbandonedRunIsToldToWhoeverTakesItUp,
    AHeartbeatMovesTheLastSignOfLifeByTheJournalsClock, ABatchIsAnsweredRunByRunInOrder,
    FiveHundredRunsBeatAtOnce, ARunIsStaleAfterTheSilenceItSpokeOf,
    AFurtherAttemptHasTheSilenceOfItsOwnRunner, StaleRunsAreListedUpToALimit,
    AStaleRunIsJudgedOnceAndItsRunnerIsRefused, ARunThatIsNotSilentIsNotJudged,
    ARunJudgedAbandonedIsAnOrphanUntilItIsTakenUp, ACheckpointIsKeptToTheByte,
    ACheckpointThatIsTooLargeIsRejectedAndTheOldOneStays,
    ACheckpointIsRefusedOnceANewerTokenOfTheJobHasSavedOne, ARunIsGivenWhatItsJobSavedLastIfItAsks,
    AResumedRunHasItsOwnCheckpointNotTheLastSaved, OutputIsReadBackAsItWasWritten,
    AChunkThatIsThereAlreadyIsNotAddedAgain, AGapIsTold, BehindTheEndThereIsNothingYet,
    TheLastOfMuchOutputIsKept, WithoutABoundForItNoOutputIsKeptButCounted,
    AChunkThatIsTooLargeIsRejected, OutputIsFollowedWhileItGrows,
    PagesOfRunsAreTheNewestFirstAndCompleteAtEverySize, AListedRunIsAsItIsWhenShown,
    FiltersNarrowAListAloneAndTogether, PagesAreCompleteWhileRunsAreAdded,
    ARunThatIsTakenOverKeepsItsPlace, ACursorThatNoPageGaveIsRejected,
    PruningKeepsTheNewestThatAreOver, PruningByAgeTakesThoseThatEndedLongAgo,
    WhatIsNotOverIsNeverPruned, WithARunGoAllThatBelongsToItButWhatItsJobSaved,
    ATriggerStandsOnTheBoardAsItWasAsked, ATriggerIsAddedOnceAndRemovedOnce,
    ATriggerIsAnsweredByARunWithItsId, ATriggerThatIsGoneBeginsNothing,
    ATriggerIsAnsweredOnceHoweverManyRaceForIt, ABoardShowsTheOldestTriggersUpToItsBound,
    APauseIsSeenByAllUntilItIsTakenBack, PublishedJobsAreListedInByteOrder,
    APublishedJobIsFoundAsItWasGiven, SinceTellsHowLongAJobHasHadItsSchedule,
    OnlyWhoPublishedAJobLastRetiresIt, NodesAreListedByNameWithTheirAge, ANodeWithoutAnIdIsRejected,
    AnAuditEntryIsChainedToTheOneBefore, TheAuditIsOneChainHoweverManyWrite,
    NamespacesNeverSeeEachOther, ARestartKeepsEverything);

}  // namespace pawl::conformance
