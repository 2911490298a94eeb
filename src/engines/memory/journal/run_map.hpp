// The runs of a journal in memory, with the indexes by which they are found and listed.
#pragma once

#include "engines/rules/journal/run_rules.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::memory {

struct kept_chunk {
    std::uint64_t offset = 0;
    std::string bytes;
};

// A run with all that belongs to it.
struct kept_run {
    journals::run_row row;
    std::vector<run_event> events{};
    std::vector<kept_chunk> output{};  // by offset
};

// Used under one mutex.
class run_map {
public:
    using place = std::uint64_t;

    // Null where there is none. Rows are changed through update() only.
    const kept_run* find(const std::string& id) const;
    const kept_run* find_occurrence(const std::string& job, std::uint32_t partition,
                                    pawl::occurrence occurrence) const;
    // REQUIRES: its id and its occurrence are new.
    void insert(journals::run_row row, const std::optional<run_event>& event);
    // Replaces the row of this id and adds the event.
    void update(const journals::run_row& row, const std::optional<run_event>& event);
    void append_output(const std::string& id, const journals::output_plan& plan, std::string bytes);

    run_page list(const run_filter& which, place before, std::size_t limit) const;
    // All with this status, the oldest begun first, that `wanted` takes; at most `limit`.
    std::vector<const run_record*> with_status(
        run_status status, std::size_t limit,
        const std::function<bool(const kept_run&)>& wanted) const;
    std::size_t prune(const std::string& job, std::size_t keep, std::int64_t ended_before,
                      std::size_t limit);

private:
    using places = std::set<place>;
    using occurrence_name = std::tuple<std::string, std::uint32_t, std::int64_t>;

    void index(place at, const run_record& run);
    void forget(place at, const run_record& run);
    void add_event(kept_run& run, const std::optional<run_event>& event);
    void remove(place at);
    const places* narrowest(const run_filter& which) const;

    std::map<place, kept_run> runs_;
    std::unordered_map<std::string, place> ids_;
    std::map<occurrence_name, place> occurrences_;
    std::map<std::string, places> jobs_;
    std::map<std::string, places> nodes_;
    std::map<run_status, places> statuses_;
    place last_ = 0;
};

}  // namespace pawl::memory
