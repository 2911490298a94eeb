// One store, one key, two clients: do two holders ever trust their lease at the same instant?
//
// Time is relative: every quantity counts down, or ages, with a tick, so that runs are unbounded and
// states are few. A client that takes no step is paused, for any length; its clock goes on.
// The network loses, delays and reorders: each letter in flight is served, answered or lost
// whenever it likes. Rules are numbered as in docs/protocol.md; a switch (-D) breaks one of them.

#ifndef TTL
#define TTL 3
#endif

// Rule 8: the ticks that a clock may lose within one lease, and the margin for it.
#ifndef LAG
#define LAG 1
#endif
#ifdef NO_MARGIN
#define MARGIN 0
#else
#define MARGIN 1
#endif
#define TRUST (TTL - MARGIN)

// How often a client may ask for a grant: what bounds the tokens. Client 0 has two letters in flight,
// its rival one: of two holders that overlap, the earlier one needs the room to go wrong.
#ifndef ASKS
#define ASKS 3
#endif
#ifndef RIVAL_ASKS
#define RIVAL_ASKS 1
#endif
#define MAY_ASK(me) (asked[me] < (me == 0 -> ASKS : RIVAL_ASKS))
#define LETTERS 3
#define FIRST(me) (2 * me)
#define LAST(me) (1 + me)

// Kinds of letters: requests, then answers.
#define NONE      0
#define CLAIM     1
#define RENEW     2
#define RELEASE   3
#define WITHDRAW  4
#define GRANTED   5
#define RENEWED   6
#define LOST      7

typedef letter {
    byte kind;
    byte claim;
    byte token;
    byte age;   // ticks since it was sent on the sender's clock, up to TRUST: too old to be of use
    bit lagged  // whether the sender's clock has lost its tick since then
};

letter line[LETTERS];

// The store.
byte holder;       // claim id; 0: nobody
byte last_token;
byte left;         // ticks until the lease, or the cooldown, ends
byte quarantine;   // ticks until it may grant again
bit disturbed;     // the one forced release or loss of data of a run has happened

// The clients.
byte asked[2];     // requests for a grant sent
byte claim[2];     // the claim being made, or held; 0: idle
byte token[2];     // of the lease; 0: not granted as far as the client knows
byte trust[2];     // ticks for which the client still trusts its lease
bit lagged[2];     // whether its clock has lost its tick within this trust
#ifdef NO_GUARD
bit acting[2];     // the command runs; only the client itself stops it, when it takes a step
#define ACTS(c) acting[c]
#else
#define ACTS(c) (trust[c] > 0)
#endif
#ifdef HEARD
byte unheard[2];   // ticks since the last answered beat was sent
#endif

inline clear(l) {
    line[l].kind = NONE; line[l].claim = 0; line[l].token = 0; line[l].age = 0; line[l].lagged = 0
}

inline write_letter(l, me, what) {
    line[l].kind = what; line[l].claim = claim[me]; line[l].token = token[me]
}

#define ROOM(me) (line[FIRST(me)].kind == NONE || line[LAST(me)].kind == NONE)

inline send(me, what) {
    if
    :: line[FIRST(me)].kind == NONE -> write_letter(FIRST(me), me, what)
    :: else -> write_letter(LAST(me), me, what)
    fi
}

// A request whose sender has moved on still acts at the store, but nobody counts its age. An answer
// that nobody waits for is gone.
inline abandon(l) {
    if
    :: line[l].kind >= GRANTED -> clear(l)
    :: else -> line[l].age = 0; line[l].lagged = 0
    fi
}

inline forget(me) {
    claim[me] = 0; token[me] = 0; trust[me] = 0; lagged[me] = 0;
#ifdef NO_GUARD
    acting[me] = 0;
#endif
#ifdef HEARD
    unheard[me] = 0;
#endif
#ifndef UN_LOSE
    abandon(FIRST(me)); abandon(LAST(me));
#endif
    skip
}

#define OWNER(l) (l / 2)
#define AWAITED(l) ((line[l].kind == CLAIM && line[l].claim == claim[OWNER(l)]) || \
    (line[l].kind == RENEW && line[l].token == token[OWNER(l)]) || line[l].kind >= GRANTED)
#define HELD_UNDER(l) (left > 0 && holder != 0 && last_token == line[l].token)

// Rule 3: whether an expired lease may be renewed where nobody took the key since.
#ifndef IF_UNCLAIMED
#define IF_UNCLAIMED false
#endif
#define RENEWABLE(l) ((left > 0 || (IF_UNCLAIMED && quarantine == 0)) && holder != 0 && \
    last_token == line[l].token)

// Without forced releases and losses of data, a trusted lease is always there at the store as well.
inline check_backed(c) {
#ifdef BACKED
    assert(trust[c] == 0 || (left > 0 && holder == claim[c] && last_token == token[c]));
#endif
    skip
}

inline answer(l, what, value) {
    if
    :: AWAITED(l) -> line[l].kind = what; line[l].token = value
    :: else -> clear(l)
    fi
}

inline serve_claim(l) {
    if
    :: left > 0 && holder == line[l].claim ->  // rule 2: a repeat
#ifdef REPEAT_MINTS
        last_token++;
#endif
        left = TTL; answer(l, GRANTED, last_token)
    :: left == 0 && quarantine == 0 ->         // rule 1
        last_token++; holder = line[l].claim; left = TTL; answer(l, GRANTED, last_token)
    :: else -> clear(l)                        // busy: nothing to learn from it
    fi
}

// Rule 3.
inline serve_renew(l) {
    if
    :: RENEWABLE(l) -> left = TTL; answer(l, RENEWED, line[l].token)
#ifdef RENEW_REVIVES
    // SET with XX, or a script that recreates what is missing: whoever holds it now is overwritten.
    :: !RENEWABLE(l) -> left = TTL; holder = line[l].claim; answer(l, RENEWED, line[l].token)
#else
    :: else -> answer(l, LOST, line[l].token)
#endif
    fi
}

// Rule 4.
inline serve_release(l) {
    if
#ifdef RELEASE_ANY
    :: left > 0 -> left = 0; holder = 0
#else
    :: HELD_UNDER(l) -> left = 0; holder = 0
#endif
    :: else
    fi;
    clear(l)
}

// Rule 2: giving up sends a release by claim id.
inline serve_withdraw(l) {
    if
    :: left > 0 && holder == line[l].claim -> left = 0; holder = 0
    :: else
    fi;
    clear(l)
}

// An expired lease leaves its holder's name behind only where a renewal may still use it.
inline settle() {
    if
    :: left == 0 && !IF_UNCLAIMED -> holder = 0
    :: else
    fi;
    check_backed(0); check_backed(1)
}

// Rule 8: trust is counted from when the request was sent, whenever its answer arrives.
inline trust_from(me, l) {
#ifdef TRUST_FROM_ANSWER
    trust[me] = TRUST;
#else
    if
    :: TRUST > line[l].age + trust[me] -> trust[me] = TRUST - line[l].age; lagged[me] = line[l].lagged
    :: else
    fi;
#endif
#ifdef HEARD
    if
    :: trust[me] == 0 -> unheard[me] = 0
    :: else -> unheard[me] = TRUST - trust[me]
    fi;
#endif
#ifdef NO_GUARD
    acting[me] = acting[me] || trust[me] > 0;
#endif
    assert(!(ACTS(0) && ACTS(1)))
}

inline hear(me, l) {
    if
    :: line[l].kind == GRANTED && claim[me] == line[l].claim && token[me] == 0 ->
        token[me] = line[l].token; trust_from(me, l)
    :: line[l].kind == RENEWED && token[me] == line[l].token && trust[me] > 0 ->  // rule 9
        trust_from(me, l)
#ifdef UN_LOSE
    :: line[l].kind == RENEWED && (token[me] == 0 || trust[me] == 0) ->
        claim[me] = line[l].claim; token[me] = line[l].token; trust_from(me, l)
#endif
    :: line[l].kind == LOST && token[me] == line[l].token -> forget(me)
    :: else
    fi;
    clear(l)
}

proctype client(byte me) {
    do
    :: d_step { claim[me] == 0 && MAY_ASK(me) && ROOM(me) ->
        asked[me]++; claim[me] = asked[me] + me * ASKS; send(me, CLAIM) }
    :: d_step { claim[me] != 0 && token[me] == 0 && MAY_ASK(me) && ROOM(me) ->
        asked[me]++; send(me, CLAIM) }                            // rule 2: the same claim again
    :: d_step { claim[me] != 0 && token[me] == 0 && ROOM(me) -> send(me, WITHDRAW); forget(me) }
    :: d_step { trust[me] > 0 && ROOM(me) -> send(me, RENEW) }
    :: d_step { token[me] != 0 && ROOM(me) -> send(me, RELEASE); forget(me) }
    :: d_step { token[me] != 0 && trust[me] == 0 -> forget(me) }  // trust has ended: it stops
    :: d_step { claim[me] != 0 -> forget(me) }                    // it crashes
    od
}

proctype network(byte l) {
    do
    :: d_step { line[l].kind == CLAIM -> serve_claim(l); settle() }
    :: d_step { line[l].kind == RENEW -> serve_renew(l); settle() }
    :: d_step { line[l].kind == RELEASE -> serve_release(l); settle() }
    :: d_step { line[l].kind == WITHDRAW -> serve_withdraw(l); settle() }
    :: d_step { line[l].kind >= GRANTED -> hear(OWNER(l), l) }
    :: d_step { line[l].kind != NONE -> clear(l) }                // lost
    od
}

inline pass_letter(l, slow) {
    if
    :: !AWAITED(l)
    :: AWAITED(l) && slow -> line[l].lagged = 1
    :: AWAITED(l) && !slow ->
        if
        :: line[l].age < TRUST -> line[l].age++
        :: else
        fi
    fi;
    if
    :: line[l].age == TRUST -> line[l].lagged = 0
    :: else
    fi
}

inline pass_client(c, slow) {
#ifdef HEARD
    if
    :: trust[c] > 0 && !slow -> unheard[c]++
    :: else
    fi;
#endif
    if
    :: trust[c] > 0 && slow -> lagged[c] = 1
    :: trust[c] > 0 && !slow -> trust[c]--
    :: else
    fi;
    if
    :: trust[c] == 0 -> lagged[c] = 0
    :: else
    fi
}

inline pass_store() {
    if
    :: left > 0 -> left--
    :: else
    fi;
    if
    :: quarantine > 0 -> quarantine--
    :: else
    fi
}

inline pass(slow_0, slow_1) {
    pass_store();
    pass_letter(0, slow_0); pass_letter(1, slow_0); pass_client(0, slow_0);
    pass_letter(2, slow_1); pass_client(1, slow_1);
    settle()
}

// Within any measurement, that of a letter or of a lease, a clock loses one tick at most.
#define STEADY(l) (AWAITED(l) && line[l].lagged)
#define MAY_LAG_0 (LAG && !STEADY(0) && !STEADY(1) && !lagged[0] && (AWAITED(0) || AWAITED(1) || trust[0] > 0))
#define MAY_LAG_1 (LAG && !STEADY(2) && !lagged[1] && (AWAITED(2) || trust[1] > 0))

// HEARD: time waits for answers that are due, and for a holder that is due a beat.
#ifdef HEARD
#define ON_TIME(l) !(AWAITED(l) && line[l].age >= HEARD)
#define BEATS(c) !(trust[c] > 0 && unheard[c] >= HEARD)
#define MAY_PASS (ON_TIME(0) && ON_TIME(1) && ON_TIME(2) && BEATS(0) && BEATS(1))
#else
#define MAY_PASS true
#endif

proctype world() {
    do
    :: d_step { MAY_PASS -> pass(0, 0) }
    :: d_step { MAY_PASS && MAY_LAG_0 -> pass(1, 0) }
    :: d_step { MAY_PASS && MAY_LAG_1 -> pass(0, 1) }
#ifdef SUSPEND
    // The machine of client 0 sleeps for a tick, and its clock does not count it (CLOCK_MONOTONIC).
    :: d_step { trust[0] > 0 -> pass_store(); pass_letter(2, 0); pass_client(1, 0); settle() }
#endif
#ifdef FORCE_RELEASE
    // Rule 5, with a lock delay of FORCE_RELEASE ticks, and at most of what was left.
    :: d_step { !disturbed && left > 0 && holder != 0 ->
        disturbed = 1; holder = 0; last_token++;
        if  // at most what was left
        :: left > FORCE_RELEASE -> left = FORCE_RELEASE
        :: else
        fi }
#endif
#ifdef DATA_LOSS
    // Rule 7. Tokens go on: what a lost counter does to them is the business of fence.pml.
    :: d_step { !disturbed ->
        disturbed = 1; holder = 0; left = 0;
#ifndef NO_QUARANTINE
        quarantine = TTL;
#endif
        skip }
#endif
    od
}

init {
    atomic {
        run world();
        run client(0); run client(1);
        run network(0); run network(1); run network(2)
    }
}
