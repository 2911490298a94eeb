// pawl runs ls | show | output | cancel, and pawl checkpoint.
#include "base/duration.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/journal_client.hpp"
#include "cli/output.hpp"
#include "cli/run_client.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>

namespace pawl::cli {
namespace {

struct list_options {
    std::string job;
    std::string state;
    std::string node;
    std::string after;
    std::size_t limit = 50;
};

std::string took(const run_record& run) {
    const auto end = run.completed_at.value_or(run.last_heartbeat);
    return base::format_duration(millis{std::max<std::int64_t>(end - run.started_at, 0)});
}

std::string name_with_partition(const run_record& run) {
    const bool alone = run.key == "job/" + run.job || run.key == run.job;
    return base::printable(run.job) + (alone ? "" : "/" + std::to_string(run.partition));
}

run_filter filter_of(const list_options& what) {
    run_filter which;
    if (!what.job.empty()) which.job = what.job;
    if (!what.node.empty()) which.node = what.node;
    if (what.state.empty()) return which;
    which.status = run_status_named(what.state);
    if (!which.status)
        throw CLI::ValidationError{"--status",
                                   "'" + what.state +
                                       "' is none of started, completed, failed, "
                                       "cancelled, lost, timed_out, abandoned, skipped"};
    return which;
}

status list_runs(const globals& options, const list_options& what) {
    const auto which = filter_of(what);
    const auto asked = open_client(options);
    std::vector<run_record> all;
    auto after = what.after;
    do {
        const auto most = std::min(page_limit_max, what.limit - all.size());
        auto one = asked->list_runs(which, after, most);
        std::move(one.records.begin(), one.records.end(), std::back_inserter(all));
        after = one.next;
    } while (!after.empty() && all.size() < what.limit);
    if (options.json) {
        boost::json::array runs;
        for (const auto& one : all) runs.push_back(documents::json_of(one));
        print_json(boost::json::object{{"runs", std::move(runs)}, {"next", after}});
        return status::done;
    }
    std::vector<std::vector<std::string>> rows{
        {"ID", "JOB", "STATUS", "STARTED", "TOOK", "NODE", "TOKEN", "ATTEMPT", "REASON"}};
    for (const auto& one : all)
        rows.push_back({one.id, name_with_partition(one), std::string{name_of(one.status)},
                        time_text(one.started_at), took(one), base::printable(one.node),
                        std::to_string(number(one.token)), std::to_string(one.attempt),
                        base::printable(one.reason)});
    if (all.empty())
        log(log_level::info, "no such run has been written down");
    else
        print_table(rows);
    return status::done;
}

status show_run(const globals& options, const std::string& id) {
    const auto asked = open_client(options);
    const auto told = asked->show_run(id);
    const auto& [run, history] = told;
    if (options.json) {
        print_json(documents::json_of(run, history));
        return status::done;
    }
    const auto callers = documents::callers_of(history);
    const auto or_dash = [](const std::string& text) {
        return text.empty() ? std::string{"-"} : base::printable(text);
    };
    print_table({{"id", run.id},
                 {"job", name_with_partition(run)},
                 {"key", base::printable(run.key)},
                 {"status", std::string{name_of(run.status)}},
                 {"reason", base::printable(run.reason)},
                 {"trigger", run.trigger},
                 {"asked by", or_dash(callers.asked_by)},
                 {"cancelled by", or_dash(callers.cancelled_by)},
                 {"cancel reason", or_dash(callers.cancel_reason)},
                 {"occurrence", run.occurrence ? time_text(number(*run.occurrence)) : "-"},
                 {"node", base::printable(run.node)},
                 {"owner", base::printable(run.owner)},
                 {"token", std::to_string(number(run.token))},
                 {"attempt", std::to_string(run.attempt)},
                 {"started", time_text(run.started_at)},
                 {"completed", run.completed_at ? time_text(*run.completed_at) : "-"},
                 {"heartbeat", time_text(run.last_heartbeat)},
                 {"exit status", run.exit_status ? std::to_string(*run.exit_status) : "-"},
                 {"checkpoint", base::printable(run.checkpoint)},
                 {"output", std::to_string(run.output_size) + " bytes"}});
    std::cout << '\n';
    std::vector<std::vector<std::string>> rows{{"AT", "WHAT", "ATTEMPT", "NODE", "TOKEN", "TEXT"}};
    for (const auto& one : history)
        rows.push_back({time_text(one.at), one.kind, std::to_string(one.attempt),
                        base::printable(one.node), std::to_string(number(one.token)),
                        base::printable(one.text)});
    print_table(rows);
    return status::done;
}

void write_out(std::string_view bytes) {
    std::cout.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::cout.flush();
    if (!std::cout) throw exit_error{status::io_error, "standard output takes no more"};
}

struct output_options {
    std::string id;
    bool follow = false;
    bool raw = false;
};

status show_output(const globals& options, const output_options& what) {
    const auto asked = open_client(options);
    base::visible_text terminal;
    const bool as_it_is = what.raw || isatty(STDOUT_FILENO) == 0;
    output_taker into;
    into.bytes = write_out;
    if (!as_it_is) into.bytes = [&](std::string_view bytes) { write_out(terminal.show(bytes)); };
    into.gap = [](std::uint64_t missing) {
        log(log_level::warn,
            std::to_string(missing) + " bytes of output were not kept (output_limit)");
    };
    asked->read_output(what.id, what.follow ? reading::following : reading::once, into);
    write_out(terminal.finish());
    return status::done;
}

void tell_cancelled(const globals& options, const std::string& id, const std::string& job,
                    const std::string& what) {
    if (options.json)
        print_json(boost::json::object{{"id", id}, {"job", job}, {"cancel_requested", true}});
    else
        std::cout << "run " << id << " of '" << base::printable(job) << "' " << what << '\n';
}

status cancel_run(const globals& options, const std::string& id, const std::string& reason) {
    const auto asked = open_client(options);
    const auto done = asked->cancel_run(id, reason);
    tell_cancelled(options, id, done.job,
                   done.withdrawn ? "had not begun, and will not" : "has been told to end");
    return status::done;
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

std::string text_to_save(const std::string& argument) {
    if (argument != "-") return argument;
    std::string text{std::istreambuf_iterator<char>{std::cin}, std::istreambuf_iterator<char>{}};
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

status save_checkpoint(const globals& options, const std::string& argument) {
    const auto id = variable("PAWL_RUN_ID");
    const auto token = variable("PAWL_FENCE_TOKEN");
    if (id.empty())
        throw exit_error{status::usage,
                         "PAWL_RUN_ID is not set: a checkpoint is saved by a command that 'pawl "
                         "exec' or an agent runs"};
    const auto text = text_to_save(argument);
    if (text.size() > checkpoint_bytes_max)
        throw exit_error{status::usage, "a checkpoint has at most " +
                                            std::to_string(checkpoint_bytes_max) + " bytes, and " +
                                            "this one has " + std::to_string(text.size())};
    run_mark who{id, fence_token{token.empty() ? 0 : token_option(token)}};
    const auto save = [&] {
        if (const auto asked = run_client::inside_run(options)) return asked->save_checkpoint(text);
        journal_client records{options};
        return records.ask(records.verbs().checkpoint(who, text));
    };
    if (!save())
        throw exit_error{status::refused, "not saved: run " + base::printable(id) +
                                              " under token " + std::to_string(number(who.token)) +
                                              " is over, or a newer run has taken its place"};
    return status::done;
}

}  // namespace

void add_runs(context& all) {
    auto* group = all.app.add_subcommand("runs", "what ran, where, and how it ended");
    group->require_subcommand(1);
    group->footer("Example: pawl runs ls --job daily-report --limit 5");

    auto* ls = group->add_subcommand("ls", "list runs, the newest first");
    auto listing = std::make_shared<list_options>();
    ls->add_option("--job", listing->job, "only of this job")->type_name("NAME");
    ls->add_option("--status", listing->state, "only with this status")->type_name("S");
    ls->add_option("--node", listing->node, "only on this node")->type_name("NAME");
    ls->add_option("--after", listing->after, "go on behind a page, with its `next`")
        ->type_name("CURSOR");
    ls->add_option("--limit", listing->limit, "at most so many")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
        ->type_name("N")
        ->capture_default_str();
    ls->footer("Example: pawl runs ls --status failed --json");
    ls->callback([&all, listing] {
        all.chosen = [&all, listing] { return list_runs(all.options, *listing); };
    });

    auto id = std::make_shared<std::string>();
    auto* show = group->add_subcommand("show", "show one run with its history");
    show->add_option("ID", *id, "its id")->required();
    show->footer("Example: pawl runs show 7b0c6e9e-6f0f-4d64-9d0c-0a4c2a1f5b11");
    show->callback([&all, id] { all.chosen = [&all, id] { return show_run(all.options, *id); }; });

    auto shown = std::make_shared<output_options>();
    auto* output = group->add_subcommand("output", "show what a run has written");
    output->add_option("ID", shown->id, "its id")->required();
    output->add_flag("--follow,-f", shown->follow, "stream output until it ends");
    output->add_flag("--raw", shown->raw,
                     "write control characters to a terminal as they are; may take it over");
    output->footer("Example: pawl runs output 7b0c6e9e-6f0f-4d64-9d0c-0a4c2a1f5b11 --follow");
    output->callback(
        [&all, shown] { all.chosen = [&all, shown] { return show_output(all.options, *shown); }; });

    auto* cancel = group->add_subcommand("cancel", "tell a run to end, wherever it is");
    cancel->add_option("ID", *id, "its id")->required();
    cancel->footer(
        "Example: pawl runs cancel 7b0c6e9e-6f0f-4d64-9d0c-0a4c2a1f5b11 --reason 'wrong input'");
    auto reason = std::make_shared<std::string>();
    cancel->add_option("--reason", *reason, "why; shown with the run and in the audit log")
        ->type_name("TEXT");
    cancel->callback([&all, id, reason] {
        all.chosen = [&all, id, reason] { return cancel_run(all.options, *id, *reason); };
    });
}

void add_checkpoint(context& all) {
    auto* one = all.app.add_subcommand("checkpoint", "inside a run: save how far it has come");
    auto text = std::make_shared<std::string>();
    one->add_option("TEXT", *text, "what to save, or - for standard input")->required();
    one->footer(
        "Example: pawl checkpoint \"invoice 4711\"\n"
        "The next attempt finds it in PAWL_CHECKPOINT. Exit status 77: the run is over, or a newer "
        "one has taken its place.");
    one->callback([&all, text] {
        all.chosen = [&all, text] { return save_checkpoint(all.options, *text); };
    });
}

}  // namespace pawl::cli
