// For the tests of this module: a launcher, a loop, and a command run to its end.
#pragma once

#include "exec/child.hpp"
#include "exec/launcher.hpp"
#include "net/loop.hpp"
#include "tests/crash/observation.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pawl::exec {

using environment = std::vector<std::pair<std::string, std::string>>;

inline command shell(const std::string& script, const environment& variables = {}) {
    command wanted{{"/bin/sh", "-c", script}};
    wanted.environment = environment_with(variables);
    return wanted;
}

// TOKEN_WRITER is where CMake has built tests/crash/token_writer.cpp.
inline command token_writer(const std::string& file, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments{TOKEN_WRITER, file};
    arguments.insert(arguments.end(), options.begin(), options.end());
    command wanted{std::move(arguments)};
    wanted.environment = environment_with({});
    return wanted;
}

// The processes that have written to a token writer's file.
inline std::set<pid_t> writers_of(const std::string& file) {
    std::set<pid_t> writers;
    for (const auto& one : crash::entries_of(file)) writers.insert(one.writer);
    return writers;
}

inline bool any_runs(const std::set<pid_t>& pids) {
    return std::any_of(pids.begin(), pids.end(), crash::is_running);
}

// A test that sets kill_at sets it so long before the lease ends, at a TTL of a second and more.
constexpr millis kill_lead{20};

inline limits killed_after(millis lifetime) {
    limits until;
    until.stop_at = until.kill_at = lease_clock::now() + lifetime;
    return until;
}

// Runs on the loop while the command runs, between spawn and wait.
using meanwhile = std::function<void(child&)>;

inline boost::asio::awaitable<exit_status> run_to_end(boost::asio::any_io_executor executor,
                                                      const launcher& from, command wanted,
                                                      limits until, meanwhile act) {
    child running{executor, from};
    const auto fault = co_await running.spawn(std::move(wanted), until);
    if (fault) {
        exit_status failed;
        failed.code = fault->as_shell();
        co_return failed;
    }
    if (act) act(running);
    co_return co_await running.wait();
}

// REQUIRES: no other threads when it begins.
class trial {
public:
    exit_status run(command wanted, limits until = {}, meanwhile act = {}) {
        auto work = run_to_end(loop_.get_executor(), launcher_, std::move(wanted), until, act);
        return loop_.wait_for(std::move(work));
    }
    std::optional<spawn_fault> fault_of(command wanted, limits until = {}) {
        child running{loop_.get_executor(), launcher_};
        auto work = running.spawn(std::move(wanted), until);
        return loop_.wait_for(std::move(work));
    }
    const launcher& from() const { return launcher_; }
    net::loop& loop() { return loop_; }

private:
    launcher launcher_ = launcher::start();
    net::loop loop_;
};

}  // namespace pawl::exec
