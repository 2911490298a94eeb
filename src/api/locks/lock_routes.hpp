// Locks as people see them, and their release by force.
#pragma once

#include "api/request/call.hpp"
#include "api/request/context.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::api {

// Of the store's records, so many pages are read at most to find the locks that are held.
constexpr int active_pages_max = 10;

// The job and the partition that a key belongs to: job/NAME and job/NAME/N.
struct job_key {
    std::string job;
    std::uint32_t partition = 0;
};
std::optional<job_key> job_of(std::string_view key);

// The run that holds a key under a token, as far as the journal knows.
struct holding_run {
    std::optional<run_record> run{};
    std::optional<failure> trouble{};  // why the journal did not say
};
boost::asio::awaitable<holding_run> find_holding_run(shared_context around, std::string key,
                                                     fence_token holder);

routes lock_routes(shared_context around);

}  // namespace pawl::api
