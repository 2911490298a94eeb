// Checks that hold for all options of a command line, whichever they are.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::cli {

// The command that the words chose, below all others that they named.
const CLI::App& chosen_in(const CLI::App& app);
// " (see 'pawl locks release --help')"
std::string see_help_of(const CLI::App& command);

// `--occurrence=` as two words, the second of them empty: the parser would take the word that
// follows for the value, or the -- that ends the options. `reversed` as the parser reads them.
void part_empty_values(const CLI::App& app, std::vector<std::string>& reversed);

// An option that was given nothing, as by "$DUE" where DUE is not set: what is left out by mistake
// is not what is left out. But for those that say so themselves, and a cursor, which begins empty.
std::optional<std::string> empty_value_fault(const CLI::App& app);

// For CLI::Option::check: why this is no reason for an action, as the API says it; empty: it is
// one.
std::string reason_option_fault(const std::string& text);

// A list of words, such as a command. As an option that may take extra words CLI11 takes a word in
// brackets apart ("[a,b]" is a and b), so this is one that has never had enough of them.
CLI::Option* add_words(CLI::App& to, const std::string& name, std::vector<std::string>& words,
                       const std::string& help);

// Digits and nothing else: CLI::Range takes 0x10, +3 and ' 3' as well.
CLI::Validator number_within(std::uint64_t least, std::uint64_t most);

// A word that looks like an option, and is none of the command's.
std::optional<std::string> unknown_option_fault(const CLI::App& app);

}  // namespace pawl::cli
