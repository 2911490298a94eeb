// Tokens at a guarded resource (rules 1, 5, 7 and 15), with no assumption about time at all: a lease
// may end at any moment, letters and writes arrive in any order, a stale holder writes for ever.
//
// Checked: what the resource accepts never falls, and the live holder is never rejected.

#ifndef CLIENTS
#define CLIENTS 2
#endif
#define ASKS 2  // requests for a grant that each client may send

// Kinds of letters.
#define NONE    0
#define MINT    1
#define CLAIM   2
#define GRANTED 3

typedef letter { byte kind; byte token };

letter line[CLIENTS];    // one letter of each client is on its way
byte write[CLIENTS];     // the token of its write that is on its way; 0: none
byte asked[CLIENTS];
bit claiming[CLIENTS];
byte token[CLIENTS];     // what it believes to hold; it goes on writing when its lease has ended

// The store. `wall` is its clock; it moves on with every grant, as a grant takes longer than 1 µs.
byte holder = CLIENTS;   // CLIENTS: nobody
byte holder_token;
byte last_token;
byte wall = 1;
bit disturbed;
byte burnt;              // the token of the holder that was force-released

// The resource, and what the checker remembers of it.
byte newest;
byte accepted;
byte highest;  // the highest token ever granted

inline mint() {
#ifdef COUNTER
    last_token = last_token + 1;
#else
    if
    :: wall > last_token -> last_token = wall
    :: else -> last_token = last_token + 1
    fi;
#endif
    wall++
}

// -DRISES also checks that no grant ever carries a token that is not above all before it.
inline give(me, value) {
    holder = me; holder_token = value;
#ifdef RISES
    assert(value > highest);
    highest = value;
#endif
    line[me].token = value; line[me].kind = GRANTED
}

inline free() {
    holder = CLIENTS; holder_token = 0;
#ifdef ROW_DELETED
    last_token = 0;  // release and expiry delete the row, and its counter with it
#endif
    skip
}

proctype client(byte me) {
    do
    :: d_step { !claiming[me] && line[me].kind == NONE && asked[me] < ASKS ->
        asked[me]++; claiming[me] = 1; token[me] = 0;
#ifdef MINT_BEFORE
        line[me].kind = MINT }
#else
        line[me].kind = CLAIM }
#endif
    :: d_step { claiming[me] && line[me].kind == NONE && asked[me] < ASKS ->
        asked[me]++; line[me].kind = CLAIM }         // the same claim again
    :: d_step { claiming[me] -> claiming[me] = 0 }   // gives up, or crashes
    :: d_step { line[me].kind == GRANTED ->
        if
        :: claiming[me] -> claiming[me] = 0; token[me] = line[me].token
        :: else
        fi;
        line[me].kind = NONE; line[me].token = 0 }
    :: d_step { token[me] != 0 && write[me] == 0 -> write[me] = token[me] }
    od
}

inline serve(me) {
#ifdef MINT_BEFORE
    if
    :: line[me].kind == MINT -> mint(); line[me].token = last_token; line[me].kind = CLAIM
    :: line[me].kind == CLAIM && holder == CLIENTS && line[me].token != 0 ->
        give(me, line[me].token)
    :: else -> line[me].kind = NONE; line[me].token = 0
    fi
#else
#ifdef MINT_AFTER
    if
    :: line[me].kind == CLAIM && holder == CLIENTS -> holder = me; line[me].kind = MINT
    :: line[me].kind == MINT ->
        mint(); line[me].token = last_token; line[me].kind = GRANTED;
        if
        :: holder == me -> holder_token = last_token
        :: else
        fi
    :: else -> line[me].kind = NONE
    fi
#else
    if
    :: holder == CLIENTS ->
        mint(); give(me, last_token)
    :: holder == me -> line[me].token = holder_token; line[me].kind = GRANTED
    :: else -> line[me].kind = NONE
    fi
#endif
#endif
}

#ifdef NO_CHECK
#define ACCEPTS(t) true
#else
#ifdef GUARD_READS_STORE
#define ACCEPTS(t) (t >= newest && t >= last_token)
#else
#define ACCEPTS(t) (t >= newest)
#endif
#endif

inline arrive(me) {
    if
    :: ACCEPTS(write[me]) ->
        newest = write[me];
        assert(write[me] >= accepted);
        accepted = write[me];
#ifdef GUARD_READS_STORE
        assert(write[me] != burnt);
#endif
        skip
    :: else -> assert(!(holder == me && holder_token == write[me]))
    fi;
    write[me] = 0
}

proctype network(byte me) {
    do
    :: d_step { line[me].kind == MINT || line[me].kind == CLAIM -> serve(me) }
    :: d_step { line[me].kind != NONE -> line[me].kind = NONE; line[me].token = 0 }  // lost
    :: d_step { write[me] != 0 -> arrive(me) }
    od
}

proctype world() {
    do
    :: d_step { holder < CLIENTS -> free() }  // released or expired
#ifdef FORCE_RELEASE
    :: d_step { holder < CLIENTS && !disturbed ->
        disturbed = 1; burnt = holder_token; free();
#ifndef NO_BURN
        last_token++; wall++;
#endif
        skip }
#endif
#ifdef DATA_LOSS
    :: d_step { !disturbed -> disturbed = 1; free(); last_token = 0 }
#endif
#ifdef CLOCK_STEPS
    :: d_step { wall > 1 && !disturbed ->
        wall = 1;
#ifdef DATA_LOST_AS_WELL
        free(); last_token = 0;
#endif
        disturbed = 1 }
#endif
    od
}

init {
    byte n;
    atomic {
        run world();
        for (n : 0 .. CLIENTS - 1) { run client(n); run network(n) }
    }
}
