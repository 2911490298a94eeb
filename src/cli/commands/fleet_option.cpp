#include "cli/commands/fleet_option.hpp"

#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/options/commands.hpp"

namespace pawl::cli {
namespace {

constexpr std::uint64_t agents_max = 1'000'000;
constexpr std::uint64_t jobs_max = 1'000'000'000;
constexpr millis duration_max = std::chrono::hours{24 * 366};

[[noreturn]] void reject(std::string_view part, const std::string& expected) {
    throw exit_error{status::usage, "--plan '" + base::printable(part) + "'; expected " + expected};
}

std::uint64_t count_in(std::string_view part, std::string_view text, std::uint64_t most) {
    const auto count = base::parse_number_within<std::uint64_t>(text, 1, most);
    if (!count) reject(part, "an integer from 1 to " + std::to_string(most));
    return *count;
}

millis duration_in(std::string_view part, std::string_view text) {
    const auto some = base::parse_duration(text);
    if (some.has_error() || *some < millis{1} || *some > duration_max)
        reject(part, "a duration from 1ms to " + base::format_duration(duration_max));
    return *some;
}

}  // namespace

schedule::fleet fleet_in(std::string_view text) {
    schedule::fleet all;
    for (auto rest = text;;) {
        const auto part = rest.substr(0, rest.find(','));
        const auto equals = part.find('=');
        const auto name = part.substr(0, equals);
        const auto value =
            equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
        if (name == "agents")
            all.agents = count_in(part, value, agents_max);
        else if (name == "jobs")
            all.jobs = count_in(part, value, jobs_max);
        else if (name == "every")
            all.every = duration_in(part, value);
        else if (name == "run")
            all.run = duration_in(part, value);
        else if (name == "ttl")
            all.ttl = duration_in(part, value);
        else
            reject(part, "agents=N, jobs=N, every=DUR, run=DUR or ttl=DUR");
        if (part.size() == rest.size()) return all;
        rest.remove_prefix(part.size() + 1);
    }
}

}  // namespace pawl::cli
