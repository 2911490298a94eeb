// bin/pawl: what a short command waits for, and the way to the whole program for all else.
#include "cli/command_line.hpp"
#include "cli/output/status.hpp"
#include "cli/quick_path.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

namespace {

// Where it is installed, and in the build's folder. Empty where that is unknown: a path that is
// not absolute would lead to whatever lies in the caller's folder.
std::filesystem::path whole_program() {
    std::error_code fault;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", fault);
    if (fault || !self.is_absolute()) return {};
    return (self.parent_path() / PAWL_WHOLE_PROGRAM_FROM_BIN).lexically_normal();
}

const char* variable(const char* name) { return std::getenv(name); }

// All that is left is memory, which the kernel takes back faster than destructors would.
[[noreturn]] void end(int status) {
#ifdef PAWL_SANITIZED
    std::exit(status);
#else
    std::fflush(nullptr);
    std::_Exit(status);
#endif
}

}  // namespace

int main(int count, char** words) {
    const std::span<const char* const> given(words + (count > 0 ? 1 : 0),
                                             static_cast<std::size_t>(count > 0 ? count - 1 : 0));
    if (pawl::cli::takes_quick_path(given, variable)) end(pawl::cli::run_quick(count, words));
    const auto file = whole_program();
    if (file.empty()) {
        std::fputs("pawl: cannot read /proc/self/exe, which says where the rest of pawl is\n",
                   stderr);
        return static_cast<int>(pawl::cli::status::io_error);
    }
    execv(file.c_str(), words);
    std::fprintf(stderr, "pawl: cannot start %s: %s; install pawl anew\n", file.c_str(),
                 std::strerror(errno));
    return static_cast<int>(pawl::cli::status::io_error);
}
