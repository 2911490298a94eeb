// What a journal writes into a medium: each record is one line, its head as all records of the core
// have it and behind it one object of JSON, which people can read.
//
//     1 run nonce=9f3a.0 {"id":"…","job":"report","status":"started",…}
//
// Bytes that are no UTF-8 stand as {"base64":"…"}, and so do those that would be longer otherwise.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "engines/rules/journal/run_rules.hpp"

#include <pawl/errors.hpp>
#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cas {

// Bytes of the output that are kept, and the token that wrote them.
struct output_range {
    fence_token token{};
    std::uint64_t from = 0;
    std::uint64_t to = 0;
};

// The truth about a run. What is large stands in records of its own, which this names.
struct run_state {
    journals::run_row row{};   // `checkpoint` is empty where it stands apart
    std::uint64_t number = 0;  // by which it is listed, and its parts are found

    // The key of the checkpoint's record ends so; empty: it stands here.
    std::string apart{};
    // Which of the checkpoints that were offered to saved_state it made its own last.
    std::string saved{};

    std::uint64_t output_floor = 0;  // what lies before has been let go of
    std::vector<output_range> output{};

    std::uint64_t event_count = 0;     // of all that there ever were
    std::optional<run_event> begun{};  // the first, where it is not among these
    std::vector<run_event> events{};   // the newest; those before are in pages
};

// The key that follows from the run itself.
std::string key_of(const run_state& state);

// A trigger that waits under the id of its run.
struct waiting_trigger {
    run_trigger what{};
    std::uint64_t number = 0;
};

// What stands at keys::run() or keys::due(): one of them, or nothing.
struct run_place {
    std::optional<run_state> run{};
    std::optional<waiting_trigger> trigger{};
    std::string elsewhere{};  // the key of the run with this id
};

// An entry of an index: a hint at a run.
struct index_entry {
    std::string key{};  // of the truth
    std::string id{};
    std::string job{};
    std::uint64_t number = 0;
    std::int64_t stale_after = 0;  // it cannot be stale before
    std::int64_t at = 0;           // when this was written
};

// What the runs of a job and partition saved last. While `ref` is there, it holds only if the run
// has made it its own; otherwise what was saved before holds.
struct saved_state {
    journals::saved_checkpoint newest{};
    journals::saved_checkpoint before{};
    std::string key{};  // of the run
    std::string ref{};
};

struct output_chunk {
    std::uint64_t offset = 0;
    fence_token token{};
    std::string bytes{};
};

// Events of a run, in their order.
struct event_page {
    std::uint64_t first = 0;  // the number of the first of them, from 1
    std::vector<run_event> events{};
};

std::string encode(const run_state& state, std::string_view nonce);
std::string encode(const waiting_trigger& what, std::string_view nonce);
std::string encode_elsewhere(std::string_view key, std::string_view nonce);
std::string encode(const index_entry& entry, std::string_view nonce);
std::string encode(const saved_state& state, std::string_view nonce);
std::string encode(const output_chunk& chunk, std::string_view nonce);
std::string encode(const event_page& page, std::string_view nonce);
std::string encode_checkpoint(std::string_view text, std::string_view nonce);
std::string encode(const job_pause& pause, std::string_view nonce);
std::string encode(const job_entry& job, std::string_view nonce);
std::string encode(const node_entry& node, std::string_view nonce);
std::string encode(const audit_entry& entry, std::string_view nonce);

// Failures as those of parse_lease() in store/record_text.hpp.
result<run_place> parse_run_place(const seen& stands);
result<index_entry> parse_index_entry(std::string_view text);
// Of no record: nothing was saved.
result<saved_state> parse_saved(const seen& stands);
result<output_chunk> parse_chunk(std::string_view text);
result<event_page> parse_events(std::string_view text);
result<std::string> parse_checkpoint(std::string_view text);
result<job_pause> parse_pause(std::string_view text);
result<job_entry> parse_job(std::string_view text);
result<node_entry> parse_node(std::string_view text);
result<audit_entry> parse_audit(std::string_view text);

}  // namespace pawl::cas
