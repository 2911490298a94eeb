// The file by which people of this machine log in to an agent without users.
#pragma once

#include "api/auth/login_link.hpp"
#include "config/settings.hpp"
#include "exec/descriptor.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::cli {

// In $RUNTIME_DIRECTORY of systemd, else in /run/pawl for root, else in pawl/ of $XDG_RUNTIME_DIR
// or of the user's state; named after the agent. Throws exit_error where there is no such place.
std::string login_file_path(const config::agent_settings& of);

// Of mode 0600, and there for as long as links work. Locked by flock(2) meanwhile: one without a
// lock was left by an agent that was killed. Thread-safe.
class login_file {
public:
    // Removes what was left by an agent of this name.
    explicit login_file(const config::agent_settings& of);
    ~login_file() { take_away(); }
    login_file(const login_file&) = delete;
    login_file& operator=(const login_file&) = delete;

    // Writes it, and says where. The link itself is shown to a terminal only: what else standard
    // output leads to keeps it, as systemd's journal does.
    void offer(const api::login_key& key, std::string_view link);
    void take_away() noexcept;

private:
    // Whether the file of the path is the one that this has written: an agent that replaces another
    // one of its name writes its own there. REQUIRES: mutex_ is held.
    bool is_own() const noexcept;

    const config::agent_settings agent_;
    std::mutex mutex_;
    // Under mutex_
    std::string path_{};     // empty: it is not there
    std::string written_{};  // what is in it
    exec::descriptor lock_{};
};

// A fresh link by what the file says. Throws exit_error, also where no agent offers one.
std::string login_link_of(const std::string& path);
// The same; nothing where no agent offers one.
std::optional<std::string> offered_login_link(const std::string& path);

}  // namespace pawl::cli
