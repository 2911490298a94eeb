// A job: a name, how its lease is kept, and what to do while it is held.
#pragma once

#include <pawl/options.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// What a job's body is given. Valid while the body runs.
struct run {
    std::string key{};
    std::string id{};  // a UUID: names this run in the journal, the same for all its attempts
    fence_token token{};
    // Requested when shutting down, when somebody cancels the run, when it takes longer than its
    // timeout, and in time when the lease is about to end. A body that returns after that counts as
    // one that was stopped in the middle: its at-least-once firing will be taken up again.
    std::stop_token stop{};

    std::optional<occurrence> firing{};  // which firing it runs; nothing: somebody asked for it
    // The same for every attempt at one firing, on whatever node: the idempotency key of its
    // effects.
    std::string idempotency_key{};
    int attempt = 1;
    // Where an earlier attempt at this firing stopped: the text that it saved last, or nothing.
    std::string last_checkpoint{};
    std::uint32_t partition = 0;
    std::uint32_t partition_count = 1;
    std::vector<std::string> arguments{};  // of a run that somebody asked for

    // Saves how far the work has come, fenced by the token; blocks until it is written. False: the
    // run is somebody else's by now, or over, and nothing was written; return. Throws store_error
    // when the journal failed, and option_error when there is none or the text is longer than
    // 64 KiB.
    bool checkpoint(std::string_view text) const;

    // What checkpoint() does; empty: there is no journal. For tests of a body: set your own.
    std::function<bool(std::string_view)> save{};
};

struct job {
    std::string name{};  // the key of its lease
    lease_options lease{};
    std::function<void(const run&)> body{};
    patience waiting{};  // of locks::run; default: do not wait for a busy key
};

enum class run_outcome {
    ran,           // the body returned and the lease was held throughout
    skipped_busy,  // somebody else holds the key, or the run was called off before it began
    skipped_done,  // this firing has already run
    lost  // the body returned, but the lease had been lost: its last writes may have been late
};

}  // namespace pawl
