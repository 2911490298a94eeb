// One occurrence, at most once, whose claims are not answered (rules 2 and 6).
//
// Nodes ask for the same occurrence whenever they like. Requests and answers are lost, a copy of a
// claim arrives late, leases run out at any moment. A node that has no answer asks again under the
// same id, or gives the claim up: because it is too late, because the occurrence is not due by a
// clock that was put back, because it stops (-DSTOPS). It may crash (-DCRASHES), and a manual run
// may take the key in between (-DMANUAL_RUN). Time is not modelled, and the journal answers.
//
// Checked: the occurrence never runs twice; once nothing is under way it has run, or its row says
// why not, and what the row says is true; and a claim that was sent more than once runs nothing that
// others had skipped before it was granted.

#ifndef NODES
#define NODES 2
#endif
#ifndef IDS
#define IDS 2  // claim ids of a node
#endif
#define MANUAL (NODES * IDS + 1)  // the id of the manual run, which carries no occurrence

// Letters: to the store, and back.
#define NONE      0
#define CLAIM     1
#define WITHDRAW  2
#define GRANTED   3
#define REJECTED   4  // already done
#define BUSY      5
#define WITHDRAWN 6

// What a node does about the occurrence.
#define READY   0  // asks next
#define ASKING  1
#define RUNNING 2
#define LEAVING 3  // withdraws its claim, until the store has answered
#define SETTLED 4  // wants it no more
#define GONE    5  // stopped or crashed: another process starts in its place

// Its row.
#define SKIPPED 1
#define LOST    2
#define BEGUN   3

// Nodes
byte state[NODES];
byte line[NODES];         // the letter of a claim, or of its withdrawal
byte late[NODES];         // the id in a copy of a claim that is still on its way
byte used[NODES];         // how many ids
byte next_state[NODES];   // once the withdrawal is over
bit unanswered[NODES];    // a claim under this id may have been granted
bit in_doubt[NODES];      // one under any id, in this life
#ifdef WITHDRAW_ONCE
bit withdrew[NODES];
#endif

// The store
byte holder;              // of the last grant, if it was not ended; 0: none
bit live;
bit done;                 // last_done is this occurrence
bit buried[MANUAL + 1];   // ids that were withdrawn

// The journal
byte row;

// What the checker remembers.
byte runs;
bit passed_on[NODES];     // the key was granted to a claim that is not this process's
bit was_skipped[NODES];   // when this node's claim was granted
bit is_dead[MANUAL + 1];  // ids whose process is gone
bit manual_begun;

#define ID(node) (node * IDS + used[node])

inline tell(me, why) {
    if
    :: row == 0 -> row = why
    :: else
    fi
}

// That another claim was granted the key while its own was not answered. A reader believes it.
inline tell_outrun(me) {
    assert(row != 0 || passed_on[me]);
    tell(me, SKIPPED)
}

inline leave(me, to) {
    next_state[me] = to;
    if
    :: unanswered[me] -> state[me] = LEAVING
    :: else -> state[me] = to
    fi
}

inline ask(me) {
    used[me]++; unanswered[me] = 0; was_skipped[me] = 0;
    state[me] = ASKING; line[me] = CLAIM
}

#ifdef FORGETS_DOUBT
#define IN_DOUBT(me) unanswered[me]
#else
#define IN_DOUBT(me) in_doubt[me]
#endif

inline settle(me) {  // another node has run it, or runs it, or its own claim has marked it
    if
    :: IN_DOUBT(me) -> tell_outrun(me)
    :: else
    fi;
    leave(me, SETTLED)
}

inline start(me) {
    assert(!(unanswered[me] && was_skipped[me]));
    runs++; row = BEGUN; state[me] = RUNNING;
    assert(runs <= 1)
}

#define UNHEARD(me) (state[me] == ASKING && line[me] == NONE)

proctype node(byte me) {
    do
    :: d_step { state[me] == READY && used[me] < IDS -> ask(me) }
    :: d_step { state[me] == READY && used[me] > 0 -> tell(me, SKIPPED); state[me] = SETTLED }

    // No answer.
#ifdef NEW_ID
    :: d_step { UNHEARD(me) && used[me] < IDS -> in_doubt[me] = 1; ask(me) }
#else
    :: d_step { UNHEARD(me) -> in_doubt[me] = 1; unanswered[me] = 1; line[me] = CLAIM }
#endif
    :: d_step { UNHEARD(me) ->                                       // it is too late by now
        in_doubt[me] = 1; unanswered[me] = 1;
        tell(me, SKIPPED); leave(me, SETTLED) }
    :: d_step { UNHEARD(me) && used[me] < IDS ->                     // not due after all
        in_doubt[me] = 1; unanswered[me] = 1; leave(me, READY) }
#ifdef STOPS
    :: d_step { UNHEARD(me) && used[me] < IDS ->
        in_doubt[me] = 1; unanswered[me] = 1; leave(me, GONE) }
#endif
#ifdef CRASHES
    :: d_step { state[me] == ASKING && used[me] < IDS ->
        is_dead[ID(me)] = 1; line[me] = NONE; state[me] = GONE }
#endif
#ifndef NONE_STARTS
    // Another process: it goes by what the store remembers and by the row.
    :: d_step { state[me] == GONE ->
        in_doubt[me] = 0; unanswered[me] = 0;
        if
        :: done || row != 0 -> state[me] = SETTLED
        :: else -> state[me] = READY
        fi }
#endif

    // Answers.
    :: d_step { state[me] == ASKING && line[me] == GRANTED ->
        line[me] = NONE;
        if
#ifndef RUNS_SKIPPED
        :: unanswered[me] && row == SKIPPED -> leave(me, SETTLED)
#endif
        :: else -> start(me)
        fi }
    :: d_step { state[me] == ASKING && line[me] == REJECTED -> line[me] = NONE; settle(me) }
    :: d_step { state[me] == ASKING && line[me] == BUSY ->
        line[me] = NONE;
        if
        :: done || row == BEGUN -> settle(me)
        :: else -> tell(me, SKIPPED); leave(me, SETTLED)   // the run before goes on
        fi }

    // The end of a claim.
#ifdef WITHDRAW_ONCE
    :: d_step { state[me] == LEAVING && line[me] == NONE && !withdrew[me] ->
        withdrew[me] = 1; line[me] = WITHDRAW }
    :: d_step { state[me] == LEAVING && line[me] == NONE && withdrew[me] ->
        withdrew[me] = 0; state[me] = next_state[me] }
#else
    :: d_step { state[me] == LEAVING && line[me] == NONE -> line[me] = WITHDRAW }
#endif
    :: d_step { state[me] == LEAVING && line[me] == WITHDRAWN ->
        line[me] = NONE; unanswered[me] = 0; state[me] = next_state[me] }
    :: d_step { state[me] == RUNNING ->
        if
        :: holder == ID(me) -> holder = 0; live = 0
        :: else
        fi;
        state[me] = SETTLED }
    od
}

inline grant_to(id) {
    holder = id; live = 1;
    for (other : 0 .. NODES - 1) {
        if
        :: (id - 1) / IDS != other || is_dead[id] -> passed_on[other] = 1
        :: else
        fi
    }
}

#ifdef NO_REGRANT
#define IS_REPEAT(id) (holder == id && live)
#else
#define IS_REPEAT(id) (holder == id)
#endif

inline serve_claim(id, answer) {
    if
#ifndef NO_TOMBSTONE
    :: buried[id] -> answer = REJECTED
#endif
    :: else ->
        if
        :: IS_REPEAT(id) -> live = 1; answer = GRANTED
        :: !IS_REPEAT(id) && live -> answer = BUSY
        :: !IS_REPEAT(id) && !live && done -> answer = REJECTED
        :: !IS_REPEAT(id) && !live && !done -> grant_to(id); done = 1; answer = GRANTED
        fi
    fi
}

#ifdef WITHDRAWS_LIVE_ONLY
#define IS_WITHDRAWN(id) (holder == id && live)
#else
#define IS_WITHDRAWN(id) (holder == id)
#endif

inline serve_withdrawal(id) {
    buried[id] = 1;
#ifdef UNMARKS_ANY
    done = 0;
#endif
    if
    :: IS_WITHDRAWN(id) ->
        holder = 0; live = 0;
#ifndef MARK_STAYS
        done = 0;
#endif
        skip
    :: else
    fi
}

proctype network(byte me) {
    byte other, ignored;
    do
    :: d_step { line[me] == CLAIM ->
        serve_claim(ID(me), line[me]);
        if
        :: line[me] == GRANTED && row == SKIPPED -> was_skipped[me] = 1
        :: else
        fi;
        other = 0 }
    :: d_step { line[me] == WITHDRAW -> serve_withdrawal(ID(me)); line[me] = WITHDRAWN }
    :: d_step { line[me] != NONE -> line[me] = NONE }                         // lost
    :: d_step { line[me] == CLAIM && late[me] == 0 -> late[me] = ID(me); line[me] = NONE }
    :: d_step { late[me] != 0 -> serve_claim(late[me], ignored); late[me] = 0; ignored = 0; other = 0 }
    :: d_step { late[me] != 0 -> late[me] = 0 }
    od
}

proctype world() {
    byte other;
    do
    :: d_step { live -> live = 0 }  // the lease runs out
#ifdef MANUAL_RUN
    :: d_step { !live && !manual_begun -> manual_begun = 1; grant_to(MANUAL); other = 0 }
    :: d_step { holder == MANUAL -> holder = 0; live = 0 }
#endif
#ifdef CRASHES
    // The nodes that are left find a mark without a row, by a process that is gone.
    :: d_step { done && !live && row != BEGUN && row != LOST && is_dead[holder] -> row = LOST }
#endif
    od
}

init {
    byte n;
    atomic {
        run world();
        for (n : 0 .. NODES - 1) { run node(n); run network(n) }
    }
    // Nothing is under way any more.
    timeout -> assert(runs == 1 || row == SKIPPED || row == LOST)
}
