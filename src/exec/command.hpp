// What to run: a command line with its environment, and how its end reads as an exit status.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::exec {

// Whom a command runs as. Only root can become another user.
struct identity {
    uid_t user = 0;
    gid_t group = 0;
    std::vector<gid_t> groups;

    bool operator==(const identity&) const = default;
};

// One limit of setrlimit(2), with the kernel's number for it.
struct resource_limit {
    int resource = 0;
    std::uint64_t soft = 0;
    std::uint64_t hard = 0;

    bool operator==(const resource_limit&) const = default;
};

// Whether the command becomes the terminal's foreground group before it runs.
enum class placement { background, foreground };

struct command {
    explicit command(std::vector<std::string> arguments) : arguments{std::move(arguments)} {}

    std::vector<std::string> arguments;    // [0] is looked up in the PATH of `environment`
    std::vector<std::string> environment;  // NAME=value, all of them: see environment_with
    std::string working_directory;         // empty: pawl's own
    std::optional<identity> user{};
    std::vector<resource_limit> resource_limits;
    std::optional<mode_t> file_mask{};    // umask(2); nothing: pawl's own
    std::optional<int> nice{};            // -20 to 19; nothing: pawl's own
    std::array<int, 3> streams{0, 1, 2};  // descriptors of ours that become its 0, 1 and 2
    placement place = placement::background;
};

// Our own environment with these variables added, or in the place of ours with the same name.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables);

// When a command has to end. Its lease decides; the guard counts on the lease clock.
struct limits {
    instant stop_at = instant::max();  // SIGTERM
    instant kill_at = instant::max();  // SIGKILL to whatever is left
    millis grace{10'000};  // between the two, where something else makes it stop before stop_at
    // For a guard to say that it is there; at most until the kill_at of the beginning, however
    // often that is moved.
    millis start_timeout{30'000};
};

// Why a command was told to end, if it was.
enum class ending {
    by_itself,
    asked,      // child::stop
    deadline,   // stop_at came
    guard_lost  // its guard was killed
};

// The whole tree is dead: the command, and every process that it started and left behind.
struct exit_status {
    int code = 0;    // when `signal` is 0
    int signal = 0;  // what killed the command itself
    ending cause = ending::by_itself;

    // As a shell says it: 128+N when killed by signal N.
    int as_shell() const noexcept { return signal == 0 ? code : 128 + signal; }
};

// How far a command came that never ran, or of which nothing is known but that it may have.
enum class stage {
    guard,
    user,
    working_directory,
    execute,
    resource_limits,
    priority,
    killing  // of processes of another user
};

struct spawn_fault {
    stage where = stage::guard;
    int error = 0;  // errno

    // 127: not found. 126: found, and cannot be run.
    int as_shell() const noexcept;
    // One line for people.
    std::string describe(const command& wanted) const;
    // Its deadline had passed already: nothing of it ran.
    bool came_too_late() const noexcept;
    // Its deadline came before its guard said that it runs: it may have run for a moment.
    bool was_cut_short() const noexcept;
    // So, or its guard was killed before it said so, perhaps by us, as it did not answer.
    bool may_have_run() const noexcept;
    // This machine had no descriptor, process, memory or guard for it: none of it ran, and it may
    // run later or elsewhere. Also where no guard will ever start here any more.
    bool lacked_resources() const noexcept;
};

// The form in which a command travels to its guard; its streams travel beside it.
std::string encode(const command& wanted);
// Nothing when the text is cut short.
std::optional<command> decode(std::string_view text);

}  // namespace pawl::exec
