// Fenced Redlock (rules 16 to 19): three nodes that know nothing of each other, and claims that each
// need two of them. A promise may end at any moment, a node may give any token above its last, and
// every letter may arrive late or never.
//
// Checked: a completed acquisition carries a token higher than every earlier completed one; and
// whoever holds a majority at this moment has the highest, so that no renewal brings an older one
// back. A claim of which a promise has ended has lost its trust (rule 8) and does not complete; with
// NO_CLOCK there is no such assumption, and "earlier" means: completed when the claim began.

#ifndef CLAIMS
#define CLAIMS 3
#endif
#define NODES    3
#define MAJORITY 2
#define NOBODY   CLAIMS
#define SPENT    255  // instead of a promise: its write-back has arrived
#ifndef SPREAD
#define SPREAD   2    // a node gives a token above its last by one to so many
#endif

// The nodes. Nodes are alike: the first letter of all goes to node 0, the next new one to node 1.
byte holder[NODES] = NOBODY;
byte token[NODES];
byte last[NODES];        // the highest that was confirmed here
byte state[NODES];
#define TOUCHED     1
#define DONE        2    // the occurrence that all claims are for
#define QUARANTINED 4

// The claims. They are alike as well, and begin in order.
byte mode[CLAIMS];
#define BEGUN       1
#define TRUSTED     2
#define COMPLETED   4
byte lock[CLAIMS];       // the token of the lock, once a majority has promised
byte votes[CLAIMS];      // how many nodes have agreed
byte given[CLAIMS * NODES];

byte highest;            // of all that were completed
#ifdef NO_CLOCK
byte before[CLAIMS];     // the same when the claim began
#endif
#ifdef DATA_LOSS
bit lost;                // one node may lose its data, once
byte minted;             // the highest token that any node has given
byte minted_before;      // the same at the loss
#endif

#define GIVEN(k, n)    given[(k) * NODES + n]
#define IS(k, what)    ((mode[k] & what) != 0)
#define HAS(n, what)   ((state[n] & what) != 0)
#define HOLDS(k, n)    (holder[n] == k && token[n] == lock[k])
#define HELD(k)        (HOLDS(k, 0) + HOLDS(k, 1) + HOLDS(k, 2))
#define PROMISED(k, n) (GIVEN(k, n) != 0)

#ifdef NO_CLOCK
#define MAY_TRUST(k) true
#define EARLIER(k)   before[k]
#else
#define MAY_TRUST(k) IS(k, TRUSTED)
#define EARLIER(k)   highest
#endif

// The compare of rule 17: still held by this claim with exactly the token that this node gave; and
// nothing as high as the token of the lock was confirmed here, as may be where a promise came late.
#ifdef NO_COMPARE
#define AGREES(k, n) true
#else
#ifdef NO_FLOOR
#define AGREES(k, n) (holder[n] == k && token[n] == GIVEN(k, n))
#else
#define AGREES(k, n) (holder[n] == k && token[n] == GIVEN(k, n) && last[n] < lock[k])
#endif
#endif

inline raise(n, value) {
    if
    :: last[n] < value -> last[n] = value
    :: else
    fi
}

// ---- The claim arrives, in time or late.

inline promise(k, n, value) {
    state[n] = state[n] | TOUCHED;
    holder[n] = k; token[n] = value; GIVEN(k, n) = value;
#ifdef DATA_LOSS
    if
    :: value > minted -> minted = value
    :: else
    fi;
#endif
#ifdef RAISED_BY_PROMISE
    last[n] = value;
#endif
#ifdef MARK_AT_PROMISE
    state[n] = state[n] | DONE;
#endif
    skip
}
#define MAY_ASK(k, n) (IS(k, BEGUN) && !PROMISED(k, n) && holder[n] == NOBODY && \
    !HAS(n, DONE) && !HAS(n, QUARANTINED) && (n == 0 || HAS((n + NODES - 1) % NODES, TOUCHED)))

// ---- The write-back arrives, in time or late.

inline write_back(k, n) {
    if
    :: AGREES(k, n) ->
#ifdef RAISES_ONLY
        raise(n, lock[k]);
#else
        holder[n] = k; token[n] = lock[k]; last[n] = lock[k];
#endif
#ifdef MARK_AT_CONFIRM
        state[n] = state[n] | DONE;
#endif
        votes[k]++
    :: else
    fi;
    GIVEN(k, n) = SPENT
}
#ifdef RAISES_ONLY
// Any majority will do for raising the last token, whether it promised or not.
#define MAY_WRITE_BACK(k, n) (lock[k] != 0 && GIVEN(k, n) != SPENT)
#else
#define MAY_WRITE_BACK(k, n) (lock[k] != 0 && PROMISED(k, n) && GIVEN(k, n) != SPENT && \
    !HAS(n, QUARANTINED))
#endif

#ifdef TOP_UP_ANY
#define MAY_TOP_UP(k, n) (holder[n] == NOBODY || holder[n] == k)
#else
#define MAY_TOP_UP(k, n) ((holder[n] == NOBODY || holder[n] == k) && last[n] <= lock[k])
#endif

// ---- What a claimer makes of it.

inline fix(k, a, b) {
    if
    :: GIVEN(k, a) > GIVEN(k, b) -> lock[k] = GIVEN(k, a)
    :: else -> lock[k] = GIVEN(k, b)
    fi
}
// It has heard of two promises; a third, earlier or later, changes nothing.
#define MAY_FIX(k, a, b) (lock[k] == 0 && PROMISED(k, a) && PROMISED(k, b))

#ifdef NO_WRITE_BACK
#define MAY_COMPLETE(k) (lock[k] != 0)
#else
#define MAY_COMPLETE(k) (votes[k] >= MAJORITY)
#endif

inline complete(k) {
    assert(lock[k] > EARLIER(k));
#ifdef OCCURRENCE
    assert(highest == 0);  // nobody has run it
#endif
    mode[k] = mode[k] | COMPLETED;
    if
    :: lock[k] > highest -> highest = lock[k]
    :: else
    fi
}

// ---- The world.

inline end(n) {
    if
    :: !IS(holder[n], COMPLETED) -> mode[holder[n]] = mode[holder[n]] & ~TRUSTED
    :: else
    fi;
    holder[n] = NOBODY; token[n] = 0
}
#ifdef OCCURRENCE
// Nobody is slow: what ends is the promise of a claim that has no majority, or a lock.
#define MAY_END(n) (holder[n] < NOBODY && (IS(holder[n], COMPLETED) || lock[holder[n]] == 0))
#define RUN_DRY    (HAS(0, DONE) + HAS(1, DONE) + HAS(2, DONE) >= MAJORITY && highest == 0)
#else
#define MAY_END(n) (holder[n] < NOBODY)
#endif

#ifdef DATA_LOSS
inline lose(n) {
    lost = 1;
    if
    :: holder[n] < NOBODY -> holder[n] = NOBODY; token[n] = 0
    :: else
    fi;
    last[n] = 0;
#ifndef NO_QUARANTINE
    state[n] = state[n] | QUARANTINED; minted_before = minted;
#endif
    skip
}
// What it promised is over by now, and its clock has passed every token that was given before.
inline come_back(n) {
    state[n] = state[n] & ~QUARANTINED; last[n] = minted_before;
    forget(0, n); forget(1, n); forget(CLAIMS - 1, n)
}
inline forget(k, n) {
    if
    :: PROMISED(k, n) && !IS(k, COMPLETED) -> mode[k] = mode[k] & ~TRUSTED
    :: else
    fi
}
#endif

#ifdef TOP_UP
#define RENEWAL(k, n) \
    :: d_step { IS(k, COMPLETED) && !HAS(n, QUARANTINED) && !HOLDS(k, n) && MAY_TOP_UP(k, n) -> \
        holder[n] = k; token[n] = lock[k]; raise(n, lock[k]) }
#else
#define RENEWAL(k, n)
#endif

#define POST(k, n) \
    :: d_step { MAY_ASK(k, n) -> promise(k, n, last[n] + 1) } \
    :: d_step { MAY_ASK(k, n) && SPREAD > 1 -> promise(k, n, last[n] + SPREAD) } \
    :: d_step { MAY_WRITE_BACK(k, n) -> write_back(k, n) } \
    RENEWAL(k, n)

#define CLAIM(k) \
    POST(k, 0) POST(k, 1) POST(k, 2) \
    :: d_step { MAY_FIX(k, 0, 1) -> fix(k, 0, 1) } \
    :: d_step { MAY_FIX(k, 0, 2) -> fix(k, 0, 2) } \
    :: d_step { MAY_FIX(k, 1, 2) -> fix(k, 1, 2) } \
    :: d_step { MAY_COMPLETE(k) && !IS(k, COMPLETED) && MAY_TRUST(k) -> complete(k) } \
    :: d_step { IS(k, COMPLETED) && HELD(k) >= MAJORITY && lock[k] < highest -> assert(false) }

#ifdef NO_CLOCK
#define NOTE(k) before[k] = highest;
#else
#define NOTE(k)
#endif
#define BEGIN(k) \
    :: d_step { !IS(k, BEGUN) && (k == 0 || IS((k + CLAIMS - 1) % CLAIMS, BEGUN)) -> \
        NOTE(k) mode[k] = BEGUN | TRUSTED }

#ifdef DATA_LOSS
#define LOSS(n) \
    :: d_step { !lost -> lose(n) } \
    :: d_step { HAS(n, QUARANTINED) -> come_back(n) }
#else
#define LOSS(n)
#endif
#define WORLD(n) \
    :: d_step { MAY_END(n) -> end(n) } \
    LOSS(n)

active proctype everything() {
    do
    BEGIN(0) BEGIN(1)
    CLAIM(0) CLAIM(1)
#if CLAIMS > 2
    BEGIN(2)
    CLAIM(2)
#endif
    WORLD(0) WORLD(1) WORLD(2)
#ifdef OCCURRENCE
    // It counts as done, nobody has run it, and nobody has a majority to run it with.
    :: d_step { RUN_DRY -> assert(lock[0] != 0 || lock[1] != 0 || lock[CLAIMS - 1] != 0) }
#endif
    od
}
