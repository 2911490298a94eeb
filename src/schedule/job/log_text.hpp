// How log lines name a job: one way for all of them.
#pragma once

#include "base/reserved_names.hpp"

#include <string>
#include <string_view>

namespace pawl::schedule {

// job=NAME, with partition=N where the key is one partition's.
inline std::string job_field(std::string_view job, std::string_view key = {}) {
    std::string text = "job=" + std::string{job};
    const auto partitions = std::string{base::job_key_prefix}.append(job).append("/");
    if (!key.starts_with(partitions)) return text;
    return text.append(" partition=").append(key.substr(partitions.size()));
}

}  // namespace pawl::schedule
