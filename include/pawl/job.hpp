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

// What a job's body is given. Valid while the body runs, and used by its thread.
struct run {
    // The key of the lease under which it runs.
    std::string key{};

    // A UUID that names this run in the journal, the same for all its attempts.
    std::string id{};

    // Send it with every write that must not happen late. 0: it runs without a lease
    // (outage::run_without_lease).
    fence_token token{};

    // Requested at shutdown, when a user cancels the run, when it takes longer than its timeout,
    // and in time before the lease stops being valid. A body that returns after that counts as
    // stopped in the middle: its at-least-once occurrence will be resumed.
    std::stop_token stop{};

    // The occurrence that it runs; nothing: it was triggered manually.
    std::optional<pawl::occurrence> occurrence{};

    // The same for every attempt at one occurrence, on any node: the idempotency key of its
    // effects.
    std::string idempotency_key{};

    // Which attempt at this run it is, from 1.
    int attempt = 1;

    // The checkpoint that an earlier attempt at this occurrence saved last. Empty: there is none.
    std::string last_checkpoint{};

    // Which partition it runs, from 0, and how many there are; of a job with slots: which slot.
    std::uint32_t partition = 0;
    std::uint32_t partition_count = 1;

    // The arguments of a manual run.
    std::vector<std::string> arguments{};

    // Saves how far the work has come, fenced by the token. At most 64 KiB. False: a newer run has
    // the work, or this one is over, and nothing was saved; return. Blocks until it is saved.
    // Throws option_error if there is no journal or the text is too long, and store_error if the
    // journal failed or a newer run of the job has saved one: to continue is up to the body. False
    // also after the end of its `locks`; std::logic_error in the child of a fork().
    [[nodiscard]] bool checkpoint(std::string_view text) const;

    // What checkpoint() calls. Empty: there is no journal. To test a body, set your own.
    std::function<bool(std::string_view)> save_checkpoint{};
};

// What locks::run() and a scheduler run.
struct job {
    // The name, and the key of its lease: 1 to 512 bytes of UTF-8 without control characters. A
    // scheduler takes at most 500, and locks::run() records a longer one in no journal.
    std::string name{};

    // How the lease is claimed, kept and ended. Its ttl is required.
    lease_options lease{};

    // What to do. Required. Called on a thread that may block; what it throws is the reason of its
    // failure. Of a job with partitions or slots a scheduler calls its one copy on several threads
    // at once.
    std::function<void(const run&)> body{};

    // How long locks::run() waits for a busy key. Default: not at all. A scheduler ignores it.
    wait_policy waiting{};
};

// How locks::run() ended.
enum class run_outcome {
    ran,           // the body returned and the lease was valid throughout
    skipped_busy,  // another process holds the key, or the run was called off before it began
    skipped_done,  // this occurrence has run
    lost  // the body returned, but the lease had been lost: its last writes may have been late
};

}  // namespace pawl
