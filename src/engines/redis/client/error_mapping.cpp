#include "engines/redis/client/error_mapping.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace pawl::redis {
namespace {

struct rejection {
    std::string_view code;
    errc meaning;
    std::string_view advice = {};
    bool answered = false;  // no outage: it is there, and cannot write for now
};

// Redis 6 and older wrap the error of a command inside a script in a sentence of their own, so a
// code counts wherever it stands as a word after '-'.
constexpr std::array rejections{
    rejection{"NOAUTH", errc::denied, "give a password in the URL"},
    rejection{"WRONGPASS", errc::denied},
    rejection{"NOPERM", errc::denied, "docs/stores/redis.md lists what the user needs"},
    rejection{"DENIED", errc::denied, "the server is in protected mode"},
    rejection{"LOADING", errc::unreachable},
    rejection{"BUSY", errc::unreachable},
    rejection{"TRYAGAIN", errc::unreachable},
    rejection{"CLUSTERDOWN", errc::unreachable},
    rejection{"READONLY", errc::unreachable, "point the URL at the primary", true},
    rejection{"OOM", errc::unreachable, "make room: raise maxmemory", true},
    rejection{"MISCONF", errc::unreachable, "repair its disk", true},
    rejection{"MASTERDOWN", errc::unreachable, "a replica without its master", true},
    rejection{"NOREPLICAS", errc::unreachable, "see to the replicas", true},
    rejection{"WRONGTYPE", errc::rejected, "another program uses this name: choose namespace="},
    rejection{"PAWL", errc::rejected},
    rejection{"MOVED", errc::unsupported,
              "this is a node of a Redis Cluster: use redis+cluster://"},
    rejection{"ASK", errc::unsupported, "this is a node of a Redis Cluster: use redis+cluster://"},
    rejection{"CROSSSLOT", errc::unsupported,
              "this is a node of a Redis Cluster: use redis+cluster://"},
};

// What a missing privilege of a command inside a script looks like since Redis 7.
constexpr std::array denied_phrases{std::string_view{"The user executing the script can't"},
                                    std::string_view{"ACL failure in script"}};
constexpr std::array unsupported_phrases{
    std::string_view{"unknown command"}, std::string_view{"Unknown Redis command called from"},
    std::string_view{"after non deterministic commands"}, std::string_view{"unknown subcommand"}};

bool has_code(std::string_view error, std::string_view code) {
    if (error.starts_with(code) && (error.size() == code.size() || error[code.size()] == ' '))
        return true;
    std::string wrapped{"-"};
    wrapped.append(code).append(" ");
    return error.find(wrapped) != std::string_view::npos;
}

}  // namespace

bool is_unknown_script(std::string_view error) noexcept { return error.starts_with("NOSCRIPT"); }

bool is_unknown_command(std::string_view error) noexcept {
    return error.find("unknown command") != std::string_view::npos;
}

bool is_missing_privilege(std::string_view error) noexcept { return error.starts_with("NOPERM"); }

bool is_read_only(std::string_view error) noexcept {
    return error.starts_with("READONLY") || error.find("-READONLY ") != std::string_view::npos;
}

bool is_split(std::string_view error) noexcept { return error.starts_with("TRYAGAIN"); }

bool is_cluster_in_motion(std::string_view error) noexcept {
    return is_split(error) || is_read_only(error) || error.starts_with("CLUSTERDOWN") ||
           error.starts_with("LOADING") || error.starts_with("MASTERDOWN") ||
           error.find("access a non local key") != std::string_view::npos;
}

// MOVED SLOT HOST:PORT, where a host may be an IPv6 address, or missing.
std::optional<redirection> read_redirection(std::string_view error) {
    redirection read{redirection::kind::moved, 0, {}};
    if (error.starts_with("ASK "))
        read.how = redirection::kind::ask;
    else if (!error.starts_with("MOVED "))
        return std::nullopt;
    error.remove_prefix(error.find(' ') + 1);
    const auto space = error.find(' ');
    const auto colon = error.rfind(':');
    if (space == std::string_view::npos || colon == std::string_view::npos || colon < space)
        return std::nullopt;
    const auto slot = base::parse_number<decltype(read.slot)>(error.substr(0, space));
    const auto port = base::parse_number_within<std::uint16_t>(error.substr(colon + 1), 1, 65535);
    if (!slot || !port) return std::nullopt;
    read.slot = *slot;
    read.to = {std::string{error.substr(space + 1, colon - space - 1)}, *port};
    return read;
}

failure explain_rejection(std::string_view place, std::string_view error) {
    // Details are for one line of a log: a script's error can carry a long trace.
    constexpr std::size_t words_max = 300;
    auto detail = std::string{place} + ": " + base::printable(error.substr(0, words_max));
    for (const auto phrase : denied_phrases)
        if (error.find(phrase) != std::string_view::npos)
            return {errc::denied, detail + " (docs/stores/redis.md lists what the user needs)"};
    const auto found =
        std::find_if(rejections.begin(), rejections.end(),
                     [&](const rejection& known) { return has_code(error, known.code); });
    if (found != rejections.end()) {
        if (!found->advice.empty()) detail.append(" (").append(found->advice).append(")");
        return {found->meaning, std::move(detail), found->answered};
    }
    for (const auto phrase : unsupported_phrases)
        if (error.find(phrase) != std::string_view::npos)
            return {errc::unsupported, std::move(detail)};
    return {errc::rejected, std::move(detail)};
}

}  // namespace pawl::redis
