// The subcommands: each adds itself to the command line, and says what to run when it was chosen.
#pragma once

#include "cli/options/configuration.hpp"
#include "cli/output/status.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace pawl::cli {

// Set by the subcommand that was chosen; run once everything has been parsed.
using action = std::function<status()>;

// What every subcommand is given. Outlives the parsing and the run.
struct context {
    CLI::App& app;
    globals& options;
    action& chosen;
};

// A program's commands, and what it says to `--version --verbose`.
struct command {
    std::string_view name;
    void (*add)(context& where);
};
struct program {
    std::span<const command> commands;
    std::string (*verbose_version)();
};
// From the words that main() is given to its status.
int run_program(const program& me, int count, char** words);

void add_exec(context&);
void add_locks(context&);
void add_fence(context&);
void add_demo(context&);
void add_doctor(context&);
void add_drill(context&);
void add_bench(context&);
void add_cron(context&);
void add_agent(context&);
void add_jobs(context&);
void add_runs(context&);
void add_checkpoint(context&);
void add_nodes(context&);
void add_audit(context&);
void add_token(context&);
void add_completion(context&);

// The command's own status, such as that of a wrapped command, beside those that are pawl's.
constexpr status as_status(int code) noexcept { return static_cast<status>(code); }

// A value that a person wrote after an option. Throws CLI::ValidationError.
millis duration_option(const std::string& name, const std::string& text);
std::uint64_t token_option(const std::string& text);
// What the option of a list takes that may be longer than a page.
inline constexpr std::size_t list_limit_max = 1'000'000;

}  // namespace pawl::cli
