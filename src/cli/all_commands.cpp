#include "cli/command_line.hpp"
#include "cli/commands/version.hpp"
#include "cli/options/commands.hpp"

#include <array>

namespace pawl::cli {
namespace {

constexpr std::array<command, 16> all_commands{{{"exec", add_exec},
                                                {"agent", add_agent},
                                                {"jobs", add_jobs},
                                                {"runs", add_runs},
                                                {"checkpoint", add_checkpoint},
                                                {"nodes", add_nodes},
                                                {"audit", add_audit},
                                                {"locks", add_locks},
                                                {"fence", add_fence},
                                                {"demo", add_demo},
                                                {"doctor", add_doctor},
                                                {"drill", add_drill},
                                                {"bench", add_bench},
                                                {"cron", add_cron},
                                                {"token", add_token},
                                                {"completion", add_completion}}};

}  // namespace

int run(int count, char** words) {
    return run_program({all_commands, verbose_version_text}, count, words);
}

}  // namespace pawl::cli
