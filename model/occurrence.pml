// One occurrence of a job, one run (rules 6 and 7): no assumption about time but the store's clock.
//
// Runners of skewed clocks ask for either of two occurrences whenever they like, their requests are
// repeated, delayed and lost, they crash, leases expire under running jobs, and the store may lose
// its data. Checked, at most once: nothing runs twice. At least once (-DAT_LEAST_ONCE): what counts
// as done has been completed by somebody. Both: nothing counts as done before it is due.

#ifndef RUNNERS
#define RUNNERS 2
#endif
#define ASKS 2
#define OCCURRENCES 2
#ifndef SKEW
#define SKEW 0  // how many occurrences ahead of the store's clock one may be granted
#endif

// Kinds of letters.
#define NONE    0
#define CLAIM   1
#define GRANTED 2
#define DONE    3

typedef letter { byte kind; byte claim; byte occurrence };

letter line[RUNNERS];
byte asked[RUNNERS];
byte claim[RUNNERS];    // rule 2: an id that no claim before it had
byte wanted[RUNNERS];   // the occurrence that it is for; 0: idle
bit running[RUNNERS];

// The store. An occurrence `n` is due once `due` is n.
byte holder;  // claim id; 0: nobody
byte last_done;  // up to OCCURRENCES + SKEW
byte due = 1;
bit disturbed;

// What the checker remembers.
byte runs[OCCURRENCES + 1];
bit completed[OCCURRENCES + SKEW + 1];
bit counts[OCCURRENCES + SKEW + 1];  // counts as done without a run: the birth rule

inline mark(done) {
    if
    :: done > last_done -> last_done = done
    :: else
    fi;
    assert(last_done <= due + SKEW);
#ifdef AT_LEAST_ONCE
    assert(last_done == 0 || completed[last_done] || counts[last_done]);
#endif
    skip
}

inline clear(me) {
    line[me].kind = NONE; line[me].claim = 0; line[me].occurrence = 0
}

inline send(me, what) {
    line[me].kind = what; line[me].claim = claim[me]; line[me].occurrence = wanted[me]
}

inline begin(me, which) {
    asked[me]++;
#ifdef REUSED_ID
    claim[me] = 1 + me;
#else
    claim[me] = asked[me] + me * ASKS;
#endif
    wanted[me] = which;
    send(me, CLAIM)
}

inline end(me) {
    running[me] = 0; wanted[me] = 0; claim[me] = 0
}

inline start(me) {
    running[me] = 1; runs[wanted[me]]++;
#ifndef AT_LEAST_ONCE
    assert(runs[wanted[me]] <= 1);
#endif
    skip
}

proctype runner(byte me) {
    do
    :: d_step { wanted[me] == 0 && line[me].kind == NONE && asked[me] < ASKS -> begin(me, 1) }
    :: d_step { wanted[me] == 0 && line[me].kind == NONE && asked[me] < ASKS -> begin(me, 2) }
    :: d_step { wanted[me] != 0 && !running[me] && line[me].kind == NONE && asked[me] < ASKS ->
        asked[me]++; send(me, CLAIM) }                     // the same claim again
    :: d_step { line[me].kind == GRANTED ->
        if
        :: claim[me] == line[me].claim && !running[me] -> start(me)
        :: else
        fi;
        clear(me) }
    :: d_step { running[me] && line[me].kind == NONE ->    // ends well
        completed[wanted[me]] = 1; send(me, DONE); end(me) }
    :: d_step { wanted[me] != 0 -> end(me) }               // crashes, or gives up
    od
}

#ifdef NO_BIRTH_SKEW
#define BIRTH_SKEW 0
#else
#define BIRTH_SKEW SKEW
#endif

#ifdef NO_EARLY
#define TOO_EARLY(occurrence) false
#else
#define TOO_EARLY(occurrence) (occurrence > due + SKEW)
#endif

#ifdef NO_OCCURRENCE
#define USED_UP(occurrence) false
#else
#define USED_UP(occurrence) (last_done >= occurrence)
#endif

inline serve_claim(me) {
    if
    :: holder == line[me].claim -> line[me].kind = GRANTED  // a repeat
    :: holder == 0 && !USED_UP(line[me].occurrence) && !TOO_EARLY(line[me].occurrence) ->
        holder = line[me].claim; line[me].kind = GRANTED;
#ifdef MARK_AT_GRANT
        mark(line[me].occurrence);
#endif
        skip
    :: else -> clear(me)                                    // busy, already done, or early
    fi
}

inline serve_done(me) {
#ifdef MARK_AT_RELEASE
    mark(line[me].occurrence);
#endif
    if
    :: holder == line[me].claim -> holder = 0
    :: else
    fi;
    clear(me)
}

proctype network(byte me) {
    do
    :: d_step { line[me].kind == CLAIM -> serve_claim(me) }
    :: d_step { line[me].kind == DONE -> serve_done(me) }
    :: d_step { line[me].kind != NONE -> clear(me) }        // lost
    od
}

proctype world() {
    do
    :: d_step { holder != 0 -> holder = 0 }  // expired, or force-released
    :: d_step { due < OCCURRENCES -> due++ }
#ifdef DATA_LOSS
    :: d_step { !disturbed ->
        disturbed = 1; holder = 0;
#ifdef NO_BIRTH
        last_done = 0;
#else
        // What was due before the store was born anew, or might be granted early, may have run: it
        // counts as done.
        last_done = due + BIRTH_SKEW; counts[1] = 1; counts[2] = 1;
#endif
        skip }
#endif
    od
}

init {
    byte n;
    atomic {
        run world();
        for (n : 0 .. RUNNERS - 1) { run runner(n); run network(n) }
    }
}
