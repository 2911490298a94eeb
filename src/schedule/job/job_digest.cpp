#include "schedule/job/job_digest.hpp"

#include "schedule/job/job_table.hpp"
#include "schedule/queue/stable_hash.hpp"

#include <algorithm>
#include <cstdint>

namespace pawl::schedule {
namespace {

constexpr std::string_view jobs_mark = "+jobs.";
constexpr std::string_view digits = "0123456789abcdef";

std::uint64_t mix(std::uint64_t before, std::string_view text) noexcept {
    return stable_hash(before * 3 ^ hash_of(text));
}

}  // namespace

std::string digest_of(const job_table& jobs) {
    std::uint64_t all = 1;
    for (const auto& [name, which] : jobs.all()) {
        const auto& plan = which->plan;
        if (!plan || !plan->when || !plan->enabled || !plan->is_shared) continue;
        all = mix(all, plan->key_prefix);
        all = mix(all, name);
        all = mix(all, plan->when->when.text());
        all = mix(all, plan->when->where.name());
        all = stable_hash(all ^ plan->partitions);
        if (plan->has_slots) all = mix(all, "slots");
    }
    std::string text(16, '0');
    for (auto& each : text) {
        each = digits[all >> 60U];
        all <<= 4U;
    }
    return text;
}

std::string with_jobs(std::string version, std::string_view digest) {
    version.append(jobs_mark).append(digest);
    return version;
}

version_with_jobs split_jobs(std::string_view text) {
    const auto at = text.find(jobs_mark);
    if (at == std::string_view::npos) return {std::string{text}, {}};
    const auto from = at + jobs_mark.size();
    const auto end = std::min(text.find('+', from), text.size());
    return {std::string{text.substr(0, at)}.append(text.substr(end)),
            std::string{text.substr(from, end - from)}};
}

}  // namespace pawl::schedule
