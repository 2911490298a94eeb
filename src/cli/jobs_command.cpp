// pawl jobs ls | show | run | pause | resume
#include "base/text.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "time/pause.hpp"

#include <iostream>
#include <memory>

namespace pawl::cli {
namespace {

// Between two looks at a run that is waited for.
constexpr millis wait_interval{200};
constexpr std::size_t runs_shown = 10;

std::string text_in(const boost::json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found != nullptr && found->is_string() ? std::string{found->as_string()} : std::string{};
}

using documents::json_of;

std::string shown(std::string_view text) { return text.empty() ? "-" : base::printable(text); }

const boost::json::object* object_in(const boost::json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found == nullptr ? nullptr : found->if_object();
}

std::string number_in(const boost::json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found == nullptr ? "0" : boost::json::serialize(*found);
}

// In the words of the web UI. An earlier agent does not say.
std::string state_of(const boost::json::object& job) {
    const auto state = text_in(job, "state");
    const auto partitions = number_in(job, "partitions");
    if (state == "running" && partitions != "1")
        return number_in(job, "running") + " of " + partitions + " running";
    if (state != "idle") return shown(state);
    return text_in(job, "schedule").empty() ? "manual only" : "scheduled";
}

status list_jobs(const globals& options) {
    const auto asked = open_client(options);
    auto jobs = asked->list_jobs();
    if (options.json) {
        boost::json::array all;
        for (auto& one : jobs) all.push_back(std::move(one));
        print_json(boost::json::object{{"jobs", std::move(all)}, {"next", ""}});
        return status::done;
    }
    std::vector<std::vector<std::string>> rows{
        {"JOB", "STATE", "SCHEDULE", "ZONE", "NEXT", "LAST RUN", "LAST STATUS", "REASON"}};
    for (const auto& one : jobs) {
        const auto* last = object_in(one, "last_run");
        rows.push_back(
            {base::printable(text_in(one, "name")), state_of(one), shown(text_in(one, "schedule")),
             shown(text_in(one, "zone")), shown(text_in(one, "next")),
             last == nullptr ? "-" : shown(text_in(*last, "started_at")),
             last == nullptr ? "-" : shown(text_in(*last, "status")), shown(text_in(one, "why"))});
    }
    if (jobs.empty())
        log(log_level::info, "no agent has published a job yet");
    else
        print_table(rows);
    return status::done;
}

void print_runs(const std::vector<run_record>& runs) {
    std::vector<std::vector<std::string>> table{{"ID", "STATUS", "STARTED", "NODE", "REASON"}};
    for (const auto& one : runs)
        table.push_back({one.id, std::string{name_of(one.status)}, time_text(one.started_at),
                         base::printable(one.node), base::printable(one.reason)});
    print_table(table);
}

status show_job(const globals& options, const std::string& name) {
    const auto asked = open_client(options);
    auto seen = asked->show_job(name, runs_shown);
    auto& job = seen.document;
    if (options.json) {
        boost::json::array all;
        for (const auto& one : seen.runs) all.push_back(json_of(one));
        job["runs"] = std::move(all);
        print_json(job);
        return status::done;
    }
    const auto* pause = object_in(job, "paused");
    std::vector<std::vector<std::string>> rows{
        {"job", base::printable(text_in(job, "name"))},
        {"state", state_of(job)},
        {"reason", shown(text_in(job, "why"))},
        {"next", shown(text_in(job, "next"))},
        {"paused", pause == nullptr ? "no"
                                    : base::printable(text_in(*pause, "reason")) + " (by " +
                                          base::printable(text_in(*pause, "by")) + ", " +
                                          text_in(*pause, "at") + ")"},
        {"published by",
         base::printable(text_in(job, "published_by")) + " at " + text_in(job, "published_at")}};
    if (const auto* definition = object_in(job, "definition"))
        for (const auto& [key, value] : *definition)
            if (key != "name")
                rows.push_back({std::string{key}, value.is_string()
                                                      ? base::printable(value.as_string())
                                                      : boost::json::serialize(value)});
    print_table(rows);
    if (seen.runs.empty()) return status::done;
    std::cout << '\n';
    print_runs(seen.runs);
    return status::done;
}

// -- run

struct run_options {
    run_request request;
    bool dry_run = false;
    bool wait = false;
};

void print_what_would_run(const boost::json::object& what, const run_options& how) {
    const auto& definition = what.at("definition").as_object();
    std::vector<std::vector<std::string>> rows{
        {"job", base::printable(how.request.job)},
        {"command", boost::json::serialize(what.at("command"))}};
    for (const auto* key : {"user", "working_directory", "ttl", "timeout"})
        if (const auto text = text_in(definition, key); !text.empty()) rows.push_back({key, text});
    if (const auto* names = definition.if_contains("env"))
        rows.push_back(
            {"variables", boost::json::serialize(*names) + " and those of a run, PAWL_…"});
    rows.push_back({"live nodes", boost::json::serialize(what.at("live_nodes"))});
    for (const auto& one : what.at("runs").as_array()) {
        const auto& run = one.as_object();
        const auto& lease = run.at("lease");
        rows.push_back(
            {"lease", std::string{run.at("key").as_string()} +
                          (lease.is_null() ? ": free, it would begin at once"
                                           : ": held by " + text_in(lease.as_object(), "owner") +
                                                 ", it would wait")});
        if (how.request.resume)
            rows.push_back({"checkpoint", base::printable(run.at("checkpoint").as_string())});
    }
    print_table(rows);
    std::cout << "nothing was run (--dry-run)\n";
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

// Nothing when it was withdrawn before any agent had taken it up.
std::optional<run_record> wait_for_run(client& asked, const std::string& id) {
    for (;;) {
        auto seen = asked.look_for_run(id);
        if (seen.run && is_over(seen.run->status)) return seen.run;
        if (!seen.run && !seen.waits_for) return std::nullopt;
        time::pause_until(lease_clock::now() + wait_interval);
    }
}

status wait_for_runs(const globals& options, client& asked, const std::vector<std::string>& ids) {
    auto worst = status::done;
    boost::json::array ended;
    for (const auto& id : ids) {
        const auto run = wait_for_run(asked, id);
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
    const auto asked = open_client(options);
    if (how.dry_run) {
        const auto what = asked->dry_run(how.request);
        if (options.json)
            print_json(what);
        else
            print_what_would_run(what, how);
        return status::done;
    }
    const auto ids = asked->ask_for_runs(how.request);
    if (!options.json || !how.wait) {
        boost::json::array all;
        for (const auto& id : ids) {
            all.emplace_back(id);
            if (!options.json)
                std::cout << "run " << id << " of '" << base::printable(how.request.job)
                          << "' is asked for\n"
                          << std::flush;
        }
        if (options.json)
            print_json(boost::json::object{{"job", how.request.job}, {"ids", std::move(all)}});
    }
    return how.wait ? wait_for_runs(options, *asked, ids) : status::done;
}

// -- pause and resume

status pause_job(const globals& options, const std::string& name, const std::string& reason) {
    const auto asked = open_client(options);
    const bool changed = asked->pause_job(name, reason);
    if (options.json)
        print_json(boost::json::object{{"job", name}, {"paused", true}, {"changed", changed}});
    else
        std::cout << "job '" << base::printable(name)
                  << (changed ? "' is paused; what runs is left to end\n"
                              : "' was paused already\n");
    return status::done;
}

status resume_job(const globals& options, const std::string& name) {
    const auto asked = open_client(options);
    const bool changed = asked->resume_job(name);
    if (options.json)
        print_json(boost::json::object{{"job", name}, {"paused", false}, {"changed", changed}});
    else
        std::cout << "job '" << base::printable(name)
                  << (changed ? "' is resumed with its next occurrence\n" : "' was not paused\n");
    return status::done;
}

void add_run(context& all, CLI::App& group) {
    auto* run = group.add_subcommand("run", "run a job now, through its lease like any other run");
    auto how = std::make_shared<run_options>();
    run->add_option("NAME", how->request.job, "the job")->required();
    run->add_option("ARG", how->request.arguments, "added to its command, after --")->type_name("");
    run->add_option("--partition", how->request.partition,
                    "only this partition; default all of them")
        ->type_name("N");
    run->add_flag("--dry-run", how->dry_run, "show what would run, and run nothing");
    run->add_flag("--resume", how->request.resume, "go on from the last checkpoint");
    run->add_flag("--wait", how->wait, "until it has ended; exit as it did");
    run->footer("Example: pawl jobs run daily-report --resume --wait -- --verbose");
    run->callback([&all, how] { all.chosen = [&all, how] { return run_job(all.options, *how); }; });
}

}  // namespace

void add_jobs(context& all) {
    auto* group = all.app.add_subcommand("jobs", "list, show, run, pause and resume jobs");
    group->require_subcommand(1);
    group->footer("Example: pawl jobs ls");

    auto* ls = group->add_subcommand("ls", "list jobs with their state and the reason for it");
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
    auto* pause =
        group->add_subcommand("pause", "let no more occurrences of a job begin, on any node");
    pause->add_option("NAME", *name, "the job")->required();
    pause->add_option("--reason", *reason, "why, for those who wonder")
        ->required()
        ->check(one_line_fault)
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

}  // namespace pawl::cli
