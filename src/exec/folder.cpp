#include "exec/folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace pawl::exec {
namespace {

// The address of a socket has 107 bytes, and a name behind this needs its own.
constexpr std::size_t parent_bytes_max = 60;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

std::vector<std::string> candidates() {
    // systemd names several, separated by colons.
    const auto given = variable("RUNTIME_DIRECTORY");
    std::vector<std::string> all{given.substr(0, given.find(':'))};
    // What belongs to one login is closed to the commands of other users.
    all.push_back(geteuid() == 0 ? "/run" : variable("XDG_RUNTIME_DIR"));
    all.push_back(variable("TMPDIR"));
    all.emplace_back("/tmp");
    return all;
}

bool others_may_pass(const std::filesystem::path& folder) {
    struct stat about{};
    if (stat(folder.c_str(), &about) != 0 || (about.st_mode & S_IXOTH) == 0) return false;
    return folder == folder.root_path() || others_may_pass(folder.parent_path());
}

}  // namespace

std::string make_folder() {
    for (const auto& parent : candidates()) {
        if (!parent.starts_with('/') || parent.size() > parent_bytes_max) continue;
        // Root's commands may run as others, who have to get to their socket.
        if (geteuid() == 0 && !others_may_pass(parent)) continue;
        auto path = parent + "/pawl-run-XXXXXX";
        if (mkdtemp(path.data()) == nullptr) continue;
        if (chmod(path.c_str(), 0711) == 0) return path;
        rmdir(path.c_str());
    }
    return {};
}

int restore_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0700) == 0) return chmod(path.c_str(), 0711) == 0 ? 0 : errno;
    if (errno != EEXIST) return errno;
    struct stat about{};
    if (lstat(path.c_str(), &about) != 0) return errno;
    return S_ISDIR(about.st_mode) && about.st_uid == geteuid() ? 0 : EACCES;
}

void remove_folder(const std::string& path) {
    if (path.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

}  // namespace pawl::exec
