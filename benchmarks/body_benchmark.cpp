// A command as the body of a run, beside the same command spawned barely.
#include "agent/command_body.hpp"
#include "benchmarks/measure.hpp"
#include "exec/launcher.hpp"
#include "net/loop.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::benchmarks {
namespace {

void spawn_barely(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
        throw std::runtime_error{"posix_spawn failed"};
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
        throw std::runtime_error{"the command failed"};
}

// The output through a pipe into one buffer, as a careful hand would.
std::size_t read_barely(std::size_t bytes) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{"pipe2 failed"};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string count = std::to_string(bytes);
    char name[] = "/usr/bin/head";
    char option[] = "-c";
    char source[] = "/dev/zero";
    char* arguments[] = {name, option, count.data(), source, nullptr};
    pid_t child = 0;
    const int error = posix_spawn(&child, name, &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) throw std::runtime_error{"posix_spawn failed"};
    std::vector<char> chunk(schedule::output_chunk_max);
    std::size_t sum = 0;
    for (ssize_t got = 1; got > 0; sum += static_cast<std::size_t>(got))
        got = read(ends[0], chunk.data(), chunk.size());
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return sum;
}

class bodies {
public:
    // How many bytes it wrote.
    std::size_t run(const std::vector<std::string>& words) {
        auto job = std::make_shared<config::job_settings>();
        job->command = words;
        const auto sum = std::make_shared<std::size_t>(0);
        const auto count = [sum](std::string_view chunk) { *sum += chunk.size(); };
        const auto body = agent::command_bodies(around_, job)(count);
        auto work = body->run({});
        const auto how = loop_.wait_for(std::move(work));
        if (!how.succeeded) throw std::runtime_error{how.reason};
        return *sum;
    }

private:
    exec::launcher launcher_ = exec::launcher::start();
    net::loop loop_;
    std::shared_ptr<const agent::command_context> around_ =
        std::make_shared<agent::command_context>(loop_, launcher_, agent::addresses{});
};

void expect(std::size_t got, std::size_t wanted) {
    if (got != wanted) throw std::runtime_error{"the output is not complete"};
}

void benchmark_body() {
    constexpr std::size_t much = 32u << 20;
    constexpr double ratio_goal = 3;
    constexpr double output_goal = 1.5;
    bodies all;
    auto both = compare(1000, [] { spawn_barely({"/bin/true"}); }, [&] { all.run({"/bin/true"}); });
    double ratio = both.ours / both.bare;
    print_row("`/bin/true` as the body of a run, with its guard; bare: `posix_spawn` and `waitpid`",
              micros_text(both.bare), micros_text(both.ours), ratio, "≤ 3", ratio <= ratio_goal);
    const std::vector<std::string> writer{"/usr/bin/head", "-c", std::to_string(much), "/dev/zero"};
    both =
        compare(9, [] { expect(read_barely(much), much); }, [&] { expect(all.run(writer), much); });
    ratio = both.ours / both.bare;
    print_row("32 MiB of output of a command; bare: a pipe that is read by chunks of 64 KiB",
              micros_text(both.bare), micros_text(both.ours), ratio, "≤ 1.5", ratio <= output_goal);
}

// First of all: a launcher is forked while there are no other threads.
const benchmark registered{1, "body", benchmark_body};

}  // namespace
}  // namespace pawl::benchmarks
