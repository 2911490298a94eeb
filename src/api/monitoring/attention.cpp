#include "api/monitoring/attention.hpp"

#include "base/percent.hpp"
#include "base/text.hpp"
#include "http/router.hpp"
#include "schedule/dispatcher.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace pawl::api {
namespace {

using severity = attention::severity;

std::string when(std::int64_t unix_millis) {
    return time::format_rfc3339(
        schedule::wall_instant{std::chrono::floor<std::chrono::seconds>(millis{unix_millis})},
        std::chrono::seconds{0});
}

std::string shown(std::string_view text) { return base::printable(text); }

std::string lock_page(std::string_view key) { return "/locks/" + base::percent_encode(key); }
std::string job_page(std::string_view job) { return "/jobs/" + base::percent_encode(job); }
std::string run_page_of(std::string_view id) { return "/runs/" + base::percent_encode(id); }

// Of one kind, at most attention_of_a_kind_max, and then how many there are beside.
class kind_list {
public:
    kind_list(std::vector<attention>& all, std::string kind, std::string runbook,
              std::string list_page)
        : all_{all},
          kind_{std::move(kind)},
          runbook_{std::move(runbook)},
          list_page_{std::move(list_page)} {}

    void add(severity level, std::string subject, std::string text, std::string link,
             std::vector<attention::step> steps = {}) {
        if (++count_ > attention_of_a_kind_max) {
            if (level == severity::fail) rest_ = severity::fail;
            return;
        }
        all_.push_back({level, kind_, std::move(subject), std::move(text), std::move(link),
                        runbook_, std::move(steps)});
    }
    // Once all have been added.
    void close(std::string_view what) {
        if (count_ <= attention_of_a_kind_max) return;
        const auto left = std::to_string(count_ - attention_of_a_kind_max);
        all_.push_back({rest_,
                        kind_,
                        left + " more",
                        left + " more " + std::string{what},
                        list_page_,
                        runbook_,
                        {}});
    }

private:
    std::vector<attention>& all_;
    std::string kind_, runbook_, list_page_;
    std::size_t count_ = 0;
    severity rest_ = severity::warn;
};

bool is_lately(const attention_facts& seen, std::int64_t at) {
    return seen.now - at <= attention_back.count();
}

// -- the ground on which everything stands

void look_at_servers(const attention_facts& seen, std::vector<attention>& all) {
    if (!seen.store_trouble.empty())
        all.push_back({severity::fail, "store_down", seen.store,
                       "the store does not answer, so no lease is granted or renewed: " +
                           shown(seen.store_trouble) + ". See whether it runs and can be reached",
                       "/doctor", "store-down"});
    if (!seen.journal_trouble.empty())
        all.push_back({severity::fail, "journal_down", "journal",
                       "the journal does not answer: " + shown(seen.journal_trouble) +
                           ". Jobs keep running, and their runs are recorded when it is back; "
                           "meanwhile they cannot be triggered, paused or cancelled",
                       "/doctor", "store-down"});
    if (!seen.knows_pauses)
        all.push_back(
            {severity::fail, "control_state_unread", seen.node,
             shown(seen.node) +
                 " starts no scheduled run: since it started, its journal has not reported "
                 "which jobs are paused. Once it has, the runs that are due start, within "
                 "their misfire windows. See whether the journal runs and can be reached",
             "/doctor", "store-down"});
}

void look_at_nodes(const attention_facts& seen, std::vector<attention>& all) {
    if (!seen.has_journal || !seen.journal_trouble.empty()) return;
    // An agent that was started again has its name, and another id.
    std::unordered_set<std::string> live, lately;
    for (const auto& one : seen.nodes) {
        if (is_lately(seen, one.last_seen)) lately.insert(one.name);
        if (one.age <= schedule::node_heartbeat_timeout) live.insert(one.name);
    }
    if (live.empty() && !seen.jobs.empty())
        all.push_back({severity::fail, "node_unresponsive", "all agents",
                       "no agent is live, so no scheduled run starts: start one", "/nodes",
                       "unresponsive-nodes"});
    kind_list unresponsive{all, "node_unresponsive", "unresponsive-nodes", "/nodes"};
    // Those that are left have to carry the work of all, and may go for the same reason.
    const auto level = 2 * live.size() < lately.size() ? severity::fail : severity::warn;
    for (const auto& one : seen.nodes) {
        if (one.age <= schedule::node_heartbeat_timeout || live.contains(one.name)) continue;
        const auto runs = one.running > 0 ? ", with " + std::to_string(one.running) +
                                                (one.running == 1 ? " run" : " runs") + " then"
                                          : std::string{};
        unresponsive.add(
            level, one.name,
            shown(one.name) + " has been unresponsive since " + when(one.last_seen) + runs +
                ". Its leases expire by themselves; start it again, or see why it stopped",
            "/nodes");
    }
    unresponsive.close("agents are unresponsive");
}

// -- jobs

void look_at_jobs(const attention_facts& seen, std::vector<attention>& all) {
    kind_list blocked{all, "job_blocked", "stuck-key", "/jobs?state=blocked"};
    kind_list late{all, "job_late", "late-runs", "/jobs?state=late"};
    kind_list paused{all, "job_paused", "late-runs", "/jobs"};
    for (const auto& one : seen.jobs) {
        const auto& name = one.entry->name;
        if (one.how.state == job_state::blocked) {
            const auto& lock = one.how.blocked_by->lock;
            blocked.add(severity::fail, name,
                        shown(name) + " is blocked since " + when(lock.acquired_at) + ": " +
                            shown(lock.owner) + " holds its lock " + shown(lock.key) + " (token " +
                            std::to_string(number(lock.holder)) +
                            "), which is no run of the job. Wait, stop that client, or "
                            "force-release the lock",
                        job_page(name),
                        {{"Lock", lock_page(lock.key)},
                         {"Force release", lock_page(lock.key) + "?action=force-release"}});
        } else if (one.how.state == job_state::late)
            late.add(severity::fail, name,
                     shown(name) + " is late since " + when(one.how.since.value_or(seen.now)) +
                         ": " + one.how.why,
                     job_page(name));
        else if (one.pause != nullptr)
            paused.add(severity::warn, name,
                       shown(name) + " is paused by " + shown(one.pause->by) + " since " +
                           when(one.pause->at) + ": " + shown(one.pause->reason) +
                           ". Resume it when that is over",
                       job_page(name));
        else if (one.how.missed && is_lately(seen, *one.how.missed))
            late.add(severity::warn, name,
                     shown(name) + ": " + one.how.why + ". Run it now if it matters",
                     job_page(name));
    }
    blocked.close("jobs are blocked");
    late.close("jobs are late");
    paused.close("jobs are paused");
}

// Those of jobs as each was judged; those under other names, such as keys of `pawl exec`, by the
// newest rows of all. The worst first.
std::vector<std::pair<std::string, failure_streak>> failures_of(const attention_facts& seen) {
    std::unordered_map<std::string, failure_streak> others;
    for (const auto& run : seen.recent) others[run.job].add(run);
    std::vector<std::pair<std::string, failure_streak>> failing;
    for (const auto& one : seen.jobs) {
        others.erase(one.entry->name);
        if (one.how.failures.worst.newest)
            failing.emplace_back(one.entry->name, one.how.failures.worst);
    }
    for (auto& [name, streak] : others)
        if (streak.newest) failing.emplace_back(name, std::move(streak));
    const auto place = [](const std::pair<std::string, failure_streak>& one) {
        const auto& [name, streak] = one;
        return std::tuple{streak.count < failures_that_fail, -streak.newest->at,
                          std::string_view{name}};
    };
    std::sort(failing.begin(), failing.end(),
              [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return failing;
}

void look_at_failures(const attention_facts& seen, std::vector<attention>& all) {
    kind_list failing{all, "job_failing", "failing-runs", "/runs?status=failed"};
    for (const auto& [job, one] : failures_of(seen)) {
        const auto& run = *one.newest;
        const auto whose =
            (run.partition ? "partition " + std::to_string(*run.partition) + " of " : "") +
            shown(job);
        const auto how_many = one.count == 1 ? "the last run of " + whose + " failed"
                                             : "the last " + std::to_string(one.count) +
                                                   " runs of " + whose + " failed, the newest";
        failing.add(one.count >= failures_that_fail ? severity::fail : severity::warn, job,
                    how_many + " on " + shown(run.node) + " at " + when(run.at) + ": " +
                        run.reason + ". Read its output",
                    run_page_of(run.id));
    }
    failing.close("jobs fail");
}

// -- runs

void look_at_runs(const attention_facts& seen, std::vector<attention>& all) {
    kind_list stale{all, "run_stale", "unresponsive-nodes", "/runs?status=started"};
    for (const auto& run : seen.stale)
        stale.add(severity::warn, run.id,
                  "a run of " + shown(run.job) + " on " + shown(run.node) +
                      " has sent no heartbeat since " + when(run.last_heartbeat) +
                      ", and still counts as started. The agents judge it within seconds; if this "
                      "stays, see whether its node is live",
                  run_page_of(run.id));
    stale.close("runs are stale");
    kind_list lost{all, "run_lost", "lost-leases", "/runs?status=lost"};
    for (const auto& run : seen.lost) {
        if (!is_lately(seen, run.completed_at.value_or(run.last_heartbeat))) continue;
        lost.add(severity::warn, run.id,
                 "a run of " + shown(run.job) + " on " + shown(run.node) + " was lost at " +
                     when(run.completed_at.value_or(run.last_heartbeat)) + ": " +
                     shown(run.reason) +
                     ". It does not run again by itself; run it now if it "
                     "matters",
                 run_page_of(run.id));
    }
    lost.close("runs were lost");
    kind_list orphans{all, "orphans", "orphan-growth", "/runs?status=abandoned"};
    for (const auto& run : seen.orphans) {
        const auto since = run.completed_at.value_or(run.last_heartbeat);
        if (seen.now - since < orphan_timeout.count()) continue;
        orphans.add(severity::warn, run.id,
                    "a run of " + shown(run.job) + " that " + shown(run.node) +
                        " left has not been resumed since " + when(since) +
                        ". See why the job does not run",
                    job_page(run.job));
    }
    orphans.close("runs wait to be resumed");
}

// -- locks

void look_at_locks(const attention_facts& seen, std::vector<attention>& all) {
    const std::unordered_set<std::uint64_t> busy{seen.busy_tokens.begin(), seen.busy_tokens.end()};
    kind_list old{all, "lock_old", "stuck-key", "/locks"};
    kind_list waited{all, "lock_waiters", "lock-debt", "/locks"};
    for (const auto& lock : seen.locks) {
        if (number(lock.holder) == 0) continue;
        const auto waiters = lock.waiters.value_or(0);
        if (waiters >= many_waiters)
            waited.add(severity::warn, lock.key,
                       std::to_string(waiters) + " clients wait for " + shown(lock.key) +
                           ", which " + shown(lock.owner) + " holds since " +
                           when(lock.acquired_at) +
                           ". Shorten the work under it, or give them keys of their own",
                       lock_page(lock.key));
        const bool is_old = seen.now - lock.acquired_at > held_long.count();
        if (is_old && !busy.contains(number(lock.holder)))
            old.add(severity::warn, lock.key,
                    shown(lock.key) + " is held since " + when(lock.acquired_at) + " by " +
                        shown(lock.owner) + " under token " + std::to_string(number(lock.holder)) +
                        ", and no run is recorded for it. If it is not a leader or a long task, "
                        "check that its process is alive",
                    lock_page(lock.key));
    }
    waited.close("locks have many waiters");
    old.close("locks are held for long");
}

void look_at_audit(const attention_facts& seen, std::vector<attention>& all) {
    kind_list forced{all, "forced_release", "force-release-policy", "/audit"};
    kind_list open{all, "fail_open", "fail-open", "/audit"};
    std::unordered_set<std::string> told;
    for (const auto& one : seen.audit) {
        if (!is_lately(seen, one.at)) continue;
        if (one.action == "lock.release")
            forced.add(severity::warn, one.target,
                       shown(one.actor) + " force-released " + shown(one.target) + " at " +
                           when(one.at) + ": " + shown(one.detail) +
                           ". Check that its old holder has stopped",
                       lock_page(one.target));
        // A job's target is its name, that of `pawl exec` the key.
        const bool is_job = one.action == "job.fail_open";
        if (!is_job && one.action != "exec.fail_open") continue;
        if (!told.insert(one.action + ' ' + one.target).second) continue;
        open.add(severity::fail, one.target,
                 shown(one.target) + " ran without a lease on " + shown(one.actor) + " at " +
                     when(one.at) +
                     ", as the store did not answer: it may have run elsewhere "
                     "at the same time. Look at its runs",
                 is_job ? job_page(one.target) : lock_page(one.target));
    }
    forced.close("locks were force-released");
    open.close("jobs or commands ran without a lease");
}

void look_at_counts(const attention_facts& seen, std::vector<attention>& all) {
    if (seen.leases_lost > 0)
        all.push_back({severity::warn, "lease_lost", std::to_string(seen.leases_lost) + " leases",
                       std::to_string(seen.leases_lost) +
                           (seen.leases_lost == 1 ? " lease was" : " leases were") +
                           " lost on this node within the last hour: their work was stopped. See "
                           "how the store answers, and whether the TTLs are too short",
                       "/doctor", "lost-leases"});
    if (seen.stale_writes > 0)
        all.push_back({severity::warn, "stale_writes",
                       std::to_string(seen.stale_writes) + " writes",
                       std::to_string(seen.stale_writes) +
                           (seen.stale_writes == 1 ? " stale write was" : " stale writes were") +
                           " rejected on this node within the last hour: a client wrote after its "
                           "lease expired, and the fence rejected the write",
                       "/audit", "stale-writes-rejected"});
}

}  // namespace

std::vector<attention> attention_of(const attention_facts& seen) {
    std::vector<attention> all;
    look_at_servers(seen, all);
    look_at_nodes(seen, all);
    look_at_jobs(seen, all);
    look_at_failures(seen, all);
    look_at_runs(seen, all);
    look_at_locks(seen, all);
    look_at_audit(seen, all);
    look_at_counts(seen, all);
    std::stable_sort(all.begin(), all.end(),
                     [](const attention& a, const attention& b) { return a.level > b.level; });
    return all;
}

boost::json::object json_of(const attention& one) {
    boost::json::object made;
    made["level"] = one.level == severity::fail ? "fail" : "warn";
    made["kind"] = one.kind;
    made["subject"] = one.subject;
    made["text"] = one.text;
    made["link"] = one.link;
    made["runbook"] = one.runbook;
    boost::json::array steps;
    for (const auto& step : one.steps)
        steps.push_back(boost::json::object{{"label", step.label}, {"link", step.link}});
    made["steps"] = std::move(steps);
    return made;
}

}  // namespace pawl::api
