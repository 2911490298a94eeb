#include "tests/crash/observation.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace pawl::crash {

scratch_folder::scratch_folder(storage where) {
    const std::filesystem::path memory{"/dev/shm"};
    // A container's is small, and several tests run at once.
    constexpr std::uintmax_t room_min = std::uintmax_t{2} << 30;
    std::error_code none;
    const auto room = std::filesystem::space(memory, none);
    const bool in_memory = where == storage::memory && !none && room.available >= room_min &&
                           access(memory.c_str(), W_OK) == 0;
    const auto parent = in_memory ? memory : std::filesystem::temp_directory_path();
    std::string pattern = parent / "pawl-crash-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"mkdtemp"};
    // Commands that run as another user write here too.
    std::filesystem::permissions(pattern, std::filesystem::perms::all);
    path_ = pattern;
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

bool eventually(const std::function<bool()>& holds, millis within) {
    const instant end = lease_clock::now() + within;
    while (!holds()) {
        if (lease_clock::now() >= end) return false;
        std::this_thread::sleep_for(millis{2});
    }
    return true;
}

std::vector<entry> entries_of(const std::string& file) {
    std::istringstream text{text_of(file)};
    std::vector<entry> entries;
    std::string line;
    while (std::getline(text, line) && !text.eof()) {
        std::istringstream words{line};
        std::int64_t when = 0;
        std::uint64_t token = 0;
        pid_t writer = 0;
        if (!(words >> when >> token >> writer)) throw std::runtime_error{"torn line: " + line};
        entries.push_back({instant{std::chrono::nanoseconds{when}}, fence_token{token}, writer});
    }
    return entries;
}

bool is_running(pid_t pid) {
    const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 2 >= stat.size()) return false;
    return stat[name_end + 2] != 'Z' && stat[name_end + 2] != 'X';
}

std::string text_of(const std::string& file) {
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

pid_t run_in_process(const std::function<void()>& body) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    body();
    _exit(0);
}

int wait_for_process(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

}  // namespace pawl::crash
