// pawl completion bash | zsh: a script made from the commands themselves, so that it cannot go
// stale.
#include "pawl/commands.hpp"

#include <iostream>
#include <memory>

namespace pawl::app {
namespace {

std::string words_of(const CLI::App& command) {
    std::string words;
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; }))
        words += sub->get_name() + " ";
    for (const auto* option : command.get_options())
        for (const auto& name : option->get_lnames()) words += "--" + name + " ";
    return words;
}

// One case for each path of commands: "locks release" offers what follows it.
void print_cases(const CLI::App& command, const std::string& path,
                 const std::string& global_words) {
    std::cout << "        '" << path << "') words='" << words_of(command) << global_words
              << "' ;;\n";
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; }))
        print_cases(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(),
                    global_words);
}

std::string command_names(const CLI::App& command) {
    std::string names;
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; }))
        names += " " + sub->get_name() + command_names(*sub);
    return names;
}

status print(const CLI::App& app, const std::string& shell) {
    if (shell == "zsh") std::cout << "#compdef pawl\nautoload -U +X bashcompinit && bashcompinit\n";
    std::cout << "# Completion for pawl; load it with: source <(pawl completion " << shell << ")\n"
              << "_pawl() {\n"
              << "    local current=\"${COMP_WORDS[COMP_CWORD]}\" path='' word words=''\n"
              << "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
              << "        [ \"$word\" = -- ] && return\n"
              << "        case \" " << command_names(app).substr(1)
              << " \" in *\" $word \"*) path=\"${path:+$path }$word\" ;; esac\n"
              << "    done\n"
              << "    case \"$path\" in\n";
    print_cases(app, "", words_of(app));
    std::cout << "    esac\n"
              << "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
              << "}\n"
              << "complete -o default -F _pawl pawl\n";
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

}  // namespace pawl::app
