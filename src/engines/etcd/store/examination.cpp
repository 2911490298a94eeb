#include "engines/etcd/store/examination.hpp"

#include "engines/etcd/store/transactions.hpp"
#include "time/check_clock.hpp"

#include <algorithm>
#include <utility>

namespace pawl::etcd {
namespace {

// etcd's own default for --quota-backend-bytes, which it does not tell; it asks to stay below 8 GB.
constexpr std::int64_t quota_default = std::int64_t{2} * 1024 * 1024 * 1024;
// Entries of the log that a member may lag behind before its reads are noticeably old.
constexpr std::uint64_t lag_max = 1000;
constexpr int alarm_no_space = 1;
constexpr int alarm_corrupt = 2;

std::string megabytes(std::int64_t bytes) { return std::to_string(bytes / 1024 / 1024) + " MiB"; }

using statuses = std::vector<std::pair<std::string, result<wire::StatusResponse>>>;

// A finding for what is wrong with each, and one for the cluster as a whole.
void judge_quorum(const statuses& all, std::vector<finding>& into) {
    std::uint64_t newest = 0;
    std::size_t serving = 0;
    for (const auto& [place, status] : all)
        if (status.has_value()) newest = std::max(newest, status->raftindex());
    for (const auto& [place, status] : all) {
        if (status.has_error()) {
            into.push_back({severity::warn, "quorum",
                            status.error().detail + ": every endpoint of the URL should serve"});
        } else if (status->leader() == 0) {
            into.push_back({severity::fail, "quorum",
                            place + " has no leader: a majority of the members must be up"});
        } else if (status->islearner()) {
            into.push_back({severity::warn, "quorum",
                            place + " is a learner: it serves no writes, promote it or leave it "
                                    "out of the URL"});
        } else if (newest - std::min(newest, status->raftappliedindex()) > lag_max) {
            into.push_back({severity::warn, "quorum",
                            place + " lags " + std::to_string(newest - status->raftappliedindex()) +
                                " entries behind: its disk or its network is too slow"});
        } else {
            ++serving;
        }
    }
    if (serving == all.size())
        into.push_back({severity::ok, "quorum",
                        "there is a leader, and all " + std::to_string(serving) +
                            " endpoints of the URL serve"});
}

void judge_size(const statuses& all, std::vector<finding>& into) {
    std::int64_t largest = 0, in_use = 0;
    for (const auto& [place, status] : all) {
        if (status.has_error() || status->dbsize() < largest) continue;
        largest = status->dbsize();
        in_use = status->dbsizeinuse();
    }
    const auto text =
        "the database takes " + megabytes(largest) + ", " + megabytes(in_use) + " of it in use";
    if (largest > quota_default / 10 * 8)
        into.push_back({severity::warn, "disk",
                        text + ": compact and defragment it before it reaches its quota (2 GiB "
                               "unless --quota-backend-bytes says otherwise)"});
    else
        into.push_back({severity::ok, "disk", text});
}

void judge_alarms(const result<wire::AlarmResponse>& alarms, std::vector<finding>& into) {
    if (alarms.has_error()) {
        into.push_back(
            {severity::warn, "disk", "alarms could not be read: " + alarms.error().detail});
        return;
    }
    for (const auto& each : alarms->alarms()) {
        if (each.alarm() == alarm_no_space)
            into.push_back({severity::fail, "disk",
                            "a member has no space left (alarm NOSPACE) and the cluster takes no "
                            "writes: compact, defragment, then etcdctl alarm disarm"});
        else if (each.alarm() == alarm_corrupt)
            into.push_back({severity::fail, "disk",
                            "a member's data is corrupt (alarm CORRUPT): replace that member"});
    }
}

void judge_marker(const result<wire::TxnResponse>& got, const std::string& name,
                  const etcd_settings& settings, std::vector<finding>& into) {
    if (got.has_error()) {
        const auto* check = got.error().code == errc::denied ? "privileges" : "quorum";
        into.push_back({severity::fail, check, got.error().detail});
        return;
    }
    into.push_back({severity::ok, "privileges", "the namespace can be read"});
    const auto& found = got->responses(0).response_range();
    if (found.kvs_size() == 0) {
        into.push_back({severity::ok, "schema", "nothing was ever granted in this namespace"});
        return;
    }
    const auto marker = parse_marker(found.kvs(0).value(), found.kvs(0).mod_revision());
    if (is_newer_layout(found.kvs(0).value()))
        into.push_back({severity::fail, "schema",
                        name + " was written by a newer pawl than this: update this one"});
    else if (!marker)
        into.push_back(
            {severity::fail, "schema", name + " is not pawl's: choose another namespace="});
    else if (marker->cluster != got->header().cluster_id())
        into.push_back({severity::warn, "quarantine",
                        "this cluster was restored from a backup: the next claim begins a new "
                        "epoch, above every token of the old"});
    else
        into.push_back(
            {severity::ok, "schema", "the layout has version " + std::to_string(marker->layout)});
    if (!settings.common.quarantine)
        into.push_back({severity::ok, "quarantine",
                        "off: a quorum forgets nothing; after restoring a backup give "
                        "quarantine="});
}

}  // namespace

async<examination> examine_cluster(std::shared_ptr<client> through, key_names names) {
    const auto deadline = through->deadline();
    const auto stands = co_await through->ready(deadline);
    if (stands.has_error()) co_return stands.error();
    examination seen;
    const auto clock = co_await through->clock(deadline);
    if (clock.has_error()) co_return clock.error();
    seen.version = "etcd " + through->facts().version;
    seen.fence_statement = "Txn on " + names.fence +
                           "RESOURCE that puts the token only if the value there is below it";
    seen.findings.push_back({severity::ok, "version", seen.version});
    // A Date has whole seconds, so nothing more exact can be said: no number for the clock itself.
    const auto now = lease_clock::now();
    if (through->is_lent())
        seen.findings.push_back({severity::ok, "clock",
                                 "this machine's own counts: the application's channel shows "
                                 "none of a node's"});
    else
        seen.findings.push_back(time::check_clock("the node's clock", clock->earliest(now),
                                                  clock->latest(now),
                                                  "shows the same second as ours"));
    if (through->facts().tls) seen.findings.push_back(*through->facts().tls);
    statuses all;
    for (std::size_t i = 0; i < through->nodes(); ++i) {
        auto status = co_await through->ask_status(i, through->deadline());
        all.emplace_back(through->place(i), std::move(status));
    }
    judge_quorum(all, seen.findings);
    if (all.size() == 1 && !through->is_lent())
        seen.findings.push_back({severity::warn, "replication",
                                 "the URL names one endpoint: name three or more members, so that "
                                 "the loss of one is survived"});
    judge_size(all, seen.findings);
    const wire::AlarmRequest which;
    const auto alarms = co_await through->ask<wire::AlarmResponse>(
        method::alarm, which, effect::none, through->deadline());
    judge_alarms(alarms, seen.findings);
    transaction look;
    look.get(names.marker).get_range(names.lock, end_of_prefix(names.lock), 1);
    const auto marker = co_await through->ask<wire::TxnResponse>(method::txn, look.request(),
                                                                 effect::none, through->deadline());
    judge_marker(marker, names.marker, through->settings(), seen.findings);
    co_return seen;
}

}  // namespace pawl::etcd
