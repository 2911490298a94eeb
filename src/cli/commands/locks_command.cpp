// pawl locks ls | show | release
#include "base/duration.hpp"
#include "base/reserved_names.hpp"
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <string_view>

namespace pawl::cli {
namespace {

struct ls_options {
    std::string prefix;
    std::string after;
    std::optional<std::size_t> limit{};  // nothing: all of them

    bool has_room_for_more(std::size_t listed) const { return !limit || listed < *limit; }
    std::size_t next_page(std::size_t listed) const {
        return limit ? std::min(page_limit_max, *limit - listed) : page_limit_max;
    }
    bool all = false;
};

using documents::json_of;
using documents::state_of;

// Free locks and pawl's own are not what people look for, unless they say so. Programs see all.
bool is_shown(const record& one, const globals& options, const ls_options& what) {
    if (options.json || what.all) return true;
    const bool internal = one.key.starts_with(base::own_key_prefix);
    return (one.remaining.count() > 0 || number(one.holder) != 0) &&
           (!internal || what.prefix.starts_with(base::own_key_prefix));
}

void print_locks(const std::vector<record>& all) {
    std::vector<std::vector<std::string>> rows{
        {"KEY", "STATE", "OWNER", "TOKEN", "EXPIRES", "ACQUIRED", "WAITERS"}};
    for (const auto& one : all)
        rows.push_back(
            {base::printable(one.key), std::string{state_of(one)}, base::printable(one.owner),
             std::to_string(number(number(one.holder) != 0 ? one.holder : one.last_token)),
             one.remaining.count() > 0 ? base::format_duration(one.remaining)
                                       : std::string{no_value},
             local_time(one.acquired_at),
             one.waiters ? std::to_string(*one.waiters) : std::string{no_value}});
    print_table(rows);
}

status list_locks(const globals& options, const ls_options& what) {
    const auto asked = open_client(options);
    std::vector<record> all;
    bool any = false;
    std::string after = what.after;
    do {
        auto one = asked->list_locks(what.prefix, after, what.next_page(all.size()));
        any = any || !one.records.empty();
        std::copy_if(one.records.begin(), one.records.end(), std::back_inserter(all),
                     [&](const record& each) { return is_shown(each, options, what); });
        after = one.next;
    } while (!after.empty() && what.has_room_for_more(all.size()));
    if (options.json) {
        boost::json::array locks_array;
        for (const auto& one : all) locks_array.push_back(json_of(one));
        print_json(boost::json::object{{"locks", std::move(locks_array)}, {"next", after}});
        return status::done;
    }
    if (!all.empty())
        print_locks(all);
    else if (any)
        std::cout << "No locks held; --all lists free locks too.\n";
    else
        std::cout << (what.prefix.empty() && what.after.empty() ? "No locks yet.\n"
                                                                : "No matching locks.\n");
    return status::done;
}

record found(client& asked, const std::string& key) {
    auto seen = asked.find_lock(key);
    if (!seen)
        throw exit_error{status::usage, "lock '" + base::printable(key) +
                                            "' not found; see 'pawl locks ls --all'"};
    return *seen;
}

status show_lock(const globals& options, const std::string& key) {
    const auto asked = open_client(options);
    const auto one = found(*asked, key);
    if (options.json) {
        print_json(json_of(one));
        return status::done;
    }
    const std::string none{no_value};
    std::vector<std::vector<std::string>> rows{
        {"key", base::printable(one.key)},
        {"state", std::string{state_of(one)}},
        {"owner", base::printable(one.owner)},
        {"token", number(one.holder) != 0 ? std::to_string(number(one.holder)) : none},
        {"highest token", std::to_string(number(one.last_token))},
        {"expires in", one.remaining.count() > 0 ? base::format_duration(one.remaining) : none},
        {"acquired", local_time(one.acquired_at)},
        {"last scheduled", one.last_done ? local_time(number(*one.last_done)) : none},
        {"waiters", one.waiters ? std::to_string(*one.waiters) : none}};
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
        std::cerr << "Force-release lock '" << base::printable(one.key) << "', held by "
                  << base::printable(one.owner) << " (token " << number(one.holder)
                  << ", expires in " << base::format_duration(one.remaining) << ")?\n"
                  << "Its holder is stopped; type the key to confirm: " << std::flush;
    else
        std::cerr << "Free lock '" << base::printable(one.key) << "', in cooldown for "
                  << base::format_duration(one.remaining) << "?\n"
                  << "Its last holder may still be running; type the key to confirm: "
                  << std::flush;
    std::string answer;
    return std::getline(std::cin, answer) && answer == one.key;
}

status release_lock(const globals& options, const release_arguments& how) {
    const auto asked = open_client(options);
    const auto one = found(*asked, how.key);
    const auto token = documents::releasable(one);
    if (number(token) == 0)
        throw exit_error{status::usage, "lock '" + base::printable(how.key) +
                                            "' is free; expected one that is held or in cooldown"};
    if (number(one.holder) == 0 && !how.now)
        throw exit_error{status::usage, "lock '" + base::printable(how.key) +
                                            "' in cooldown, available in " +
                                            base::format_duration(one.remaining) +
                                            "; to free it immediately, give --now"};
    if (!how.yes) {
        if (isatty(STDIN_FILENO) == 0)
            throw exit_error{status::usage,
                             "a force release needs confirmation; give --yes in scripts"};
        if (!confirmed(one)) throw exit_error{status::rejected, "not released; the key differs"};
    }
    forced_release what{one, how.reason};
    if (how.now) what.delay = millis{0};
    if (!how.delay.empty()) what.delay = duration_option("--delay", how.delay);
    const auto free_in = asked->release(what);
    if (how.now)
        log(log_level::warn, "lock released without cooldown key=" + base::printable(how.key) +
                                 ": until the former holder notices, two may run");
    if (options.json)
        print_json(boost::json::object{{"key", how.key},
                                       {"fence_token", number(token)},
                                       {"owner", number(one.holder) != 0 ? one.owner : ""},
                                       {"reason", how.reason},
                                       {"free_in_ms", free_in.count()}});
    else
        std::cout << "released lock '" << base::printable(how.key) << "' from token "
                  << number(token) << "; available in " << base::format_duration(free_in) << '\n';
    return asked->outcome();
}

}  // namespace

void add_locks(context& all) {
    auto* group = all.app.add_subcommand("locks", "list, show and release locks");
    group->require_subcommand(1);
    group->footer("Example: pawl locks ls --prefix job/");

    auto* ls = group->add_subcommand("ls", "list locks that are held or in cooldown, by key");
    auto listing = std::make_shared<ls_options>();
    ls->add_option("--prefix", listing->prefix, "filter by key prefix")->type_name("P");
    ls->add_option("--after", listing->after, "page cursor: list the keys after this one")
        ->type_name("KEY");
    ls->add_option("--limit", listing->limit, "maximum results; default all")
        ->check(number_within(1, list_limit_max))
        ->type_name("N");
    ls->add_flag("--all", listing->all,
                 "include free locks and pawl's own (pawl/…); --json always does");
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

    auto* release =
        group->add_subcommand("release", "force-release a lock: end its holder's lease");
    auto how = std::make_shared<release_arguments>();
    release->add_option("KEY", how->key, "its key")->required();
    release->add_option("--reason", how->reason, "record the reason in the audit log")
        ->required()
        ->check(reason_option_fault)
        ->type_name("TEXT");
    release->add_flag("--yes", how->yes, "skip confirmation");
    release
        ->add_option("--delay", how->delay, "cooldown of the key (default: the rest of its lease)")
        ->type_name("DUR");
    release->add_flag("--now", how->now, "no cooldown: holders may overlap")->excludes("--delay");
    release->footer(
        "Example: pawl locks release job/daily-report --reason \"node-a is gone\" --yes");
    release->callback(
        [&all, how] { all.chosen = [&all, how] { return release_lock(all.options, *how); }; });
}

}  // namespace pawl::cli
