// Where the records of a journal are. A key is SCOPE:REST. A scope has no ':' of its own, and lists
// never go beyond one, so that a medium may keep each scope in a place of its own.
//
//     run/D:ID                  a run without an occurrence; or a trigger that waits for its run;
//     or
//                               where the run with this id is. D: one of sixteen digits by the id
//     due/JOB/PARTITION:DUE     the run of an occurrence
//     runs:PLACE                all runs, the newest begun first
//     runs/JOB:PLACE            those of one job
//     active:PLACE              those that are started or abandoned
//     part/NUMBER:o/END-…       output of a run, by where each chunk ends
//     part/NUMBER:h/FIRST       history of a run, by the number of the first event
//     part/NUMBER:c/REF         a checkpoint of a run
//     saved/JOB:PARTITION       what the job saved last
//     control:pause/JOB  control:trigger/NUMBER  control:cancel/NUMBER  control:orphan/NUMBER
//     jobs:NAME  nodes:ID  audit:PLACE
//
// NUMBER is what a run is given as it begins, and rises with time; a PLACE is such a number counted
// from the end, so that byte order has the newest first. Both have sixteen hexadecimal digits.
#pragma once

#include <pawl/spi/journal.hpp>
#include <pawl/types.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::cas::keys {

std::string run(std::string_view id);
std::string due(std::string_view job, std::uint32_t partition, occurrence when);
// That of the run which these begin.
std::string of(const run_start& start);
std::string saved(std::string_view job, std::uint32_t partition);

// Prefixes of lists.
constexpr std::string_view all_runs{"runs:"};
constexpr std::string_view active{"active:"};
constexpr std::string_view control{"control:"};
constexpr std::string_view pauses{"control:pause/"};
constexpr std::string_view triggers{"control:trigger/"};
constexpr std::string_view cancels{"control:cancel/"};
constexpr std::string_view orphans{"control:orphan/"};
constexpr std::string_view jobs{"jobs:"};
constexpr std::string_view nodes{"nodes:"};
constexpr std::string_view audit{"audit:"};
std::string runs_of(std::string_view job);
std::string parts(std::uint64_t number);
std::string output(std::uint64_t number);
std::string history(std::uint64_t number);

// Behind such a prefix: the newest first, or the oldest.
std::string newest_first(std::string_view prefix, std::uint64_t number);
std::string oldest_first(std::string_view prefix, std::uint64_t number);
// Of a key that newest_first() has made; nothing: it has not.
std::optional<std::uint64_t> number_of(std::string_view prefix, std::string_view key);

std::string chunk(std::uint64_t number, std::uint64_t end, fence_token token, std::size_t size);
// No chunk that ends at `offset` or before it is behind this key.
std::string chunks_behind(std::uint64_t number, std::uint64_t offset);
std::string events(std::uint64_t number, std::uint64_t first);
std::string checkpoint(std::uint64_t number, std::string_view ref);

}  // namespace pawl::cas::keys
