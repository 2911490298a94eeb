// A real server as a child of a test: started as nobody special, in a folder of its own, and
// stopped by its pid whatever the test does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace pawl::testing_servers {

// A folder that is removed with it, owned by the user that servers run as.
class temporary_folder {
public:
    // In memory a server may sync as often as it likes.
    enum class storage { memory, disk };
    explicit temporary_folder(storage where = storage::memory);
    ~temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

// Which user servers run as when the test runs as root: the first of these that exists.
std::string server_user(const std::vector<std::string>& preferred);
// Gives a file or a folder to that user, so that a server can read and write it.
void hand_over(const std::filesystem::path& what, const std::string& user);

// A port of 127.0.0.1 that nobody listens on at this moment, and that no other test is given while
// this process lives: also not between the death of a server and its return.
std::uint16_t free_port();

// SIGSTOP, and returns when none of its threads runs any more: on a busy machine a signal is on its
// way for many milliseconds. Throws when that does not come to pass.
void freeze(pid_t which);

// Runs a command to its end and throws, with its output, unless it succeeds.
void run_command(const std::vector<std::string>& words);

// What a line of the shell writes to its standard output, and its status as wait() tells it.
std::string output_of(const std::string& line, int& status);

class process {
public:
    process() = default;
    // Standard output and error go to `log`. Throws when the program cannot be started.
    process(const std::vector<std::string>& words, const std::string& user,
            const std::filesystem::path& log);
    ~process();
    process(process&& other) noexcept;
    process& operator=(process&& other) noexcept;

    bool is_running() const;
    pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;
    void freeze() const;
    void thaw() const;
    // Asks it to end, and kills it when it does not; returns when it is gone.
    void stop();
    void kill();

private:
    bool ended_within(std::chrono::milliseconds bound);

    pid_t pid_ = -1;
};

// Tries until `ready` says yes. Throws after 10 s, or as soon as the process has ended, with what
// it wrote to its log.
void wait_until_ready(const process& server, const std::filesystem::path& log,
                      const std::function<bool()>& ready);

}  // namespace pawl::testing_servers
