// A job: a name, how its lease is kept, and what to do while it is held.
#pragma once

#include <pawl/options.hpp>

#include <functional>
#include <stop_token>
#include <string>

namespace pawl {

// What a job's body is given. Valid while the body runs.
struct run {
    std::string key;
    std::string
        id;  // a UUID, fresh for this run: with the token, the idempotency key of its effects
    fence_token token{};
    std::stop_token
        stop;  // requested when shutting down, and in time when the lease is about to end
};

struct job {
    std::string name{};  // the key of its lease
    lease_options lease{};
    std::function<void(const run&)> body{};
    patience waiting{};  // default: do not wait for a busy key
};

enum class run_outcome {
    ran,           // the body returned and the lease was held throughout
    skipped_busy,  // somebody else holds the key
    skipped_done,  // this firing has already run
    lost  // the body returned, but the lease had been lost: its last writes may have been late
};

}  // namespace pawl
