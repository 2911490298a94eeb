// A job that reads, computes and writes (rule 15): must it raise the fence before it reads?
//
// Two runs, one after the other, of a job that the first one has not noticed to have lost. Each reads
// a value, computes, and writes; the resource rejects older tokens. Checked: no write that was
// accepted is built on a value that has changed since it was read.

#define REJECTED 255

byte newest;    // the highest token that the resource has accepted
byte version;   // of the value; rises with every write

proctype run_of_job(byte token) {
    byte seen;
#ifndef READ_FIRST
    // fence check: from here on no older holder can change what is read next.
    d_step {
        if
        :: token >= newest -> newest = token
        :: else -> seen = REJECTED
        fi
    };
#endif
    if
    :: seen != REJECTED -> seen = version
    :: else
    fi;
    d_step {
        if
        :: seen != REJECTED && token >= newest ->
            newest = token; assert(version == seen); version++
        :: else
        fi
    }
}

init {
    atomic { run run_of_job(1); run run_of_job(2) }
}
