// What journals record: texts that any database takes, lists in one column, places in a list.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::journals {

// Bounds beside those of <pawl/spi/journal.hpp>.
constexpr std::size_t id_bytes_max = 64;
constexpr std::size_t name_bytes_max = 256;  // nodes, people, versions, kinds of events, triggers
constexpr std::size_t argument_bytes_max =
    std::size_t{64} * 1024;  // of all arguments of a trigger together
constexpr std::size_t definition_bytes_max = std::size_t{64} * 1024;  // of a published job
constexpr std::uint64_t output_bytes_max = std::uint64_t{1} << 53;    // of one run, kept or not
constexpr millis node_memory{24 * 60 * 60 * 1000};  // how long an unresponsive node is listed

// Of arguments, as they count for that; each has an end of its own.
std::size_t bytes_of(const std::vector<std::string>& arguments);

// One line of valid UTF-8 of at most `bytes_max` bytes: control characters become spaces, bytes
// that are no UTF-8 become '?', and no character is cut in two.
std::string one_line(std::string_view text, std::size_t bytes_max = reason_bytes_max);

// What can never be right, as errc::rejected; nothing where it may be.
std::optional<failure> fault_of(const run_start& start);
std::optional<failure> fault_of_skip(const run_start& what);
std::optional<failure> fault_of_end(run_status status);
// By others, who cannot know that it never started.
std::optional<failure> fault_of(run_status status);
std::optional<failure> fault_of_checkpoint(std::string_view text);
std::optional<failure> fault_of_chunk(std::uint64_t offset, std::string_view bytes);
std::optional<failure> fault_of(const run_trigger& what);
std::optional<failure> fault_of(const job_entry& what);
std::optional<failure> fault_of(const node_entry& what);

// What was given, with its texts for people as one_line has them.
run_start clean(run_start start);
run_end clean(run_end how);
run_trigger clean(run_trigger what);
job_entry clean(job_entry what);
node_entry clean(node_entry what);
audit_draft clean(audit_draft what);

// A list of any bytes as one text of any bytes, and back; nothing for what pack() never wrote.
std::string pack(const std::vector<std::string>& list);
std::optional<std::vector<std::string>> unpack(std::string_view text);

// Where a page ended, for list_runs: the number that the last row on it was given. Numbers rise in
// the order in which runs began, from 1.
std::string cursor_at(std::uint64_t place);
// An empty cursor is the start; the largest place is above every row.
result<std::uint64_t> place_of(std::string_view cursor);

// A page that is asked for, within its bounds.
constexpr std::size_t within_page(std::size_t limit) {
    return limit < 1 ? 1 : (limit > page_limit_max ? page_limit_max : limit);
}

}  // namespace pawl::journals
