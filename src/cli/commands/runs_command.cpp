// pawl runs ls | show | output | cancel, and pawl checkpoint.
#include "base/duration.hpp"
#include "base/reserved_names.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/clients/journal_client.hpp"
#include "cli/clients/run_client.hpp"
#include "cli/commands/checkpoint_text.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"

#include <unistd.h>
#include "base/comma_list.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>

namespace pawl::cli {
namespace {

struct list_options {
    std::string job;
    std::string state;
    std::string node;
    std::string after;
    std::size_t limit = 50;
};

// A skipped run had neither lease nor time.
bool has_begun(const run_record& run) { return run.status != run_status::skipped; }

std::string token_text(const run_record& run) {
    return number(run.token) == 0 ? std::string{no_value} : std::to_string(number(run.token));
}

std::string duration_text(const run_record& run) {
    if (!has_begun(run)) return std::string{no_value};
    const auto end = run.completed_at.value_or(run.last_heartbeat);
    return base::format_duration(millis{std::max<std::int64_t>(end - run.started_at, 0)});
}

std::string name_with_partition(const run_record& run) {
    const bool alone = run.key == std::string{base::job_key_prefix} + run.job || run.key == run.job;
    return base::printable(run.job) + (alone ? "" : "/" + std::to_string(run.partition));
}

run_filter filter_of(const list_options& what) {
    run_filter which;
    if (!what.job.empty()) which.job = what.job;
    if (!what.node.empty()) which.node = what.node;
    if (what.state.empty()) return which;
    which.status = what.state == word_of(run_status::started) ? run_status::started
                                                              : run_status_named(what.state);
    if (!which.status)
        throw exit_error{status::usage,
                         "invalid status '" + base::printable(what.state) +
                             "'; expected started (or running), completed, failed, cancelled, "
                             "lost, timed_out, abandoned or skipped"};
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
        {"ID", "JOB", "STATUS", "STARTED", "DURATION", "NODE", "TOKEN", "ATTEMPT", "REASON"}};
    for (const auto& one : all)
        rows.push_back({one.id, name_with_partition(one), std::string{word_of(one.status)},
                        local_time(one.started_at), duration_text(one), base::printable(one.node),
                        token_text(one), std::to_string(one.attempt), base::printable(one.reason)});
    if (!all.empty())
        print_table(rows);
    else if (which.job || which.node || which.status || !what.after.empty())
        std::cout << "No matching runs.\n";
    else
        std::cout << "No runs yet.\n";
    return status::done;
}

// -- a run by the beginning of its id, as the web UI shows it

constexpr std::size_t run_id_size = 36, id_prefix_min = 4, candidates_shown = 5;

std::vector<std::string> ids_beginning(client& asked, const std::string& prefix) {
    std::vector<std::string> found;
    std::string after;
    do {
        auto one = asked.list_runs({}, after, page_limit_max);
        for (auto& run : one.records)
            if (run.id.starts_with(prefix)) found.push_back(base::printable(run.id));
        after = one.next;
    } while (!after.empty());
    return found;
}

std::string ambiguous(const std::string& prefix, const std::vector<std::string>& found) {
    const std::span shown{found.data(), std::min(found.size(), candidates_shown)};
    auto line = "ambiguous run ID '" + base::printable(prefix) + "'; expected one of " +
                base::comma_list(shown);
    if (found.size() > candidates_shown)
        line += " and " + std::to_string(found.size() - candidates_shown) + " more";
    return line;
}

// The whole id. One that fits none is left as it is: what is asked for it answers that.
std::string whole_id(client& asked, const std::string& given) {
    if (given.size() >= run_id_size) return given;
    if (given.size() < id_prefix_min)
        throw exit_error{status::usage, "invalid run ID '" + base::printable(given) +
                                            "'; expected at least " +
                                            std::to_string(id_prefix_min) + " characters of it"};
    const auto found = ids_beginning(asked, given);
    if (found.size() > 1 && std::find(found.begin(), found.end(), given) == found.end())
        throw exit_error{status::usage, ambiguous(given, found)};
    return found.size() == 1 ? found.front() : given;
}

void print_history(const std::vector<run_event>& history) {
    std::vector<std::vector<std::string>> rows{
        {"TIME", "EVENT", "ATTEMPT", "NODE", "TOKEN", "DETAIL"}};
    for (const auto& one : history)
        rows.push_back(
            {local_time(one.at), one.kind, std::to_string(one.attempt), base::printable(one.node),
             number(one.token) == 0 ? std::string{no_value} : std::to_string(number(one.token)),
             base::printable(one.text)});
    print_table(rows);
}

status show_run(const globals& options, const std::string& given) {
    const auto asked = open_client(options);
    const auto id = whole_id(*asked, given);
    const auto told = asked->show_run(id);
    const auto& [run, history] = told;
    if (options.json) {
        print_json(documents::json_of(run, history));
        return status::done;
    }
    const auto callers = documents::callers_of(history);
    const auto or_dash = [](const std::string& text) {
        return text.empty() ? std::string{no_value} : base::printable(text);
    };
    const auto time_or_dash = [](const std::optional<std::int64_t>& at) {
        return at ? local_time(*at) : std::string{no_value};
    };
    std::optional<std::int64_t> scheduled;
    if (run.occurrence) scheduled = number(*run.occurrence);
    print_table({{"id", run.id},
                 {"job", name_with_partition(run)},
                 {"key", base::printable(run.key)},
                 {"status", std::string{word_of(run.status)}},
                 {"reason", or_dash(run.reason)},
                 {"trigger", run.trigger},
                 {"triggered by", or_dash(callers.triggered_by)},
                 {"cancelled by", or_dash(callers.cancelled_by)},
                 {"cancel reason", or_dash(callers.cancel_reason)},
                 {"scheduled", time_or_dash(scheduled)},
                 {"node", base::printable(run.node)},
                 {"owner", base::printable(run.owner)},
                 {"token", token_text(run)},
                 {"attempt", std::to_string(run.attempt)},
                 {"started", local_time(run.started_at)},
                 {"completed", time_or_dash(run.completed_at)},
                 {"duration", duration_text(run)},
                 {"last heartbeat", has_begun(run) ? local_time(run.last_heartbeat) : or_dash("")},
                 {"exit status", run.exit_status ? std::to_string(*run.exit_status) : or_dash("")},
                 {"checkpoint", or_dash(run.checkpoint)},
                 {"output", std::to_string(run.output_size) + " bytes"}});
    std::cout << '\n';
    print_history(history);
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
    asked->read_output(whole_id(*asked, what.id), what.follow ? reading::following : reading::once,
                       into);
    write_out(terminal.finish());
    return status::done;
}

void tell_cancelled(const globals& options, const std::string& id, const std::string& job,
                    const std::string& what) {
    if (options.json)
        print_json(boost::json::object{{"id", id}, {"job", job}, {"cancel_requested", true}});
    else
        std::cout << what << " run " << id << " of job '" << base::printable(job) << "'\n";
}

status cancel_run(const globals& options, const std::string& given, const std::string& reason) {
    const auto asked = open_client(options);
    const auto id = whole_id(*asked, given);
    const auto done = asked->cancel_run(id, reason);
    tell_cancelled(options, id, done.job,
                   done.withdrawn     ? "withdrew queued"
                   : done.is_finished ? "cancelled"
                                      : "cancelling");
    return asked->outcome();
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string{} : std::string{value};
}

status save_checkpoint(const globals& options, const std::string& argument) {
    const auto id = variable("PAWL_RUN_ID");
    const auto token = variable("PAWL_FENCE_TOKEN");
    if (id.empty())
        throw exit_error{status::usage,
                         "PAWL_RUN_ID is not set: a checkpoint is saved by a command that 'pawl "
                         "exec' or an agent runs"};
    const auto text = argument == "-" ? read_checkpoint(STDIN_FILENO) : argument;
    if (text.size() > checkpoint_bytes_max)
        throw exit_error{status::usage, "a checkpoint has at most " +
                                            std::to_string(checkpoint_bytes_max) +
                                            " bytes, and this one has more"};
    // A command of a later run finds it in a variable of its environment, which ends at a NUL.
    if (const auto nul = text.find('\0'); nul != std::string::npos)
        throw exit_error{status::usage, "invalid checkpoint: NUL at byte " +
                                            std::to_string(nul + 1) +
                                            "; expected bytes that an environment variable can "
                                            "hold, so encode it, such as with base64"};
    run_ref who{id, fence_token{token.empty() ? 0 : token_option(token)}};
    const auto save = [&] {
        if (const auto asked = run_client::inside_run(options)) return asked->save_checkpoint(text);
        journal_client records{options};
        return records.ask(records.verbs().checkpoint(who, text));
    };
    if (!save())
        throw exit_error{status::rejected, "not saved: run " + base::printable(id) +
                                               " under token " + std::to_string(number(who.token)) +
                                               " is over, or a newer run has replaced it or "
                                               "has saved a checkpoint"};
    return status::done;
}

}  // namespace

void add_runs(context& all) {
    auto* group = all.app.add_subcommand("runs", "list, follow and cancel runs");
    group->require_subcommand(1);
    group->footer("Example: pawl runs ls --job daily-report --limit 5");

    auto* ls = group->add_subcommand("ls", "list runs, newest first");
    auto listing = std::make_shared<list_options>();
    ls->add_option("--job", listing->job, "filter by job")->type_name("NAME");
    ls->add_option("--status", listing->state, "filter by status, such as running or failed")
        ->type_name("S");
    ls->add_option("--node", listing->node, "filter by node")->type_name("NAME");
    ls->add_option("--after", listing->after, "page cursor: `next` of the previous page")
        ->type_name("CURSOR");
    ls->add_option("--limit", listing->limit, "maximum results")
        ->check(number_within(1, list_limit_max))
        ->type_name("N")
        ->capture_default_str();
    ls->footer("Example: pawl runs ls --status failed --json");
    ls->callback([&all, listing] {
        all.chosen = [&all, listing] { return list_runs(all.options, *listing); };
    });

    auto id = std::make_shared<std::string>();
    auto* show = group->add_subcommand("show", "show one run with its history");
    const std::string id_help = "the run's ID, or at least 4 characters of its beginning";
    show->add_option("ID", *id, id_help)->required();
    show->footer("Example: pawl runs show 7b0c6e9e");
    show->callback([&all, id] { all.chosen = [&all, id] { return show_run(all.options, *id); }; });

    auto shown = std::make_shared<output_options>();
    auto* output = group->add_subcommand("output", "show the output of a run");
    output->add_option("ID", shown->id, id_help)->required();
    output->add_flag("--follow,-f", shown->follow, "stream output until the run ends");
    output->add_flag("--raw", shown->raw,
                     "pass control characters to the terminal; they may change its state");
    output->footer("Example: pawl runs output 7b0c6e9e --follow");
    output->callback(
        [&all, shown] { all.chosen = [&all, shown] { return show_output(all.options, *shown); }; });

    auto* cancel = group->add_subcommand("cancel", "cancel a run, on any node");
    cancel->add_option("ID", *id, id_help)->required();
    cancel->footer("Example: pawl runs cancel 7b0c6e9e --reason 'wrong input'");
    auto reason = std::make_shared<std::string>();
    cancel->add_option("--reason", *reason, "record the reason with the run and in the audit log")
        ->check(reason_option_fault)
        ->type_name("TEXT");
    cancel->callback([&all, id, reason] {
        all.chosen = [&all, id, reason] { return cancel_run(all.options, *id, *reason); };
    });
}

void add_checkpoint(context& all) {
    auto* one = all.app.add_subcommand("checkpoint", "save progress of the current run");
    auto text = std::make_shared<std::string>();
    one->add_option("TEXT", *text, "the text to save, or - for standard input")->required();
    one->footer(
        "Example: pawl checkpoint \"invoice 4711\"\n"
        "The next attempt finds it in PAWL_CHECKPOINT. Exit status 77: the run is over, or a newer "
        "run has replaced it or has saved one.");
    one->callback([&all, text] {
        all.chosen = [&all, text] { return save_checkpoint(all.options, *text); };
    });
}

}  // namespace pawl::cli
