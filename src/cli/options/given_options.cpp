#include "cli/options/given_options.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "documents/reason.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace pawl::cli {
namespace {

// `--reason` says why it needs a text; the first page of a list is the one after nothing.
constexpr std::array<std::string_view, 2> options_of_their_own{"reason", "after"};

// More than fit on a command line of Linux: it has 6 MiB at most, and each word a pointer.
constexpr int words_max = 1 << 20;

bool takes_a_value(const CLI::Option& one) { return one.get_items_expected_max() > 0; }

// In whichever command: which one was meant is not known before the words have been parsed.
bool is_option_with_value(const CLI::App& app, const std::string& name) {
    if (const auto* one = app.get_option_no_throw(name)) return takes_a_value(*one);
    const auto below = app.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(below.begin(), below.end(),
                       [&](const CLI::App* one) { return is_option_with_value(*one, name); });
}

bool may_be_empty(const CLI::Option& one) {
    return std::any_of(options_of_their_own.begin(), options_of_their_own.end(),
                       [&](std::string_view name) { return one.check_lname(std::string{name}); });
}

// DUR of [=DUR], and without what it says of the bounds.
std::string type_shown(const CLI::Option& one) {
    auto type = one.get_type_name();
    type.resize(std::min(type.find(':'), type.size()));
    return type.starts_with("[=") && type.ends_with(']') ? type.substr(2, type.size() - 3) : type;
}

std::optional<std::string> empty_option_of(const CLI::App& command) {
    for (const auto* one : command.get_options()) {
        if (!one->nonpositional() || one->count() == 0 || !takes_a_value(*one)) continue;
        const auto& values = one->results();
        if (may_be_empty(*one) || std::find(values.begin(), values.end(), "") == values.end())
            continue;
        return one->get_name() + " is empty; expected " + type_shown(*one) +
               (one->get_required() ? "" : ", or leave the option out");
    }
    return std::nullopt;
}

// Of the command and of those above it, as they are given beside each other.
std::vector<std::string> option_names(const CLI::App* command) {
    std::vector<std::string> all;
    for (; command != nullptr; command = command->get_parent())
        for (const auto* one : command->get_options())
            for (const auto& name : one->get_lnames()) all.push_back("--" + name);
    return all;
}

// "pawl locks release"
std::string path_of(const CLI::App& command) {
    const auto* above = command.get_parent();
    return (above == nullptr ? "" : path_of(*above) + " ") + command.get_name();
}

}  // namespace

const CLI::App& chosen_in(const CLI::App& app) {
    const auto below = app.get_subcommands();
    return below.empty() ? app : chosen_in(*below.back());
}

std::string see_help_of(const CLI::App& command) {
    return " (see '" + path_of(command) + " --help')";
}

void part_empty_values(const CLI::App& app, std::vector<std::string>& reversed) {
    std::vector<std::string> parted;
    bool is_finished = false;
    for (auto word = reversed.rbegin(); word != reversed.rend(); ++word) {
        is_finished = is_finished || *word == "--";
        const bool is_parted = !is_finished && word->starts_with("--") && word->ends_with('=') &&
                               is_option_with_value(app, word->substr(0, word->size() - 1));
        if (is_parted) word->pop_back();
        parted.push_back(std::move(*word));
        if (is_parted) parted.emplace_back();
    }
    std::reverse(parted.begin(), parted.end());
    reversed = std::move(parted);
}

std::optional<std::string> empty_value_fault(const CLI::App& app) {
    for (const auto* command = &chosen_in(app); command != nullptr; command = command->get_parent())
        if (const auto fault = empty_option_of(*command))
            return *fault + see_help_of(chosen_in(app));
    return std::nullopt;
}

std::string reason_option_fault(const std::string& text) {
    return documents::reason_fault(text).value_or("");
}

CLI::Option* add_words(CLI::App& to, const std::string& name, std::vector<std::string>& words,
                       const std::string& help) {
    return to.add_option(name, words, help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)  // too few is no fault
        ->expected(words_max, CLI::detail::expected_max_vector_size)
        ->allow_extra_args(false)
        ->type_name("");
}

CLI::Validator number_within(std::uint64_t least, std::uint64_t most) {
    const auto check = [least, most](std::string& text) -> std::string {
        if (base::parse_number_within<std::uint64_t>(text, least, most)) return {};
        return "Value " + base::printable(text) + " not in range " + std::to_string(least) +
               " to " + std::to_string(most);
    };
    return {check, "UINT in [" + std::to_string(least) + " - " + std::to_string(most) + "]"};
}

std::optional<std::string> unknown_option_fault(const CLI::App& app) {
    const auto words = app.remaining(true);
    const auto unknown = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return word.size() > 2 && word.starts_with("--");
    });
    if (unknown == words.end()) return std::nullopt;
    const auto name = unknown->substr(0, unknown->find('='));
    const auto& command = chosen_in(app);
    const auto names = option_names(&command);
    const auto meant = base::nearest(name, {names.begin(), names.end()});
    return "unknown option '" + base::printable(name) + "'" +
           (meant ? "; did you mean '" + std::string{*meant} + "'?" : "") + see_help_of(command);
}

}  // namespace pawl::cli
