// What the ensemble says of its own health.
#include "engines/zookeeper/client/four_letters.hpp"
#include "engines/zookeeper/store/zookeeper_store.hpp"

#include "base/comma_list.hpp"
#include "base/duration.hpp"

#include <algorithm>
#include <sstream>

namespace pawl::zookeeper {
namespace {

// The usual TTL of a lease: what a server must grant without shortening it.
constexpr millis usual_ttl{30'000};
// More requests than this in a server's queue delay renewals.
constexpr long outstanding_max = 1000;

long number_of(const std::string& text) {
    long value = 0;
    std::istringstream{text} >> value;
    return value;
}

struct ensemble_facts {
    std::size_t serving = 0, silent = 0, all = 0;
    std::string version, modes, down;
    long outstanding = 0;
    bool alone = false;
};

void count(ensemble_facts& all, const server& whom, const result<server_report>& said) {
    ++all.all;
    if (said.has_error()) return base::add_to_list(all.down, said.error().detail);
    if (said->state == readiness::silent_word) {
        ++all.silent;
        ++all.serving;
        return base::add_to_list(all.modes, place_of(whom) + " reports nothing");
    }
    if (said->state != readiness::serving)
        return base::add_to_list(all.down,
                                 place_of(whom) + (said->state == readiness::read_only
                                                       ? " is read-only"
                                                       : " serves no client: it has no quorum"));
    ++all.serving;
    if (all.version.empty()) all.version = said->version;
    all.alone = all.alone || said->mode == "standalone";
    all.outstanding = std::max(all.outstanding, number_of(said->outstanding));
    base::add_to_list(all.modes, place_of(whom) + " " + said->mode);
}

finding about_quorum(const ensemble_facts& seen) {
    if (!seen.down.empty())
        return {severity::warn, "quorum",
                "not every server of the URL serves: " + seen.down + "; right is that all do"};
    if (seen.alone)
        return {severity::warn, "quorum",
                "one server alone (standalone): its disk is the only copy; right is an ensemble of "
                "three or five"};
    if (seen.silent == seen.all)
        return {severity::warn, "quorum",
                "no server answers `srvr`; right is 4lw.commands.whitelist=srvr,conf,mntr"};
    if (seen.all < 2)
        return {
            severity::warn, "quorum",
            seen.modes + "; right is to name every server in the URL, so that pawl can move on"};
    return {severity::ok, "quorum", seen.modes};
}

finding about_version(const ensemble_facts& seen) {
    if (seen.version.empty())
        return {severity::warn, "version", "unknown: no server answers `srvr`"};
    int major = 0, minor = 0;
    char dot = 0;
    std::istringstream{seen.version} >> major >> dot >> minor;
    if (major < 3 || (major == 3 && minor < 5))
        return {severity::fail, "version",
                "ZooKeeper " + seen.version + " is too old; right is 3.5 or newer"};
    return {severity::ok, "version", "ZooKeeper " + seen.version};
}

finding about_load(const ensemble_facts& seen) {
    const auto text = std::to_string(seen.outstanding) + " requests wait in a server";
    if (seen.outstanding > outstanding_max)
        return {severity::warn, "limits",
                text + "; right is fewer than " + std::to_string(outstanding_max) +
                    ", or renewals come late"};
    return {severity::ok, "limits", text};
}

// No word of a server tells whether it syncs its log (forceSync).
finding about_persistence(const ensemble_facts& seen) {
    const std::string synced = ", unless forceSync=no was set, which no server reports";
    if (seen.alone)
        return {severity::ok, "persistence",
                "every write is in the server's log before it is answered" + synced};
    return {severity::ok, "persistence",
            "every write is in the logs of a majority before it is answered" + synced};
}

finding about_sessions(const session& through, const std::string& configuration) {
    const auto granted = base::format_duration(through.granted_timeout());
    const auto longest = value_of(configuration, "maxSessionTimeout");
    const millis bound{longest.empty() ? 0 : number_of(longest)};
    if (bound.count() == 0)
        return {severity::ok, "limits",
                "a session of " + granted +
                    " was granted; longer ones up to maxSessionTimeout. No server reports its "
                    "tickTime (`conf`): pawl counts on 2000 or less"};
    const millis tick{number_of(value_of(configuration, "tickTime"))};
    const auto usable = longest_ttl(bound, std::max(tick, usual_tick));
    const auto text = "sessions of up to " + base::format_duration(bound) +
                      " carry leases of up to " + base::format_duration(usable);
    if (usable < usual_ttl)
        return {severity::warn, "limits",
                text + "; right is maxSessionTimeout=40000 or more, or longer TTLs are cut"};
    return {severity::ok, "limits", text};
}

}  // namespace

async<examination> zookeeper_store::examine() {
    const auto self = shared_from_this();
    const auto until = deadline();
    const auto through = co_await tree_->any_session(until);
    if (through.has_error()) co_return through.error();
    examination seen;
    ensemble_facts servers;
    std::string configuration;
    for (const auto& whom : settings_->servers) {
        const auto said = co_await ask_srvr(loop_.get_executor(), whom, until);
        count(servers, whom, said);
        if (said.has_error()) continue;
        const auto settings = co_await ask_word(loop_.get_executor(), whom, "conf", until);
        if (settings.has_value()) configuration += *settings;
    }
    seen.version = servers.version.empty() ? "ZooKeeper" : "ZooKeeper " + servers.version;
    seen.fence_statement =
        "setData with its version on the resource's znode below " + tree_->paths().fences();
    const auto clock = co_await tree_->read_clock(**through, until);
    if (clock.has_value()) seen.clock = *clock * 1000;
    seen.findings.push_back(about_version(servers));
    seen.findings.push_back(about_quorum(servers));
    seen.findings.push_back(about_persistence(servers));
    seen.findings.push_back(about_sessions(**through, configuration));
    seen.findings.push_back(about_load(servers));
    seen.findings.push_back(
        settings_->who == access::creator
            ? finding{severity::ok, "privileges",
                      "znodes that pawl creates belong to user " + settings_->user}
            : finding{severity::warn, "privileges",
                      "everybody who reaches the server may change pawl's znodes; right is "
                      "user:password@ in the URL, which protects them by an ACL"});
    if (clock.has_error())
        seen.findings.push_back({severity::fail, "privileges", clock.error().detail});
    seen.findings.push_back({severity::warn, "tls",
                             "the connection is not encrypted, as the C client has no TLS; right "
                             "is a tunnel or a network of its own"});
    co_return seen;
}

}  // namespace pawl::zookeeper
