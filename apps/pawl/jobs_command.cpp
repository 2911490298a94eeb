// pawl jobs ls | show | run | pause | resume
#include "base/duration.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "pawl/commands.hpp"
#include "pawl/journal_client.hpp"
#include "pawl/output.hpp"
#include "schedule/dispatcher.hpp"
#include "time/clocks.hpp"
#include "time/cron.hpp"
#include "time/pause.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

namespace pawl::app {
namespace {

// Between two looks at a run that is waited for.
constexpr millis wait_interval{200};
constexpr std::size_t runs_shown = 10;

boost::json::object definition_of(const job_entry& job) {
    boost::system::error_code broken;
    auto parsed = boost::json::parse(job.definition, broken);
    if (broken || !parsed.is_object()) return {};
    return parsed.as_object();
}

std::string text_in(const boost::json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found != nullptr && found->is_string() ? std::string{found->as_string()} : std::string{};
}

bool is_enabled(const job_entry& job) {
    const auto what = definition_of(job);
    const auto* told = what.if_contains("enabled");
    return told == nullptr || !told->is_bool() || told->as_bool();
}

// By this machine's clock and zone data; for people.
std::optional<std::int64_t> next_firing(const job_entry& job) {
    if (!is_enabled(job)) return std::nullopt;
    const auto when = time::cron::parse(job.schedule);
    const auto where = time::zone::find(job.zone.empty() ? "UTC" : job.zone);
    if (when.has_error() || where.has_error()) return std::nullopt;
    const auto what = definition_of(job);
    time::transitions policy;
    if (text_in(what, "gap") == "skip") policy.gap = time::gap_policy::skip;
    if (text_in(what, "repeat") == "twice") policy.repeat = time::repeat_policy::twice;
    const auto next = when->next(time::wall_now(), *where, policy);
    if (!next) return std::nullopt;
    return std::chrono::floor<millis>(*next).time_since_epoch().count();
}

std::vector<run_record> last_runs(journal_client& records, const std::string& job,
                                  std::size_t limit) {
    run_filter which;
    which.job = job;
    return records.ask(records.verbs().list_runs(which, "", limit)).records;
}

boost::json::value json_of_pause(const job_pause* pause) {
    if (pause == nullptr) return nullptr;
    return boost::json::object{
        {"reason", pause->reason}, {"by", pause->by}, {"at", time_text(pause->at)}};
}

const job_pause* pause_of(const board& seen, const std::string& job) {
    const auto found = std::find_if(seen.pauses.begin(), seen.pauses.end(),
                                    [&](const job_pause& one) { return one.job == job; });
    return found == seen.pauses.end() ? nullptr : &*found;
}

boost::json::object json_of_job(const job_entry& job, const job_pause* pause,
                                const std::vector<run_record>& runs) {
    boost::json::object one;
    one["name"] = job.name;
    one["schedule"] = job.schedule;
    one["zone"] = job.zone;
    one["partitions"] = job.partitions;
    one["paused"] = json_of_pause(pause);
    one["next"] = pause != nullptr ? nullptr : time_or_null(next_firing(job));
    one["last_run"] = nullptr;
    if (!runs.empty()) one["last_run"] = json_of(runs.front());
    one["published_by"] = job.node;
    one["published_at"] = time_text(job.published_at);
    one["definition"] = definition_of(job);
    return one;
}

status list_jobs(const globals& options) {
    journal_client records{options};
    const auto jobs = known_jobs(records);
    const auto seen = records.ask(records.verbs().read_board());
    boost::json::array all;
    std::vector<std::vector<std::string>> rows{
        {"JOB", "SCHEDULE", "ZONE", "NEXT", "LAST", "STATUS", "PAUSED"}};
    for (const auto& job : jobs) {
        const auto* pause = pause_of(seen, job.name);
        const auto runs = last_runs(records, job.name, 1);
        if (options.json) {
            all.push_back(json_of_job(job, pause, runs));
            continue;
        }
        const auto next = pause != nullptr ? std::nullopt : next_firing(job);
        rows.push_back({base::printable(job.name),
                        job.schedule.empty() ? "-" : base::printable(job.schedule), job.zone,
                        next ? time_text(*next) : "-",
                        runs.empty() ? "-" : time_text(runs.front().started_at),
                        runs.empty() ? "-" : std::string{name_of(runs.front().status)},
                        pause != nullptr ? base::printable(pause->reason) : "-"});
    }
    if (options.json)
        print_json(boost::json::object{{"jobs", std::move(all)}, {"next", ""}});
    else if (jobs.empty())
        log(log_level::info, "no agent has published a job yet");
    else
        print_table(rows);
    return status::done;
}

status show_job(const globals& options, const std::string& name) {
    journal_client records{options};
    const auto job = known_job(records, name);
    const auto seen = records.ask(records.verbs().read_board());
    const auto* pause = pause_of(seen, name);
    const auto runs = last_runs(records, name, runs_shown);
    if (options.json) {
        auto document = json_of_job(job, pause, runs);
        boost::json::array all;
        for (const auto& one : runs) all.push_back(json_of(one));
        document["runs"] = std::move(all);
        print_json(document);
        return status::done;
    }
    const auto next = pause != nullptr ? std::nullopt : next_firing(job);
    std::vector<std::vector<std::string>> rows{
        {"job", base::printable(job.name)},
        {"next", next ? time_text(*next) : "-"},
        {"paused", pause != nullptr
                       ? base::printable(pause->reason) + " (by " + base::printable(pause->by) +
                             ", " + time_text(pause->at) + ")"
                       : "no"},
        {"published by", base::printable(job.node) + " at " + time_text(job.published_at)}};
    for (const auto& [key, value] : definition_of(job))
        if (key != "name")
            rows.push_back({std::string{key}, value.is_string() ? base::printable(value.as_string())
                                                                : boost::json::serialize(value)});
    print_table(rows);
    if (runs.empty()) return status::done;
    std::cout << '\n';
    std::vector<std::vector<std::string>> table{{"ID", "STATUS", "STARTED", "NODE", "REASON"}};
    for (const auto& one : runs)
        table.push_back({one.id, std::string{name_of(one.status)}, time_text(one.started_at),
                         base::printable(one.node), base::printable(one.reason)});
    print_table(table);
    return status::done;
}

// -- run

struct run_options {
    std::string name;
    std::vector<std::string> arguments;
    std::optional<std::uint32_t> partition;
    bool dry_run = false;
    bool resume = false;
    bool wait = false;
};

std::vector<std::uint32_t> partitions_of(const job_entry& job, const run_options& how) {
    if (how.partition) {
        if (*how.partition >= job.partitions)
            throw CLI::ValidationError{"--partition", "the job '" + job.name +
                                                          "' has partitions 0 to " +
                                                          std::to_string(job.partitions - 1)};
        return {*how.partition};
    }
    std::vector<std::uint32_t> all(job.partitions);
    for (std::uint32_t i = 0; i < job.partitions; ++i) all[i] = i;
    return all;
}

std::string key_of(const job_entry& job, std::uint32_t partition) {
    return job.partitions == 1 ? "job/" + job.name
                               : "job/" + job.name + "/" + std::to_string(partition);
}

std::size_t live_nodes(journal_client& records) {
    const auto nodes = records.ask(records.verbs().list_nodes());
    return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [](const auto& one) {
        return one.age <= schedule::node_silence_max && !one.draining;
    }));
}

// What the run that is resumed would be given.
std::string checkpoint_for(journal_client& records, const job_entry& job, std::uint32_t partition,
                           const run_options& how) {
    if (!how.resume) return "";
    for (const auto& one : last_runs(records, job.name, page_limit_max))
        if (one.partition == partition && !one.checkpoint.empty()) return one.checkpoint;
    return "";
}

// Everything but the effect.
status show_what_would_run(const globals& options, journal_client& records, const job_entry& job,
                           const run_options& how) {
    auto store = open_locks(options);
    const auto nodes = live_nodes(records);
    const auto definition = definition_of(job);
    auto command =
        definition.contains("command") ? definition.at("command").as_array() : boost::json::array{};
    for (const auto& one : how.arguments) command.emplace_back(one);
    boost::json::array runs;
    for (const auto partition : partitions_of(job, how)) {
        const auto key = key_of(job, partition);
        const auto held = store.inspect(key);
        boost::json::object one;
        one["key"] = key;
        one["partition"] = partition;
        one["lease"] = held && held->remaining.count() > 0 ? json_of(*held) : boost::json::value{};
        one["checkpoint"] = checkpoint_for(records, job, partition, how);
        runs.push_back(std::move(one));
    }
    if (options.json) {
        print_json(boost::json::object{{"dry_run", true},
                                       {"job", job.name},
                                       {"command", command},
                                       {"definition", definition},
                                       {"live_nodes", nodes},
                                       {"runs", std::move(runs)}});
        return status::done;
    }
    std::vector<std::vector<std::string>> rows{{"job", base::printable(job.name)},
                                               {"command", boost::json::serialize(command)}};
    for (const auto* key : {"user", "working_directory", "ttl", "timeout"})
        if (const auto text = text_in(definition, key); !text.empty()) rows.push_back({key, text});
    if (const auto* names = definition.if_contains("env"))
        rows.push_back(
            {"variables", boost::json::serialize(*names) + " and those of a run, PAWL_…"});
    rows.push_back({"live nodes", std::to_string(nodes)});
    for (const auto& one : runs) {
        const auto& run = one.as_object();
        const auto& lease = run.at("lease");
        rows.push_back(
            {"lease", std::string{run.at("key").as_string()} +
                          (lease.is_null() ? ": free, it would begin at once"
                                           : ": held by " + text_in(lease.as_object(), "owner") +
                                                 ", it would wait")});
        if (how.resume)
            rows.push_back({"checkpoint", base::printable(run.at("checkpoint").as_string())});
    }
    print_table(rows);
    std::cout << "nothing was run (--dry-run)\n";
    return status::done;
}

status status_of_run(const run_record& run) {
    switch (run.status) {
        case run_status::completed:
            return status::done;
        case run_status::lost:
        case run_status::abandoned:
            return status::lost;
        default:
            return as_status(run.exit_status.value_or(1) == 0 ? 1 : run.exit_status.value_or(1));
    }
}

// Nothing when it was withdrawn before any agent had taken it up. What is on the board is read
// first: a trigger makes way for its row in one step.
std::optional<run_record> wait_for_run(journal_client& records, const std::string& id) {
    for (;;) {
        const auto seen = records.ask(records.verbs().read_board());
        auto run = records.ask(records.verbs().find_run(id));
        if (run && is_over(run->status)) return run;
        const bool asked_for = seen.triggers.size() >= board_entries_max ||
                               std::any_of(seen.triggers.begin(), seen.triggers.end(),
                                           [&](const run_trigger& one) { return one.id == id; });
        if (!run && !asked_for) return std::nullopt;
        time::pause_until(lease_clock::now() + wait_interval);
    }
}

status wait_for_runs(const globals& options, journal_client& records,
                     const std::vector<std::string>& ids) {
    auto worst = status::done;
    boost::json::array ended;
    for (const auto& id : ids) {
        const auto run = wait_for_run(records, id);
        if (!run) {
            log(log_level::error, "run " + id + " was cancelled before it began");
            worst = as_status(1);
            continue;
        }
        if (const auto code = status_of_run(*run); code != status::done) worst = code;
        if (options.json)
            ended.push_back(json_of(*run));
        else
            std::cout << "run " << id << ' ' << name_of(run->status)
                      << (run->reason.empty() ? "" : ": " + base::printable(run->reason)) << '\n';
    }
    if (options.json) print_json(boost::json::object{{"runs", std::move(ended)}});
    return worst;
}

status run_job(const globals& options, const run_options& how) {
    journal_client records{options};
    const auto job = known_job(records, how.name);
    if (how.dry_run) return show_what_would_run(options, records, job, how);
    if (!is_enabled(job))
        throw exit_error{status::usage, "job '" + base::printable(job.name) +
                                            "' is not enabled in its configuration: it never runs"};
    if (live_nodes(records) == 0)
        log(log_level::warn, "no agent is alive: the run begins when one comes");
    std::vector<std::string> ids;
    for (const auto partition : partitions_of(job, how)) {
        run_trigger what;
        what.id = base::fresh_uuid();
        what.job = job.name;
        what.partition = partition;
        what.arguments = how.arguments;
        what.past = how.resume ? inheritance::last_saved : inheritance::none;
        what.by = actor_name();
        ids.push_back(what.id);
        records.ask(records.verbs().add_trigger(what));
    }
    audit(records, "job.run", job.name, how.resume ? "resume" : "");
    if (!options.json || !how.wait) {
        boost::json::array all;
        for (const auto& id : ids) {
            all.emplace_back(id);
            if (!options.json)
                std::cout << "run " << id << " of '" << base::printable(job.name)
                          << "' is asked for\n"
                          << std::flush;
        }
        if (options.json)
            print_json(boost::json::object{{"job", job.name}, {"ids", std::move(all)}});
    }
    return how.wait ? wait_for_runs(options, records, ids) : status::done;
}

// -- pause and resume

status pause_job(const globals& options, const std::string& name, const std::string& reason) {
    journal_client records{options};
    const auto job = known_job(records, name);
    const bool changed = records.ask(records.verbs().pause(job.name, reason, actor_name()));
    if (changed) audit(records, "job.pause", name, reason);
    if (options.json)
        print_json(boost::json::object{{"job", name}, {"paused", true}, {"changed", changed}});
    else
        std::cout << "job '" << base::printable(name)
                  << (changed ? "' is paused; what runs is left to end\n"
                              : "' was paused already\n");
    return status::done;
}

status resume_job(const globals& options, const std::string& name) {
    journal_client records{options};
    const bool changed = records.ask(records.verbs().unpause(name));
    if (changed)
        audit(records, "job.resume", name, "");
    else
        known_job(records, name);
    if (options.json)
        print_json(boost::json::object{{"job", name}, {"paused", false}, {"changed", changed}});
    else
        std::cout << "job '" << base::printable(name)
                  << (changed ? "' is resumed with its next firing\n" : "' was not paused\n");
    return status::done;
}

void add_run(context& all, CLI::App& group) {
    auto* run = group.add_subcommand("run", "run a job now, through its lease like any other run");
    auto how = std::make_shared<run_options>();
    run->add_option("NAME", how->name, "the job")->required();
    run->add_option("ARG", how->arguments, "added to its command, after --")->type_name("");
    run->add_option("--partition", how->partition, "only this partition; default all of them")
        ->type_name("N");
    run->add_flag("--dry-run", how->dry_run, "show what would run, and run nothing");
    run->add_flag("--resume", how->resume, "go on from the last checkpoint");
    run->add_flag("--wait", how->wait, "until it has ended; exit as it did");
    run->footer("Example: pawl jobs run daily-report --resume --wait -- --verbose");
    run->callback([&all, how] { all.chosen = [&all, how] { return run_job(all.options, *how); }; });
}

}  // namespace

void add_jobs(context& all) {
    auto* group = all.app.add_subcommand("jobs", "list, show, run, pause and resume jobs");
    group->require_subcommand(1);
    group->footer("Example: pawl jobs ls");

    auto* ls = group->add_subcommand("ls", "list the jobs that agents have published");
    ls->footer("Example: pawl jobs ls --json");
    ls->callback([&all] { all.chosen = [&all] { return list_jobs(all.options); }; });

    auto name = std::make_shared<std::string>();
    auto* show = group->add_subcommand("show", "show one job with its last runs");
    show->add_option("NAME", *name, "the job")->required();
    show->footer("Example: pawl jobs show daily-report");
    show->callback(
        [&all, name] { all.chosen = [&all, name] { return show_job(all.options, *name); }; });

    add_run(all, *group);

    auto reason = std::make_shared<std::string>();
    auto* pause = group->add_subcommand("pause", "let no more firings of a job begin, on any node");
    pause->add_option("NAME", *name, "the job")->required();
    pause->add_option("--reason", *reason, "why, for those who wonder")
        ->required()
        ->type_name("TEXT");
    pause->footer(
        "Example: pawl jobs pause daily-report --reason \"the warehouse is being moved\"");
    pause->callback([&all, name, reason] {
        all.chosen = [&all, name, reason] { return pause_job(all.options, *name, *reason); };
    });

    auto* resume = group->add_subcommand("resume", "let a paused job fire again");
    resume->add_option("NAME", *name, "the job")->required();
    resume->footer("Example: pawl jobs resume daily-report");
    resume->callback(
        [&all, name] { all.chosen = [&all, name] { return resume_job(all.options, *name); }; });
}

}  // namespace pawl::app
