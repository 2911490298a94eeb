// What a command inside a run asks of the pawl that runs it (agent/run_socket.hpp).
#pragma once

#include "cli/options/configuration.hpp"

#include <pawl/spi/lease_store.hpp>

#include <boost/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace pawl::cli {

class run_client {
public:
    // Nothing outside a run, and where a store, a journal or an agent was named by hand.
    static std::optional<run_client> inside_run(const globals& options);

    // Each throws exit_error where the socket rejects or does not answer, and store_error where
    // the store does not.
    // False: this run is over, or another node's.
    bool save_checkpoint(const std::string& text) const;
    fence_result check_fence(const std::string& resource, fence_token token, fence_rule rule) const;

    // How long an answer may take: longer than any store or journal does by itself. Set by tests.
    std::chrono::milliseconds answer_timeout = std::chrono::minutes{1};

private:
    run_client(std::string path, std::string run, std::uint64_t token)
        : path_{std::move(path)}, run_{std::move(run)}, token_{token} {}

    boost::json::object ask(boost::json::object wanted, const std::string& text) const;
    std::string answer_to(const std::string& line, const std::string& text) const;

    std::string path_;
    std::string run_;
    std::uint64_t token_;
};

}  // namespace pawl::cli
