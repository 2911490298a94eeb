#include "engines/mysql/client/error_mapping.hpp"

#include "base/text.hpp"

#include <errmsg.h>

#include <algorithm>
#include <array>

namespace pawl::mysql {
namespace {

struct rejection {
    unsigned number;
    errc meaning;
    std::string_view advice = {};
};

constexpr std::string_view needed = "docs/stores/mysql.md lists what the user needs";
constexpr std::string_view primary = "point the URL at the primary";

// Of one that is full, and may have room again.
constexpr std::string_view room = "make room at the server";

// Of one that is there, and cannot write for now: no outage.
constexpr std::array answers{1021u, 1037u, 1038u, 1041u, 1114u, 1205u,
                             1290u, 1792u, 1836u, 1874u, 3572u};

constexpr std::array rejections{
    // Who may do what
    rejection{1044, errc::denied, needed},
    rejection{1045, errc::denied, "user, password, and whether this user must use TLS"},
    rejection{1130, errc::denied, "the server takes no connections from this machine"},
    rejection{1142, errc::denied, needed},
    rejection{1143, errc::denied, needed},
    rejection{1227, errc::denied, needed},
    rejection{1370, errc::denied, needed},
    rejection{1396, errc::denied},
    rejection{1698, errc::denied},
    rejection{1820, errc::denied, "the password has expired"},
    rejection{1862, errc::denied, "the password has expired"},
    rejection{3118, errc::denied, "the account is locked"},
    rejection{3159, errc::denied, "the server wants TLS: tls=on"},
    rejection{4151, errc::denied, "the account is locked"},
    // What passes
    rejection{1040, errc::unreachable,
              "lower connections=, or raise max_connections of the server"},
    rejection{1047, errc::unreachable, "the node has not joined its cluster"},
    rejection{1129, errc::unreachable, "FLUSH HOSTS at the server"},
    rejection{1135, errc::unreachable, "the server can make no thread more"},
    rejection{1158, errc::unreachable},
    rejection{1159, errc::unreachable},
    rejection{1203, errc::unreachable, "lower connections="},
    rejection{1205, errc::unreachable, "another session keeps the row locked"},
    rejection{1206, errc::unreachable, "too many rows are locked at the server"},
    rejection{1213, errc::unreachable},
    rejection{1226, errc::unreachable},
    rejection{1290, errc::unreachable, primary},
    rejection{1297, errc::unreachable},
    rejection{1412, errc::unreachable},
    rejection{1637, errc::unreachable, "too many transactions at the server"},
    rejection{1792, errc::unreachable, primary},
    rejection{1836, errc::unreachable, primary},
    rejection{1874, errc::unreachable, primary},
    rejection{3032, errc::unreachable, "the server is in offline mode"},
    rejection{3100, errc::unreachable, "the group rolled the transaction back"},
    rejection{3101, errc::unreachable, "the group rolled the transaction back"},
    rejection{3168, errc::unreachable},
    rejection{3572, errc::unreachable},
    rejection{4031, errc::unreachable},
    rejection{1021, errc::unreachable, room},
    rejection{1037, errc::unreachable, room},
    rejection{1038, errc::unreachable, room},
    rejection{1041, errc::unreachable, room},
    rejection{1114, errc::unreachable, room},
    // What may have had effect: the statement was ended from outside
    rejection{1053, errc::outcome_unknown},
    rejection{1160, errc::outcome_unknown},
    rejection{1161, errc::outcome_unknown},
    rejection{1180, errc::outcome_unknown},
    rejection{1317, errc::outcome_unknown},
    rejection{1927, errc::outcome_unknown},
    rejection{1969, errc::outcome_unknown},
    rejection{3024, errc::outcome_unknown},
    rejection{3169, errc::outcome_unknown},
    // What no retry helps
    rejection{1049, errc::unsupported, "CREATE DATABASE first"},
    rejection{1286, errc::unsupported, "pawl needs InnoDB"},
    rejection{1665, errc::unsupported, "set binlog_format to ROW or MIXED"},
};

const rejection* find(unsigned number) {
    const auto* found =
        std::find_if(rejections.begin(), rejections.end(),
                     [&](const rejection& known) { return known.number == number; });
    return found == rejections.end() ? nullptr : found;
}

std::string worded(std::string_view place, const server_error& error, std::string_view advice) {
    // Details are for one line of a log.
    constexpr std::size_t words_max = 300;
    auto detail = std::string{place} + ": " +
                  base::printable(std::string_view{error.words}.substr(0, words_max)) + " (error " +
                  std::to_string(error.number);
    if (!advice.empty()) detail.append("; ").append(advice);
    return detail + ")";
}

bool has(std::string_view words, std::initializer_list<std::string_view> any) {
    return std::any_of(any.begin(), any.end(), [&](std::string_view one) {
        return words.find(one) != std::string_view::npos;
    });
}

// OpenSSL's words are all that the client library passes on.
failure explain_tls(std::string_view place, const server_error& error) {
    if (has(error.words, {"wrong version number", "unknown protocol", "packet length too long"}))
        return {errc::protocol, worded(place, error, "the server does not speak TLS here")};
    if (has(error.words, {"SSL is required, but the server does not support it",
                          "server doesn't support", "server does not support"}))
        return {errc::unsupported,
                worded(place, error, "give the server a certificate, or say tls=off")};
    return {errc::denied, worded(place, error, "the TLS certificate is rejected")};
}

}  // namespace

bool is_of_client(const server_error& error) noexcept {
    return error.number >= CR_MIN_ERROR && error.number < 3000;
}

bool is_conflict(const server_error& error) noexcept {
    return error.number == 1205 || error.number == 1213 || error.number == 3101;
}

bool ends_unasked(const server_error& error) noexcept {
    return error.number == 1158 || error.number == 1159 || error.number == 3032 ||
           error.number == 4031;
}

bool was_not_executed(const server_error& error) noexcept {
    return error.number == CR_SERVER_GONE_ERROR || ends_unasked(error);
}

bool is_locked(const server_error& error) noexcept {
    return error.number == 1205 || error.number == 3572;
}

bool lost_prepared_statement(const server_error& error) noexcept {
    return error.number == 1210 || error.number == 1243 || error.number == 1615;
}

bool is_missing_table(const server_error& error) noexcept { return error.number == 1146; }

bool is_read_only(const server_error& error) noexcept {
    return error.number == 1290 || error.number == 1792 || error.number == 1836 ||
           error.number == 1874;
}

failure explain_rejection(std::string_view place, const server_error& error) {
    if (const auto* known = find(error.number)) {
        failure why{known->meaning, worded(place, error, known->advice)};
        why.answered = std::find(answers.begin(), answers.end(), error.number) != answers.end();
        return why;
    }
    switch (error.number) {
        case CR_SERVER_GONE_ERROR:  // nothing, or not all of it, was sent
            return {errc::unreachable, worded(place, error, {})};
        case CR_SERVER_LOST:
        case CR_SERVER_LOST_EXTENDED:
        case CR_SSL_CONNECTION_ERROR:
            return {errc::outcome_unknown, worded(place, error, {})};
        case CR_MALFORMED_PACKET:
        case CR_UNKNOWN_ERROR:
        case CR_COMMANDS_OUT_OF_SYNC:
            // The server may well have done what it then answered so badly.
            return {errc::outcome_unknown, worded(place, error, "an answer that is none")};
        default:
            return {errc::rejected, worded(place, error, {})};
    }
}

failure explain_connecting(std::string_view place, const server_error& error) {
    if (const auto* known = find(error.number)) {
        // Nothing but the log-in was asked.
        const auto meaning =
            known->meaning == errc::outcome_unknown ? errc::unreachable : known->meaning;
        return {meaning, worded(place, error, known->advice)};
    }
    switch (error.number) {
        case CR_VERSION_ERROR:
        case CR_SERVER_HANDSHAKE_ERR:
        case CR_MALFORMED_PACKET:
            return {errc::protocol, worded(place, error, "this is not MySQL or MariaDB")};
        case CR_SSL_CONNECTION_ERROR:
            return explain_tls(place, error);
        case CR_AUTH_PLUGIN_CANNOT_LOAD:
        case CR_AUTH_PLUGIN_ERR:
        case CR_PLUGIN_NOT_ALLOWED:
            return {errc::unsupported, worded(place, error,
                                              "the client library lacks, or forbids without TLS, "
                                              "what this user logs in with")};
        default:
            return {is_of_client(error) ? errc::unreachable : errc::rejected,
                    worded(place, error, {})};
    }
}

}  // namespace pawl::mysql
