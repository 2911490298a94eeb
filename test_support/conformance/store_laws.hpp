// Every law that a store keeps, as one typed suite. An engine instantiates it with one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, StoreLaws, NAME_engine);
#pragma once

#include "test_support/conformance/contention_laws.hpp"
#include "test_support/conformance/fence_laws.hpp"
#include "test_support/conformance/force_release_laws.hpp"
#include "test_support/conformance/grant_laws.hpp"
#include "test_support/conformance/guest_laws.hpp"
#include "test_support/conformance/list_laws.hpp"
#include "test_support/conformance/occurrence_laws.hpp"
#include "test_support/conformance/quarantine_laws.hpp"
#include "test_support/conformance/release_laws.hpp"
#include "test_support/conformance/renew_laws.hpp"
#include "test_support/conformance/store_engine.hpp"
#include "test_support/conformance/store_fixture.hpp"
#include "test_support/conformance/token_laws.hpp"
#include "test_support/conformance/wait_laws.hpp"

namespace pawl::conformance {

// A law that is missing here fails the run: GoogleTest compares this list with what it has seen.
REGISTER_TYPED_TEST_SUITE_P(
    StoreLaws, AClientMayGoAwayWhileItWaits, AFreeKeyIsGrantedAndItsRecordSaysSo,
    AnUnknownKeyHasNoRecord, ARepeatedClaimReturnsTheSameGrantAndMovesItsEndForwardOnly,
    ARepeatedClaimThroughAnotherClientReturnsTheSameGrant,
    ARepeatedClaimWhoseLeaseRanOutGetsANewToken, AnotherClaimIsToldWhoHoldsTheKeyAndForHowLong,
    TheSameOwnerUnderAnotherIdIsBusy, ALeaseEndsAfterItsTimeToLiveAndNotBefore,
    TheShortestLeaseOfTheStoreIsGranted, KeysAndNamespacesAreSeparate,
    OddKeysAndOwnersAreKeysAndOwnersLikeAnyOther, ALongTimeToLiveIsKeptToTheMillisecond,
    ATokenIsTheStoresClockInMicroseconds, TokensRiseAcrossRelease, TokensRiseAcrossExpiry,
    TokensRiseAcrossForcedReleaseAboveTheBurntOne, ARestartKeepsLeasesTokensOccurrencesAndFences,
    TokensRiseAcrossThePurgeOfARecord, ARenewalMovesTheEndForward,
    AShorterRenewalNeverMovesTheEndBack, ARenewalUnderAnotherTokenIsLostAndChangesNothing,
    ARenewalNeverCreatesARecord, AnExpiredLeaseIsLostThoughItsKeyIsFree,
    ARenewalNeverRevivesWhatAnotherTook, AnExpiredLeaseMayContinueUnderItsTokenWhileItsKeyIsFree,
    AReleasedOrForceReleasedLeaseCannotBeExtended, TheLongestLifetimeBoundsRenewal,
    ABatchIsAnsweredLeaseByLeaseInOrder, ARecordOutOfReachIsUnknownForItsOwnLeaseAlone,
    AnEmptyBatchIsAnsweredByNothing, AReleasedKeyIsFreeAtOnceAndOnce,
    AReleaseUnderAnotherTokenChangesNothing, AnExpiredHolderReleasesNothing,
    MinHoldKeepsTheKeyInCooldown, NoTokenEndsOrExtendsACooldown, AtLeastMayOutlastTheLease,
    AtLeastEndsAtItsTime, AtLeastThatHasPassedFreesAtOnce, HoldKeepsTheKeyForTheRestOfItsLease,
    AWithdrawnClaimFreesItsKeyAndNeverGetsItsGrantBack, WithdrawingAnotherIdChangesNothing,
    WithdrawingAnExpiredClaimLeavesTheNextHolderAlone, AWithdrawnClaimGivesItsOccurrenceBack,
    AWithdrawalAfterExpiryGivesTheOccurrenceBack, AWithdrawalGivesBackNothingButItsOwnOccurrence,
    AForcedReleaseCoversTheRenewalThatItOvertakes, AForcedReleaseKeepsTheKeyInCooldownForItsDelay,
    TheDelayOfAForcedReleaseNeverOutlastsTheLease, AForcedReleaseWithoutDelayFreesAtOnce,
    AForceReleasedHolderChangesNothing, ACooldownIsEndedByTheNewestToken,
    AForcedReleaseWithADelayLeavesACooldownAlone, AForcedReleaseOfAnotherTokenChangesNothing,
    AtMostOnceAnOccurrenceIsDoneWhenGranted, AtMostOnceACrashLosesTheOccurrence,
    ARepeatedClaimOfAnOccurrenceIsGrantedNotDone,
    ARepeatedClaimOfAnOccurrenceIsGrantedAfterItsLeaseExpired,
    ARepeatedClaimOfAnOccurrenceIsDoneOnceItsLeaseWasEnded,
    WhileAnOccurrenceRunsOthersAreToldBusyNotDone, AtLeastOnceAnOccurrenceIsDoneWhenReleasedAsDone,
    AtLeastOnceAnOccurrenceThatCrashedIsGrantedAgainWithAHigherToken,
    AtLeastOnceAnOccurrenceReleasedUndoneIsGrantedAgain,
    DoneCountsAfterTheLeaseRanOutIfTheTokenIsStillTheLast, DoneNeverMovesBack,
    AnOccurrenceTooFarAheadIsRejectedAsEarly, HowFarAheadIsTooFarIsASetting,
    AClaimWithoutAnOccurrenceNeitherAsksNorChangesWhatIsDone, OccurrencesOfLongAgoAreOccurrencesToo,
    PagesAreSortedByBytesAndCompleteAtEverySize, AnEmptyStoreIsOneEmptyPage,
    APrefixIsTakenLiterally, APageStartsAfterAKeyThatNeedNotExist,
    ManyKeysAreShownAsInspectShowsEach, AsManyKeysAsAPageHoldsAreShownAtOnce,
    APageShowsEachRecordAsInspectDoes, PagesAreCompleteWhileRecordsChange,
    AWaiterIsWokenByTheReleaseOfAnotherClient, AWaiterIsWokenByAForcedReleaseAndByAWithdrawal,
    AWaiterIsWokenWhenACooldownBegins, AWaitForWhatHasChangedAlreadyEndsAtOnce,
    NoWakeUpIsLostOverManyHandOvers, AWaitCanBeCancelledAndTheStoreContinues,
    ManyWaitersAreAllWokenByOneRelease, CancelledWaitersLeaveNothingBehind,
    AFenceThatRejectsOlderTokensLetsItsHolderWriteManyTimes,
    AFenceThatRejectsNotNewerTokensLetsOneEffectThrough,
    FencesAreSeparateFromLeasesAndFromOtherNamespaces, LargeTokensAreComparedExactly,
    AGuestThatLeavesLeavesNothingBehind, AGuestThatLeavesInTheMiddleLeavesNothingBehind,
    AFenceRejectsATokenThatTheStoreCannotHaveIssued, EachTokenPassesOnceHoweverManyRaceForIt,
    HoldersThatReleaseNeverOverlap, HoldersThatNeverReleaseNeverHaveValidLeasesAtOnce,
    AfterALossOfDataNothingIsGrantedWithinTheQuarantine, ARestartWithItsDataIsNotQuarantined,
    ALeaseLongerThanTheQuarantineIsRejected, OccurrencesDueBeforeALossOfDataCountAsDone,
    AfterALossOfDataAFenceRejectsTokensFromBeforeIt);

}  // namespace pawl::conformance
