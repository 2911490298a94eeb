#include "engines/mysql/store/examination.hpp"

#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "engines/mysql/store/statements.hpp"

#include <boost/asio/ip/address.hpp>

#include <map>
#include <string>

namespace pawl::mysql {
namespace {

using facts = std::map<std::string, std::string>;

// Beyond this share of max_connections one more program may find no room.
constexpr std::int64_t crowded_percent = 80;
// A connection that is ended sooner is opened again for nearly every operation.
constexpr std::int64_t wait_timeout_short = 10;

facts read_facts(answer& rows) {
    facts all;
    while (rows.next()) all.emplace(std::string{rows.text(0)}, std::string{rows.text(1)});
    return all;
}

std::string of(const facts& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::string{} : found->second;
}

std::int64_t number_of(const facts& all, const std::string& name) {
    return base::leading_number<std::int64_t>(of(all, name)).value_or(0);
}

finding judge_persistence(const facts& variables) {
    const auto flush = of(variables, "innodb_flush_log_at_trx_commit");
    if (flush != "1")
        return {severity::warn, "persistence",
                "innodb_flush_log_at_trx_commit=" + flush +
                    ": a crash forgets the last second of grants; set it to 1, or use quarantine="};
    const bool logs = of(variables, "log_bin") == "ON";
    const auto sync = of(variables, "sync_binlog");
    if (logs && sync != "1")
        return {
            severity::warn, "persistence",
            "sync_binlog=" + sync +
                ": a crash that cuts off the binary log rolls the newest grants back; set it to 1, "
                "or use quarantine="};
    return {severity::ok, "persistence", "each commit is on the disk before it is answered"};
}

finding judge_replication(const facts& variables, const facts& counters) {
    if (of(variables, "log_bin") == "ON" && of(variables, "binlog_format") == "STATEMENT")
        return {
            severity::fail, "replication",
            "binlog_format=STATEMENT: InnoDB rejects pawl's statements; set it to ROW or MIXED"};
    if (number_of(counters, "wsrep_cluster_size") > 0)
        return {severity::ok, "replication",
                "Galera: the nodes commit together; let all holders of a key use one node"};
    if (of(variables, "log_bin") != "ON")
        return {severity::ok, "replication", "no binary log, so no replica to fail over to"};
    const bool waits = of(counters, "Rpl_semi_sync_master_status") == "ON" ||
                       of(counters, "Rpl_semi_sync_source_status") == "ON";
    if (waits)
        return {
            severity::ok, "replication",
            "semi-synchronous: a grant is at a replica before it is answered, unless that times "
            "out"};
    return {severity::warn, "replication",
            "asynchronous: a failover can forget the newest grants; use quarantine=, or "
            "semi-synchronous replication"};
}

finding judge_privileges(answer& grants) {
    bool everything = false;
    while (grants.next()) {
        const auto line = grants.text(0);
        const bool global = line.find(" ON *.* ") != std::string_view::npos;
        everything |= global && (line.starts_with("GRANT ALL PRIVILEGES") ||
                                 line.find("SUPER") != std::string_view::npos);
    }
    if (everything)
        return {
            severity::warn, "privileges",
            "this user may do everything, and is not bound by read_only: give pawl a user of its "
            "own (docs/stores/mysql.md)"};
    return {severity::ok, "privileges", "this user has no power over the whole server"};
}

bool is_near(const mysql_settings& settings) {
    if (!settings.unix_path.empty() || settings.host == "localhost") return true;
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(settings.host, error);
    return !error && address.is_loopback();
}

finding judge_tls(const mysql_settings& settings, const response& told, answer& status) {
    if (told.tls) return *told.tls;
    const bool ciphered = status.next() && !status.text(1).empty();
    if (ciphered) return {severity::ok, "tls", "the connection is encrypted"};
    if (settings.lent_by) return {severity::ok, "tls", "no TLS over the application's connection"};
    if (is_near(settings))
        return {severity::ok, "tls", "no TLS, and the connection does not leave this machine"};
    return {severity::warn, "tls", "no TLS: acquires and tokens travel in the clear; use tls=on"};
}

finding judge_limits(const facts& variables, const facts& counters) {
    const auto used = number_of(counters, "Threads_connected");
    const auto most = number_of(variables, "max_connections");
    const auto idle = number_of(variables, "wait_timeout");
    const auto text = std::to_string(used) + " of " + std::to_string(most) +
                      " connections in use, idle ones end after " + std::to_string(idle) + " s";
    if (most > 0 && used * 100 > most * crowded_percent)
        return {severity::warn, "limits",
                text + ": raise max_connections, or lower connections= of its clients"};
    if (idle < wait_timeout_short)
        return {severity::warn, "limits",
                text + ": each operation may have to connect anew; raise wait_timeout"};
    return {severity::ok, "limits", text};
}

finding judge_quarantine(const mysql_settings& settings) {
    if (settings.common.quarantine)
        return {severity::ok, "quarantine",
                "after a loss of data nothing is granted for " +
                    base::format_duration(*settings.common.quarantine)};
    return {
        severity::warn, "quarantine",
        "off: after a loss of data two holders may overlap for up to one TTL; use quarantine= or "
        "safety=correctness"};
}

}  // namespace

std::string report_text() { return statements::all().report.with({}); }

examination read_report(const mysql_settings& settings, const session_facts& session,
                        response& told) {
    examination seen;
    seen.version = engine_of(session.version);
    seen.fence_statement =
        "INSERT INTO pawl_fence … ON DUPLICATE KEY UPDATE newest = GREATEST(newest, TOKEN)";
    auto& all = told.answers;
    constexpr std::size_t answers_known = 5;
    if (all.size() != answers_known) return seen;
    auto& findings = seen.findings;
    findings.push_back({severity::ok, "version", seen.version + " is supported"});
    if (all[0].next()) {
        seen.clock = all[0].integer(0);
        findings.push_back(
            {severity::ok, "schema",
             "layout " + std::to_string(all[0].integer(1)) + ", the one of this pawl"});
    }
    const auto variables = read_facts(all[1]);
    const auto counters = read_facts(all[2]);
    findings.push_back(judge_persistence(variables));
    findings.push_back(judge_replication(variables, counters));
    findings.push_back(judge_privileges(all[3]));
    findings.push_back(judge_tls(settings, told, all[4]));
    findings.push_back(judge_limits(variables, counters));
    findings.push_back(judge_quarantine(settings));
    return seen;
}

}  // namespace pawl::mysql
