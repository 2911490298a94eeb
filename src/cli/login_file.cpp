#include "cli/login_file.hpp"

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "cli/output.hpp"
#include "cli/status.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

namespace pawl::cli {
namespace {

// More than any key needs.
constexpr std::size_t file_bytes_max = 4'096;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::filesystem::path folder_of_links() {
    // systemd names several with a ':' between.
    const auto given = variable("RUNTIME_DIRECTORY");
    if (!given.empty()) return given.substr(0, given.find(':'));
    if (::geteuid() == 0) return "/run/pawl";
    for (const auto& [name, below] :
         {std::pair{"XDG_RUNTIME_DIR", "pawl"}, std::pair{"XDG_STATE_HOME", "pawl"},
          std::pair{"HOME", ".local/state/pawl"}})
        if (const auto parent = variable(name); !parent.empty())
            return std::filesystem::path{parent} / below;
    throw exit_error{status::io_error,
                     "no place for login links: XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME are not "
                     "set; set one, or add a [[user]]"};
}

std::string reason_of(int code) { return std::generic_category().message(code); }

// Under another name first, so that no reader sees half of it.
void write_file(const std::string& path, const std::string& text) {
    namespace fs = std::filesystem;
    std::error_code failed;
    const auto folder = fs::path{path}.parent_path();
    if (fs::create_directories(folder, failed); !failed && fs::is_empty(folder, failed))
        fs::permissions(folder, fs::perms::owner_all, failed);
    const auto fresh = path + ".new";
    ::unlink(fresh.c_str());
    const int file =
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const bool whole =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int code = errno;
    if (file >= 0) ::close(file);
    if (whole && ::rename(fresh.c_str(), path.c_str()) == 0) return;
    throw exit_error{status::io_error, path + ": " + reason_of(whole ? errno : code)};
}

}  // namespace

std::string login_file_path(const config::agent_settings& of) {
    std::string name = "login-";
    for (const char c : of.name) name += base::is_alphanumeric(c) || c == '.' || c == '-' ? c : '_';
    return folder_of_links() / name;
}

void login_file::offer(const api::login_key& key, std::string_view link) {
    if (::isatty(STDOUT_FILENO) != 0) std::cout << "open " << link << std::endl;
    const auto text = api::text_of(key);
    const std::lock_guard lock{mutex_};
    if (text == written_) return;
    try {
        const auto path = login_file_path(agent_);
        write_file(path, text);
        path_ = path;
        written_ = text;
        log(log_level::info,
            "no [[user]] is configured; to log in, run: pawl agent login-link "
            "--file " +
                base::printable(path));
    } catch (const exit_error& error) {
        log(log_level::warn, std::string{"no login link can be offered: "} + error.what());
    }
}

void login_file::take_away() noexcept {
    const std::lock_guard lock{mutex_};
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
    written_.clear();
}

std::string login_link_of(const std::string& path) {
    const auto shown = base::printable(path);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        throw exit_error{status::unavailable,
                         shown +
                             ": no login link is offered; expected a running agent of this "
                             "machine without a [[user]]"};
    if (file < 0)
        throw exit_error{
            errno == EACCES ? status::refused : status::io_error,
            shown + ": " + reason_of(errno) + "; run this as the user that the agent runs as"};
    std::array<char, file_bytes_max> bytes{};
    const auto got = ::read(file, bytes.data(), bytes.size());
    ::close(file);
    const auto key =
        api::login_key_in({bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
    if (!key)
        throw exit_error{status::configuration, shown + ": not a file of login links of an agent"};
    return api::make_login_link(*key, lease_clock::now());
}

}  // namespace pawl::cli
