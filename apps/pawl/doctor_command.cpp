// pawl doctor: what is right and what is wrong with the store and its locks, as a monitoring plugin
// says it.
#include "assembly/engines.hpp"
#include "base/text.hpp"
#include "health/doctor.hpp"
#include "pawl/commands.hpp"
#include "pawl/output.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>

namespace pawl::app {
namespace {

struct doctor_options {
    std::string watched = "2s";
    std::string held_warned = "1h";
    std::uint32_t waiters_warned = 10;
};

const char* word_of(severity level) {
    switch (level) {
        case severity::ok:
            return "OK";
        case severity::warn:
            return "WARN";
        case severity::fail:
            return "FAIL";
    }
    return "FAIL";
}

const char* color_of(severity level) {
    switch (level) {
        case severity::ok:
            return "\x1b[32m";
        case severity::warn:
            return "\x1b[33m";
        case severity::fail:
            return "\x1b[31m";
    }
    return "";
}

std::string section_of(const finding& one) { return "docs/runbook.md#" + one.check; }

health::diagnosis examine(const globals& options, const store_settings& settings,
                          const health::doctor_bounds& bounds) {
    health::diagnosis made;
    try {
        auto store = open_locks(options);
        made = health::diagnose(store, settings, bounds);
    } catch (const store_error& error) {
        made.findings.push_back({severity::fail, "reachability", error.what()});
    }
    return made;
}

void print_findings(const globals& options, const health::diagnosis& made) {
    const bool colored = color_wanted(options, STDOUT_FILENO);
    std::size_t width = 0;
    for (const auto& one : made.findings) width = std::max(width, one.check.size());
    for (const auto& one : made.findings) {
        std::string level = word_of(one.level);
        level.resize(5, ' ');
        if (colored) level = color_of(one.level) + level + "\x1b[0m";
        auto check = one.check;
        check.resize(width + 1, ' ');
        std::cout << level << ' ' << check << base::printable(one.text);
        if (one.level != severity::ok) std::cout << " (" << section_of(one) << ')';
        std::cout << '\n';
    }
}

status doctor(const globals& options, const doctor_options& what) {
    health::doctor_bounds bounds;
    bounds.watched = duration_option("--for", what.watched);
    bounds.debt.held_warned = duration_option("--held", what.held_warned);
    bounds.debt.waiters_warned = what.waiters_warned;
    const auto chosen = choose_store(options);
    assembly::store_plan plan;
    try {
        plan = assembly::plan_store(chosen.url);
    } catch (const option_error& error) {
        throw exit_error{chosen.from == "--store" ? status::usage : status::configuration,
                         chosen.from + ": " + error.what()};
    }
    const auto made = examine(options, plan.settings, bounds);
    const auto worst = made.worst();
    if (options.json) {
        boost::json::array checks;
        for (const auto& one : made.findings)
            checks.push_back(boost::json::object{{"check", one.check},
                                                 {"level", word_of(one.level)},
                                                 {"text", one.text},
                                                 {"runbook", section_of(one)}});
        print_json(boost::json::object{{"store", plan.shown},
                                       {"engine", plan.engine},
                                       {"version", made.version},
                                       {"level", word_of(worst)},
                                       {"checks", std::move(checks)}});
    } else {
        std::cout << plan.shown << (made.version.empty() ? "" : " (" + made.version + ")") << '\n';
        print_findings(options, made);
    }
    return as_status(static_cast<int>(worst));
}

}  // namespace

void add_doctor(context& all) {
    auto* one = all.app.add_subcommand(
        "doctor", "check the store and its locks; exits with 0 (OK), 1 (WARN) or 2 (FAIL)");
    auto what = std::make_shared<doctor_options>();
    one->add_option("--for", what->watched, "count how often keys change hands for so long")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_option("--held", what->held_warned, "warn of a lease that is held for longer")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_option("--waiters", what->waiters_warned, "warn of a key that so many wait for")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    one->footer("Example: pawl doctor --store redis://127.0.0.1:6379 --json");
    one->callback(
        [&all, what] { all.chosen = [&all, what] { return doctor(all.options, *what); }; });
}

}  // namespace pawl::app
