// What all memory journals of one name share.
#pragma once

#include "engines/memory/journal/run_map.hpp"
#include "engines/rules/journal/run_rules.hpp"

#include <pawl/spi/journal.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::memory {

// A verb of <pawl/spi/journal.hpp> holds the mutex while it looks, decides and writes.
struct journal_data {
    using job_partition = std::pair<std::string, std::uint32_t>;
    using clock = std::function<std::int64_t()>;  // Unix milliseconds
    static std::int64_t system_time();
    explicit journal_data(clock time = system_time) : now{std::move(time)} {}

    // The data of this name; made at its first use.
    static std::shared_ptr<journal_data> of(const std::string& name);

    // The callers of these hold the mutex.
    std::optional<journals::run_row> row_of(const std::string& id) const;
    void write(const journals::begin_decision& decided);
    // Of each job its oldest, then of each its second; the oldest first.
    std::vector<run_trigger> first_triggers(std::size_t limit) const;
    std::vector<run_record> first_orphans(std::size_t limit) const;  // without checkpoints

    const clock now;
    std::mutex mutex;
    // Under the mutex
    run_map runs;
    std::map<job_partition, journals::saved_checkpoint> saved;
    std::map<std::string, job_pause> pauses;
    std::map<std::uint64_t, run_trigger> triggers;  // by the order in which they came
    std::map<std::string, std::uint64_t> trigger_ids;
    std::uint64_t last_trigger = 0;
    std::map<std::string, job_entry> jobs;
    std::map<std::string, node_entry> nodes;
    std::vector<audit_entry> audit;
};

}  // namespace pawl::memory
