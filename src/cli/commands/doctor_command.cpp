// pawl doctor: what is right and what is wrong with the store and its locks, as a monitoring plugin
// says it.
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"

#include <unistd.h>

#include <iostream>
#include <memory>

namespace pawl::cli {
namespace {

struct doctor_options {
    std::string watched = "2s";
    std::string held_warned = "1h";
    std::uint32_t waiters_warned = 10;
    bool has_bounds = false;  // one of these was given
};

using documents::word_of;

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

severity severity_named(std::string_view word) {
    if (word == word_of(severity::ok)) return severity::ok;
    return word == word_of(severity::warn) ? severity::warn : severity::fail;
}

void print_findings(const globals& options, const boost::json::array& checks) {
    const bool colored = color_wanted(options, STDOUT_FILENO);
    std::size_t width = 0;
    for (const auto& one : checks) width = std::max(width, one.at("check").as_string().size());
    for (const auto& one : checks) {
        const auto severe = severity_named(one.at("level").as_string());
        std::string level{word_of(severe)};
        level.resize(5, ' ');
        if (colored) level.insert(0, color_of(severe)).append("\x1b[0m");
        std::string check{one.at("check").as_string()};
        check.resize(width + 1, ' ');
        std::cout << level << ' ' << base::printable(check)
                  << base::printable(one.at("text").as_string());
        if (severe != severity::ok)
            std::cout << " (" << base::printable(one.at("runbook").as_string()) << ')';
        std::cout << '\n';
    }
}

status doctor(const globals& options, const doctor_options& what) {
    health::doctor_bounds bounds;
    bounds.watched = duration_option("--for", what.watched);
    bounds.debt.held_warned = duration_option("--held", what.held_warned);
    bounds.debt.waiters_warned = what.waiters_warned;
    if (what.has_bounds && asks_an_agent(options))
        throw exit_error{status::usage,
                         "--for, --held and --waiters need the store itself; give --store instead "
                         "of --url"};
    const auto asked = open_client(options);
    const auto document = asked->examine(bounds);
    if (options.json) {
        print_json(document);
    } else {
        const std::string version{document.at("version").as_string()};
        std::cout << base::printable(document.at("store").as_string())
                  << (version.empty() ? "" : " (" + base::printable(version) + ")") << '\n';
        print_findings(options, document.at("checks").as_array());
    }
    return as_status(static_cast<int>(severity_named(document.at("level").as_string())));
}

}  // namespace

void add_doctor(context& all) {
    auto* one = all.app.add_subcommand(
        "doctor", "check the store and its locks; exit 0 (OK), 1 (WARN) or 2 (FAIL)");
    auto what = std::make_shared<doctor_options>();
    one->add_option("--for", what->watched, "measure how often keys change holders for DUR")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_option("--held", what->held_warned, "warn about a lease held longer than DUR")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_option("--waiters", what->waiters_warned, "warn about a key with at least N waiters")
        ->check(number_within(1, 1'000'000))
        ->type_name("N")
        ->capture_default_str();
    one->footer("Example: pawl doctor --store redis://127.0.0.1:6379 --json");
    one->callback([&all, what, one] {
        for (const auto* name : {"--for", "--held", "--waiters"})
            what->has_bounds = what->has_bounds || one->count(name) > 0;
        all.chosen = [&all, what] { return doctor(all.options, *what); };
    });
}

}  // namespace pawl::cli
