#include "engines/redis/client/session.hpp"

#include "base/digest.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "net/provider.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <vector>

namespace pawl::redis {
namespace {

constexpr int oldest_version = 5;  // the first whose scripts may read the clock and then write

using replies = std::vector<reply>;

failure not_resp(const std::string& place, const std::string& why) {
    return {errc::protocol, place + " does not speak RESP: " + why};
}

failure hung_up(net::byte_stream& stream, const std::string& place,
                const boost::system::error_code& error) {
    if (auto rejected = stream.explain_alert(error))
        return {rejected->code, place + ": " + rejected->detail};
    if (error == boost::asio::error::eof || error == boost::asio::error::connection_reset ||
        error == boost::asio::error::broken_pipe) {
        const auto* hint = stream.is_secure() ? " (it may want a client certificate: cert=, key=)"
                                              : " (a TLS port wants rediss://)";
        return {errc::unreachable, place + " closed the connection before it answered" + hint};
    }
    return {errc::unreachable, place + ": " + error.message()};
}

// HELLO answers a list of names and values.
std::string_view hello_version(const reply& hello) {
    for (std::size_t i = 0; i + 1 < hello.elements.size(); i += 2)
        if (hello.elements[i].text == "version") return hello.elements[i + 1].text;
    return {};
}

std::optional<failure> reject_old(const std::string& place, std::string_view version) {
    const auto major = base::leading_number<int>(version);
    if (!major || *major >= oldest_version) return std::nullopt;
    return failure{errc::unsupported, place + ": Redis " + base::printable(version) +
                                          " is too old: pawl needs 5.0 or newer"};
}

failure unfit(const std::string& place, errc what, const std::string& why) {
    return {what, place + ": the application's connection " + why};
}

// The application has connected it.
async<void> borrow(std::shared_ptr<net::byte_stream> stream,
                   std::shared_ptr<const redis_settings> settings) {
    auto place = place_of(*settings);
    auto asking = socket_provider::ask(settings->lent_by,
                                       lease_clock::now() + settings->common.timeout, place);
    auto given = co_await std::move(asking);
    if (given.has_error()) co_return given.error();
    const auto adopted = stream->adopt(std::move(*given));
    if (adopted.has_error()) co_return unfit(place, adopted.error().code, adopted.error().detail);
    if (!stream->is_quiet())
        co_return unfit(place_over(*stream, *settings), errc::unreachable,
                        "is closed by its server, or has a reply that was not read");
    co_return result<void>{};
}

async<void> connect(std::shared_ptr<net::byte_stream> stream,
                    std::shared_ptr<const redis_settings> settings) {
    if (settings->lent_by) {
        auto borrowing = borrow(stream, settings);
        co_return co_await std::move(borrowing);
    }
    const auto place = place_of(*settings);
    result<void> connected;
    if (settings->unix_path.empty())
        connected = co_await stream->connect_tcp(settings->host, settings->port);
    else
        connected = co_await stream->connect_unix(settings->unix_path);
    if (connected.has_value() && settings->tls) {
        auto context = net::make_tls_context(*settings->tls);
        if (context.has_error())
            co_return failure{context.error().code, place + ": " + context.error().detail};
        const auto& name = settings->tls->server_name;
        auto expected = name.empty() ? settings->host : name;
        connected = co_await stream->start_tls(*context, std::move(expected));
    }
    if (connected.has_error())
        co_return failure{connected.error().code, place + ": " + connected.error().detail};
    co_return result<void>{};
}

// AUTH, SELECT, ROLE and HELLO in one round trip. HELLO comes last: what it answers is welcome, but
// a server or a user without it will do.
struct greeting {
    explicit greeting(const redis_settings& settings) {
        if (!settings.password.empty()) {
            command_writer auth{commands, settings.user.empty() ? 2u : 3u};
            auth.add("AUTH");
            if (!settings.user.empty()) auth.add(settings.user);
            auth.add(settings.password);
            auth_at = count++;
        }
        // What the application has selected is not known.
        if (settings.database != 0 || settings.lent_by) {
            selects = settings.database;
            command_writer{commands, 2}.add("SELECT").add(std::int64_t{selects});
            select_at = count++;
        }
        if (!settings.master_name.empty() || settings.lent_by) {
            command_writer{commands, 1}.add("ROLE");
            role_at = count++;
        }
        command_writer{commands, 2}.add("HELLO").add("2");
        hello_at = count++;
    }

    std::string commands;
    std::size_t count = 0;
    std::optional<std::size_t> auth_at, select_at, role_at;
    std::size_t hello_at = 0;
    std::uint32_t selects = 0;
};

// A sentinel's word can be older, or newer, than what the server knows of itself. Without the right
// to ask, the first write will tell.
std::optional<failure> reject_replica(const reply& role, const std::string& place) {
    if (role.is_error() && is_missing_privilege(role.text)) return std::nullopt;
    if (role.is_error()) return explain_rejection(place, role.text);
    if (!role.elements.empty() && role.elements[0].text == "master") return std::nullopt;
    const auto name = role.elements.empty() ? std::string{} : role.elements[0].text;
    return failure{errc::unreachable,
                   place + " is not a master now: its ROLE is " + base::printable(name)};
}

// What the application has left in the connection shows in the answers: one that comes late stands
// in the place of the next.
std::optional<failure> reject_lent(const greeting& asked, const replies& got,
                                   const std::string& place) {
    const auto& selected = got[*asked.select_at];
    const auto& role = got[*asked.role_at];
    if (selected.text.starts_with("NOAUTH")) return unfit(place, errc::denied, "is not logged in");
    if (selected.text.find("allowed in this context") != std::string::npos)
        return unfit(place, errc::rejected, "is subscribed to channels");
    if (!selected.is_error() && selected.text == "QUEUED")
        return unfit(place, errc::rejected,
                     "is in a transaction: EXEC or DISCARD before it is given");
    const auto& hello = got[asked.hello_at];
    const bool answers_select = selected.is_error() || selected.text == "OK";
    const bool answers_role = role.is_error() || role.is_array();
    const bool answers_hello =
        hello.is_error() || (!hello.elements.empty() && hello.elements[0].text == "server");
    if (!answers_select || !answers_role || !answers_hello)
        return unfit(place, errc::rejected, "has a reply outstanding");
    return std::nullopt;
}

std::optional<failure> judge(const greeting& asked, const replies& got, const std::string& place) {
    if (asked.auth_at && got[*asked.auth_at].is_error())
        return failure{errc::denied, explain_rejection(place, got[*asked.auth_at].text).detail};
    const auto& hello = got[asked.hello_at];
    if (hello.is_error() && hello.text.starts_with("NOAUTH"))
        return explain_rejection(place, hello.text);
    if (asked.select_at && got[*asked.select_at].is_error()) {
        // Who may not select is in database 0.
        const auto& words = got[*asked.select_at].text;
        if (asked.selects != 0 || !is_missing_privilege(words))
            return explain_rejection(place, words);
    }
    if (asked.role_at)
        if (auto bad = reject_replica(got[*asked.role_at], place)) return bad;
    if (!hello.is_error() && !hello.is_array())
        return not_resp(place, "an unexpected answer to HELLO");
    if (hello.is_error() && !is_unknown_command(hello.text) && !is_missing_privilege(hello.text))
        return explain_rejection(place, hello.text);
    return reject_old(place, hello_version(hello));
}

// What CONFIG GET told; empty where it did not.
std::string_view setting_of(const reply& configuration, std::string_view name) {
    const auto& parts = configuration.elements;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
        if (parts[i].text == name) return parts[i + 1].text;
    return {};
}

// Whether every write is on disk before it is answered. Missing the right to read the configuration
// only means that this is not known.
bool is_synced(const reply& appending) {
    return setting_of(appending, "appendonly") == "yes" &&
           setting_of(appending, "appendfsync") == "always" &&
           setting_of(appending, "no-appendfsync-on-rewrite") != "yes";
}

// What stays as it is over a restart, and is often another on another server. Nothing that Redis
// tells is always another.
std::string place_of_data(std::string_view server, const reply& folder, const reply& addresses) {
    std::string told{setting_of(folder, "dir")};
    for (const auto part : {field_of(server, "tcp_port"), field_of(server, "config_file"),
                            setting_of(addresses, "bind")})
        told.append("\n").append(part);
    return base::sha1_hex(told);
}

// A quarantine sees a server that forgot everything; one that throws single records away has the
// marker still.
std::optional<failure> reject_eviction(const reply& memory, const std::string& place) {
    if (memory.is_error()) return std::nullopt;  // doctor says that it could not look
    const auto limit = field_of(memory.text, "maxmemory");
    const auto policy = field_of(memory.text, "maxmemory_policy");
    if (limit.empty() || limit == "0" || policy.empty() || policy == "noeviction")
        return std::nullopt;
    return failure{errc::unsupported,
                   place + " throws records away when it is full (maxmemory-policy " +
                       base::printable(policy) +
                       "), which no quarantine can see: set maxmemory-policy noeviction, or "
                       "maxmemory 0"};
}

async<session_facts> ask_facts(std::shared_ptr<net::byte_stream> stream,
                               std::shared_ptr<reply_parser> parser,
                               std::shared_ptr<const redis_settings> settings) {
    const auto place = place_over(*stream, *settings);
    std::string questions;
    command_writer{questions, 2}.add("INFO").add("server");
    const bool guarded = settings->common.quarantine.has_value();
    if (guarded) {
        command_writer{questions, 2}.add("INFO").add("memory");
        for (const auto* what : {"*append*", "dir", "bind"})
            command_writer{questions, 3}.add("CONFIG").add("GET").add(what);
    }
    const auto told = co_await exchange(stream, parser, questions, guarded ? 5 : 1, place);
    if (told.has_error()) co_return told.error();
    const auto& server = told->front();
    session_facts facts;
    if (server.is_error() && guarded) co_return explain_rejection(place, server.text);
    if (auto old = reject_old(place, field_of(server.text, "redis_version")))
        co_return std::move(*old);
    if (guarded)
        if (auto unfit = reject_eviction((*told)[1], place)) co_return std::move(*unfit);
    facts.run_id = field_of(server.text, "run_id");
    // Behind sentinels and in a cluster others have copies, by design.
    // The application may find another server, by means of its own.
    if (!guarded || settings->shape != topology::single || settings->lent_by) co_return facts;
    const auto& appending = (*told)[2];
    if (is_synced(appending))
        facts.place = place_of_data(server.text, (*told)[3], (*told)[4]);
    else if (!setting_of(appending, "appendonly").empty())
        facts.place = "lazy";
    co_return facts;
}

}  // namespace

async<std::vector<reply>> exchange(std::shared_ptr<net::byte_stream> stream,
                                   std::shared_ptr<reply_parser> parser, std::string commands,
                                   std::size_t count, std::string place) {
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    // A peer that hung up may have said why: whether sending failed or not, read.
    co_await stream->send_all(boost::asio::buffer(commands), token);
    replies got;
    std::array<char, 4096> bytes;
    while (got.size() < count) {
        auto one = parser->next();
        if (one.has_error()) co_return not_resp(place, one.error().detail);
        if (one->has_value()) {
            got.push_back(std::move(**one));
            continue;
        }
        const auto size = co_await stream->receive_some(boost::asio::buffer(bytes), token);
        if (error) co_return hung_up(*stream, place, error);
        parser->feed({bytes.data(), size});
    }
    co_return got;
}

std::string_view field_of(std::string_view info, std::string_view name) {
    const auto wanted = std::string{name} + ':';
    auto at = info.find(wanted);
    while (at != std::string_view::npos && at > 0 && info[at - 1] != '\n')
        at = info.find(wanted, at + 1);
    if (at == std::string_view::npos) return {};
    info.remove_prefix(at + wanted.size());
    return info.substr(0, info.find_first_of("\r\n"));
}

std::string server_version(std::string_view info) {
    if (field_of(info, "server_name") == "valkey")
        return "Valkey " + std::string{field_of(info, "valkey_version")};
    const auto version = field_of(info, "redis_version");
    return version.empty() ? std::string{} : "Redis " + std::string{version};
}

std::string place_over(const net::byte_stream& stream, const redis_settings& settings) {
    auto leads_to = settings.lent_by ? stream.peer() : std::string{};
    return leads_to.empty() ? place_of(settings) : leads_to;
}

std::string place_of(const redis_settings& settings) {
    if (settings.lent_by) return "redis";
    if (!settings.unix_path.empty()) return settings.unix_path;
    const bool six = settings.host.find(':') != std::string::npos;
    auto place =
        (six ? "[" + settings.host + "]" : settings.host) + ":" + std::to_string(settings.port);
    if (!settings.master_name.empty()) place += " (master " + settings.master_name + ")";
    return place;
}

async<session_facts> dial(std::shared_ptr<net::byte_stream> stream,
                          std::shared_ptr<reply_parser> parser,
                          std::shared_ptr<const redis_settings> settings) {
    const auto connected = co_await connect(stream, settings);
    if (connected.has_error()) co_return connected.error();
    const auto place = place_over(*stream, *settings);
    const greeting asked{*settings};
    const auto got = co_await exchange(stream, parser, asked.commands, asked.count, place);
    if (got.has_error()) co_return got.error();
    if (settings->lent_by)
        if (auto bad = reject_lent(asked, *got, place)) co_return std::move(*bad);
    if (auto bad = judge(asked, *got, place)) co_return std::move(*bad);
    const bool hello_failed = (*got)[asked.hello_at].is_error();
    if (!settings->common.quarantine && !hello_failed) co_return session_facts{};
    co_return co_await ask_facts(stream, parser, settings);
}

}  // namespace pawl::redis
