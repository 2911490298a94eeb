// pawl cron next EXPR: when a schedule fires.
#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"
#include "time/cron.hpp"
#include "time/rfc3339.hpp"

#include <iostream>
#include <memory>
#include <vector>

namespace pawl::cli {
namespace {

constexpr int most_occurrences = 10'000;

struct next_options {
    std::string expression;
    std::string zone = "UTC";
    std::string from;
    int count = 5;
    std::string gap = "end";
    std::string repeat = "once";
};

// Whatever is wrong with a text that was given, in one line.
exit_error wrong(const std::string& name, const std::string& text, const base::text_fault& fault) {
    return exit_error{status::usage, name + " '" + base::printable(text) + "' at column " +
                                         std::to_string(fault.column + 1) + ": " + fault.what};
}

time::wall_instant start_of(const next_options& what) {
    if (what.from.empty()) return time::local_now();
    const auto parsed = time::parse_rfc3339_of_any_year(what.from);
    if (parsed.has_error()) throw wrong("--from", what.from, parsed.error());
    return *parsed;
}

status print_next(const globals& options, const next_options& what) {
    const auto schedule = time::cron::parse(what.expression);
    if (schedule.has_error()) throw wrong("EXPR", what.expression, schedule.error());
    const auto zone = time::zone::find(what.zone);
    if (zone.has_error()) throw exit_error{status::usage, "--zone: " + zone.error().what};
    const time::transitions policy{
        what.gap == "skip" ? gap_time::skip : gap_time::end,
        what.repeat == "twice" ? repeated_time::twice : repeated_time::once};
    const auto from = start_of(what);
    std::vector<time::wall_instant> occurrences;
    for (auto next = schedule->next(from, *zone, policy);
         next && occurrences.size() < static_cast<std::size_t>(what.count);
         next = schedule->next(*next, *zone, policy))
        occurrences.push_back(*next);

    const auto shown = [&](time::wall_instant when) {
        return time::format_rfc3339(when, zone->offset_at(when));
    };
    if (options.json) {
        boost::json::array next;
        for (const auto one : occurrences) next.emplace_back(shown(one));
        print_json(boost::json::object{{"expression", schedule->text()},
                                       {"description", schedule->describe()},
                                       {"zone", zone->name()},
                                       {"gap", what.gap},
                                       {"repeat", what.repeat},
                                       {"from", shown(from)},
                                       {"next", std::move(next)}});
    } else {
        for (const auto one : occurrences) std::cout << shown(one) << '\n';
    }
    if (occurrences.empty())
        std::cerr << "pawl: the schedule has no occurrence after " << shown(from) << '\n';
    return status::done;
}

}  // namespace

void add_cron(context& all) {
    auto* group = all.app.add_subcommand("cron", "preview schedules");
    group->require_subcommand(1);
    auto* one =
        group->add_subcommand("next", "print the next occurrences of a schedule, one per line");
    auto what = std::make_shared<next_options>();
    one->add_option("EXPR", what->expression,
                    "five or six fields, a macro such as @daily, or @every 90s; in quotes")
        ->required();
    one->add_option("--zone", what->zone, "the schedule's time zone, such as Europe/Paris")
        ->type_name("ZONE")
        ->capture_default_str();
    one->add_option("--from", what->from, "print occurrences after this time; default: now")
        ->type_name("RFC3339");
    one->add_option("--count", what->count, "number of occurrences")
        ->check(number_within(1, most_occurrences))
        ->type_name("N")
        ->capture_default_str();
    one->add_option("--gap", what->gap,
                    "times skipped when clocks go forward: fire at the end of the gap, or skip")
        ->check(CLI::IsMember({"end", "skip"}))
        ->type_name("POLICY")
        ->capture_default_str();
    one->add_option("--repeat", what->repeat,
                    "fixed times repeated when clocks go back: fire once, or twice")
        ->check(CLI::IsMember({"once", "twice"}))
        ->type_name("POLICY")
        ->capture_default_str();
    const std::string example = "Example: pawl cron next '0 6 * * MON-FRI' --zone Europe/Paris";
    one->footer(example);
    group->footer(example);
    one->callback(
        [&all, what] { all.chosen = [&all, what] { return print_next(all.options, *what); }; });
}

}  // namespace pawl::cli
