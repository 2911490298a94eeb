// The rows of runs of one namespace, with their events, output and checkpoints, through one
// connection.
#pragma once

#include "engines/rules/journal/run_rules.hpp"
#include "engines/sqlite/journal/statement_list.hpp"

#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::sqlite {

// A row, and where it stands.
struct placed_run {
    std::int64_t place = 0;
    journals::run_row row;
};

// Used by one thread at a time, within one transaction after another.
class run_table : public noted_statements {
public:
    run_table(connection& on, std::int64_t space);

    std::optional<placed_run> find(const std::string& id);
    std::optional<placed_run> find_occurrence(const std::string& job, std::uint32_t partition,
                                              pawl::occurrence occurrence);
    // Each with the event that belongs to it.
    void insert(const journals::run_row& row, const std::optional<run_event>& event);
    void take_over(std::int64_t place, const journals::run_row& row,
                   const std::optional<run_event>& event);
    void update(std::int64_t place, const journals::run_row& row,
                const std::optional<run_event>& event);
    // One statement for each run.
    heartbeat_result heartbeat(const run_ref& who, std::int64_t now);

    journals::saved_checkpoint saved(const std::string& job, std::uint32_t partition);
    void save(const placed_run& run, const journals::saved_checkpoint& saved,
              const std::optional<run_event>& event);

    void add_event(std::int64_t place, const std::optional<run_event>& event);
    std::vector<run_event> events(const std::string& id);

    void append_output(const placed_run& run, const journals::output_plan& plan,
                       std::string_view bytes);
    output_part read_output(const placed_run& run, std::uint64_t offset, std::size_t bytes_max);

    run_page list(const run_filter& which, std::uint64_t before, std::size_t limit);
    std::vector<run_record> stale(std::int64_t now, std::size_t limit, std::size_t skip);
    std::vector<std::string> cancels(std::size_t limit);
    std::vector<run_record> orphans(std::size_t limit);

    // The places of runs to be pruned, the oldest first.
    std::vector<std::int64_t> beyond(const std::string& job, std::size_t keep, std::size_t limit);
    std::vector<std::int64_t> ended_before(const std::string& job, std::int64_t when,
                                           std::size_t limit);
    // Whether it was still there, and over.
    bool remove(std::int64_t place);

private:
    statement& start_list(const run_filter& which, std::uint64_t before, std::size_t limit,
                          const std::string& node);
    std::vector<run_record> records(statement& started);
    std::vector<std::int64_t> places(statement& started);

    const std::int64_t space_;
    statement find_, find_occurrence_, insert_, take_over_, update_, beat_, save_, grow_;
    statement find_saved_, put_saved_;
    statement newest_event_, add_event_, trim_events_, list_events_, remove_events_;
    statement last_output_, add_output_, extend_output_, trim_output_, read_output_, remove_output_;
    statement list_, list_job_, list_node_, list_status_, stale_, cancels_, orphans_;
    statement beyond_, prune_number_, prune_age_, remove_;
};

}  // namespace pawl::sqlite
