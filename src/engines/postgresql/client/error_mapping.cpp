#include "engines/postgresql/client/error_mapping.hpp"

#include "base/ascii.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace pawl::postgresql {
namespace {

constexpr std::string_view grants = "docs/stores/postgresql.md lists what the user needs";
constexpr std::string_view primary = "point the URL at the primary";

struct meaning {
    std::string_view code;  // a SQLSTATE, or its class
    errc what;
    std::string_view advice = {};
    bool answered = false;  // no outage: it is there, and cannot write for now
};

// The first that fits. Source: PostgreSQL's documentation, appendix A.
constexpr std::array meanings{
    meaning{"08P01", errc::protocol},
    meaning{"0A000", errc::unsupported},
    meaning{"25006", errc::unreachable, primary, true},
    meaning{"28", errc::denied},
    meaning{"3D000", errc::unsupported, "create the database, or correct the URL"},
    meaning{"40", errc::unreachable},  // serialization failure, deadlock: rolled back
    meaning{"42501", errc::denied, grants},
    meaning{"42883", errc::unsupported, "another program may own this schema: choose schema="},
    meaning{"42P01", errc::unsupported, "another program may own this schema: choose schema="},
    meaning{"53100", errc::unreachable, "make room on its disk", true},
    meaning{"53200", errc::unreachable, "it is out of memory", true},
    meaning{"53300", errc::unreachable, "raise max_connections, or pool"},
    meaning{"55P03", errc::unreachable, "another session keeps the row locked", true},
    meaning{"57014", errc::unreachable},  // statement_timeout, or cancelled
    meaning{"57P", errc::unreachable},    // starting up, shutting down
};

// Of all that the verbs call, only the functions that tell a place in the log answer with it. Where
// a connection is rejected it means a database that takes none.
constexpr meaning recovering{"55000", errc::unreachable, primary, true};

// What libpq and poolers say in words only.
constexpr std::array phrases{
    meaning{"during recovery", errc::unreachable, primary},
    meaning{"server is in hot standby mode", errc::unreachable, primary},
    meaning{"session is read-only", errc::unreachable, primary},
    meaning{"server is not in hot standby mode", errc::unreachable},
    meaning{"no password supplied", errc::denied, "give a password in the URL, or a passfile"},
    meaning{"no such database", errc::unsupported, "create the database, or correct the URL"},
    meaning{"no such user", errc::denied},
    meaning{"password authentication failed", errc::denied},
    meaning{"auth failed", errc::denied},
    meaning{"authentication failed", errc::denied},
    meaning{"certificate", errc::denied},
    meaning{"private key file", errc::denied},
    meaning{"does not match host name", errc::denied},
    // Of PgBouncer, behind those that it quotes of a server.
    meaning{"server login has been failing", errc::unreachable},
    meaning{"server_login_retry", errc::unreachable},
    meaning{"cannot connect", errc::unreachable},
    meaning{"server conn crashed", errc::unreachable},
    meaning{"no more connections allowed", errc::unreachable, "raise the pooler's max_client_conn"},
    meaning{"max_client_conn", errc::unreachable},
    meaning{"query_wait_timeout", errc::unreachable, "raise the pooler's pool_size"},
    meaning{"query_timeout", errc::unreachable},
    meaning{"idle transaction timeout", errc::unreachable},
    meaning{"client_login_timeout", errc::unreachable},
    meaning{"shutting down", errc::unreachable},
    meaning{"tlsv1 alert", errc::denied},
    meaning{"sslv3 alert", errc::denied},
    meaning{"server does not support SSL", errc::protocol, "correct sslmode= or the port"},
    meaning{"received invalid response to", errc::protocol, "no PostgreSQL listens there"},
    meaning{"expected authentication request", errc::protocol, "no PostgreSQL listens there"},
    meaning{"lost synchronization with server", errc::protocol},
    meaning{"unsupported frontend protocol", errc::unsupported},
    meaning{"wrong version number", errc::protocol},
    meaning{"unexpected response from", errc::protocol},
    meaning{"definition of service", errc::unsupported},
    meaning{"service file", errc::unsupported},
    meaning{"invalid sslmode value", errc::unsupported},
    meaning{"invalid port number", errc::unsupported},
    meaning{"invalid connection option", errc::unsupported},
};

// On one line, short enough for a log, and without where in the server's source it was raised.
std::string one_line(std::string_view text) {
    constexpr std::size_t words_max = 400;
    std::string line;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        auto part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        while (!part.empty() && (part.front() == ' ' || part.front() == '\t'))
            part.remove_prefix(1);
        if (part.empty() || part.starts_with("LOCATION:")) continue;
        line.append(line.empty() ? "" : "; ").append(part);
    }
    return base::printable(std::string_view{line}.substr(0, words_max));
}

// The five characters behind "FATAL:  " in libpq's verbose form.
std::optional<std::string_view> sqlstate_in(std::string_view message) {
    constexpr std::size_t length = 5;
    for (auto at = message.find(":  "); at != std::string_view::npos;
         at = message.find(":  ", at + 1)) {
        const auto code = message.substr(at + 3, length);
        const auto is_code = [](char c) { return base::is_digit(c) || (c >= 'A' && c <= 'Z'); };
        if (code.size() == length && std::all_of(code.begin(), code.end(), is_code) &&
            message.substr(at + 3 + length).starts_with(": "))
            return code;
    }
    return std::nullopt;
}

const meaning* phrase_in(std::string_view message) {
    const auto found = std::find_if(phrases.begin(), phrases.end(), [&](const meaning& known) {
        return message.find(known.code) != std::string_view::npos;
    });
    return found == phrases.end() ? nullptr : &*found;
}

const meaning* meaning_of(std::string_view sqlstate) {
    const auto found = std::find_if(meanings.begin(), meanings.end(), [&](const meaning& known) {
        return sqlstate.starts_with(known.code);
    });
    return found == meanings.end() ? nullptr : &*found;
}

failure compose(std::string_view place, std::string_view message, const meaning* known,
                errc otherwise) {
    auto detail = std::string{place} + ": " + one_line(message);
    if (known == nullptr) return {otherwise, std::move(detail)};
    if (!known->advice.empty()) detail.append(" (").append(known->advice).append(")");
    return {known->what, std::move(detail), known->answered};
}

}  // namespace

failure explain_error(std::string_view place, std::string_view sqlstate, std::string_view message) {
    // A standby says so in several ways; a pooler says most things under one code.
    const meaning* known = nullptr;
    if (sqlstate == "08P01" || sqlstate == "0A000" || sqlstate.empty()) known = phrase_in(message);
    if (known == nullptr) known = sqlstate == recovering.code ? &recovering : meaning_of(sqlstate);
    return compose(place, message, known, errc::rejected);
}

failure explain_connection(std::string_view place, std::string_view message) {
    const auto sqlstate = sqlstate_in(message);
    if (sqlstate && *sqlstate != "08P01" && *sqlstate != "0A000")
        return compose(place, message, meaning_of(*sqlstate), errc::unreachable);
    const auto* known = phrase_in(message);
    if (known == nullptr && sqlstate) known = meaning_of(*sqlstate);
    return compose(place, message, known, errc::unreachable);
}

bool lost_prepared_statement(std::string_view sqlstate) noexcept {
    return sqlstate == "26000" || sqlstate == "42P05";
}

bool wants_own_transaction(std::string_view sqlstate) noexcept {
    return sqlstate == "PAWL1" || sqlstate == "25006" || sqlstate == "40001";
}

bool lost_against_another(std::string_view sqlstate) noexcept {
    return sqlstate == "40P01" || sqlstate == "40001";
}

bool waited_for_lock(std::string_view sqlstate) noexcept { return sqlstate == "55P03"; }

bool misses_schema(std::string_view sqlstate) noexcept {
    return sqlstate == "3F000" || sqlstate == "42883" || sqlstate == "42P01";
}

}  // namespace pawl::postgresql
