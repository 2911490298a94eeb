#include "engines/mongodb/client/error_mapping.hpp"

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

struct rejection {
    std::uint32_t code;
    errc meaning;
    std::string_view advice = {};
    bool answered = false;  // no outage: it is there, and cannot write for now
};

// Source: src/mongo/base/error_codes.yml.
constexpr std::array rejections{
    // Who may do what
    rejection{13, errc::denied, needed},
    rejection{18, errc::denied, "user, password, and authSource="},
    rejection{31, errc::denied, needed},
    rejection{33, errc::denied, needed},
    rejection{8000, errc::denied, "user, password, and authSource="},
    // What no retry helps
    rejection{9, errc::unsupported},
    rejection{59, errc::unsupported},
    rejection{72, errc::unsupported},
    rejection{115, errc::unsupported},
    rejection{148, errc::unsupported, "the storage engine must keep what a majority has"},
    // A write that met another before it wrote
    rejection{112, errc::unreachable},
    // A collection that another has made, and that is not listed yet
    rejection{48, errc::unreachable},
    // What passes by itself: no majority's view or snapshot yet, as behind an election
    rejection{134, errc::unreachable},
    rejection{246, errc::unreachable},
    rejection{365, errc::unreachable, "its storage engine is under pressure", true},
    rejection{14031, errc::unreachable, "make room on its disk", true},
    // What may have had effect: it was ended, or its server is no longer the primary
    rejection{6, errc::outcome_unknown},
    rejection{7, errc::outcome_unknown},
    // The server has lost its way amid the command
    rejection{17, errc::outcome_unknown},
    rejection{24, errc::outcome_unknown},
    rejection{50, errc::outcome_unknown},
    rejection{64, errc::outcome_unknown},
    rejection{89, errc::outcome_unknown},
    rejection{91, errc::outcome_unknown},
    rejection{189, errc::outcome_unknown},
    rejection{202, errc::outcome_unknown},
    rejection{262, errc::outcome_unknown},
    rejection{9001, errc::outcome_unknown},
    rejection{10107, errc::outcome_unknown},
    rejection{11600, errc::outcome_unknown},
    rejection{11601, errc::outcome_unknown},
    rejection{11602, errc::outcome_unknown},
    rejection{13435, errc::outcome_unknown},
    rejection{13436, errc::outcome_unknown},
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

failure explain_rejection(const std::string& place, const server_error& error, effect asked) {
    auto detail =
        place + ": " + base::printable(std::string_view{error.words}.substr(0, words_max));
    if (error.domain != MONGOC_ERROR_SERVER && error.domain != MONGOC_ERROR_QUERY)
        return {code_of_library(error, asked), std::move(detail)};
    detail += " (error " + std::to_string(error.code);
    const auto* known = std::find_if(rejections.begin(), rejections.end(),
                                     [&](const rejection& one) { return one.code == error.code; });
    if (known == rejections.end()) return {errc::rejected, detail + ")"};
    if (!known->advice.empty()) detail.append("; ").append(known->advice);
    const auto meaning = known->meaning == errc::outcome_unknown ? after(asked) : known->meaning;
    return {meaning, detail + ")", known->answered};
}

}  // namespace pawl::mongodb
