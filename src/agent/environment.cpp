#include "agent/environment.hpp"

#include "base/text.hpp"
#include "base/url.hpp"
#include "time/rfc3339.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>

namespace pawl::agent {
namespace {

using std::string_view;

using variables = std::map<std::string, std::string, std::less<>>;

// What the service manager, or the owner of a token, has told the agent alone. The configuration
// names the store, perhaps with its password.
constexpr std::array<string_view, 10> private_names{
    "NOTIFY_SOCKET",         "CREDENTIALS_DIRECTORY",
    "JOURNAL_STREAM",        "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE", "PAWL_TOKEN",
    "PAWL_CONFIG",           "PAWL_STORE",
    "PAWL_JOURNAL",          "PAWL_RUN_SOCKET"};
constexpr std::array<string_view, 2> private_prefixes{"WATCHDOG_", "LISTEN_"};

// As a login would set it.
constexpr string_view path_of_root = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr string_view path_of_others = "/usr/local/bin:/usr/bin:/bin";

bool is_private(string_view name) {
    return std::find(private_names.begin(), private_names.end(), name) != private_names.end() ||
           std::any_of(private_prefixes.begin(), private_prefixes.end(),
                       [&](string_view prefix) { return name.starts_with(prefix); });
}

variables inherited() {
    variables all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const string_view text{*entry};
        const std::size_t end = text.find('=');
        if (end == string_view::npos || is_private(text.substr(0, end))) continue;
        // Of two with one name, getenv(3) finds the first.
        all.emplace(text.substr(0, end), text.substr(end + 1));
    }
    return all;
}

variables clean(const exec::account& who) {
    variables all;
    all["PATH"] = who.who.user == 0 ? path_of_root : path_of_others;
    all["HOME"] = who.home;
    all["USER"] = who.name;
    all["LOGNAME"] = who.name;
    all["SHELL"] = who.shell;
    return all;
}

std::string text_of(std::optional<pawl::occurrence> occurrence) {
    if (!occurrence) return {};
    return time::format_rfc3339(time::wall_instant{millis{number(*occurrence)}});
}

void add_run(variables& all, const schedule::run_order& order) {
    all["PAWL_KEY"] = order.key;
    all["PAWL_JOB"] = order.job;
    all["PAWL_FENCE_TOKEN"] = number(order.token) == 0 ? "" : std::to_string(number(order.token));
    all["PAWL_OWNER"] = order.owner;
    all["PAWL_NODE"] = order.node;
    all["PAWL_RUN_ID"] = order.run_id;
    all["PAWL_IDEMPOTENCY_KEY"] = order.idempotency_key;
    all["PAWL_OCCURRENCE"] = text_of(order.occurrence);
    all["PAWL_ATTEMPT"] = std::to_string(order.attempt);
    all["PAWL_TRIGGER"] = order.trigger;
    all["PAWL_CHECKPOINT"] = order.checkpoint;
    // One set is told, and the other may not be left over from the agent's own environment: with
    // slots a run is all of the work, and there is no part of it to be named.
    const auto which = std::to_string(order.partition);
    const auto many = std::to_string(order.partition_count);
    all["PAWL_SLOT"] = order.has_slots ? which : "";
    all["PAWL_SLOT_COUNT"] = order.has_slots ? many : "";
    all.erase("PAWL_PARTITION");
    all.erase("PAWL_PARTITION_COUNT");
    if (order.has_slots) return;
    all["PAWL_PARTITION"] = which;
    all["PAWL_PARTITION_COUNT"] = many;
}

bool has_nul(string_view text) { return text.find('\0') != string_view::npos; }

}  // namespace

std::string absolute_url(const std::string& url) {
    for (const string_view scheme : {"sqlite:", "redis+unix:", "valkey+unix:"}) {
        if (!url.starts_with(scheme) || url.size() == scheme.size()) continue;
        if (url[scheme.size()] == '/') return url;
        std::error_code unknown_place;
        const auto path = std::filesystem::absolute(url.substr(scheme.size()), unknown_place);
        return unknown_place ? url : std::string{scheme} + path.string();
    }
    return url;
}

std::string url_for_command(const std::string& url) {
    return base::without_secrets(absolute_url(url));
}

std::vector<std::string> environment_of(const config::job_settings& job,
                                        const schedule::run_order& order, const exec::account& who,
                                        ground from, const addresses& where) {
    variables all = from == ground::clean ? clean(who) : inherited();
    for (const auto& one : job.env) all[one.name] = one.value;
    for (const auto& one : job.secrets) all[one.name] = one.value;
    add_run(all, order);
    if (job.store_access) {
        all["PAWL_STORE"] = url_for_command(where.store);
        all["PAWL_JOURNAL"] = url_for_command(where.journal);
    }
    std::vector<std::string> texts;
    texts.reserve(all.size());
    for (const auto& [name, value] : all)
        texts.push_back(std::string{name}.append("=").append(value));
    return texts;
}

std::string unspeakable(const exec::command& wanted) {
    constexpr string_view why = " holds a NUL byte, which no command can be given";
    const auto& words = wanted.arguments;
    const auto word = std::find_if(words.begin(), words.end(), has_nul);
    if (word != words.end())
        return "argument " + std::to_string(word - words.begin()) + " of the command" +
               std::string{why};
    const auto& all = wanted.environment;
    const auto one = std::find_if(all.begin(), all.end(), has_nul);
    if (one == all.end()) return {};
    return "the variable " + base::printable(one->substr(0, one->find('='))) + std::string{why};
}

}  // namespace pawl::agent
