// What the journal's functions answer, as values. Each fails on an answer that is none of theirs.
#pragma once

#include "engines/postgresql/client/statement.hpp"

#include <pawl/spi/journal.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::postgresql {

inline std::int64_t signed_number(fence_token token) {
    return static_cast<std::int64_t>(number(token));
}

inline fence_token token_of(std::int64_t value) {
    return fence_token{static_cast<std::uint64_t>(value)};
}

// The rows of journal_run.
std::optional<std::vector<run_record>> runs_in(const rows& got);
// The number by which lists of runs are ordered.
std::uint64_t place_in(const rows& got, int row);

std::optional<std::vector<run_event>> events_in(const rows& got);
// Bytes from `offset` up to a gap or to `bytes_max`. REQUIRES: there is a row.
std::optional<output_part> output_in(const rows& got, std::uint64_t offset, std::size_t bytes_max);
std::optional<control_state> control_state_in(const rows& got);
std::optional<std::vector<job_entry>> jobs_in(const rows& got);
std::optional<std::vector<node_entry>> nodes_in(const rows& got);
std::optional<std::vector<audit_entry>> audit_in(const rows& got);

}  // namespace pawl::postgresql
