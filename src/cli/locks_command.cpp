// pawl locks ls | show | release
#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>

namespace pawl::cli {
namespace {

struct ls_options {
    std::string prefix;
    std::string after;
    std::size_t limit = 0;  // 0: all of them
};

using documents::json_of;
using documents::state_of;

status list_locks(const globals& options, const ls_options& what) {
    const auto asked = open_client(options);
    std::vector<record> all;
    std::string after = what.after;
    do {
        const auto most =
            what.limit == 0 ? page_limit_max : std::min(page_limit_max, what.limit - all.size());
        auto one = asked->list_locks(what.prefix, after, most);
        std::move(one.records.begin(), one.records.end(), std::back_inserter(all));
        after = one.next;
    } while (!after.empty() && (what.limit == 0 || all.size() < what.limit));
    if (options.json) {
        boost::json::array locks_array;
        for (const auto& one : all) locks_array.push_back(json_of(one));
        print_json(boost::json::object{{"locks", std::move(locks_array)}, {"next", after}});
        return status::done;
    }
    std::vector<std::vector<std::string>> rows{
        {"KEY", "STATE", "OWNER", "TOKEN", "LEFT", "ACQUIRED", "WAITERS"}};
    for (const auto& one : all)
        rows.push_back(
            {base::printable(one.key), std::string{state_of(one)}, base::printable(one.owner),
             std::to_string(number(number(one.holder) != 0 ? one.holder : one.last_token)),
             one.remaining.count() > 0 ? base::format_duration(one.remaining) : "-",
             time_text(one.acquired_at), one.waiters ? std::to_string(*one.waiters) : "-"});
    if (all.empty())
        log(log_level::info, "no key has been locked yet");
    else
        print_table(rows);
    return status::done;
}

record found(client& asked, const std::string& key) {
    auto seen = asked.find_lock(key);
    if (!seen)
        throw exit_error{status::usage, "no lock is known under the key '" + base::printable(key) +
                                            "': see 'pawl locks ls'"};
    return *seen;
}

status show_lock(const globals& options, const std::string& key) {
    const auto asked = open_client(options);
    const auto one = found(*asked, key);
    if (options.json) {
        print_json(json_of(one));
        return status::done;
    }
    std::vector<std::vector<std::string>> rows{
        {"key", base::printable(one.key)},
        {"state", std::string{state_of(one)}},
        {"owner", base::printable(one.owner)},
        {"token", std::to_string(number(one.holder))},
        {"newest token", std::to_string(number(one.last_token))},
        {"left", base::format_duration(one.remaining)},
        {"acquired", time_text(one.acquired_at)},
        {"last occurrence", one.last_done ? time_text(number(*one.last_done)) : "-"},
        {"waiters", one.waiters ? std::to_string(*one.waiters) : "-"}};
    print_table(rows);
    return status::done;
}

struct release_arguments {
    std::string key;
    std::string reason;
    std::string delay;
    bool yes = false;
    bool now = false;
};

bool confirmed(const record& one) {
    if (number(one.holder) != 0)
        std::cerr << "Release '" << base::printable(one.key) << "', held by "
                  << base::printable(one.owner) << " (token " << number(one.holder) << ", "
                  << base::format_duration(one.remaining) << " left)?\n"
                  << "Its holder is told to stop; type the key to go on: " << std::flush;
    else
        std::cerr << "Free '" << base::printable(one.key) << "', which is in cooldown for "
                  << base::format_duration(one.remaining) << "?\n"
                  << "Its last holder may still be running; type the key to go on: " << std::flush;
    std::string answer;
    return std::getline(std::cin, answer) && answer == one.key;
}

status release_lock(const globals& options, const release_arguments& how) {
    const auto asked = open_client(options);
    const auto one = found(*asked, how.key);
    const auto token = documents::releasable(one);
    if (number(token) == 0)
        throw exit_error{status::usage, "lock '" + base::printable(how.key) +
                                            "' has no holder: there is nothing to release"};
    if (number(one.holder) == 0 && !how.now)
        throw exit_error{status::usage, "lock '" + base::printable(how.key) +
                                            "' has no holder, and its cooldown ends in " +
                                            base::format_duration(one.remaining) +
                                            ": to free it at once, give --now"};
    if (!how.yes) {
        if (isatty(STDIN_FILENO) == 0)
            throw exit_error{status::usage,
                             "a forced release asks for confirmation: give --yes in scripts"};
        if (!confirmed(one))
            throw exit_error{status::refused, "not released: the key was not typed"};
    }
    forced_release what{one, how.reason};
    if (how.now) what.delay = millis{0};
    if (!how.delay.empty()) what.delay = duration_option("--delay", how.delay);
    if (how.now)
        log(log_level::warn, "released without delay: until the old holder notices, two may run");
    const auto free_in = asked->release(what);
    if (options.json)
        print_json(boost::json::object{{"key", how.key},
                                       {"fence_token", number(token)},
                                       {"owner", number(one.holder) != 0 ? one.owner : ""},
                                       {"reason", how.reason},
                                       {"free_in_ms", free_in.count()}});
    else
        std::cout << "released '" << base::printable(how.key) << "' from token " << number(token)
                  << "; free in " << base::format_duration(free_in) << '\n';
    return status::done;
}

}  // namespace

void add_locks(context& all) {
    auto* group = all.app.add_subcommand("locks", "list, show and release locks");
    group->require_subcommand(1);
    group->footer("Example: pawl locks ls --prefix job/");

    auto* ls = group->add_subcommand("ls", "list the locks, by key");
    auto listing = std::make_shared<ls_options>();
    ls->add_option("--prefix", listing->prefix, "only keys that begin so")->type_name("P");
    ls->add_option("--after", listing->after, "only keys after this one")->type_name("KEY");
    ls->add_option("--limit", listing->limit, "at most so many; default all")->type_name("N");
    ls->footer("Example: pawl locks ls --prefix job/ --json");
    ls->callback([&all, listing] {
        all.chosen = [&all, listing] { return list_locks(all.options, *listing); };
    });

    auto* show = group->add_subcommand("show", "show one lock");
    auto key = std::make_shared<std::string>();
    show->add_option("KEY", *key, "its key")->required();
    show->footer("Example: pawl locks show job/daily-report");
    show->callback(
        [&all, key] { all.chosen = [&all, key] { return show_lock(all.options, *key); }; });

    auto* release = group->add_subcommand("release", "take a lock from its holder by force");
    auto how = std::make_shared<release_arguments>();
    release->add_option("KEY", how->key, "its key")->required();
    release->add_option("--reason", how->reason, "why, for the log")
        ->required()
        ->check(one_line_fault)
        ->type_name("TEXT");
    release->add_flag("--yes", how->yes, "do not ask");
    release
        ->add_option("--delay", how->delay,
                     "cooldown of the key after it (default: what is left of its lease)")
        ->type_name("DUR");
    release->add_flag("--now", how->now, "no delay: two may run until the old holder notices")
        ->excludes("--delay");
    release->footer(
        "Example: pawl locks release job/daily-report --reason \"node-a is gone\" --yes");
    release->callback(
        [&all, how] { all.chosen = [&all, how] { return release_lock(all.options, *how); }; });
}

}  // namespace pawl::cli
