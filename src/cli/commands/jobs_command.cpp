// pawl jobs ls | show | run | pause | resume
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/clients/run_wait.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"
#include "time/pause.hpp"

#include <pawl/partition.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>

namespace pawl::cli {
namespace {

// Between two looks at a run that is waited for, and after one that had no answer.
constexpr millis wait_interval{200};
constexpr millis wait_interval_unanswered{1'000};
// Of several runs so many looks share the interval: more would be a load on the journal.
constexpr std::size_t looks_per_interval_max = 10;
constexpr std::size_t runs_shown = 10;

std::string text_in(const boost::json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found != nullptr && found->is_string() ? std::string{found->as_string()} : std::string{};
}

using documents::json_of;

std::string shown(std::string_view text) {
    return text.empty() ? std::string{no_value} : base::printable(text);
}

std::string time_shown(const boost::json::object& what, std::string_view name) {
    const auto text = text_in(what, name);
    return text.empty() ? std::string{no_value} : local_time(std::string_view{text});
}

const boost::json::object* object_in(const boost::json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found == nullptr ? nullptr : found->if_object();
}

std::string number_in(const boost::json::object& what, std::string_view name) {
    const auto* found = what.if_contains(name);
    return found == nullptr ? "0" : boost::json::serialize(*found);
}

// JSON with numbers as people write them: boost::json writes 2.0 as 2E0.
std::string json_text(const boost::json::value& value) {
    if (value.is_double()) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%.15g", value.as_double());
        return text.data();
    }
    std::string text;
    if (const auto* list = value.if_array()) {
        for (const auto& one : *list) text += (text.empty() ? "" : ",") + json_text(one);
        return "[" + text + "]";
    }
    const auto* members = value.if_object();
    if (members == nullptr) return boost::json::serialize(value);
    for (const auto& [name, one] : *members)
        text += (text.empty() ? "" : ",") + boost::json::serialize(boost::json::string{name}) +
                ":" + json_text(one);
    return "{" + text + "}";
}

std::string value_text(const boost::json::value& value) {
    return value.is_string() ? base::printable(value.as_string()) : json_text(value);
}

std::string status_shown(const boost::json::object& run) {
    const auto text = text_in(run, "status");
    return text == name_of(run_status::started) ? std::string{word_of(run_status::started)}
                                                : shown(text);
}

// In the words of the web UI. An earlier agent does not say.
std::string state_of(const boost::json::object& job) {
    const auto state = text_in(job, "state");
    // An earlier agent does not know of slots.
    const auto slots = job.contains("slots") ? number_in(job, "slots") : "1";
    const auto many = slots != "1" ? slots : number_in(job, "partitions");
    if (state == "running" && many != "1")
        return number_in(job, "running") + " of " + many + " running";
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
        rows.push_back({base::printable(text_in(one, "name")), state_of(one),
                        shown(text_in(one, "schedule")), shown(text_in(one, "zone")),
                        time_shown(one, "next"),
                        last == nullptr ? std::string{no_value} : time_shown(*last, "started_at"),
                        last == nullptr ? std::string{no_value} : status_shown(*last),
                        shown(text_in(one, "why"))});
    }
    if (jobs.empty())
        std::cout << "No jobs yet.\n";
    else
        print_table(rows);
    return status::done;
}

void print_runs(const std::vector<run_record>& runs) {
    std::vector<std::vector<std::string>> table{{"ID", "STATUS", "STARTED", "NODE", "REASON"}};
    for (const auto& one : runs)
        table.push_back({one.id, std::string{word_of(one.status)}, local_time(one.started_at),
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
        {"next", time_shown(job, "next")},
        {"paused", pause == nullptr ? "no"
                                    : base::printable(text_in(*pause, "reason")) + " (by " +
                                          base::printable(text_in(*pause, "by")) + ", " +
                                          time_shown(*pause, "at") + ")"},
        {"published by",
         base::printable(text_in(job, "published_by")) + " at " + time_shown(job, "published_at")}};
    if (const auto* definition = object_in(job, "definition"))
        for (const auto& [key, value] : *definition)
            if (key != "name") rows.push_back({std::string{key}, value_text(value)});
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
            {"variables", boost::json::serialize(*names) + " and those of each run, PAWL_…"});
    rows.push_back({"live nodes", boost::json::serialize(what.at("live_nodes"))});
    for (const auto& one : what.at("runs").as_array()) {
        const auto& run = one.as_object();
        const auto& lease = run.at("lease");
        rows.push_back(
            {"lease", std::string{run.at("key").as_string()} +
                          (lease.is_null() ? ": free, the run would start now"
                                           : ": held by " + text_in(lease.as_object(), "owner") +
                                                 ", the run would wait")});
        if (how.request.resume)
            rows.push_back({"checkpoint", base::printable(run.at("checkpoint").as_string())});
    }
    print_table(rows);
    std::cout << "dry run: nothing was started\n";
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

// Nothing when there was no answer, as while a server or an agent is restarted.
std::optional<seen_run> look_at_run(client& asked, const std::string& id, bool& told) {
    const auto tell = [&told](const std::exception& why) {
        if (!std::exchange(told, true))
            log(log_level::warn, std::string{"no answer, the wait continues: "} + why.what());
    };
    try {
        auto seen = asked.look_for_run(id);
        told = false;
        return seen;
    } catch (const store_error& error) {
        if (!may_pass(error.code())) throw;
        tell(error);
    } catch (const exit_error& error) {
        // An agent that is ending, or has no room.
        if (error.code() != status::unavailable) throw;
        tell(error);
    }
    return std::nullopt;
}

// "run R cancelled: cancelled" says it once.
std::string reason_after(const run_record& run) {
    if (run.reason.empty() || run.reason == name_of(run.status)) return {};
    return ": " + base::printable(run.reason);
}

void tell_waiting(const std::string& job, const std::vector<std::string>& ids) {
    // With --json this is where the IDs stand until all are over.
    std::string which = ids.size() == 1 ? "run" : "runs";
    for (const auto& id : ids) which += (id == ids.front() ? " " : ", ") + id;
    log(log_level::info, "waiting for " + which + " of job '" + base::printable(job) +
                             "' to finish, without a time limit; Ctrl-C stops the wait only");
}

// Of one run that is over.
status tell_ended(const globals& options, const std::string& id, const run_wait& one) {
    if (!one.ended()) {
        log(log_level::error, "run " + id + ' ' + std::string{one.reason()});
        return as_status(1);
    }
    const auto& run = *one.ended();
    if (!options.json)
        std::cout << "run " << id << ' ' << name_of(run.status) << reason_after(run) << '\n'
                  << std::flush;
    return status_of_run(run);
}

// By turns: the row of one that is over is not kept until another one is.
status wait_for_runs(const globals& options, client& asked, const std::vector<std::string>& ids) {
    std::vector<run_wait> waits(ids.size());
    auto worst = status::done;
    bool told = false;
    auto open = ids.size();
    for (std::size_t at = 0; open > 0; at = (at + 1) % ids.size()) {
        auto& one = waits[at];
        if (one.is_finished()) continue;
        const auto seen = look_at_run(asked, ids[at], told);
        if (seen) one.see(*seen);
        if (!one.is_finished()) {
            const auto many = std::min(open, looks_per_interval_max);
            const millis pause =
                seen ? wait_interval / static_cast<int>(many) : wait_interval_unanswered;
            time::pause_until(lease_clock::now() + pause);
            continue;
        }
        --open;
        if (const auto code = tell_ended(options, ids[at], one); code != status::done) worst = code;
    }
    if (!options.json) return worst;
    boost::json::array ended;
    for (const auto& one : waits)
        if (one.ended()) ended.push_back(json_of(*one.ended()));
    print_json(boost::json::object{{"runs", std::move(ended)}});
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
                std::cout << "queued run " << id << " of job '" << base::printable(how.request.job)
                          << "'\n"
                          << std::flush;
        }
        if (options.json)
            print_json(boost::json::object{{"job", how.request.job}, {"ids", std::move(all)}});
    }
    if (!how.wait) return asked->outcome();
    tell_waiting(how.request.job, ids);
    const auto ended = wait_for_runs(options, *asked, ids);
    return ended == status::done ? asked->outcome() : ended;
}

// -- pause and resume

status pause_job(const globals& options, const std::string& name, const std::string& reason) {
    const auto asked = open_client(options);
    const bool changed = asked->pause_job(name, reason);
    if (options.json)
        print_json(boost::json::object{{"job", name}, {"paused", true}, {"changed", changed}});
    else
        std::cout << "job '" << base::printable(name)
                  << (changed ? "' paused; its active runs continue\n" : "' was already paused\n");
    return asked->outcome();
}

status resume_job(const globals& options, const std::string& name) {
    const auto asked = open_client(options);
    const bool changed = asked->resume_job(name);
    if (options.json)
        print_json(boost::json::object{{"job", name}, {"paused", false}, {"changed", changed}});
    else
        std::cout << "job '" << base::printable(name)
                  << (changed ? "' resumed; it runs at its next scheduled time\n"
                              : "' was not paused\n");
    return asked->outcome();
}

void add_run(context& all, CLI::App& group) {
    auto* run = group.add_subcommand("run", "run a job now, under its lease");
    auto how = std::make_shared<run_options>();
    run->add_option("NAME", how->request.job, "the job")->required();
    add_words(*run, "ARG", how->request.arguments, "extra arguments of its command, after --");
    run->add_option("--partition", how->request.partition,
                    "run this partition or slot; default all partitions, a free slot")
        ->check(number_within(0, partitions_max - 1))
        ->type_name("N");
    run->add_flag("--dry-run", how->dry_run, "show what would run, and start nothing");
    run->add_flag("--resume", how->request.resume, "resume from the last checkpoint");
    run->add_flag("--wait", how->wait, "wait for the run to finish; exit with its status");
    run->footer("Example: pawl jobs run daily-report --resume --wait -- --verbose");
    run->callback([&all, how] { all.chosen = [&all, how] { return run_job(all.options, *how); }; });
}

}  // namespace

void add_jobs(context& all) {
    auto* group = all.app.add_subcommand("jobs", "list, show, run, pause and resume jobs");
    group->require_subcommand(1);
    group->footer("Example: pawl jobs ls");

    auto* ls = group->add_subcommand("ls", "list jobs with their state and its reason");
    ls->footer("Example: pawl jobs ls --json");
    ls->callback([&all] { all.chosen = [&all] { return list_jobs(all.options); }; });

    auto name = std::make_shared<std::string>();
    auto* show = group->add_subcommand("show", "show one job with its recent runs");
    show->add_option("NAME", *name, "the job")->required();
    show->footer("Example: pawl jobs show daily-report");
    show->callback(
        [&all, name] { all.chosen = [&all, name] { return show_job(all.options, *name); }; });

    add_run(all, *group);

    auto reason = std::make_shared<std::string>();
    auto* pause = group->add_subcommand("pause", "stop scheduling a job, on all nodes");
    pause->add_option("NAME", *name, "the job")->required();
    pause->add_option("--reason", *reason, "record the reason; jobs and the web UI show it")
        ->required()
        ->check(reason_option_fault)
        ->type_name("TEXT");
    pause->footer(
        "Example: pawl jobs pause daily-report --reason \"the warehouse is being moved\"");
    pause->callback([&all, name, reason] {
        all.chosen = [&all, name, reason] { return pause_job(all.options, *name, *reason); };
    });

    auto* resume = group->add_subcommand("resume", "resume scheduling a paused job");
    resume->add_option("NAME", *name, "the job")->required();
    resume->footer("Example: pawl jobs resume daily-report");
    resume->callback(
        [&all, name] { all.chosen = [&all, name] { return resume_job(all.options, *name); }; });
}

}  // namespace pawl::cli
