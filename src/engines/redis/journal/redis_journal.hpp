// The verbs of the journal, each a call of its script: how they ask, and what they have in common.
#pragma once

#include "engines/redis/client/servers.hpp"
#include "engines/redis/journal/journal_scripts.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::redis {

// Bounds of one call of a script, during which Redis serves no other client. What is longer takes
// several, each one atomic step.
constexpr std::size_t beats_a_call = 250;
constexpr std::size_t rows_a_call = 100;
constexpr std::size_t rows_looked_a_call = 500;
constexpr std::size_t pruned_a_call = 100;
constexpr std::size_t published_a_call = 50;
constexpr std::size_t reply_bytes_a_call = std::size_t{1} << 20;
constexpr std::size_t control_bytes_max = std::size_t{4} << 20;
// Of more abandoned runs a look has the oldest.
constexpr std::size_t orphans_looked_max = 5 * control_entries_max;
// Small chunks of output that follow each other are kept as one of at most so many bytes.
constexpr std::size_t merged_chunk_max = std::size_t{16} * 1024;
// Chunks that one more lets go of: one or two, but after a gap, or under a smaller limit.
constexpr std::size_t dropped_chunks_max = 500;

class redis_journal : public journal {
public:
    redis_journal(net::loop& where, redis_settings settings);
    ~redis_journal() override { servers_->close_from_anywhere(); }

#include "engines/rules/journal/verbs.inc"

private:
    // Calls that read, and calls whose effect so many replicas are to have before it counts.
    script_call reading(const journal_script& which) const;
    script_call writing(const journal_script& which) const;
    // What the script said, never an error.
    async<reply> ask(const script_call& call);
    async<std::int64_t> ask_number(script_call call);
    async<bool> ask_flag(script_call call);
    async<std::optional<run_record>> ask_run(script_call call);
    async<bool> end(const run_ref& who, const run_end& how, std::string_view by);

    failure unreadable(std::string_view what) const;
    // The verb has used up its time; it only reads.
    failure too_slow() const;

    // Constant after construction
    const journal_scripts& scripts_ = journal_scripts::all();
    const std::shared_ptr<const redis_settings> settings_;
    const std::shared_ptr<servers> servers_;
    const std::size_t shard_;  // of a cluster, where all of the journal is
    const std::string runs_;   // the index of all runs; its name names all others
    const std::string whole_;  // never there: see ground.lua
};

}  // namespace pawl::redis
