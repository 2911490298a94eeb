// Is a waiter granted the key in the end, whatever its holder does? (Rules 5, 9 and 12.)
//
// The holder may release, crash, be force-released, or hang and renew for ever. The push that tells of a
// free key may get lost. Checked under weak fairness, as a claim about infinite runs: a waiter that
// keeps waiting is granted the key. Time passes, the store answers, and the waiter's timer fires.

#define TTL 2
#define LIFETIME 3

byte left = TTL;      // of the holder's lease; 0: free
byte age;             // of that lease, for max_lifetime
bit alive = 1;        // the holder renews
bit granted;          // to the waiter
bit asking = 1;       // a request of the waiter is on its way
bit push;             // the store has told of a change
byte timer;           // ticks until the waiter asks again by itself

active proctype holder() {
    do
#ifdef NO_LIFETIME
    :: d_step { alive && left > 0 && !granted -> left = TTL }
#else
    :: d_step { alive && left > 0 && !granted && age < LIFETIME -> left = TTL }
#endif
#ifdef MAY_RELEASE
    :: d_step { alive && left > 0 && !granted -> alive = 0; left = 0; push = 1 }
#endif
#ifdef MAY_CRASH
    :: d_step { alive -> alive = 0 }
#endif
    :: granted -> break
    od
}

active proctype operator_or_network() {
    do
#ifdef MAY_BE_FORCE_RELEASED
    :: d_step { left > 0 && alive && !granted -> alive = 0; push = 1 }
#endif
    :: d_step { push -> push = 0 }    // the push is lost
    :: granted -> break
    od
}

active proctype clock() {
    do
    :: d_step { !granted && left > 0 ->
        left--;
        if
        :: age < LIFETIME -> age++
        :: else
        fi;
        if
        :: left == 0 -> push = 1
        :: else
        fi }
    :: granted -> break
    od
}

active proctype fairness() {
    do
    :: d_step { !granted && timer > 0 -> timer-- }
    :: granted -> break
    od
}

active proctype store() {
    do
    :: d_step { asking && left == 0 -> asking = 0; granted = 1 }
    :: d_step { asking && left > 0 -> asking = 0; timer = left }  // busy tells what is left
    :: granted -> break
    od
}

active proctype waiter() {
    do
    :: d_step { !asking && !granted && push -> push = 0; asking = 1 }
#ifndef PUSH_ONLY
    :: d_step { !asking && !granted && timer == 0 -> asking = 1 }
#endif
    :: granted -> break
    od
}

ltl progress { <> granted }
