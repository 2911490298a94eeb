#include "api/monitoring/overview.hpp"

#include "api/jobs/job_reading.hpp"
#include "api/jobs/run_rows.hpp"
#include "api/monitoring/attention.hpp"
#include "api/monitoring/lock_rows.hpp"
#include "api/route_caches.hpp"
#include "documents/documents.hpp"
#include "schedule/dispatcher.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

// How old an overview may be, and how much of the time working it out may take.
constexpr millis overview_age_least{1'000};
constexpr millis overview_age_most{30'000};
constexpr int overview_share = 10;
constexpr std::size_t locks_counted_max = 20'000;
constexpr std::size_t jobs_judged_max = 5'000;
constexpr std::size_t runs_recent = 300;  // of all jobs, and of each status that is looked for
// A journal without an index by status reads thousands of rows for each.
constexpr std::chrono::minutes ask_by_status_again{10};
constexpr std::size_t stale_shown = 100;
constexpr std::size_t audit_looked_at = 500;
constexpr std::size_t active_shown = 100;
constexpr std::size_t occurrences_shown = 10;
// Jobs that look late, or may fail, are asked about one by one, so many each time. Of the others so
// many in turn, as only their own rows tell whether they fail.
constexpr std::size_t asked_about_max = 64;
constexpr std::size_t asked_in_turn_max = 8;
constexpr millis asked_about_again{10'000};
// Of their rows, as many as the list of jobs reads of each.
constexpr std::size_t runs_asked_about = 20;
constexpr millis node_timeout{500};

// What one look has found so far. Shared by the coroutines that fill it.
struct overview_inputs {
    shared_context around;
    std::shared_ptr<health_inputs> now = std::make_shared<health_inputs>();
    std::vector<job_reading> jobs{};
    std::vector<run_record> recent{};
    bad_ends ends{};  // the newest of each status
    std::vector<run_record> stale{};
    std::vector<audit_entry> audit{};
    std::unordered_map<std::string, record> job_locks{};  // of the keys of jobs
    std::vector<record> notable{};
    std::size_t held = 0, in_cooldown = 0;
    std::uint64_t waiters = 0;
    bool has_more_locks = false;  // than were counted
    std::string store_trouble{};
    std::string journal_trouble{};
    std::vector<std::pair<std::string, std::int64_t>> occurrences{};
    std::string unready{};
    bool knows_pauses = true;
};
using shared_inputs = std::shared_ptr<overview_inputs>;

// -- the journal

void note_failure(bad_ends& ends, const run_record& run) {
    auto& at = ends.failed_at[run.job];
    at = std::max(at, run.completed_at.value_or(run.started_at));
}

// What the newest rows of all jobs tell beside those.
void add_newest(bad_ends& ends, const std::vector<run_record>& recent) {
    std::unordered_set<std::string> known;
    for (const auto& run : ends.lost) known.insert(run.id);
    std::vector<run_record> lost;
    for (const auto& run : recent) {
        if (run.status == run_status::failed || run.status == run_status::timed_out)
            note_failure(ends, run);
        if (run.status == run_status::lost && !known.contains(run.id)) lost.push_back(run);
    }
    ends.lost.insert(ends.lost.begin(), lost.begin(), lost.end());
}

// The newest rows of all jobs are those of the jobs that run most often: what has failed and what
// was lost is looked for by itself.
async<void> read_bad_ends(shared_inputs all) {
    auto& remembered = *all->around->remembered;
    const auto at = all->around->core->loop().now();
    if (at < remembered.ask_by_status_at) {
        all->ends = remembered.ends_by_status;
        add_newest(all->ends, all->recent);
        co_return boost::system::in_place_value;
    }
    bool has_index = true;
    for (const auto how : {run_status::failed, run_status::timed_out, run_status::lost}) {
        run_filter which;
        which.status = how;
        row_visitor note = [all](run_record run) {
            drop_checkpoint(run);
            if (run.status == run_status::lost)
                all->ends.lost.push_back(std::move(run));
            else
                note_failure(all->ends, run);
            return true;
        };
        auto finding =
            visit_indexed_runs(all->around, std::move(which), runs_recent, std::move(note));
        const auto end = co_await std::move(finding);
        if (end.has_error()) co_return end.error();
        has_index = has_index && *end != visit_end::no_index;
    }
    if (!has_index) {
        remembered.ends_by_status = all->ends;
        remembered.ask_by_status_at = at + ask_by_status_again;
    }
    co_return boost::system::in_place_value;
}

async<void> read_lists(shared_inputs all) {
    auto& records = *all->around->records;
    run_choice of_all = [](const run_record&) { return true; };
    auto reading = read_health_inputs(all->around, std::move(of_all));
    auto now = co_await std::move(reading);
    if (now.has_error()) co_return std::move(now).error();
    all->now = std::move(*now);
    auto listing = read_entries(all->around, "", jobs_judged_max);
    auto entries = co_await std::move(listing);
    if (entries.has_error()) co_return std::move(entries).error();
    for (auto& entry : *entries) {
        job_reading one;
        one.terms = terms_of(*all->around, entry);
        one.entry = std::move(entry);
        all->jobs.push_back(std::move(one));
    }
    all->now->jobs = std::max(all->now->jobs, all->jobs.size());
    row_visitor keep = [all](run_record run) {
        drop_checkpoint(run);
        all->recent.push_back(std::move(run));
        return true;
    };
    auto finding = visit_runs(all->around, run_filter{}, runs_recent, std::move(keep));
    const auto recent = co_await std::move(finding);
    if (recent.has_error()) co_return recent.error();
    auto looking = read_bad_ends(all);
    const auto looked = co_await std::move(looking);
    if (looked.has_error()) co_return looked.error();
    auto asking = records.stale_runs(stale_shown, 0);
    auto stale = co_await std::move(asking);
    if (stale.has_error()) co_return std::move(stale).error();
    all->stale = std::move(*stale);
    auto auditing = records.list_audit(0, audit_looked_at);
    auto audit = co_await std::move(auditing);
    if (audit.has_error()) co_return std::move(audit).error();
    all->audit = std::move(*audit);
    co_return boost::system::in_place_value;
}

awaitable<void> read_journal(shared_inputs all) {
    if (!all->around->records) co_return;
    auto reading = read_lists(all);
    const auto read = co_await std::move(reading);
    if (read.has_error()) all->journal_trouble = read.error().detail;
}

// -- the store

void count(overview_inputs& all, record lock, std::unordered_map<std::string, record>& wanted) {
    const bool is_held = number(lock.holder) != 0;
    if (is_held) ++all.held;
    if (!is_held && lock.remaining.count() > 0) ++all.in_cooldown;
    all.waiters += lock.waiters.value_or(0);
    const bool is_notable = is_held && (lock.waiters.value_or(0) >= many_waiters ||
                                        all.now->now - lock.acquired_at > held_long.count());
    if (is_notable) all.notable.push_back(lock);
    const auto found = wanted.find(lock.key);
    if (found != wanted.end()) found->second = std::move(lock);
}

awaitable<void> read_store(shared_inputs all) {
    const auto wanted = std::make_shared<std::unordered_map<std::string, record>>();
    std::vector<std::string> keys;
    std::size_t others_left = other_keys_max;
    for (auto& one : all->jobs) add_keys(one, thoroughness::list, others_left, keys);
    for (auto& key : keys) wanted->try_emplace(std::move(key));
    lock_visitor note = [all, wanted](record one) { count(*all, std::move(one), *wanted); };
    auto reading = visit_locks(all->around, locks_counted_max, std::move(note));
    const auto reach = co_await std::move(reading);
    if (reach.has_error())
        all->store_trouble = reach.error().detail;
    else
        all->has_more_locks = !reach->is_whole();
    std::erase_if(*wanted, [](const auto& one) { return one.second.key.empty(); });
    all->job_locks = std::move(*wanted);
    all->now->store_trouble = all->store_trouble;
}

// -- jobs that are asked about

bool looks_late(const job_reading& one) {
    return one.how.state == job_state::late || one.how.missed.has_value();
}

// The lists alone do not show whether an occurrence of long ago has run: its row is not
// among the newest, and its key may have been forgotten.
bool is_sure(const job_reading& one) {
    return std::all_of(one.partitions.begin(), one.partitions.end(),
                       [](const partition_facts& part) {
                           return !part.rows_known || part.last_occurrence || part.lock;
                       });
}

// Whether its share of the newest rows tells that it does not fail, or how badly.
bool tells_of_failures(const job_reading& one) {
    if (failures_in(one.runs, *one.terms).worst.count >= failures_that_fail) return true;
    // Of one partition they say nothing of another.
    if (one.terms->partitions > 1 && !one.terms->has_slots) return false;
    return std::any_of(one.runs.begin(), one.runs.end(),
                       [](const run_record& run) { return run.status == run_status::completed; });
}

struct questions {
    std::vector<std::size_t> doubtful{};  // look late, or may fail
    std::vector<std::size_t> in_turn{};   // all others that may fail unseen
};

// At most `most` of them, those first that were asked about longest ago.
void add_entries(const overview_inputs& all, std::vector<std::size_t> which, std::size_t most,
                 std::vector<job_entry>& entries) {
    const auto& known = all.around->remembered->asked_about;
    const auto at = all.around->core->loop().now();
    // What was asked before it looked late tells nothing of that.
    const auto asked = [&](std::size_t one) {
        const auto found = known.find(all.jobs[one].entry.name);
        const bool is_answer =
            found != known.end() && (found->second.for_late || !looks_late(all.jobs[one]));
        return is_answer ? found->second.at : instant{};
    };
    std::stable_sort(which.begin(), which.end(),
                     [&](std::size_t a, std::size_t b) { return asked(a) < asked(b); });
    for (const auto i : which) {
        if (most == 0) break;
        const bool fresh = asked(i) != instant{} && at - asked(i) < asked_about_again;
        if (fresh) continue;
        entries.push_back(all.jobs[i].entry);
        --most;
    }
}

std::int64_t failed_at(const overview_inputs& all, const std::string& job) {
    const auto found = all.ends.failed_at.find(job);
    return found == all.ends.failed_at.end() ? 0 : found->second;
}

// Of a job that may be late or not: that it fails is known all the same.
job_health failing_as_known(const asked_job* before) {
    const bool fails = before != nullptr && before->how.state == job_state::failing;
    return fails ? before->how : job_health{};
}

// Some are asked about each time. In between goes what was found then: of those that look late for
// as long as they do, of the others whether they fail.
awaitable<void> ask_about(shared_inputs all, std::shared_ptr<const questions> what) {
    auto& known = all->around->remembered->asked_about;
    if (known.size() > terms_remembered_max) known.clear();
    const auto at = all->around->core->loop().now();
    std::vector<job_entry> entries;
    add_entries(*all, what->doubtful, asked_about_max, entries);
    add_entries(*all, what->in_turn, asked_in_turn_max, entries);
    std::unordered_set<std::string> late;
    for (const auto i : what->doubtful)
        if (looks_late(all->jobs[i])) late.insert(all->jobs[i].entry.name);
    // It notes how its own questions to the store went.
    const auto own = std::make_shared<health_inputs>(*all->now);
    auto reading =
        read_jobs(all->around, own, std::move(entries), runs_asked_about, thoroughness::list);
    auto jobs = co_await std::move(reading);
    if (jobs.has_value())
        for (auto& one : *jobs) {
            const auto& name = one.entry.name;
            known[name] = {at, std::move(one.how), late.contains(name), failed_at(*all, name)};
        }
    for (const auto* some : {&what->doubtful, &what->in_turn})
        for (const auto i : *some) {
            auto& one = all->jobs[i];
            const bool is_late = looks_late(one);
            const auto found = known.find(one.entry.name);
            if (found != known.end() &&
                (found->second.at == at || (is_late && found->second.for_late)))
                one.how = found->second.how;
            else if (is_late && !is_sure(one))
                one.how = failing_as_known(found == known.end() ? nullptr : &found->second);
        }
}

awaitable<void> judge_jobs(shared_inputs all) {
    const auto resumed = resumptions(all->audit);
    auto& known = all->around->remembered->asked_about;
    std::unordered_map<std::string, std::vector<run_record>> recent;
    for (const auto& run : all->recent) recent[run.job].push_back(run);
    const auto what = std::make_shared<questions>();
    for (std::size_t i = 0; i < all->jobs.size(); ++i) {
        auto& one = all->jobs[i];
        const auto& name = one.entry.name;
        if (const auto runs = recent.find(name); runs != recent.end())
            one.runs = std::move(runs->second);
        if (const auto when = resumed.find(name); when != resumed.end())
            one.resumed_at = when->second;
        const bool told = tells_of_failures(one);
        const auto before = known.find(name);
        const bool was_asked = before != known.end();
        if (was_asked && !told) one.failures_known = before->second.how.failures;
        judge_by(one, *all->now, all->job_locks);
        if (was_asked && !looks_late(one)) before->second.for_late = false;
        // A job that has recovered is among the newest that failed for long yet.
        const bool is_news = failed_at(*all, name) > (was_asked ? before->second.failed_at : 0);
        const bool may_fail = !told && (is_news || one.how.failures.worst.count > 0);
        if (looks_late(one) || may_fail)
            what->doubtful.push_back(i);
        else if (!told)
            what->in_turn.push_back(i);
    }
    if (what->doubtful.empty() && what->in_turn.empty()) co_return;
    auto asking = ask_about(all, what);
    co_await std::move(asking);
}

awaitable<void> look_at_node(shared_inputs all) {
    if (!all->around->node) co_return;
    auto looking = all->around->node->look(node_timeout);
    auto seen = co_await std::move(looking);
    if (!seen) co_return;
    all->unready = unready(*seen);
    all->knows_pauses = seen->knows_pauses;
    all->occurrences = std::move(seen->next_occurrences);
    std::sort(all->occurrences.begin(), all->occurrences.end(), [](const auto& a, const auto& b) {
        return std::tie(a.second, a.first) < std::tie(b.second, b.first);
    });
    if (all->occurrences.size() > occurrences_shown) all->occurrences.resize(occurrences_shown);
}

// -- the document

json::object json_of(const metrics::sample& one) {
    json::object made;
    made["at"] = documents::time_text(one.at);
    made["granted"] = one.granted;
    made["busy"] = one.busy;
    made["already_done"] = one.already_done;
    made["errors"] = one.errors;
    made["renewed"] = one.renewed;
    made["renew_failed"] = one.renew_failed;
    made["lost"] = one.lost;
    made["rejected"] = one.rejected;
    made["forced"] = one.forced;
    made["retries"] = one.retries;
    made["fail_open"] = one.fail_open;
    made["runs_ended"] = one.runs_ended;
    made["runs_failed"] = one.runs_failed;
    made["held"] = one.held;
    made["running"] = one.running;
    made["wait_p50"] = one.wait_p50;
    made["wait_p99"] = one.wait_p99;
    made["hold_p50"] = one.hold_p50;
    made["hold_p99"] = one.hold_p99;
    made["store_p99"] = one.store_p99;
    return made;
}

std::vector<run_record> active_runs(const health_inputs& now) {
    std::vector<run_record> all;
    for (const auto& [job, runs] : now.active) all.insert(all.end(), runs.begin(), runs.end());
    std::sort(all.begin(), all.end(), [](const run_record& a, const run_record& b) {
        return std::tie(b.started_at, a.id) < std::tie(a.started_at, b.id);
    });
    return all;
}

std::vector<run_record> orphans_of(const health_inputs& now) {
    std::vector<run_record> all;
    for (const auto& [job, runs] : now.orphans) all.insert(all.end(), runs.begin(), runs.end());
    std::sort(all.begin(), all.end(), [](const run_record& a, const run_record& b) {
        return std::tie(a.last_heartbeat, a.id) < std::tie(b.last_heartbeat, b.id);
    });
    return all;
}

json::object counts_of(const overview_inputs& all, std::size_t active, std::size_t orphans) {
    std::size_t triggers = 0, unresponsive = 0;
    const auto in_state = [&](job_state state) {
        return std::count_if(all.jobs.begin(), all.jobs.end(),
                             [=](const job_reading& one) { return one.how.state == state; });
    };
    for (const auto& [job, asked] : all.now->triggers) triggers += asked.size();
    for (const auto& one : all.now->nodes)
        if (one.age > schedule::node_heartbeat_timeout) ++unresponsive;
    json::object made;
    made["locks_held"] = all.held;
    made["locks_in_cooldown"] = all.in_cooldown;
    made["locks_more"] = all.has_more_locks;
    made["waiters"] = all.waiters;
    made["jobs"] = all.jobs.size();
    // The pause of a job that no node has any more waits for it, and pauses nothing.
    made["jobs_paused"] = std::count_if(
        all.jobs.begin(), all.jobs.end(),
        [&](const job_reading& one) { return all.now->pauses.contains(one.entry.name); });
    made["jobs_late"] = in_state(job_state::late);
    made["jobs_blocked"] = in_state(job_state::blocked);
    made["jobs_failing"] = in_state(job_state::failing);
    made["nodes_live"] = all.now->nodes.size() - unresponsive;
    made["nodes_unresponsive"] = unresponsive;
    made["runs_active"] = active;
    made["triggers"] = triggers;
    made["orphans"] = orphans;
    made["stale_runs"] = all.stale.size();
    return made;
}

json::array attention_in(const overview_inputs& all, const std::vector<run_record>& active,
                         std::vector<run_record> orphans,
                         const std::vector<metrics::sample>& samples) {
    attention_facts facts;
    facts.now = all.now->now;
    facts.store = all.around->store_shown;
    facts.store_trouble = all.store_trouble;
    facts.journal_trouble = all.journal_trouble;
    facts.node = all.around->node_name;
    facts.knows_pauses = all.knows_pauses;
    facts.has_journal = all.around->records != nullptr;
    facts.nodes = all.now->nodes;
    for (const auto& one : all.jobs) {
        const auto pause = all.now->pauses.find(one.entry.name);
        facts.jobs.push_back(
            {&one.entry, pause == all.now->pauses.end() ? nullptr : &pause->second, one.how});
    }
    facts.locks = all.notable;
    for (const auto& one : active) facts.busy_tokens.push_back(number(one.token));
    facts.recent = all.recent;
    facts.lost = all.ends.lost;
    facts.stale = all.stale;
    facts.orphans = std::move(orphans);
    facts.audit = all.audit;
    for (const auto& one : samples) {
        if (facts.now - one.at > attention_back.count()) continue;
        facts.leases_lost += one.lost;
        facts.stale_writes += one.rejected;
    }
    json::array made;
    for (const auto& one : attention_of(facts)) made.push_back(json_of(one));
    return made;
}

json::object document_of(const overview_inputs& all) {
    const auto& around = *all.around;
    const auto active = active_runs(*all.now);
    auto orphans = orphans_of(*all.now);
    const auto samples =
        around.instruments ? around.instruments->samples() : std::vector<metrics::sample>{};
    json::object made;
    made["as_of"] = documents::time_text(all.now->now);
    made["node"] = around.node_name;
    made["version"] = around.version;
    made["unready"] = all.unready;
    made["store"] = {
        {"engine", around.engine}, {"url", around.store_shown}, {"up", all.store_trouble.empty()}};
    made["counts"] = counts_of(all, active.size(), orphans.size());
    made["sample_interval_ms"] = metrics::sample_interval.count();
    json::array shown;
    for (const auto& one : samples) shown.push_back(json_of(one));
    made["samples"] = std::move(shown);
    json::array occurrences;
    for (const auto& [job, at] : all.occurrences)
        occurrences.push_back(json::object{{"job", job}, {"at", documents::time_text(at)}});
    made["next_occurrences"] = std::move(occurrences);
    json::array runs;
    for (std::size_t i = 0; i < std::min(active_shown, active.size()); ++i)
        runs.push_back(documents::json_of(active[i]));
    made["active"] = std::move(runs);
    made["attention"] = attention_in(all, active, std::move(orphans), samples);
    return made;
}

awaitable<std::shared_ptr<const overview_document>> work_out(shared_context around) {
    const auto begun = around->core->loop().now();
    const auto all = std::make_shared<overview_inputs>();
    all->around = around;
    auto asking = read_journal(all);
    co_await std::move(asking);
    all->now->now = documents::unix_millis_now();
    auto reading = read_store(all);
    co_await std::move(reading);
    auto judging = judge_jobs(all);
    co_await std::move(judging);
    auto looking = look_at_node(all);
    co_await std::move(looking);
    const auto made = std::make_shared<overview_document>();
    made->members = std::make_shared<const json::object>(document_of(*all));
    made->text = std::make_shared<const std::string>(documents::serialize(*made->members));
    // Waiting for servers that are down is no reason to look less often.
    const bool trouble = !all->store_trouble.empty() || !all->journal_trouble.empty();
    const auto took = std::chrono::ceil<millis>(around->core->loop().now() - begun);
    around->remembered->overview_age_max =
        trouble ? overview_age_least
                : std::clamp(took * overview_share, overview_age_least, overview_age_most);
    co_return made;
}

}  // namespace

awaitable<std::shared_ptr<const overview_document>> overview(shared_context around) {
    auto& remembered = *around->remembered;
    if (!remembered.overview) {
        // What the context remembers must not keep them alive.
        std::weak_ptr<const context> weak = around;
        remembered.overview_age_max = overview_age_least;
        remembered.overview = std::make_shared<single_flight<overview_document>>(
            [weak] { return work_out(weak.lock()); });
    }
    auto asking =
        single_flight<overview_document>::get(remembered.overview, remembered.overview_age_max);
    auto found = co_await std::move(asking);
    co_return found;
}

async<std::shared_ptr<const json::object>> overview_of(shared_context around) {
    auto asking = overview(std::move(around));
    const auto found = co_await std::move(asking);
    co_return found->members;
}

}  // namespace pawl::api
