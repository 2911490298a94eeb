// pawl completion bash | zsh: a script made from the commands themselves, so that it cannot go
// stale.
#include "cli/options/commands.hpp"

#include <iostream>
#include <memory>
#include <vector>

namespace pawl::cli {
namespace {

// A command in no group is not for people.
std::vector<const CLI::App*> commands_of(const CLI::App& command) {
    return command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

std::string options_of(const CLI::App& command) {
    std::string words;
    for (const auto* option : command.get_options())
        for (const auto& name : option->get_lnames()) words += "--" + name + " ";
    return words;
}

std::string words_of(const CLI::App& command) {
    std::string words;
    for (const auto* sub : commands_of(command)) words += sub->get_name() + " ";
    return words + options_of(command);
}

// One case for each path of commands: "locks release" offers what follows it.
void print_cases(const CLI::App& command, const std::string& path,
                 const std::string& global_options) {
    std::cout << "        '" << path << "') words='" << words_of(command) << global_options
              << "' ;;\n";
    for (const auto* sub : commands_of(command))
        print_cases(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(),
                    path.empty() ? options_of(command) : global_options);
}

std::string command_names(const CLI::App& command) {
    std::string names;
    for (const auto* sub : commands_of(command))
        names += " " + sub->get_name() + command_names(*sub);
    return names;
}

status print(const CLI::App& app, const std::string& shell) {
    if (shell == "zsh") std::cout << "#compdef pawl\nautoload -U +X bashcompinit && bashcompinit\n";
    std::cout << "# Completion for pawl; load it with: source <(pawl completion " << shell << ")\n"
              << "_pawl_words() {\n"
              << "    local current=\"${COMP_WORDS[COMP_CWORD]}\" path='' word words=''\n"
              << "    for word in \"${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}\"; do\n"
              << "        [ \"$word\" = -- ] && return\n"
              << "        case \" " << command_names(app).substr(1)
              << " \" in *\" $word \"*) path=\"${path:+$path }$word\" ;; esac\n"
              << "    done\n"
              << "    case \"$path\" in\n";
    print_cases(app, "", "");
    std::cout << "    esac\n"
              << "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
              << "}\n"
              << "complete -o default -F _pawl_words pawl\n";
    // Installed for zsh, this is the body of a function that is loaded by the first TAB.
    if (shell == "zsh")
        std::cout
            << "[ \"${funcstack[1]}\" != _pawl ] || _bash_complete -o default -F _pawl_words\n";
    return status::done;
}

}  // namespace

void add_completion(context& all) {
    auto* one = all.app.add_subcommand("completion", "print a completion script for a shell");
    auto shell = std::make_shared<std::string>();
    one->add_option("SHELL", *shell, "bash or zsh")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
    one->footer("Example: source <(pawl completion bash)");
    one->callback([&all, shell] { all.chosen = [&all, shell] { return print(all.app, *shell); }; });
}

}  // namespace pawl::cli
