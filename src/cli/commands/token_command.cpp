// pawl token new: a secret for a user of the API, and what the configuration keeps of it.
#include "api/auth/token.hpp"
#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/output.hpp"
#include "config/texts.hpp"
#include "engines/rules/journal/texts.hpp"

#include <iostream>
#include <memory>

namespace pawl::cli {
namespace {

struct new_options {
    std::string name;
    std::string role;
};

void check_name(const std::string& name) {
    const auto shown = "--name '" + journals::one_line(base::printable(name)) + "' ";
    if (const auto bad = config::user_name_fault(name))
        throw exit_error{status::usage, shown + bad->what};
    // As the file that it goes into has to be.
    if (journals::one_line(name) != name)
        throw exit_error{status::usage, shown + "is not UTF-8; the configuration has to be"};
}

// A basic string of TOML; there are no control characters.
std::string toml_text(const std::string& text) {
    std::string quoted = "\"";
    for (const char one : text) {
        if (one == '"' || one == '\\') quoted += '\\';
        quoted += one;
    }
    return quoted + '"';
}

status print_new(const globals& options, const new_options& what) {
    check_name(what.name);
    const auto token = api::fresh_token(what.name);
    const auto hash = api::hash_of(token);
    if (options.json) {
        print_json(boost::json::object{
            {"name", what.name}, {"role", what.role}, {"token", token}, {"token_hash", hash}});
        return status::done;
    }
    std::cout << "# The token, shown only now. Programs send it as a bearer token, people log in "
                 "with it.\n"
              << token << "\n\n"
              << "# For the agent's configuration, which stores only its hash.\n"
              << "[[user]]\n"
              << "name = " << toml_text(what.name) << '\n'
              << "role = " << toml_text(what.role) << '\n'
              << "token_hash = " << toml_text(hash) << '\n';
    return status::done;
}

}  // namespace

void add_token(context& all) {
    auto* group = all.app.add_subcommand("token", "create tokens for users of the API");
    group->require_subcommand(1);
    auto* one = group->add_subcommand(
        "new", "print a new token once, and its [[user]] entry for the configuration");
    auto what = std::make_shared<new_options>();
    one->add_option("--name", what->name,
                    "the user's name, as the audit log shows it; 1 to 64 bytes")
        ->required()
        ->type_name("NAME");
    one->add_option(
           "--role", what->role,
           "viewer reads; client also acquires leases; operator also runs, cancels and pauses; "
           "admin also force-releases")
        ->required()
        ->check(CLI::IsMember({"viewer", "client", "operator", "admin"}))
        ->type_name("ROLE");
    const std::string example = "Example: pawl token new --name alice --role operator";
    one->footer(example);
    group->footer(example);
    one->callback(
        [&all, what] { all.chosen = [&all, what] { return print_new(all.options, *what); }; });
}

}  // namespace pawl::cli
