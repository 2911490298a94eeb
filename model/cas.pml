// One key in a store of records with versions (an engine on compare-and-swap; rules 1 to 3, 8).
//
// A client reads the record with its version, decides, and writes it if the version is still the
// same. It knows the store's clock by two bounds only: what it reads is up to RES ticks behind, and a
// front end may be up to SKEW ticks ahead of the others. Requests and answers are lost; a write of the
// first client may arrive late, after its claim was withdrawn. Holders renew from memory, release, or
// crash.
//
// Times are relative to the store's own clock: `left` is how long until the end of a lease, below 0
// once that has passed. Versions are not numbered: whoever knows the newest one is `fresh`, until the
// next write.
//
// Checked: no two clients trust their lease in the same tick, and a claim is granted nothing once its
// withdrawal was answered.

#define CLIENTS 2
#ifndef TTL
#define TTL 3
#endif
#ifndef RES
#define RES 1
#endif
#ifndef SKEW
#define SKEW 0
#endif
#ifdef UNTOLD
#define TOLD 0
#else
#define TOLD SKEW
#endif
#define LEAST (-(RES + SKEW))  // an end is passed for all

// What a client is at.
#define IDLE     0
#define ASKING   1
#define HOLDING  2
#define RENEWING 3
#define LEAVING  4  // it withdraws, until that was answered

// Letters: conditional writes, and their answers.
#define NONE     0
#define WRITE    1
#define WRITTEN  2
#define CONFLICT 3

#define FREE 0
#define RIVAL 3
#define ID(c) (c == 0 -> 1 + gen : RIVAL)

typedef version_of {  // a state of the record, and whether it is the newest
    byte holder;
    short left;
    bit fresh;
    bit own  // written by a request of its holder's that goes on: the nonce tells
}

version_of record;
version_of copy[CLIENTS];
version_of letter[CLIENTS];  // what is to be written over `fresh`; with WRITTEN, what was
version_of late;             // a write of client 0 on its way
byte kind[CLIENTS];
bit is_late;
byte phase[CLIENTS];
bit gen;                     // the ids of client 0 alternate
byte age[CLIENTS];           // since the request left that trust will be counted from
byte trust[CLIENTS];
bit dead[RIVAL + 1];         // ids whose withdrawal was answered

#define TAKE(into, from) into.holder = from.holder; into.left = from.left; into.fresh = from.fresh; into.own = from.own
#define FORGET(what) what.holder = FREE; what.left = LEAST; what.fresh = 0; what.own = 0

// What was to be written over an older version never will be: it need not be kept. (A server that
// ignores the condition writes it all the same.)
inline outdate() {
    FORGET(copy[0]);
#ifndef IGNORES_CONDITION
    for (other : 0 .. CLIENTS - 1) {
        FORGET(letter[other]);
        if
        :: kind[other] == WRITE -> kind[other] = CONFLICT
        :: else
        fi
    }
    is_late = 0; FORGET(late)
#endif
}

#ifdef IGNORES_CONDITION
#define MAY_WRITE(what) true
#else
#define MAY_WRITE(what) what.fresh
#endif

// A claim is what puts its own id there.
#define APPLY(what) assert(!(dead[what.holder] && what.holder != record.holder)); \
                    record.holder = what.holder; record.left = what.left; \
                    record.own = what.own; outdate()

inline read(c) { TAKE(copy[c], record); copy[c].fresh = 1 }

// The bounds that an answer gives: `ahead` is of its front end, `off` how coarse it is.
#ifdef LIVE_BY_HIGH
#define IS_OVER(c) (copy[c].left <= ahead + off + TOLD)
#else
#define IS_OVER(c) (copy[c].left <= ahead - off)
#endif
#ifdef ENDS_BY_LOW
#define END (TTL + ahead - off)
#else
#define END (TTL + ahead + off + TOLD)
#endif

#define LATER(c) (END > copy[c].left -> END : copy[c].left)


inline look_at_clock() {
    select(ahead : 0 .. SKEW);
    select(off : 0 .. RES)
}

#define PUT(c, who, end) kind[c] = WRITE; letter[c].holder = who; letter[c].left = end; \
                         letter[c].fresh = copy[c].fresh; letter[c].own = 1

// Another request begins: what was written by one before it is none of its own.
inline begin(c) {
    age[c] = 0;
    if
    :: c == 0 -> late.own = 0
    :: else
    fi;
    if
    :: record.holder == ID(c) -> record.own = 0
    :: else
    fi
}

#ifdef ANY_NONCE
#define IS_OURS(c) (copy[c].holder == ID(c))
#else
#define IS_OURS(c) (copy[c].holder == ID(c) && copy[c].own)
#endif

// The same id is not used for another claim while a write of the old one may be on its way.
inline rename() {
    gen = 1 - gen; dead[ID(0)] = 0; phase[0] = IDLE; age[0] = 0; trust[0] = 0;
    kind[0] = NONE; FORGET(letter[0]); FORGET(copy[0])
}

inline trust_it(c) {
#ifdef TRUST_FROM_ANSWER
    trust[c] = TTL;
#else
    trust[c] = (TTL > age[c] -> TTL - age[c] : 0);
#endif
    phase[c] = HOLDING; age[c] = 0;
    assert(trust[0] == 0 || trust[1] == 0)
}

// A read and the decision on it: what comes between them may as well come before the write arrives.
inline decide(c) {
    read(c);
    look_at_clock();
    if
    :: IS_OURS(c) -> trust_it(c)  // its answer was lost
    :: !IS_OURS(c) && copy[c].holder == ID(c) ->  // a repeated claim
        PUT(c, ID(c), LATER(c)); phase[c] = ASKING
    :: copy[c].holder != ID(c) && (copy[c].holder == FREE || IS_OVER(c)) ->
        PUT(c, ID(c), END); phase[c] = ASKING
    :: else -> phase[c] = IDLE
    fi;
    if
    :: phase[c] != HOLDING -> FORGET(copy[c])
    :: else
    fi;
    ahead = 0; off = 0
}

// What a withdrawal writes: nothing is changed but the version, unless the key is its own.
inline withdraw() {
    read(0);
    if
    :: copy[0].holder == ID(0) -> PUT(0, FREE, LEAST)
#ifdef NO_TOUCH
    :: else -> dead[ID(0)] = 1; phase[0] = IDLE
#else
    :: else -> PUT(0, copy[0].holder, copy[0].left); letter[0].own = 0
#endif
    fi;
    FORGET(copy[0])
}

inline heard(c) {
    if
    :: kind[c] == WRITTEN -> TAKE(copy[c], letter[c])
    :: else
    fi;
    kind[c] = NONE; FORGET(letter[c])
}

proctype client() {
    short ahead, off;
    do
    // A claim. An id that was withdrawn is not used again.
    :: atomic { phase[0] == IDLE && dead[ID(0)] && !is_late -> rename() }
    :: atomic { phase[0] == IDLE && !dead[ID(0)] -> begin(0); decide(0) }
    :: atomic { phase[0] == ASKING && kind[0] == WRITTEN -> heard(0); trust_it(0) }
    :: atomic { phase[0] == ASKING && kind[0] == CONFLICT -> heard(0); decide(0) }
    :: atomic { phase[0] == ASKING && kind[0] == NONE -> decide(0) }
    :: atomic { phase[0] == ASKING && kind[0] == NONE -> phase[0] = LEAVING; age[0] = 0 }

    // A withdrawal.
    :: atomic { phase[0] == LEAVING && kind[0] == NONE -> withdraw() }
    :: atomic { phase[0] == LEAVING && kind[0] == WRITTEN ->
        heard(0); FORGET(copy[0]); dead[ID(0)] = 1; phase[0] = IDLE }
    :: atomic { phase[0] == LEAVING && kind[0] == CONFLICT -> heard(0) }

    // A renewal, from memory; after a conflict or without an answer the record is looked at.
    :: atomic { phase[0] == HOLDING && trust[0] > 0 ->
        look_at_clock();
        begin(0); phase[0] = RENEWING;
        PUT(0, ID(0), LATER(0)); ahead = 0; off = 0 }
    :: atomic { phase[0] == RENEWING && kind[0] == WRITTEN && trust[0] > 0 ->
        heard(0); trust_it(0) }
    :: atomic { phase[0] == RENEWING && (kind[0] == CONFLICT || kind[0] == NONE) ->
        heard(0); read(0); age[0] = 0;
        if
        :: copy[0].holder == ID(0) -> phase[0] = HOLDING
        :: else -> trust[0] = 0; phase[0] = LEAVING; FORGET(copy[0])
        fi }

    // The end: a release that may be lost, or a crash. Whoever has lost its trust stops as well.
    :: atomic { phase[0] == HOLDING ->
        trust[0] = 0; PUT(0, FREE, LEAST); FORGET(copy[0]); phase[0] = LEAVING }
    :: atomic { (phase[0] == HOLDING || phase[0] == RENEWING) && !is_late -> rename() }
    od
}

// It neither withdraws nor renews, and ends by a crash: its next claim repeats the one before.
proctype rival() {
    short ahead, off;
    do
    :: atomic { phase[1] == IDLE -> begin(1); decide(1) }
    :: atomic { phase[1] == ASKING && kind[1] == WRITTEN -> heard(1); trust_it(1); FORGET(copy[1]) }
    :: atomic { phase[1] == ASKING && (kind[1] == CONFLICT || kind[1] == NONE) ->
        heard(1); decide(1);
        if
        :: phase[1] == HOLDING -> FORGET(copy[1])
        :: else
        fi }
    :: atomic { phase[1] == HOLDING -> trust[1] = 0; phase[1] = IDLE }
    od
}

inline serve(c) {
    if
    :: MAY_WRITE(letter[c]) ->
        APPLY(letter[c]); TAKE(letter[c], record); letter[c].fresh = 1; kind[c] = WRITTEN
    :: else -> kind[c] = CONFLICT; FORGET(letter[c])
    fi
}

proctype network() {
    byte other;
    do
    :: d_step { kind[0] == WRITE -> serve(0); other = 0 }
    :: d_step { kind[1] == WRITE -> serve(1); other = 0 }
    // A request or an answer is lost, or the request comes late.
    :: d_step { kind[0] != NONE -> kind[0] = NONE; FORGET(letter[0]) }
    :: d_step { kind[1] != NONE -> kind[1] = NONE; FORGET(letter[1]) }
    :: d_step { kind[0] == WRITE && !is_late ->
        TAKE(late, letter[0]); is_late = 1; kind[0] = NONE; FORGET(letter[0]) }
    :: d_step { is_late && MAY_WRITE(late) -> APPLY(late); is_late = 0; FORGET(late); other = 0 }
    :: d_step { is_late -> is_late = 0; FORGET(late) }
    od
}

#define PASS(what) what.left = (what.left > LEAST -> what.left - 1 : LEAST)
#define OLDER(c) age[c] = ((phase[c] == ASKING || phase[c] == RENEWING) && age[c] < TTL -> age[c] + 1 : age[c]); \
                 trust[c] = (trust[c] > 0 -> trust[c] - 1 : 0)

proctype world() {
    do
    :: d_step { true ->
        PASS(record); PASS(copy[0]); PASS(copy[1]); PASS(letter[0]); PASS(letter[1]); PASS(late);
        OLDER(0); OLDER(1)
    }
#ifdef STEPS_FORWARD
    // The store's clock is set forward by a tick: less is left, and holders do not know.
    :: d_step { true ->
        PASS(record); PASS(copy[0]); PASS(copy[1]); PASS(letter[0]); PASS(letter[1]); PASS(late) }
#endif
    od
}

init {
    atomic {
        FORGET(record); FORGET(copy[0]); FORGET(copy[1]); FORGET(letter[0]); FORGET(letter[1]);
        FORGET(late);
        run world(); run network(); run client(); run rival()
    }
}
