// Every law that a store keeps, as one typed suite. An engine instantiates it with one line:
//     INSTANTIATE_TYPED_TEST_SUITE_P(NAME, StoreLaws, NAME_engine);
#pragma once

#include "testing/conformance/contention_laws.hpp"
#include "testing/conformance/evict_laws.hpp"
#include "testing/conformance/fence_laws.hpp"
#include "testing/conformance/grant_laws.hpp"
#include "testing/conformance/list_laws.hpp"
#include "testing/conformance/occurrence_laws.hpp"
#include "testing/conformance/quarantine_laws.hpp"
#include "testing/conformance/release_laws.hpp"
#include "testing/conformance/renew_laws.hpp"
#include "testing/conformance/store_engine.hpp"
#include "testing/conformance/store_fixture.hpp"
#include "testing/conformance/token_laws.hpp"
#include "testing/conformance/wait_laws.hpp"

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
    TokensRiseAcrossEvictionAboveTheBurntOne, ARestartKeepsLeasesTokensOccurrencesAndFences,
    TokensRiseAcrossThePurgeOfARecord, ARenewalMovesTheEndForward,
    AShorterRenewalNeverMovesTheEndBack, ARenewalUnderAnotherTokenIsLostAndChangesNothing,
    ARenewalNeverCreatesARecord, AnExpiredLeaseIsLostThoughNobodyTookIt,
    ARenewalNeverRevivesWhatAnotherTook, ALapsedLeaseMayCarryOnUnderItsTokenWhileNobodyTookIt,
    AReleasedOrEvictedLeaseCannotBeExtended, TheLongestLifetimeBoundsRenewal,
    ABatchIsAnsweredLeaseByLeaseInOrder, ARecordOutOfReachIsUnknownForItsOwnLeaseAlone,
    AnEmptyBatchIsAnsweredByNothing, AReleasedKeyIsFreeAtOnceAndOnce,
    AReleaseUnderAnotherTokenChangesNothing, AnExpiredHolderReleasesNothing,
    AtLeastKeepsTheKeyHeldByNobody, AtLeastMayOutlastTheLease, AtLeastEndsAtItsTime,
    AtLeastThatHasPassedFreesAtOnce, HoldKeepsTheKeyForTheRestOfItsLease,
    AWithdrawnClaimFreesItsKeyAndNeverGetsItsGrantBack, WithdrawingAnotherIdChangesNothing,
    WithdrawingAnExpiredClaimLeavesTheNextHolderAlone, AWithdrawnClaimGivesItsOccurrenceBack,
    AWithdrawalAfterExpiryGivesTheOccurrenceBack, AWithdrawalGivesBackNothingButItsOwnOccurrence,
    AnEvictionKeepsTheKeyHeldByNobodyForItsDelay, TheDelayOfAnEvictionNeverOutlastsTheLease,
    AnEvictionWithoutDelayFreesAtOnce, AnEvictedHolderChangesNothing,
    ACooldownIsEndedByTheNewestToken, AnEvictionWithADelayLeavesACooldownAlone,
    AnEvictionOfAnotherTokenChangesNothing, AtMostOnceAFiringIsDoneWhenGranted,
    AtMostOnceACrashLosesTheFiring, ARepeatedClaimOfAFiringIsGrantedNotDone,
    ARepeatedClaimOfAnOccurrenceIsGrantedAfterItsLeaseExpired,
    ARepeatedClaimOfAnOccurrenceIsDoneOnceItsLeaseWasEnded,
    WhileAFiringRunsOthersAreToldBusyNotDone, AtLeastOnceAFiringIsDoneWhenReleasedAsDone,
    AtLeastOnceAFiringThatCrashedIsGrantedAgainWithAHigherToken,
    AtLeastOnceAFiringReleasedUndoneIsGrantedAgain,
    DoneCountsAfterTheLeaseRanOutIfTheTokenIsStillTheLast, DoneNeverMovesBack,
    AFiringTooFarAheadIsRefusedAsEarly, HowFarAheadIsTooFarIsASetting,
    AClaimWithoutAFiringNeitherAsksNorChangesWhatIsDone, FiringsOfLongAgoAreFiringsToo,
    PagesAreSortedByBytesAndCompleteAtEverySize, AnEmptyStoreIsOneEmptyPage,
    APrefixIsTakenLiterally, APageStartsAfterAKeyThatNeedNotExist,
    APageShowsEachRecordAsInspectDoes, PagesAreCompleteWhileRecordsChange,
    AWaiterIsWokenByTheReleaseOfAnotherClient, AWaiterIsWokenByAnEvictionAndByAWithdrawal,
    AWaiterIsWokenWhenTheKeyStartsToLinger, AWaitForWhatHasChangedAlreadyEndsAtOnce,
    NoWakeUpIsLostOverManyHandOvers, AWaitCanBeCancelledAndTheStoreGoesOn,
    ManyWaitersAreAllWokenByOneRelease, CancelledWaitersLeaveNothingBehind,
    AFenceThatRejectsOlderTokensLetsItsHolderWriteManyTimes,
    AFenceThatRejectsNotNewerTokensLetsOneEffectThrough,
    FencesAreSeparateFromLeasesAndFromOtherNamespaces, LargeTokensAreComparedExactly,
    AFenceRefusesATokenThatTheStoreCannotHaveIssued, EachTokenPassesOnceHoweverManyRaceForIt,
    HoldersThatReleaseNeverOverlap, HoldersThatNeverReleaseNeverTrustTheirLeasesAtOnce,
    AfterALossOfDataNothingIsGrantedWithinTheQuarantine, ARestartWithItsDataIsNotQuarantined,
    ALeaseLongerThanTheQuarantineIsRejected, FiringsDueBeforeALossOfDataCountAsDone,
    AfterALossOfDataAFenceRefusesTokensFromBeforeIt);

}  // namespace pawl::conformance
