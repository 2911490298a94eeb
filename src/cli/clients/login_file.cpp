#include "cli/clients/login_file.hpp"

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "cli/output/output.hpp"
#include "cli/output/status.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
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

// Whether an agent that lives has locked it. Where files cannot be locked, it is taken for one.
bool is_held(const exec::descriptor& file) {
    if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) return true;
    ::flock(file.get(), LOCK_UN);
    return false;
}

// Under another name first, so that no reader sees half of it, or sees it without its lock. What it
// returns holds the lock.
exec::descriptor write_file(const std::string& path, const std::string& text) {
    namespace fs = std::filesystem;
    std::error_code failed;
    const auto folder = fs::path{path}.parent_path();
    if (fs::create_directories(folder, failed); !failed && fs::is_empty(folder, failed))
        fs::permissions(folder, fs::perms::owner_all, failed);
    const auto fresh = path + ".new";
    ::unlink(fresh.c_str());
    exec::descriptor file{
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    const bool whole = file.is_open() && ::write(file.get(), text.data(), text.size()) ==
                                             static_cast<ssize_t>(text.size());
    const int code = errno;
    if (whole) ::flock(file.get(), LOCK_EX | LOCK_NB);
    if (whole && ::rename(fresh.c_str(), path.c_str()) == 0) return file;
    throw exit_error{status::io_error, path + ": " + reason_of(whole ? errno : code)};
}

}  // namespace

std::string login_file_path(const config::agent_settings& of) {
    std::string name = "login-";
    for (const char c : of.name) name += base::is_alphanumeric(c) || c == '.' || c == '-' ? c : '_';
    return folder_of_links() / name;
}

login_file::login_file(const config::agent_settings& of) : agent_{of} {
    try {
        const auto path = login_file_path(agent_);
        const exec::descriptor left{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
        if (left.is_open() && !is_held(left)) ::unlink(path.c_str());
    } catch (const exit_error&) {
        // There is no place for one; offer() says so, where one is wanted.
    }
}

void login_file::offer(const api::login_key& key, std::string_view link) {
    if (::isatty(STDOUT_FILENO) != 0) std::cout << "open " << link << std::endl;
    const auto text = api::text_of(key);
    const std::lock_guard lock{mutex_};
    if (text == written_ && is_own()) return;
    try {
        const auto path = login_file_path(agent_);
        lock_ = write_file(path, text);
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

bool login_file::is_own() const noexcept {
    struct stat there{};
    struct stat own{};
    return !path_.empty() && ::fstat(lock_.get(), &own) == 0 &&
           ::lstat(path_.c_str(), &there) == 0 && there.st_dev == own.st_dev &&
           there.st_ino == own.st_ino;
}

void login_file::take_away() noexcept {
    const std::lock_guard lock{mutex_};
    if (is_own()) ::unlink(path_.c_str());
    path_.clear();
    written_.clear();
    lock_.close();
}

std::optional<std::string> offered_login_link(const std::string& path) {
    const auto shown = base::printable(path);
    const exec::descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file.is_open() && errno == ENOENT) return std::nullopt;
    if (!file.is_open())
        throw exit_error{
            errno == EACCES ? status::rejected : status::io_error,
            shown + ": " + reason_of(errno) + "; run this as the user that the agent runs as"};
    std::array<char, file_bytes_max> bytes{};
    const auto got = ::read(file.get(), bytes.data(), bytes.size());
    const auto key =
        api::login_key_in({bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
    if (!key)
        throw exit_error{status::configuration, shown + ": not a file of login links of an agent"};
    if (!is_held(file)) return std::nullopt;
    return api::make_login_link(*key, lease_clock::now());
}

std::string login_link_of(const std::string& path) {
    if (auto link = offered_login_link(path)) return *std::move(link);
    throw exit_error{status::unavailable,
                     base::printable(path) +
                         ": no login link is offered; expected a running agent of this machine "
                         "without a [[user]]"};
}

}  // namespace pawl::cli
