// pawl agent: runs the schedules of a configuration, and serves the API, the web UI and the
// metrics.
#include "agent/agent.hpp"
#include "agent/plans.hpp"
#include "agent/systemd_notice.hpp"
#include "api/agent_view.hpp"
#include "api/service.hpp"
#include "api/static_routes.hpp"
#include "assembly/engines.hpp"
#include "base/counted.hpp"
#include "cli/clients/login_file.hpp"
#include "cli/commands/build_facts.hpp"
#include "cli/commands/version.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/output.hpp"
#include "cli/output/push_warning.hpp"
#include "config/reading.hpp"
#include "config/texts.hpp"
#include "exec/descriptor_limit.hpp"
#include "exec/launcher.hpp"
#include "health/doctor.hpp"
#include "metrics/instruments.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::cli {
namespace {

struct agent_options {
    bool check = false;
};

struct link_options {
    std::string file;
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

[[noreturn]] void reject(const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) std::cerr << "pawl: " << lines[i] << '\n';
    throw exit_error{status::configuration, lines.back()};
}

config::parsed_configuration read(const globals& options) {
    auto parsed = config::read_configuration_file(file_of(options), store_told(options));
    if (const auto faults = config::describe(parsed); !faults.empty()) reject(faults);
    for (const auto& line : config::describe_warnings(parsed)) log(log_level::warn, line);
    return parsed;
}

using lines = std::vector<std::string>;

// What only the store's engine can say of a configuration. It need not be there for that.
lines lease_faults(const config::parsed_configuration& parsed, runtime::core& core,
                   safety_class safety) {
    auto bad = agent::lease_faults(parsed.values, core.running()->store().traits(), safety);
    for (auto& one : bad) one.insert(0, parsed.file + ": ");
    return bad;
}

void check_leases(const config::parsed_configuration& parsed, runtime::core& core,
                  safety_class safety) {
    if (const auto bad = lease_faults(parsed, core, safety); !bad.empty()) reject(bad);
}

void check_journal(const chosen_store& store, const chosen_store& journal) {
    try {
        if (assembly::plan_journal(store.url, journal.url)) return;
    } catch (const option_error& error) {
        throw exit_error{journal.from == "--journal" ? status::usage : status::configuration,
                         journal.from + ": " + error.what()};
    }
    throw exit_error{status::configuration,
                     store.from +
                         ": the store keeps no journal of runs, and an agent needs one: set "
                         "journal, such as journal = \"sqlite:/var/lib/pawl/journal.db\""};
}

assembly::store_plan plan_of(const chosen_store& store) {
    try {
        return assembly::plan_store(store.url);
    } catch (const option_error& error) {
        throw exit_error{store.from == "--store" ? status::usage : status::configuration,
                         store.from + ": " + error.what()};
    }
}

// What is wrong with a configuration on these. Opens no database, which would make the file, for
// the user who checks and not for the agent's. Of leases, memory says what SQLite says. Throws
// exit_error for what is wrong with the URLs.
lines faults_on(const config::parsed_configuration& parsed, const chosen_store& store,
                const chosen_store& journal) {
    const auto plan = plan_of(store);
    check_journal(store, journal);
    try {
        const auto core =
            assembly::open_core(plan.engine == "sqlite" ? "memory:" : store.url, "", {});
        return lease_faults(parsed, *core, plan.settings.safety);
    } catch (const store_error& error) {
        return {store.from + ": " + error.what()};
    }
}

// Not this user's to read, where it may be the agent's.
bool is_hidden(const std::string& path) {
    return ::access(path.c_str(), R_OK) != 0 && errno == EACCES;
}

lines tls_faults(const config::parsed_configuration& parsed) {
    const auto& tls = parsed.values.agent.tls;
    if (!tls) return {};
    for (const auto* path : {&tls->cert, &tls->key}) {
        if (!is_hidden(*path)) continue;
        log(log_level::warn, parsed.file + ": tls is not checked, as " + *path +
                                 " may not be read by this user; check it as the agent's user");
        return {};
    }
    const auto fault = api::tls_fault(parsed.values.agent);
    return fault ? lines{parsed.file + ": " + *fault} : lines{};
}

void add(lines& all, const lines& more) {
    for (const auto& one : more)
        if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

// What the command line says wrong is told at once; the rest, each on a line of its own.
void add_faults_on(lines& all, const config::parsed_configuration& parsed,
                   const chosen_store& store, const chosen_store& journal) {
    try {
        add(all, faults_on(parsed, store, journal));
    } catch (const exit_error& error) {
        if (error.code() == status::usage) throw;
        add(all, {error.what()});
    }
}

// The store that is used, and the one that the file names, where an option or a variable is used in
// its place: a file that is checked here may be run elsewhere.
status check(const globals& options, const config::parsed_configuration& parsed) {
    auto all = tls_faults(parsed);
    add_faults_on(all, parsed, choose_store(options), choose_journal(options));
    const auto own = config::read_configuration_file(parsed.file);
    add(all, config::describe(own));
    if (own.usable() && !own.values.store.empty())
        add_faults_on(all, own, {own.values.store, own.file},
                      {own.values.journal, own.values.journal.empty() ? "the store" : own.file});
    if (!all.empty()) reject(all);
    // A file that was cut off, or not yet written, looks like this as well.
    if (parsed.sets_nothing)
        std::cout << parsed.file << ": sets nothing; an agent with it has no job and no user\n";
    else
        std::cout << parsed.file << ": ok, " << base::counted(parsed.values.jobs.size(), "job")
                  << '\n';
    return status::done;
}

// The sockets that systemd has opened for the API, which decide where it listens.
std::vector<agent::inherited_socket> take_sockets(const std::string& file,
                                                  const config::settings& values,
                                                  config::agent_settings& serving) {
    auto all = agent::take_inherited_sockets();
    std::erase_if(all, [](const auto& one) { return one.name != "api"; });
    bool is_open = false;
    for (const auto& one : all) {
        const auto where = agent::place_of(one);
        if (!where || is_open) continue;
        serving.listen = *where;
        is_open = !config::is_loopback(*where);
    }
    if (!is_open) return all;
    const auto opens =
        file + ": the socket unit opens '" + serving.listen.host + "' to other machines";
    if (values.users.empty())
        reject({opens + ", but there is no [[user]]; add one, or let it listen on 127.0.0.1"});
    if (!serving.tls) log(log_level::warn, opens + " without tls, so tokens travel in clear text");
    return all;
}

using measure = std::function<runtime::store_maker(runtime::store_maker)>;

open_options watched_by(const std::shared_ptr<metrics::instruments>& instruments) {
    open_options how;
    how.observer = warning_of_pushes(instruments->of_locks());
    return how;
}

// The agent's own core serves the API only where there can be no second one.
std::unique_ptr<runtime::core> open_second_core(const globals& options, const std::string& engine,
                                                const measure& around) {
    if (engine == "memory") return nullptr;
    return open_core(options, {}, around);
}

std::function<health::diagnosis()> diagnosis_of(const assembly::store_plan& plan,
                                                const std::string& url) {
    return [settings = plan.settings, shown = plan.shown, url] {
        health::diagnosis made;
        try {
            auto store = locks::open(url);
            made = health::diagnose(store, settings, {});
        } catch (const store_error& error) {
            made.findings.push_back({severity::fail, "reachability", error.what()});
        }
        return made;
    };
}

std::vector<std::string> names_of(const std::vector<config::job_settings>& jobs) {
    std::vector<std::string> names;
    names.reserve(jobs.size());
    for (const auto& one : jobs) names.push_back(one.name);
    return names;
}

// The API around an agent, for as long as it is there.
class served {
public:
    served(api::service_parts parts, runtime::core& core, std::shared_ptr<login_file> links)
        : core_{core},
          links_{std::move(links)},
          service_{std::make_shared<api::service>(std::move(parts))} {}
    // Requests that were cut off may keep the links longer than there is anything to log in to.
    ~served() {
        core_.loop().wait_for(api::service::stop(service_));
        links_->take_away();
    }
    served(const served&) = delete;
    served& operator=(const served&) = delete;

    void start(const std::string& file) {
        const auto begun = core_.loop().wait_for(api::service::start(service_));
        if (begun.has_error())
            throw exit_error{status::configuration, file + ": " + begun.error().detail};
    }
    void replace_users(std::vector<config::user_settings> users) {
        service_->replace_users(std::move(users));
    }

private:
    runtime::core& core_;
    std::shared_ptr<login_file> links_;
    std::shared_ptr<api::service> service_;
};

status run_agent(const globals& options, const agent_options& how) {
    if (how.check) return check(options, read(options));
    // Before the store is opened, as that starts a thread, and only one without threads can fork.
    // And before the file is read: guards are forked from the launcher's memory, however much of it
    // is in use, and lock it.
    const auto guards = exec::launcher::start(exec::controlling_terminal::none);
    // What is written from here on, while the store is opened too, is a change.
    const auto file_seen = agent::appearance_of(file_of(options));
    auto parsed = read(options);
    const auto store = choose_store(options);
    const auto journal = choose_journal(options);
    const auto plan = plan_of(store);
    auto api_settings = parsed.values.agent;
    auto sockets = take_sockets(parsed.file, parsed.values, api_settings);
    outlive_log_reader();
    // Each run takes a few. Commands keep the limit that the agent was started with.
    exec::raise_descriptor_limit();
    const auto instruments = std::make_shared<metrics::instruments>(build_facts());
    const measure around = [&](runtime::store_maker make) {
        return instruments->measuring(std::move(make));
    };
    auto core = open_core(options, watched_by(instruments), around);
    instruments->own_owner(core->running()->owner());
    check_leases(parsed, *core, core->running()->settings().safety);
    check_journal(store, journal);
    agent::agent_parts parts;
    parts.core = core.get();
    parts.records = core->run_journal();
    parts.guards = &guards;
    parts.configured = std::move(parsed.values);
    parts.file = parsed.file;
    parts.file_seen = file_seen;
    // Its jobs run on the store in use, whatever the file says of the next one.
    parts.read_again = [file = parsed.file, in_use = store.url,
                        node = parts.configured.agent.name] {
        return config::read_configuration_file(file, in_use, node);
    };
    parts.stores = {agent::absolute_url(store.url),
                    agent::absolute_url(journal.url.empty() ? store.url : journal.url)};
    parts.version = version_number();
    parts.log = log;
    parts.observer = instruments->of_runs();
    parts.address = api::address_of(api_settings);
    parts.listens = api_settings.listen;
    const auto second = open_second_core(options, plan.engine, around);
    auto& api_core = second ? *second : *core;
    api::service_parts serving;
    served* running = nullptr;
    instruments->keep_jobs(names_of(parts.configured.jobs));
    const auto links = std::make_shared<login_file>(api_settings);
    parts.on_configured = [&running, &instruments, links](const config::settings& now) {
        instruments->keep_jobs(names_of(now.jobs));
        if (!now.users.empty()) links->take_away();
        if (running != nullptr) running->replace_users(now.users);
    };
    serving.configured = std::move(api_settings);
    serving.users = parts.configured.users;
    serving.sockets = std::move(sockets);
    serving.page = [](const http::request& asked) { return api::serve_asset(asked); };
    serving.show_link = [links](const api::login_key& key, std::string_view link) {
        links->offer(key, link);
    };
    auto seen = std::make_shared<api::context>();
    seen->core = &api_core;
    seen->records = api_core.run_journal();
    seen->instruments = instruments;
    seen->node_name = parts.configured.agent.name;
    seen->version = parts.version;
    seen->store_shown = plan.shown;
    seen->engine = plan.engine;
    seen->diagnose = diagnosis_of(plan, store.url);
    seen->log = log;
    const auto node = std::make_shared<agent::agent>(std::move(parts));
    seen->node = api::view_of(node, core->loop());
    serving.around = std::move(seen);
    served api{std::move(serving), api_core, links};
    running = &api;
    api.start(parsed.file);
    return core->loop().wait_for(agent::agent::run(node)) ? status::done : status::unavailable;
}

status print_link(const globals& options, const link_options& what) {
    const auto path = what.file.empty() ? login_file_path(read(options).values.agent) : what.file;
    const auto link = login_link_of(path);
    if (options.json)
        print_json(boost::json::object{{"url", link}});
    else
        std::cout << link << std::endl;
    return status::done;
}

void add_login_link(context& all, CLI::App& agent) {
    auto* one =
        agent.add_subcommand("login-link", "print a one-time login link of an agent without users");
    auto what = std::make_shared<link_options>();
    one->add_option("--file", what->file,
                    "read the agent's key from FILE instead of the path in --config")
        ->type_name("FILE");
    one->footer(
        "Example: pawl agent login-link --config /etc/pawl/pawl.toml\n"
        "Run it on the agent's machine, as the agent's user. The link works once, for 15 "
        "minutes.");
    one->callback(
        [&all, what] { all.chosen = [&all, what] { return print_link(all.options, *what); }; });
}

}  // namespace

void add_agent(context& all) {
    auto* one =
        all.app.add_subcommand("agent", "run scheduled jobs; serve API, web UI and metrics");
    auto how = std::make_shared<agent_options>();
    one->add_flag("--check", how->check, "validate the configuration and exit");
    one->footer(
        "Example: pawl agent --config /etc/pawl/pawl.toml\n"
        "SIGHUP or a change of the file reloads the configuration; SIGTERM drains active runs, "
        "then exits.");
    add_login_link(all, *one);
    one->callback([&all, how, one] {
        if (!one->get_subcommands().empty()) return;
        all.chosen = [&all, how] { return run_agent(all.options, *how); };
    });
}

}  // namespace pawl::cli
