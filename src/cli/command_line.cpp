#include "cli/command_line.hpp"

#include "cli/commands/version.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/checked_output.hpp"
#include "cli/output/output.hpp"
#include "cli/secrets.hpp"

#include "base/ascii.hpp"
#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::cli {
namespace {

void add_globals(CLI::App& app, globals& options, std::string (*verbose_version)()) {
    app.add_option("--store", options.store,
                   "the store of leases, such as redis://127.0.0.1:6379 (PAWL_STORE)")
        ->type_name("URL");
    app.add_option("--journal", options.journal,
                   "the journal of runs; default: the store (PAWL_JOURNAL)")
        ->type_name("URL");
    app.add_option("--url", options.url,
                   "use an agent's API instead of the store, such as http://127.0.0.1:7295 "
                   "(PAWL_URL)")
        ->type_name("URL");
    app.add_option("--config", options.config, "the configuration file, in TOML (PAWL_CONFIG)")
        ->type_name("FILE");
    app.add_option("--log-level", options.log_level, "log at this level and above, on stderr")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}))
        ->type_name("LEVEL");
    app.add_option("--log-format", options.log_format, "log as text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->type_name("FORMAT");
    app.add_option("--color", options.color, "use colors: auto, always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->type_name("WHEN");
    app.add_flag("--json", options.json, "print one JSON document on stdout");
    app.add_flag("--verbose", options.verbose,
                 "log at debug level; with --version: libraries and build options");
    // Options are processed in the order in which they were added, so --verbose is known by then.
    app.set_version_flag(
        "--version",
        [&options, verbose_version] {
            return options.verbose ? verbose_version() : version_text();
        },
        "print the version and the stores built in");
    app.set_help_flag("-h,--help", "print this help");
}

int report(const std::string& line, status code) {
    std::cerr << "pawl: " << line << '\n';
    return static_cast<int>(code);
}

bool lacks_command(const CLI::App& group) {
    return group.get_require_subcommand_min() > 0 && group.get_subcommands().empty();
}

std::string describe_unknown(const CLI::App& group, const std::string& word) {
    const auto where = see_help_of(group);
    if (word.starts_with('-')) return "unknown option '" + base::printable(word) + "'" + where;
    std::vector<std::string_view> names;
    for (const auto* one : group.get_subcommands([](const CLI::App*) { return true; }))
        if (!one->get_group().empty()) names.push_back(one->get_name());
    const auto meant = base::nearest(word, names);
    return "unknown command '" + base::printable(word) + "'; " +
           (meant ? "did you mean '" + std::string{*meant} + "'?" : "expected a command") + where;
}

// CLI11 has a status of its own for every kind of mistake; for its callers all of them are usage.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    // Whatever else it led to.
    if (const auto unknown = unknown_option_fault(app)) return report(*unknown, status::usage);
    if (const auto empty = empty_value_fault(app)) return report(*empty, status::usage);
    if (const auto& last = chosen_in(app); lacks_command(last)) {
        const auto words = app.remaining(true);
        if (!words.empty()) return report(describe_unknown(last, words.front()), status::usage);
        if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
            std::cerr << app.help();
            return static_cast<int>(status::usage);
        }
    }
    std::string line = error.what();
    for (auto& letter : line)
        if (letter == '\n') letter = ' ';
    return report(base::printable(line) + see_help_of(chosen_in(app)), status::usage);
}

}  // namespace

millis duration_option(const std::string& name, const std::string& text) {
    const auto parsed = base::parse_duration(text);
    if (parsed.has_error())
        throw CLI::ValidationError{name, "'" + base::printable(text) + "' at column " +
                                             std::to_string(parsed.error().column + 1) + ": " +
                                             parsed.error().what};
    return *parsed;
}

std::uint64_t token_option(const std::string& text) {
    const auto value = base::parse_number_within<std::uint64_t>(text, 1, (1ULL << 53) - 1);
    if (!value)
        throw exit_error{status::usage, "invalid fencing token '" + base::printable(text) +
                                            "'; expected an integer from 1 to 2^53 - 1"};
    return *value;
}

namespace {

// Digits, and then letters.
bool resembles_duration(std::string_view word) {
    const auto letters = std::find_if(word.begin(), word.end(),
                                      [](char c) { return !base::is_digit(c) && c != '.'; });
    return letters != word.begin() && std::all_of(letters, word.end(), base::is_alphanumeric);
}

// An option whose value may be missing is asking for trouble: CLI11 takes the word that follows for
// the value, and a -- that follows for the end of it. So a bare --wait is given the longest one. A
// word before the -- that looks like a duration is one that is wrong, where a KEY may stand
// already.
std::vector<std::string> words_of(int count, char** given) {
    std::vector<std::string> words(given + 1, given + count);
    const auto end = std::find(words.begin(), words.end(), "--");
    for (auto word = words.begin(); word != end; ++word) {
        if (*word != "--wait") continue;
        const auto next = word + 1;
        const auto may_have_key = [&] {
            auto before = std::find(words.begin(), word, "exec");
            while (before != word && ++before != word) {
                if (!before->starts_with('-')) return true;
                // The word behind it may be its value.
                if (before->find('=') == std::string::npos && ++before == word) break;
            }
            return false;
        };
        const auto is_meant_as_value = [&] {
            return next->empty() || base::parse_duration(*next).has_value() ||
                   (resembles_duration(*next) && next + 1 == end && end != words.end() &&
                    may_have_key());
        };
        const bool has_value = next != end && is_meant_as_value();
        if (!has_value) *word += "=3650d";
    }
    // CLI11 reads them from the back.
    std::reverse(words.begin(), words.end());
    return words;
}

// The others need the store itself, or nothing at all.
constexpr std::array<std::string_view, 7> asking_commands{"locks", "jobs",  "runs",  "nodes",
                                                          "audit", "fence", "doctor"};
// What these do in another store than that of the agents is worth nothing, or does harm.
constexpr std::array<std::string_view, 3> commands_on_the_store{"exec", "drill", "bench"};

template <class Names>
bool is_among(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

void check_url(const CLI::App& app, const globals& options) {
    if (!options.url) return;
    if (options.store || options.journal)
        throw exit_error{status::usage, std::string{"--url and "} +
                                            (options.store ? "--store" : "--journal") +
                                            " exclude each other; give one of them"};
    for (const auto* command : app.get_subcommands())
        if (!is_among(asking_commands, command->get_name()))
            throw exit_error{status::usage, "'pawl " + command->get_name() +
                                                "' works on the store itself (--store); leave out "
                                                "--url"};
}

// Who has PAWL_URL set means the store of that agent, and not this machine's own.
void check_url_variable(const CLI::App& app, const globals& options) {
    const char* url = std::getenv("PAWL_URL");
    if (url == nullptr || *url == '\0') return;
    for (const auto* command : app.get_subcommands())
        if (is_among(commands_on_the_store, command->get_name()) &&
            choose_store(options).from == "default")
            throw exit_error{status::configuration,
                             "PAWL_URL is set, but 'pawl " + command->get_name() +
                                 "' works on the store itself; name it with --store, PAWL_STORE "
                                 "or --config, or unset PAWL_URL"};
}

int run_chosen(const CLI::App& app, const globals& options, const action& chosen) {
    try {
        set_up_logging(options);
        log_as_json(options.log_format == "json");
        if (const auto empty = empty_value_fault(app)) return report(*empty, status::usage);
        check_url(app, options);
        check_url_variable(app, options);
        return static_cast<int>(chosen());
    } catch (const exit_error& error) {
        return report(error.what(), error.code());
    } catch (const CLI::ParseError& error) {
        // It quotes words as they were given.
        return report(base::printable(error.what()), status::usage);
    } catch (const option_error& error) {
        return report(error.what(), status::usage);
    } catch (const store_error& error) {
        return report(error.what(), status_of(error));
    } catch (const std::exception& error) {
        return report(error.what(), status::io_error);
    }
}

// To describe all of them takes a good part of the time that a short command has: of one that is
// named first, only this one is described, but by `completion`, which describes the others.
void add_commands(const program& me, context& where, const std::vector<std::string>& reversed) {
    const std::string_view first = reversed.empty() ? std::string_view{} : reversed.back();
    for (const auto& one : me.commands)
        if (one.name == first && one.name != "completion") return one.add(where);
    for (const auto& one : me.commands) one.add(where);
}

int parse_and_run(const program& me, int count, char** words) {
    auto given = words_of(count, words);
    hide_secrets(count, words);
    // Asked by every installer and health check, and answered before the rest is set up.
    if (given.size() == 1 && given.front() == "--version") {
        std::cout << version_text() << '\n';
        return 0;
    }
    CLI::App app{"Distributed locks and scheduling: each job runs on one node at a time", "pawl"};
    globals options;
    action chosen;
    add_globals(app, options, me.verbose_version);
    app.require_subcommand(1);
    app.fallthrough();
    context everything{app, options, chosen};
    add_commands(me, everything, given);
    part_empty_values(app, given);
    app.footer(
        "Example: pawl exec invoices/nightly --ttl 30s -- /usr/local/bin/send-invoices\n"
        "'pawl COMMAND --help' shows an example of each command; the manual page is pawl(1).");
    try {
        app.parse(std::move(given));
    } catch (const CLI::ParseError& error) {
        return report_parse_error(app, error);
    }
    return run_chosen(app, options, chosen);
}

}  // namespace

int run_program(const program& me, int count, char** words) {
    keep_standard_descriptors();
    checked_output printed{std::cout};
    return printed.end(parse_and_run(me, count, words));
}

}  // namespace pawl::cli
