// A job as the dispatcher knows it: when it fires, how its lease is kept, what it does.
#pragma once

#include "base/reserved_names.hpp"
#include "schedule/job/body.hpp"
#include "schedule/job/retry.hpp"
#include "schedule/queue/key_state.hpp"
#include "schedule/timing/timetable.hpp"

#include <pawl/options.hpp>
#include <pawl/policies.hpp>
#include <pawl/spi/journal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace pawl::schedule {

struct job_plan {
    std::string name;
    // Of the keys of its leases; a library's jobs have none.
    std::string key_prefix{base::job_key_prefix};
    std::optional<occurrence_rule> when{};  // nothing: it runs when triggered manually
    queue_rules queue{};
    lease_options lease{};  // without an occurrence
    millis jitter{0};
    retry_rule retry{};
    millis soft_timeout{0};
    millis timeout{0};  // 0: none
    millis grace{10'000};
    std::uint32_t partitions = 1;
    // Its partitions are slots: an occurrence runs in one of them, and not in all (turns.hpp).
    bool has_slots = false;
    std::uint32_t runs_max = 0;  // of this job on this node at a time; 0: no bound of its own
    outage on_store_down = outage::wait;
    std::uint64_t output_limit = 1 << 20;
    std::size_t keep_runs = 1000;
    bool enabled = true;
    bool is_shared = true;  // other nodes have the same job
    body_maker make{};
    job_entry entry{};  // as it is published

    std::string key(std::uint32_t partition) const {
        const auto key = key_prefix + name;
        return partitions == 1 ? key : key + "/" + std::to_string(partition);
    }
    // The newest of each partition says that it has run.
    std::size_t runs_kept() const noexcept { return std::max<std::size_t>(keep_runs, partitions); }
    delivery mode() const noexcept {
        return queue.delivery == delivery::at_least_once ? delivery::at_least_once
                                                         : delivery::at_most_once;
    }
};

}  // namespace pawl::schedule
