// pawl agent: runs the schedules of a configuration.
#include "agent/agent.hpp"
#include "agent/plans.hpp"
#include "assembly/engines.hpp"
#include "config/reading.hpp"
#include "exec/launcher.hpp"
#include "pawl/commands.hpp"
#include "pawl/output.hpp"
#include "pawl/version.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

namespace pawl::app {
namespace {

struct agent_options {
    bool check = false;
};

std::string file_of(const globals& options) {
    if (options.config) return *options.config;
    const char* named = std::getenv("PAWL_CONFIG");
    if (named != nullptr && *named != '\0') return named;
    throw CLI::ValidationError{"--config",
                               "an agent needs a configuration: pawl agent --config FILE"};
}

// What overrides the file's own store.
std::string store_told(const globals& options) {
    if (options.store) return *options.store;
    const char* named = std::getenv("PAWL_STORE");
    return named == nullptr ? "" : named;
}

[[noreturn]] void refuse(const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) std::cerr << "pawl: " << lines[i] << '\n';
    throw exit_error{status::configuration, lines.back()};
}

config::parsed_configuration read(const globals& options) {
    auto parsed = config::read_configuration_file(file_of(options), store_told(options));
    if (const auto faults = config::describe(parsed); !faults.empty()) refuse(faults);
    for (const auto& line : config::describe_warnings(parsed)) log(log_level::warn, line);
    return parsed;
}

void say(schedule::tone how, std::string_view line) {
    static_assert(static_cast<int>(schedule::tone::error) == static_cast<int>(log_level::error));
    log(static_cast<log_level>(how), line);
}

// What only the store's engine can say of a configuration. It need not be there for that.
void check_leases(const config::parsed_configuration& parsed, runtime::core& core,
                  safety_class safety) {
    const auto bad = agent::lease_faults(parsed.values, core.running()->store().traits(), safety);
    std::vector<std::string> lines;
    for (const auto& one : bad) lines.push_back(parsed.file + ": " + one);
    if (!lines.empty()) refuse(lines);
}

void check_journal(const std::string& store, const std::string& journal) {
    if (assembly::plan_journal(store, journal)) return;
    throw exit_error{status::configuration,
                     "the store keeps no journal of runs, and an agent needs one: set journal, "
                     "such as journal = \"sqlite:/var/lib/pawl/journal.db\""};
}

assembly::store_plan plan_of(const chosen_store& store) {
    try {
        return assembly::plan_store(store.url);
    } catch (const option_error& error) {
        throw exit_error{store.from == "--store" ? status::usage : status::configuration,
                         store.from + ": " + error.what()};
    }
}

// Opens no database, which would make the file, for whoever checks and not for the agent's user. Of
// leases, memory says what SQLite says.
status check(const globals& options, const config::parsed_configuration& parsed) {
    const auto store = choose_store(options);
    const auto plan = plan_of(store);
    auto instead = options;
    if (plan.engine == "sqlite") instead.store = "memory:";
    auto core = open_core(instead);
    check_leases(parsed, *core, plan.settings.safety);
    check_journal(store.url, choose_journal(options).url);
    std::cout << parsed.file << ": ok, " << parsed.values.jobs.size() << " jobs\n";
    return status::done;
}

// Each run takes a few descriptors. Commands keep the limit that the agent was started with: it is
// raised after their launcher has been forked.
void raise_descriptor_limit() {
    constexpr rlim_t wanted = 65'536;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(limit.rlim_max, wanted);
    setrlimit(RLIMIT_NOFILE, &limit);
}

status run_agent(const globals& options, const agent_options& how) {
    auto parsed = read(options);
    if (how.check) return check(options, parsed);
    const auto store = choose_store(options);
    const auto journal = choose_journal(options);
    // Before the store is opened, as that starts a thread, and only one without threads can fork.
    const auto guards = exec::launcher::start();
    raise_descriptor_limit();
    auto core = open_core(options);
    check_leases(parsed, *core, core->running()->settings().safety);
    check_journal(store.url, journal.url);
    agent::agent_parts parts;
    parts.core = core.get();
    parts.records = core->records();
    parts.guards = &guards;
    parts.configured = std::move(parsed.values);
    parts.file = parsed.file;
    parts.read_again = [file = parsed.file, told = store_told(options)] {
        return config::read_configuration_file(file, told);
    };
    parts.stores = {agent::absolute_url(store.url),
                    agent::absolute_url(journal.url.empty() ? store.url : journal.url)};
    parts.version = version_number();
    parts.say = say;
    const auto node = std::make_shared<agent::agent>(std::move(parts));
    core->loop().wait_for(agent::agent::run(node));
    return status::done;
}

}  // namespace

void add_agent(context& all) {
    auto* one = all.app.add_subcommand("agent", "run the schedules of a configuration");
    auto how = std::make_shared<agent_options>();
    one->add_flag("--check", how->check, "only say whether the configuration is right");
    one->footer(
        "Example: pawl agent --config /etc/pawl/pawl.toml\n"
        "SIGHUP, or a change of the file, brings a new configuration; SIGTERM ends it when its "
        "runs "
        "have ended.");
    one->callback(
        [&all, how] { all.chosen = [&all, how] { return run_agent(all.options, *how); }; });
}

}  // namespace pawl::app
