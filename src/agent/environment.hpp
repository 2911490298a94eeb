// The variables that a command sees.
#pragma once

#include "config/settings.hpp"
#include "exec/account.hpp"
#include "schedule/job/body.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pawl::agent {

// What the agent stands on, for the commands that may use it themselves (store_access).
struct addresses {
    std::string store;  // URLs; empty: the variable is not set
    std::string journal;
};

// What a command starts from. `inherited`: the agent's own variables, without those that speak to
// the agent alone (systemd's, PAWL_TOKEN, its store's and journal's URLs). `clean`: PATH, HOME,
// USER, LOGNAME and SHELL.
enum class ground { inherited, clean };

// NAME=value, sorted by name. What is nearer to the run wins: the ground, the job's env, what its
// env_file says, and the run's own variables, which a job cannot change. The URLs of the agent are
// there with store_access only, and never with a secret in them.
std::vector<std::string> environment_of(const config::job_settings& job,
                                        const schedule::run_order& order, const exec::account& who,
                                        ground from, const addresses& where);

// A path in it no longer depends on the working directory, which is another one for the command.
std::string absolute_url(const std::string& url);

// The URL of a store as a command may see it: absolute, and without its secrets.
std::string url_for_command(const std::string& url);

// What makes a command impossible before the system is asked: a NUL byte in an argument or a
// variable, which would end the text there. One line without any value; empty: nothing.
std::string unspeakable(const exec::command& wanted);

}  // namespace pawl::agent
