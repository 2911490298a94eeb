#include "test_support/servers/process.hpp"

#include <pawl/clock.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace pawl::testing_servers {
namespace {

constexpr std::chrono::milliseconds timeout{10'000};
// Three Java machines that start beside other tests on two cores take their time.
constexpr std::chrono::seconds start_timeout{60};
constexpr int probe_pause_ms = 2;

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error{errno, std::generic_category(), what};
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

pid_t spawn(const std::vector<std::string>& words, const std::filesystem::path& log) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    // A server that inherited a test's sockets would keep connections and ports open.
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    const auto pointers = pointers_to(words);
    pid_t pid = -1;
    const auto error = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        throw std::system_error{error, std::generic_category(), "cannot start " + words.front()};
    return pid;
}

// Stopped, all its threads, or gone.
bool stands_still(pid_t which) {
    std::error_code gone;
    const auto threads = "/proc/" + std::to_string(which) + "/task";
    for (const auto& thread : std::filesystem::directory_iterator{threads, gone}) {
        std::ifstream file{thread.path() / "stat"};
        std::string line;
        std::getline(file, line);
        // The name in parentheses may hold anything.
        const auto named = line.rfind(')');
        if (named == std::string::npos || named + 2 >= line.size()) continue;
        if (std::string_view{"TtZX"}.find(line[named + 2]) == std::string_view::npos) return false;
    }
    return true;
}

}  // namespace

std::string server_user(const std::vector<std::string>& preferred) {
    for (const auto& name : preferred)
        if (getpwnam(name.c_str()) != nullptr) return name;
    return "nobody";
}

void hand_over(const std::filesystem::path& what, const std::string& user) {
    if (geteuid() != 0) return;
    const auto* entry = getpwnam(user.c_str());
    if (entry == nullptr || chown(what.c_str(), entry->pw_uid, entry->pw_gid) != 0)
        fail("cannot give " + what.string() + " to " + user);
}

temporary_folder::temporary_folder(storage where) {
    const std::filesystem::path memory{"/dev/shm"};
    // A container's is small, and several tests run at once.
    constexpr std::uintmax_t room_min = std::uintmax_t{2} << 30;
    std::error_code none;
    const auto room = std::filesystem::space(memory, none);
    const bool in_memory = where == storage::memory && !none && room.available >= room_min &&
                           access(memory.c_str(), W_OK) == 0;
    const auto parent = in_memory ? memory : std::filesystem::temp_directory_path();
    auto pattern = (parent / "pawl-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail("cannot make " + pattern);
    path_ = pattern;
}

temporary_folder::~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

namespace {

// For as long as this process lives; tests/integration/harness.py has the same folder. Where none
// can be made the kernel alone says what is free.
bool reserve(std::uint16_t port) {
    const auto folder = std::filesystem::temp_directory_path() / "pawl-ports";
    std::error_code ignored;
    std::filesystem::create_directory(folder, ignored);
    const auto name = folder / std::to_string(port);
    const int mark = ::open(name.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
    if (mark < 0 || flock(mark, LOCK_EX | LOCK_NB) == 0) return true;
    close(mark);
    return false;
}

}  // namespace

// Below the range from which the kernel takes the ports of outgoing connections: the port of a
// server that is down for a moment would be taken by one of those. And low enough that the port
// 10,000 above, where a Redis of a cluster speaks to its like, is below it too.
std::uint16_t free_port() {
    static std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<int> any{17'000, 29'999};
    for (;;) {
        const auto port = static_cast<std::uint16_t>(any(random));
        if (!reserve(port)) continue;
        const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (probe < 0) fail("cannot find a free port");
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_port = htons(port);
        const bool is_free = bind(probe, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0;
        close(probe);
        if (is_free) return port;
    }
}

void freeze(pid_t which) {
    ::kill(which, SIGSTOP);
    const auto give_up = lease_clock::now() + timeout;
    while (!stands_still(which)) {
        if (lease_clock::now() >= give_up)
            throw std::runtime_error{"process " + std::to_string(which) + " does not stop"};
        poll(nullptr, 0, probe_pause_ms);
    }
}

void run_command(const std::vector<std::string>& words) {
    const temporary_folder folder;
    const auto log = folder.path() / "log";
    const auto pid = spawn(words, log);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error{words.front() + " failed: " + text_of(log)};
}

std::string output_of(const std::string& line, int& status) {
    std::FILE* pipe = popen(line.c_str(), "re");
    if (pipe == nullptr) throw std::runtime_error{"cannot run " + line};
    std::string text;
    std::array<char, 4096> some;
    while (const auto got = std::fread(some.data(), 1, some.size(), pipe))
        text.append(some.data(), got);
    status = pclose(pipe);
    return text;
}

process::process(const std::vector<std::string>& words, const std::string& user,
                 const std::filesystem::path& log) {
    auto command = words;
    if (geteuid() == 0) {
        // setpriv becomes the server, so the pid is the server's own.
        const std::vector<std::string> as_user{"setpriv", "--reuid=" + user, "--regid=" + user,
                                               "--clear-groups", "--pdeathsig=KILL"};
        command.insert(command.begin(), as_user.begin(), as_user.end());
        const auto* entry = getpwnam(user.c_str());
        if (entry != nullptr)
            command[2] = "--regid=" + std::to_string(static_cast<unsigned>(entry->pw_gid));
    }
    pid_ = spawn(command, log);
}

process::~process() { kill(); }

process::process(process&& other) noexcept : pid_{std::exchange(other.pid_, -1)} {}

process& process::operator=(process&& other) noexcept {
    if (this == &other) return *this;
    kill();
    pid_ = std::exchange(other.pid_, -1);
    return *this;
}

bool process::is_running() const {
    if (pid_ <= 0) return false;
    siginfo_t state{};
    return waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           state.si_pid == 0;
}

void process::signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
}

void process::freeze() const {
    if (pid_ > 0) testing_servers::freeze(pid_);
}

void process::thaw() const { signal(SIGCONT); }

bool process::ended_within(std::chrono::milliseconds bound) {
    const auto handle = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    pollfd ended{handle, POLLIN, 0};
    const auto got = poll(&ended, 1, static_cast<int>(bound.count()));
    close(handle);
    return got == 1;
}

void process::stop() {
    if (pid_ <= 0) return;
    signal(SIGCONT);
    signal(SIGTERM);
    if (!ended_within(timeout)) signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void process::kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void wait_until_ready(const process& server, const std::filesystem::path& log,
                      const std::function<bool()>& ready) {
    const auto give_up = lease_clock::now() + start_timeout;
    while (!ready()) {
        if (!server.is_running()) throw std::runtime_error{"the server has ended: " + text_of(log)};
        if (lease_clock::now() > give_up)
            throw std::runtime_error{"the server is not ready after 60 s: " + text_of(log)};
        poll(nullptr, 0, probe_pause_ms);
    }
}

}  // namespace pawl::testing_servers
