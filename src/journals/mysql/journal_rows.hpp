// What the journal's statements answer, as values.
#pragma once

#include "journals/rules/run_rules.hpp"
#include "stores/mysql/link.hpp"

#include <pawl/spi/journal.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace pawl::mysql {

// Of the row that was moved to, from the column `first` on; nothing for a status that this pawl
// does not know.
std::optional<journals::run_row> run_in(const answer& row, unsigned first);
// The number by which lists of runs are ordered.
std::uint64_t place_in(const answer& row);

std::optional<std::vector<run_record>> runs_in(answer& rows);
// The first of the run's events and the newest.
std::vector<run_event> events_in(answer& rows);
// Bytes from `offset` up to a gap or to `bytes_max`; nothing when there is no such run.
std::optional<output_part> output_in(answer& rows, std::uint64_t offset, std::size_t bytes_max);
std::optional<board> board_in(answer& rows);
std::vector<job_entry> jobs_in(answer& rows);
std::vector<node_entry> nodes_in(answer& rows);
std::vector<audit_entry> audit_in(answer& rows);

}  // namespace pawl::mysql
