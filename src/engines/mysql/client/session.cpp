#include "engines/mysql/client/session.hpp"

#include "base/duration.hpp"
#include "base/number.hpp"
#include "net/look_up.hpp"
#include "net/provider.hpp"
#include "net/tls.hpp"

#include "session_sql.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>

namespace pawl::mysql {
namespace {

constexpr std::int64_t micros_per_second = 1'000'000;
// MySQL 8.0 and MariaDB 10.5 are the oldest that still get repairs, or did lately.
constexpr int mysql_oldest = 8;
constexpr int mariadb_oldest_major = 10, mariadb_oldest_minor = 5;

using addresses = std::vector<std::string>;

async<addresses> find_addresses(std::shared_ptr<link> over,
                                std::shared_ptr<const mysql_settings> to) {
    boost::system::error_code error;
    boost::asio::ip::make_address(to->host, error);
    if (!to->unix_path.empty() || !error) co_return addresses{to->host};
    auto looking = net::look_up(over->get_executor(), to->host, over->deadline);
    const auto found = co_await std::move(looking);
    if (found.has_error())
        co_return failure{found.error().code, place_of(*to) + ": " + found.error().detail};
    // With TLS the library must know the name, and finds its address once more, on the thread of
    // its log-in, which nothing could end if the name were not there.
    if (to->tls) co_return addresses{to->host};
    addresses all;
    for (const auto& address : *found) all.push_back(address.to_string());
    co_return all;
}

failure timed_out(const mysql_settings& to) {
    return {errc::unreachable,
            place_of(to) + ": no answer within " + base::format_duration(to.common.timeout)};
}

failure explain(const link& over, const mysql_settings& to, const server_error& error) {
    if (over.is_foreign())
        return {errc::protocol,
                place_of(to) + ": what listens there is not MySQL or MariaDB: the URL's port?"};
    if (over.was_aborted()) return timed_out(to);
    return explain_connecting(place_of(to), error);
}

// The application has logged in.
async<void> borrow(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to) {
    auto place = place_of(*to);
    auto asking = connection_provider::ask(to->lent_by, over->deadline, place);
    auto given = co_await std::move(asking);
    if (given.has_error()) co_return given.error();
    if (auto unfit = over->adopt(std::move(*given), place)) co_return std::move(*unfit);
    if (over->was_aborted()) co_return timed_out(*to);
    auto keeping = over->keep_session();
    const auto error = co_await std::move(keeping);
    if (error) co_return explain(*over, *to, *error);
    co_return result<void>{};
}

async<void> log_in(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to) {
    if (to->lent_by) {
        auto borrowing = borrow(over, to);
        co_return co_await std::move(borrowing);
    }
    if (to->tls) {
        // Says which file is at fault, which the client library does not.
        const auto readable = net::make_tls_context(*to->tls);
        if (readable.has_error())
            co_return failure{readable.error().code,
                              place_of(*to) + ": " + readable.error().detail};
    }
    const auto found = co_await find_addresses(over, to);
    if (found.has_error()) co_return found.error();
    failure last{errc::unreachable, place_of(*to) + ": the name has no address"};
    for (const auto& address : *found) {
        over->close();
        const auto error = co_await over->connect(*to, address);
        if (!error) co_return result<void>{};
        last = explain(*over, *to, *error);
        if (over->was_aborted()) break;
    }
    co_return last;
}

// A statement of the session's own: whatever becomes of it, the caller's has not been sent.
async<reply> run(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to,
                 std::string sql) {
    auto got = co_await over->ask(sql);
    if (over->was_aborted()) co_return timed_out(*to);
    if (got.error && !is_missing_table(*got.error)) {
        auto why = explain_rejection(place_of(*to), *got.error);
        if (why.code == errc::outcome_unknown) why.code = errc::unreachable;
        co_return why;
    }
    co_return got;
}

std::optional<failure> reject_version(const mysql_settings& to, std::string_view version) {
    const auto [major, size, _] = base::read_number<int>(version);
    const auto minor_at = std::min(size + 1, version.size());
    const auto minor = base::leading_number<int>(version.substr(minor_at)).value_or(0);
    const bool maria = version.find("MariaDB") != std::string_view::npos;
    const bool old =
        maria ? std::pair{major, minor} < std::pair{mariadb_oldest_major, mariadb_oldest_minor}
              : major < mysql_oldest;
    if (!old) return std::nullopt;
    return failure{errc::unsupported, place_of(to) + ": " + engine_of(version) +
                                          " is too old: MySQL 8.0, MariaDB 10.5 or newer"};
}

struct session_state {
    session_facts facts;
    bool synced = false;
    std::int64_t now = 0;
};

async<session_state> set_up(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to) {
    using std::chrono::seconds;
    const auto expiry = std::max(seconds{1}, std::chrono::ceil<seconds>(to->common.timeout));
    auto sql = session_statement().with({{"lock_wait", std::to_string(expiry.count())}});
    auto got = co_await run(over, to, std::move(sql));
    if (got.has_error()) co_return got.error();
    if (got->answers.empty() || !got->answers.back().next())
        co_return failure{errc::protocol, place_of(*to) + ": an empty answer"};
    const auto& row = got->answers.back();
    if (auto old = reject_version(*to, row.text(0))) co_return std::move(*old);
    if (row.text(1) != "0" && row.text(1) != "OFF")
        co_return failure{errc::unreachable,
                          place_of(*to) + ": the server is read-only (read_only=" +
                              std::string{row.text(1)} + "): point the URL at the primary",
                          true};
    session_state state;
    state.facts.version = row.text(0);
    state.facts.packet_max = static_cast<std::size_t>(row.integer(2));
    state.synced = row.integer(3) == 1;
    state.now = row.integer(4);
    co_return state;
}

// ---- The tables

std::string space_of(const mysql_settings& to) { return literal(to.common.name_space); }

async<void> make_tables(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to,
                        const table_plan* plan) {
    const auto expiry = std::chrono::ceil<std::chrono::seconds>(to->common.timeout).count();
    auto lock = "SELECT GET_LOCK(CONCAT('pawl.', MD5(DATABASE())), " + std::to_string(expiry) + ")";
    auto locked = co_await run(over, to, std::move(lock));
    if (locked.has_error()) co_return locked.error();
    if (!locked->answers[0].next() || locked->answers[0].integer(0) != 1)
        co_return failure{errc::unreachable,
                          place_of(*to) + ": another process is making the tables"};
    auto text = plan->schema->with({});
    const auto made = co_await run(over, to, std::move(text));
    if (made.has_error()) {
        auto why = made.error();
        if (why.code == errc::denied)
            why.detail +=
                ": the tables are missing, and an administrator must make them once, by a "
                "user who may CREATE";
        co_return why;
    }
    std::string unlock{"DO RELEASE_LOCK(CONCAT('pawl.', MD5(DATABASE())))"};
    const auto unlocked = co_await run(over, to, std::move(unlock));
    if (unlocked.has_error()) co_return unlocked.error();
    co_return result<void>{};
}

struct layout_state {
    bool known = false;
    std::int64_t layout = 0;
    bool same_server = true;
    bool has_floor = true;
};

async<layout_state> read_layout(std::shared_ptr<link> over,
                                std::shared_ptr<const mysql_settings> to, const table_plan* plan) {
    auto sql = plan->layout->with({{"space", space_of(*to)}});
    auto got = co_await run(over, to, std::move(sql));
    if (got.has_error()) co_return got.error();
    layout_state state;
    if (got->error || !got->answers[0].next()) co_return state;
    const auto& row = got->answers[0];
    state.known = true;
    state.layout = row.integer(0);
    if (plan->what == tables_of::journal) co_return state;
    state.same_server = row.integer(2) == 1;
    state.has_floor = row.integer(3) > 0;
    co_return state;
}

// MyISAM has neither transactions nor a log: after a crash it would not even know what it has lost.
async<void> check_engine(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to,
                         const table_plan* plan) {
    std::string names;
    for (const auto table : plan->tables)
        names.append(names.empty() ? "'" : ",'").append(table).append("'");
    auto sql =
        "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() "
        "AND TABLE_NAME IN (" +
        names + ") AND (ENGINE IS NULL OR ENGINE <> 'InnoDB')";
    auto got = co_await run(over, to, std::move(sql));
    if (got.has_error()) co_return got.error();
    if (!got->answers[0].next()) co_return result<void>{};
    const std::string table{got->answers[0].text(0)};
    co_return failure{errc::unsupported, place_of(*to) + ": the table " + table + " is " +
                                             std::string{got->answers[0].text(1)} +
                                             ": ALTER TABLE " + table + " ENGINE=InnoDB"};
}

async<layout_state> ensure_tables(std::shared_ptr<link> over,
                                  std::shared_ptr<const mysql_settings> to,
                                  const table_plan* plan) {
    auto state = co_await read_layout(over, to, plan);
    if (state.has_value() && !state->known) {
        const auto made = co_await make_tables(over, to, plan);
        if (made.has_error()) co_return made.error();
        state = co_await read_layout(over, to, plan);
    }
    if (state.has_error()) co_return state.error();
    if (!state->known)
        co_return failure{errc::rejected, place_of(*to) + ": " + std::string{plan->tables.back()} +
                                              " has no row: the tables were "
                                              "emptied by hand; drop them all"};
    const auto* noun = plan->what == tables_of::leases ? ": the store" : ": the journal";
    if (state->layout > plan->known)
        co_return failure{errc::unsupported,
                          place_of(*to) + noun + " has layout " + std::to_string(state->layout) +
                              ", and this pawl knows " + std::to_string(plan->known) +
                              " at most: use a newer pawl"};
    const auto fit = co_await check_engine(over, to, plan);
    if (fit.has_error()) co_return fit.error();
    if (!state->has_floor) {
        auto sql =
            "INSERT IGNORE INTO pawl_floor (name_space, token) VALUES (" + space_of(*to) + ", 0)";
        const auto added = co_await run(over, to, std::move(sql));
        if (added.has_error()) co_return added.error();
    }
    co_return state;
}

// ---- Quarantine

async<std::int64_t> read_status(std::shared_ptr<link> over,
                                std::shared_ptr<const mysql_settings> to, std::string_view name) {
    auto sql = "SHOW GLOBAL STATUS LIKE '" + std::string{name} + "'";
    auto got = co_await run(over, to, std::move(sql));
    if (got.has_error()) co_return got.error();
    const bool found = got->answers[0].next();
    co_return found ? got->answers[0].integer(1) : std::int64_t{0};
}

// Rule 7: what this server may have lost without the marker telling.
async<void> date_data(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to,
                      const table_plan* plan, const session_state& state,
                      const layout_state& tables) {
    std::int64_t since = 0;
    if (!state.synced) {
        // A crash takes the last second of commits with it, and a restart may follow a crash.
        const auto up = co_await read_status(over, to, "Uptime");
        if (up.has_error()) co_return up.error();
        since = state.now - *up * micros_per_second;
    }
    auto sql = "SET @pawl_since = " + std::to_string(since);
    const auto set = co_await run(over, to, std::move(sql));
    if (set.has_error()) co_return set.error();
    if (tables.same_server) co_return result<void>{};
    // The nodes of a Galera cluster commit together: to go from one to another loses nothing.
    const auto nodes = co_await read_status(over, to, "wsrep_cluster_size");
    if (nodes.has_error()) co_return nodes.error();
    if (*nodes > 0) co_return result<void>{};
    auto mark = plan->whole->with({});
    const auto marked = co_await run(over, to, std::move(mark));
    if (marked.has_error()) co_return marked.error();
    co_return result<void>{};
}

}  // namespace

std::string place_of(const mysql_settings& settings) {
    if (settings.lent_by) return "mysql";
    if (!settings.unix_path.empty()) return settings.unix_path;
    const bool six = settings.host.find(':') != std::string::npos;
    return (six ? "[" + settings.host + "]" : settings.host) + ":" + std::to_string(settings.port);
}

std::string engine_of(std::string_view version) {
    const bool maria = version.find("MariaDB") != std::string_view::npos;
    return (maria ? "MariaDB " : "MySQL ") + std::string{version.substr(0, version.find('-'))};
}

const statement& session_statement() {
    static const statement text{embedded::session_sql};
    return text;
}

async<session_facts> dial(std::shared_ptr<link> over, std::shared_ptr<const mysql_settings> to,
                          const table_plan* plan) {
    const auto logged_in = co_await log_in(over, to);
    if (logged_in.has_error()) co_return logged_in.error();
    auto state = co_await set_up(over, to);
    if (state.has_error()) co_return state.error();
    const auto tables = co_await ensure_tables(over, to, plan);
    if (tables.has_error()) co_return tables.error();
    if (to->common.quarantine && plan->whole != nullptr) {
        const auto dated = co_await date_data(over, to, plan, *state, *tables);
        if (dated.has_error()) co_return dated.error();
    }
    co_return std::move(state->facts);
}

}  // namespace pawl::mysql
