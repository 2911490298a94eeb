#include "test_support/conformance/journal/racer.hpp"

#include "test_support/conformance/journal/journal_client.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <sstream>

namespace pawl::conformance {
namespace {

constexpr const char* marker = "--racer";

std::map<std::string, journal_address_opener>& openers() {
    static std::map<std::string, journal_address_opener> known;
    return known;
}

struct child {
    pid_t process = 0;
    int answer = -1;  // where it writes the occurrences that it began, one a line
};

std::optional<child> start_child(const race& what, int token) {
    std::vector<std::string> words{"conformance",
                                   marker,
                                   what.engine,
                                   what.address,
                                   what.name_space,
                                   what.job,
                                   std::to_string(what.occurrences),
                                   std::to_string(token)};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (pipe(ends) != 0) return std::nullopt;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    child started;
    const int fault = posix_spawn(&started.process, "/proc/self/exe", &actions, nullptr,
                                  arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    started.answer = ends[0];
    if (fault == 0) return started;
    close(ends[0]);
    return std::nullopt;
}

std::string read_all(int from) {
    std::string all;
    char bytes[4096];
    for (ssize_t got = 0; (got = read(from, bytes, sizeof bytes)) > 0;)
        all.append(bytes, static_cast<std::size_t>(got));
    close(from);
    return all;
}

}  // namespace

bool register_journal_opener(const std::string& engine, journal_address_opener open) {
    return openers().emplace(engine, open).second;
}

std::vector<int> race_in_children(int processes, const race& what) {
    std::vector<child> children;
    for (int i = 0; i < processes; ++i)
        if (const auto started = start_child(what, i + 1)) children.push_back(*started);
    std::vector<int> times(static_cast<std::size_t>(what.occurrences));
    bool good = static_cast<int>(children.size()) == processes;
    for (const auto& each : children) {
        std::istringstream begun{read_all(each.answer)};
        for (std::size_t occurrence = 0; begun >> occurrence;)
            if (occurrence >= 1 && occurrence <= times.size()) ++times[occurrence - 1];
        int status = 0;
        waitpid(each.process, &status, 0);
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good ? times : std::vector<int>{};
}

std::optional<int> racer_main(const std::vector<std::string>& arguments) {
    if (arguments.size() != 8 || arguments[1] != marker) return std::nullopt;
    const auto open = openers().find(arguments[2]);
    if (open == openers().end()) return 1;
    store_settings settings;
    settings.name_space = arguments[4];
    settings.timeout = 20s;
    journal_client mine{
        [&](net::loop& where) { return open->second(where, arguments[3], settings); }};
    const auto occurrences = std::stoll(arguments[6]);
    const auto token = std::stoull(arguments[7]);
    for (std::int64_t occurrence = 1; occurrence <= occurrences; ++occurrence) {
        const auto start = fresh_occurrence_run(arguments[5], occurrence, token);
        const auto answer = mine.ask(mine->begin(start));
        if (answer.has_error()) {
            std::fprintf(stderr, "racer: %s\n", answer.error().detail.c_str());
            return 1;
        }
        if (answer->outcome == begin_outcome::begun)
            std::printf("%lld\n", static_cast<long long>(occurrence));
    }
    return 0;
}

}  // namespace pawl::conformance
