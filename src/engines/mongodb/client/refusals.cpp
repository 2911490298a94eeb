#include "engines/mongodb/client/refusals.hpp"

#include "base/text.hpp"

#include <mongoc/mongoc.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace pawl::mongodb {
namespace {

constexpr std::size_t words_max = 300;
constexpr std::string_view needed = "docs/stores/mongodb.md lists what the user needs";

struct refusal {
    std::uint32_t code;
    errc meaning;
    std::string_view advice = {};
    bool answered = false;  // no outage: it is there, and cannot write for now
};

// Source: src/mongo/base/error_codes.yml.
constexpr std::array refusals{
    // Who may do what
    refusal{13, errc::denied, needed},
    refusal{18, errc::denied, "user, password, and authSource="},
    refusal{31, errc::denied, needed},
    refusal{33, errc::denied, needed},
    refusal{8000, errc::denied, "user, password, and authSource="},
    // What no retry helps
    refusal{9, errc::unsupported},
    refusal{59, errc::unsupported},
    refusal{72, errc::unsupported},
    refusal{115, errc::unsupported},
    refusal{148, errc::unsupported, "the storage engine must keep what a majority has"},
    // A write that met another before it wrote
    refusal{112, errc::unreachable},
    // A collection that another has made, and that is not listed yet
    refusal{48, errc::unreachable},
    // What passes by itself: no majority's view or snapshot yet, as behind an election
    refusal{134, errc::unreachable},
    refusal{246, errc::unreachable},
    refusal{365, errc::unreachable, "its storage engine is under pressure", true},
    refusal{14031, errc::unreachable, "make room on its disk", true},
    // What may have had effect: it was ended, or its server is no longer the primary
    refusal{6, errc::outcome_unknown},
    refusal{7, errc::outcome_unknown},
    // The server has lost its way amid the command
    refusal{17, errc::outcome_unknown},
    refusal{24, errc::outcome_unknown},
    refusal{50, errc::outcome_unknown},
    refusal{64, errc::outcome_unknown},
    refusal{89, errc::outcome_unknown},
    refusal{91, errc::outcome_unknown},
    refusal{189, errc::outcome_unknown},
    refusal{202, errc::outcome_unknown},
    refusal{262, errc::outcome_unknown},
    refusal{9001, errc::outcome_unknown},
    refusal{10107, errc::outcome_unknown},
    refusal{11600, errc::outcome_unknown},
    refusal{11601, errc::outcome_unknown},
    refusal{11602, errc::outcome_unknown},
    refusal{13435, errc::outcome_unknown},
    refusal{13436, errc::outcome_unknown},
};

errc after(effect asked) {
    return asked == effect::writes ? errc::outcome_unknown : errc::unreachable;
}

bool has(std::string_view words, std::string_view part) {
    return words.find(part) != std::string_view::npos;
}

errc code_of_library(const server_error& error, effect asked) {
    switch (error.domain) {
        case MONGOC_ERROR_SERVER_SELECTION:
            // Its words tell what became of each server.
            if (has(error.words, "uthentication failed")) return errc::denied;
            if (has(error.words, "certificate")) return errc::denied;
            return error.code == MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION ? errc::unsupported
                                                                        : errc::unreachable;
        case MONGOC_ERROR_STREAM:
            if (error.code == MONGOC_ERROR_STREAM_NAME_RESOLUTION ||
                error.code == MONGOC_ERROR_STREAM_CONNECT)
                return errc::unreachable;
            return after(asked);
        case MONGOC_ERROR_CLIENT:
            return error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE ? errc::denied : errc::rejected;
        case MONGOC_ERROR_SASL:
        case MONGOC_ERROR_SCRAM:
            return errc::denied;
        case MONGOC_ERROR_PROTOCOL:
            // What was answered so badly may have been done.
            if (error.code == MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION) return errc::unsupported;
            return asked == effect::writes ? errc::outcome_unknown : errc::protocol;
        default:
            return after(asked);
    }
}

}  // namespace

server_error said_by_server(std::int64_t code, std::string words) {
    return {MONGOC_ERROR_SERVER, static_cast<std::uint32_t>(code), std::move(words)};
}

bool is_cut(const server_error& error) noexcept { return error.domain == MONGOC_ERROR_STREAM; }

bool is_unknown_command(const server_error& error) noexcept {
    return (error.domain == MONGOC_ERROR_SERVER || error.domain == MONGOC_ERROR_QUERY) &&
           error.code == MONGOC_ERROR_QUERY_COMMAND_NOT_FOUND;
}

failure explain_refusal(const std::string& place, const server_error& error, effect asked) {
    auto detail =
        place + ": " + base::printable(std::string_view{error.words}.substr(0, words_max));
    if (error.domain != MONGOC_ERROR_SERVER && error.domain != MONGOC_ERROR_QUERY)
        return {code_of_library(error, asked), std::move(detail)};
    detail += " (error " + std::to_string(error.code);
    const auto* known = std::find_if(refusals.begin(), refusals.end(),
                                     [&](const refusal& one) { return one.code == error.code; });
    if (known == refusals.end()) return {errc::rejected, detail + ")"};
    if (!known->advice.empty()) detail.append("; ").append(known->advice);
    const auto meaning = known->meaning == errc::outcome_unknown ? after(asked) : known->meaning;
    return {meaning, detail + ")", known->answered};
}

}  // namespace pawl::mongodb
