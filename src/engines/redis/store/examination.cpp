#include "engines/redis/store/examination.hpp"

#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/client/session.hpp"

#include <algorithm>
#include <array>

namespace pawl::redis {
namespace {

// What docs/stores/redis.md says that the user must be allowed to do; each with arguments enough
// for ACL DRYRUN.
constexpr std::array<std::string_view, 11> needed{"eval",        "evalsha", "time",     "get",
                                                  "mget",        "set",     "setrange", "zadd",
                                                  "zrangebylex", "zrem",    "publish"};
constexpr double memory_warned = 0.9;
constexpr double clients_warned = 0.8;
constexpr std::int64_t lag_warned_s = 10;
constexpr std::int64_t clocks_apart_us = 1'000'000;

std::int64_t number_in(std::string_view text, std::int64_t otherwise = 0) {
    return base::leading_number<std::int64_t>(text).value_or(otherwise);
}

// All findings of one server, each beginning with its place.
class findings {
public:
    findings(const server_facts& said, const redis_settings& settings)
        : said_{said}, settings_{settings} {}

    std::vector<finding> take();

private:
    void add(severity level, const char* check, const std::string& text) {
        all_.push_back({level, check, said_.place + ": " + base::printable(text)});
    }
    std::string_view info(std::string_view name) const { return field_of(said_.info, name); }
    std::string setting(const std::string& name) const {
        const auto found = said_.settings.find(name);
        return found == said_.settings.end() ? std::string{} : found->second;
    }

    void judge_privileges();
    void judge_persistence();
    void judge_memory();
    void judge_replication();
    void judge_lag();
    void judge_limits();
    void judge_quarantine();
    void judge_cluster();

    const server_facts& said_;
    const redis_settings& settings_;
    std::vector<finding> all_;
};

std::vector<finding> findings::take() {
    judge_privileges();
    if (!said_.info.empty()) {
        add(severity::ok, "version", server_version(said_.info));
        judge_persistence();
        judge_memory();
        judge_replication();
        judge_limits();
    }
    judge_quarantine();
    judge_cluster();
    if (said_.tls) add(said_.tls->level, "tls", said_.tls->text);
    return std::move(all_);
}

void findings::judge_privileges() {
    std::string missing;
    for (const auto& command : said_.forbidden) missing += (missing.empty() ? "+" : " +") + command;
    const auto who = said_.user.empty() ? std::string{"this user"} : "the user " + said_.user;
    if (!missing.empty())
        add(severity::fail, "privileges", who + " lacks " + missing + ": grant them");
    else if (said_.info.empty())
        add(severity::warn, "privileges",
            who +
                " may not run INFO: grant +info, or persistence, eviction and replication stay "
                "unknown");
    else if (said_.settings.empty())
        add(severity::warn, "privileges",
            who +
                " may not run CONFIG GET: grant +config|get, or no restart is trusted under "
                "quarantine");
    else
        add(severity::ok, "privileges", "connected as " + who);
}

void findings::judge_persistence() {
    const bool appends = info("aof_enabled") == "1";
    const auto when = setting("appendfsync");
    if (info("aof_last_write_status") == "err")
        add(severity::fail, "persistence", "the last write to the AOF failed: see the disk");
    else if (info("rdb_last_bgsave_status") == "err")
        add(severity::fail, "persistence", "the last snapshot (BGSAVE) failed: see the disk");
    else if (!appends)
        add(severity::warn, "persistence",
            "no AOF: a restart forgets leases; appendonly yes with appendfsync always, or "
            "quarantine=");
    else if (when == "always" && setting("no-appendfsync-on-rewrite") == "yes")
        add(severity::warn, "persistence",
            "AOF, appendfsync always, but not while it is rewritten: a crash then forgets writes; "
            "no-appendfsync-on-rewrite no, or quarantine=");
    else if (when == "always")
        add(severity::ok, "persistence", "AOF, appendfsync always");
    else
        add(settings_.common.quarantine ? severity::ok : severity::warn, "persistence",
            "AOF, appendfsync " + (when.empty() ? std::string{"unknown"} : when) +
                ": a crash forgets up to 2 s; appendfsync always, or quarantine=");
    if (number_in(info("aof_delayed_fsync")) > 0)
        add(severity::warn, "persistence",
            "the disk was late for " + std::string{info("aof_delayed_fsync")} +
                " syncs (aof_delayed_fsync): every answer waits for it");
}

void findings::judge_memory() {
    const auto limit = number_in(info("maxmemory"));
    const auto used = number_in(info("used_memory"));
    const std::string policy{info("maxmemory_policy")};
    if (policy != "noeviction" && !policy.empty())
        add(limit > 0 ? severity::fail : severity::warn, "eviction",
            "maxmemory-policy " + policy + " may throw leases away: set noeviction");
    else if (limit > 0 && static_cast<double>(used) > memory_warned * static_cast<double>(limit))
        add(severity::warn, "eviction",
            std::to_string(used * 100 / limit) +
                " % of maxmemory is used: a full server rejects every grant and renewal");
    else
        add(severity::ok, "eviction",
            limit > 0 ? "noeviction, " + std::to_string(used * 100 / limit) + " % of maxmemory used"
                      : "noeviction, no maxmemory");
}

void findings::judge_replication() {
    const auto copies = number_in(info("connected_slaves"));
    if (info("role") == "slave")
        return add(severity::fail, "replication",
                   "a replica of " + std::string{info("master_host")} +
                       ": it can grant nothing; point the URL at the master");
    const auto needed_copies = number_in(setting("min-replicas-to-write"));
    const auto text = "master with " + std::to_string(copies) +
                      (copies == 1 ? " replica" : " replicas") + ", min-replicas-to-write " +
                      std::to_string(needed_copies) +
                      ", wait=" + std::to_string(settings_.replicas);
    if (copies < settings_.replicas)
        return add(severity::fail, "replication",
                   text + ": too few replicas for wait=, so every grant is given back");
    const bool fails_over = settings_.shape != topology::single;
    if (fails_over && copies == 0)
        return add(severity::warn, "replication", text + ": no replica can be promoted");
    if (fails_over && needed_copies == 0 && !said_.settings.empty())
        return add(
            severity::warn, "replication",
            text + ": a master that is cut off continues to grant; set min-replicas-to-write 1");
    add(severity::ok, "replication", text);
    judge_lag();
}

// slave0:ip=…,port=…,state=online,offset=…,lag=0
void findings::judge_lag() {
    for (int i = 0; i < number_in(info("connected_slaves")); ++i) {
        const auto line = info("slave" + std::to_string(i));
        const auto at = line.find("lag=");
        if (at == std::string_view::npos) continue;
        const auto lag = number_in(line.substr(at + 4));
        if (lag > lag_warned_s)
            add(severity::warn, "replication",
                "replica " + std::to_string(i) + " is " + std::to_string(lag) +
                    " s behind: what it lacks is lost if it takes over");
    }
}

void findings::judge_limits() {
    auto most = number_in(info("maxclients"));
    if (most == 0) most = number_in(setting("maxclients"));
    const auto now = number_in(info("connected_clients"));
    if (most == 0) return;
    const bool near = static_cast<double>(now) > clients_warned * static_cast<double>(most);
    add(near ? severity::warn : severity::ok, "limits",
        std::to_string(now) + " of " + std::to_string(most) + " clients are connected" +
            (near ? ": raise maxclients" : ""));
}

void findings::judge_quarantine() {
    const auto& quarantine = settings_.common.quarantine;
    if (!quarantine)
        add(severity::warn, "quarantine",
            "off: after a loss of data two may hold a key for one TTL; set quarantine= to the "
            "longest TTL, or safety=correctness");
    else if (said_.marker.empty())
        add(severity::ok, "quarantine",
            base::format_duration(*quarantine) + ", no claim has been made yet");
    else
        add(severity::ok, "quarantine",
            base::format_duration(*quarantine) + ", marker " + said_.marker);
}

void findings::judge_cluster() {
    if (said_.cluster.empty()) return;
    const auto state = field_of(said_.cluster, "cluster_state");
    const auto served = number_in(field_of(said_.cluster, "cluster_slots_ok"));
    const bool whole = state == "ok" && served == static_cast<std::int64_t>(cluster_slots);
    add(whole ? severity::ok : severity::fail, "quorum",
        "cluster_state " + std::string{state} + ", " + std::to_string(served) + " of " +
            std::to_string(cluster_slots) + " slots served by " +
            std::string{field_of(said_.cluster, "cluster_size")} + " masters" +
            (whole ? "" : ": keys in the others cannot be locked"));
}

// ---- Asking

struct questions {
    std::string commands;
    std::size_t count = 0;
    std::size_t configuration_at = 0, whoami_at = 0, marker_at = 0, cluster_at = 0, dry_at = 0;

    command_writer begin(std::size_t parts) {
        ++count;
        return command_writer{commands, parts};
    }
};

constexpr std::array<std::string_view, 4> configuration{"*append*", "min-replicas-*", "maxclients",
                                                        "maxmemory*"};

questions first_questions(const redis_settings& settings) {
    questions asked;
    asked.begin(1).add("INFO");
    asked.begin(1).add("TIME");
    asked.configuration_at = asked.count;
    for (const auto pattern : configuration) asked.begin(3).add("CONFIG").add("GET").add(pattern);
    asked.whoami_at = asked.count;
    asked.begin(2).add("ACL").add("WHOAMI");
    asked.marker_at = asked.count;
    const auto& space = settings.common.name_space;
    if (settings.shape == topology::cluster) {
        asked.cluster_at = asked.count;
        asked.begin(2).add("CLUSTER").add("INFO");
    } else {
        asked.begin(2).add("GET").add(space + ":marker");
    }
    return asked;
}

server_facts read_answers(const questions& asked, const std::vector<reply>& got,
                          const redis_settings& settings) {
    server_facts said;
    if (got[0].is_text()) said.info = got[0].text;
    if (got[1].elements.size() == 2)
        said.clock =
            number_in(got[1].elements[0].text) * 1'000'000 + number_in(got[1].elements[1].text);
    for (std::size_t i = 0; i < configuration.size(); ++i) {
        const auto& parts = got[asked.configuration_at + i].elements;
        for (std::size_t j = 0; j + 1 < parts.size(); j += 2)
            said.settings[parts[j].text] = parts[j + 1].text;
    }
    if (got[asked.whoami_at].is_text()) said.user = got[asked.whoami_at].text;
    if (settings.shape == topology::cluster)
        said.cluster = got[asked.cluster_at].is_text() ? got[asked.cluster_at].text : "";
    else if (got[asked.marker_at].is_text())
        said.marker = got[asked.marker_at].text;
    return said;
}

// Redis 7 can say what a user may do without doing it, to those who may ask.
async<std::vector<std::string>> ask_forbidden(std::shared_ptr<pipeline> link, std::string user,
                                              std::string space, instant deadline) {
    std::string commands;
    for (const auto command : needed) {
        const bool script = command.starts_with("eval");
        const bool names = command != "time" && !script;
        command_writer dry{commands, 4u + (script ? 3u : 0u) + (names ? 4u : 0u)};
        dry.add("ACL").add("DRYRUN").add(user).add(command);
        if (script) dry.add("").add("1").add(space + ":lock:doctor");
        // Arguments enough for each: what it does with them is not tried.
        if (names)
            dry.add(command == "publish" ? space + ":changed:doctor" : space + ":lock:doctor")
                .add("0")
                .add("0")
                .add("0");
    }
    const auto got = co_await link->ask(commands, needed.size(), deadline);
    std::vector<std::string> forbidden;
    if (got.has_error()) co_return got.error();
    for (std::size_t i = 0; i < needed.size(); ++i) {
        const auto& answer = got->elements[i];
        if (answer.is_text() && answer.text.find("has no permissions to run") != std::string::npos)
            forbidden.emplace_back(needed[i]);
    }
    co_return forbidden;
}

async<server_facts> question(server_ptr who, std::shared_ptr<const redis_settings> settings,
                             instant deadline) {
    const auto asked = first_questions(*settings);
    const auto got = co_await who->link->ask(asked.commands, asked.count, deadline);
    if (got.has_error()) co_return got.error();
    auto said = read_answers(asked, got->elements, *settings);
    said.place = who->link->place();
    said.tls = who->link->examine_tls();
    if (!said.user.empty()) {
        auto asking = ask_forbidden(who->link, said.user, settings->common.name_space, deadline);
        auto forbidden = co_await std::move(asking);
        if (forbidden.has_value()) said.forbidden = std::move(*forbidden);
    }
    co_return said;
}

async<std::vector<finding>> ask_sentinels(std::shared_ptr<sentinels> whom, std::string master,
                                          instant deadline) {
    const auto replies = co_await whom->ask_quorum(deadline);
    std::vector<finding> all;
    if (replies.has_error()) co_return replies.error();
    for (const auto& one : *replies) {
        const bool good = one.said.has_value();
        all.push_back({good ? severity::ok : severity::fail, "quorum",
                       good ? one.place + ": master " + master + ": " + base::printable(*one.said)
                            : one.said.error().detail +
                                  ": without a quorum of sentinels no replica is promoted"});
    }
    co_return all;
}

}  // namespace

std::vector<finding> judge_server(const server_facts& said, const redis_settings& settings) {
    return findings{said, settings}.take();
}

// A shard that moves takes the ends of its leases along, on the clock of its old node.
std::vector<finding> check_clocks(const std::vector<server_facts>& all) {
    if (all.size() < 2) return {};
    std::int64_t least = INT64_MAX, most = 0;
    for (const auto& one : all) {
        if (!one.clock) continue;
        least = std::min(least, *one.clock);
        most = std::max(most, *one.clock);
    }
    if (most == 0) return {};
    const auto apart = base::format_duration(millis{(most - least) / 1000});
    if (most - least > clocks_apart_us)
        return {{severity::warn, "clock",
                 "the masters' clocks are up to " + apart +
                     " apart: a failover or a moved slot shifts the ends of leases by as much; "
                     "synchronise them"}};
    return {{severity::ok, "clock", "the masters' clocks are at most " + apart + " apart"}};
}

async<examination> examine_servers(std::shared_ptr<servers> whose,
                                   std::shared_ptr<const redis_settings> settings) {
    const auto deadline = whose->deadline_from_now();
    const auto everyone = co_await whose->all(deadline);
    if (everyone.has_error()) co_return everyone.error();
    examination seen;
    std::vector<server_facts> told;
    std::optional<failure> silent;
    for (const auto& one : *everyone) {
        auto asking = question(one, settings, whose->deadline_from_now());
        auto said = co_await std::move(asking);
        if (said.has_error()) {
            silent = said.error();
            seen.findings.push_back({severity::fail, "quorum", said.error().detail});
            continue;
        }
        auto judged = judge_server(*said, *settings);
        seen.findings.insert(seen.findings.end(), judged.begin(), judged.end());
        told.push_back(std::move(*said));
    }
    if (told.empty())
        co_return silent.value_or(failure{errc::unreachable, "the cluster has no master"});
    seen.version = server_version(told.front().info);
    seen.clock = told.front().clock;
    const auto* shard = settings->shape == topology::cluster ? "{SHARD}" : "";
    seen.fence_statement =
        "EVALSHA of fence.lua on " + settings->common.name_space + shard + ":fence:RESOURCE";
    auto clocks = check_clocks(told);
    seen.findings.insert(seen.findings.end(), clocks.begin(), clocks.end());
    if (whose->watched_by()) {
        auto asking =
            ask_sentinels(whose->watched_by(), settings->master_name, whose->deadline_from_now());
        const auto quorum = co_await std::move(asking);
        if (quorum.has_value())
            seen.findings.insert(seen.findings.end(), quorum->begin(), quorum->end());
    }
    co_return seen;
}

}  // namespace pawl::redis
