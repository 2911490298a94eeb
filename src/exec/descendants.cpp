#include "exec/descendants.hpp"

#include "base/number.hpp"
#include "exec/descriptor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

namespace pawl::exec {
namespace {

std::optional<std::string> read_file(const std::string& path) {
    const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file.is_open()) return {};
    std::string text;
    char piece[4096];
    for (;;) {
        const ssize_t got = ::read(file.get(), piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return {};
        if (got == 0) return text;
        text.append(piece, static_cast<std::size_t>(got));
    }
}

// The entries of a folder of /proc that are numbers; nothing where it cannot be read.
std::optional<std::vector<pid_t>> numbers_in(const std::string& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> all{opendir(folder.c_str()), &closedir};
    if (!all) return {};
    std::vector<pid_t> numbers;
    while (const dirent* entry = readdir(all.get()))
        if (const auto number = base::parse_number<pid_t>(entry->d_name))
            numbers.push_back(*number);
    return numbers;
}

// By its number in proc(5), from the third on: the name, the second, may hold anything, ")" and
// spaces included.
template <class Number>
std::optional<Number> field_in(std::string_view stat, int which) {
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string_view::npos) return {};
    auto rest = stat.substr(name_end + 1);
    for (int field = 3;; ++field) {
        if (rest.empty()) return {};
        rest.remove_prefix(1);
        const auto text = rest.substr(0, rest.find(' '));
        if (field == which) return base::parse_number<Number>(text);
        rest.remove_prefix(text.size());
    }
}

constexpr int parent_field = 4, flags_field = 9;
constexpr unsigned long flag_exiting = 4;  // PF_EXITING of the kernel's sched.h

}  // namespace

// The kernel keeps them by thread.
std::optional<std::vector<pid_t>> descendants_from_list() {
    const auto threads = numbers_in("/proc/self/task");
    if (!threads) return {};
    std::vector<pid_t> pids;
    for (const pid_t thread : *threads) {
        const auto text = read_file("/proc/self/task/" + std::to_string(thread) + "/children");
        // A thread that has ended since has left its children to another.
        if (!text && (thread == getpid() || errno != ENOENT)) return {};
        std::string_view rest{text ? *text : std::string_view{}};
        while (!rest.empty()) {
            const std::size_t end = rest.find(' ');
            if (const auto pid = base::parse_number<pid_t>(rest.substr(0, end)))
                pids.push_back(*pid);
            if (end == std::string_view::npos) break;
            rest.remove_prefix(end + 1);
        }
    }
    return pids;
}

std::optional<std::vector<pid_t>> descendants_from_walk() {
    const auto all = numbers_in("/proc");
    if (!all) return {};
    const pid_t self = getpid();
    std::vector<pid_t> pids;
    for (const pid_t pid : *all) {
        const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
        if (stat && field_in<pid_t>(*stat, parent_field) == self) pids.push_back(pid);
    }
    return pids;
}

bool is_ending(pid_t process) {
    const auto stat = read_file("/proc/" + std::to_string(process) + "/stat");
    const auto flags = stat ? field_in<unsigned long>(*stat, flags_field) : std::nullopt;
    return flags && (*flags & flag_exiting) != 0;
}

std::optional<std::vector<pid_t>> descendants() {
    if (auto listed = descendants_from_list()) return listed;
    return descendants_from_walk();
}

std::vector<pid_t> threads_of(pid_t process) {
    return numbers_in("/proc/" + std::to_string(process) + "/task").value_or(std::vector<pid_t>{});
}

}  // namespace pawl::exec
