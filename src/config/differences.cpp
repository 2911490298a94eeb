#include "config/reading.hpp"

#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "base/text.hpp"
#include "config/fields.hpp"
#include "config/findings.hpp"
#include "config/texts.hpp"

#include <algorithm>
#include <unordered_map>

namespace pawl::config {
namespace {

template <class T>
using by_name = std::unordered_map<std::string_view, const T*>;

template <class T>
by_name<T> index_of(const std::vector<T>& all) {
    by_name<T> index;
    for (const T& one : all) index.emplace(one.name, &one);
    return index;
}

template <class T>
std::vector<std::string> changed_keys(const field_list<T>& fields, const T& before,
                                      const T& after) {
    std::vector<std::string> names;
    for (const auto& one : fields)
        if (!one.same(before, after)) names.push_back(one.name);
    return names;
}

void compare_jobs(const settings& before, const settings& after, configuration_changes& changes) {
    const auto old_jobs = index_of(before.jobs);
    const auto new_jobs = index_of(after.jobs);
    for (const job_settings& job : after.jobs) {
        const auto old = old_jobs.find(job.name);
        if (old == old_jobs.end()) {
            changes.added.push_back(job.name);
            changes.lines.push_back("the job " + quoted(job.name) + " is new");
            continue;
        }
        const auto keys = changed_keys(job_fields(), *old->second, job);
        if (keys.empty()) continue;
        changes.changed.push_back(job.name);
        changes.lines.push_back("the job " + quoted(job.name) +
                                " has changed: " + base::comma_list(keys));
    }
    for (const job_settings& job : before.jobs) {
        if (new_jobs.contains(job.name)) continue;
        changes.removed.push_back(job.name);
        changes.lines.push_back("the job " + quoted(job.name) + " is gone");
    }
}

void compare_users(const settings& before, const settings& after, configuration_changes& changes) {
    const auto old_users = index_of(before.users);
    const auto new_users = index_of(after.users);
    for (const user_settings& user : after.users) {
        const auto old = old_users.find(user.name);
        if (old == old_users.end())
            changes.lines.push_back("the user " + quoted(user.name) + " is new");
        else if (const auto keys = changed_keys(user_fields(), *old->second, user); !keys.empty())
            changes.lines.push_back("the user " + quoted(user.name) +
                                    " has changed: " + base::comma_list(keys));
    }
    for (const user_settings& user : before.users)
        if (!new_users.contains(user.name))
            changes.lines.push_back("the user " + quoted(user.name) + " is gone");
}

// All of this is used once, at the start.
void compare_agents(const settings& before, const settings& after, configuration_changes& changes) {
    constexpr std::string_view told = " has changed, which takes a restart of the agent";
    for (const auto& key : changed_keys(file_fields(), before, after))
        changes.restarts.push_back(key + std::string{told});
    for (const auto& key : changed_keys(agent_fields(), before.agent, after.agent))
        changes.restarts.push_back("agent." + key + std::string{told});
}

}  // namespace

configuration_changes differences(const settings& before, const settings& after) {
    configuration_changes changes;
    compare_agents(before, after, changes);
    compare_users(before, after, changes);
    compare_jobs(before, after, changes);
    return changes;
}

std::optional<std::string> emptied_fault(const settings& before,
                                         const parsed_configuration& after) {
    const bool loses_jobs = !before.jobs.empty() && after.values.jobs.empty();
    const bool loses_users = !before.users.empty() && after.sets_nothing;
    if (!loses_jobs && !loses_users) return std::nullopt;
    std::string lost = loses_jobs ? base::counted(before.jobs.size(), "job") : "";
    if (loses_users)
        lost += (loses_jobs ? " and " : "") + base::counted(before.users.size(), "user");
    return base::printable(after.file) +
           (after.sets_nothing ? ": sets nothing, although this agent has "
                               : ": has no [[job]], although this agent has ") +
           lost + "; restart the agent to run it without";
}

std::optional<std::string> open_without_users_fault(const base::endpoint& listens,
                                                    const parsed_configuration& after) {
    if (is_loopback(listens) || !after.values.users.empty()) return std::nullopt;
    return base::printable(after.file) + ": has no [[user]], although this agent serves '" +
           base::printable(listens.host) +
           "' to other machines; add one, or restart the agent to listen on 127.0.0.1";
}

}  // namespace pawl::config
