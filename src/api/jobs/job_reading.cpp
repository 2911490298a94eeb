#include "api/jobs/job_reading.hpp"

#include "api/jobs/control_look.hpp"
#include "api/jobs/run_rows.hpp"
#include "api/limits/cooperative_yield.hpp"
#include "api/request/list_writer.hpp"
#include "api/route_caches.hpp"
#include "documents/documents.hpp"
#include "net/for_each_bounded.hpp"
#include "time/clocks.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace pawl::api {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

// Of a job without partitions, so that its latest occurrence is among them though people ran it
// too.
constexpr std::size_t runs_read_min = 5;
constexpr std::size_t runs_of_a_partition = 4;
// Where none of these says how the work went, as many are read: a job that fails is behind what it
// has skipped meanwhile, and for how long all have waited in vain is not among so few.
constexpr std::size_t runs_read_back = 100;
// More keys than this are read off the list of all keys, of which so many pages at most.
constexpr std::size_t keys_inspected_max = 64;
constexpr std::size_t lock_pages_max = 20;
constexpr std::size_t audit_looked_at = 500;

std::size_t runs_to_read(const job_entry& entry, std::size_t wanted, thoroughness how) {
    if (entry.partitions <= 1) return std::max(wanted, runs_read_min);
    if (how == thoroughness::detail) return runs_looked_at_max;
    const auto partitions = std::min<std::size_t>(entry.partitions, partitions_listed_max);
    return std::max(wanted, runs_of_a_partition * partitions);
}

// -- what is known of one job, put together

// Those behind the first `listed` that are held, run, or are waited for.
std::set<std::uint32_t> others_of_note(const job_reading& one, const health_inputs& now,
                                       const std::unordered_map<std::string, record>& locks,
                                       std::size_t listed) {
    std::set<std::uint32_t> found;
    const auto& name = one.entry.name;
    const auto note = [&](std::uint32_t which) {
        if (which >= listed && which < one.terms->partitions) found.insert(which);
    };
    if (one.terms->partitions <= listed) return found;
    if (const auto active = now.active.find(name); active != now.active.end())
        for (const auto& run : active->second) note(run.partition);
    if (const auto left = now.orphans.find(name); left != now.orphans.end())
        for (const auto& run : left->second) note(run.partition);
    if (const auto asked = now.triggers.find(name); asked != now.triggers.end())
        for (const auto& trigger : asked->second) note(trigger.partition);
    for (auto i = static_cast<std::uint32_t>(listed); i < one.keys; ++i) {
        const auto lock = locks.find(one.terms->key(i));
        if (lock != locks.end() && number(lock->second.holder) != 0) note(i);
    }
    return found;
}

// Null where it was not looked at.
partition_facts* part_of(std::vector<partition_facts>& parts, std::uint32_t which) {
    const auto found = std::lower_bound(
        parts.begin(), parts.end(), which,
        [](const partition_facts& one, std::uint32_t other) { return one.partition < other; });
    return found == parts.end() || found->partition != which ? nullptr : &*found;
}

void add_run(std::vector<partition_facts>& parts, const run_record& run) {
    if (auto* part = part_of(parts, run.partition)) part->add(run);
}

job_facts facts_of(const job_reading& one, const health_inputs& now) {
    job_facts facts;
    facts.entry = &one.entry;
    facts.terms = one.terms.get();
    facts.partitions = one.partitions;
    facts.resumed_at = one.resumed_at;
    facts.failures = failures_in(one.runs, *one.terms);
    if (one.failures_known && one.failures_known->worst.count > facts.failures.worst.count)
        facts.failures = *one.failures_known;
    if (const auto pause = now.pauses.find(one.entry.name); pause != now.pauses.end())
        facts.pause = &pause->second;
    if (const auto asked = now.triggers.find(one.entry.name); asked != now.triggers.end())
        for (const auto& trigger : asked->second) facts.triggers.push_back(&trigger);
    return facts;
}

void put_together(job_reading& one, const health_inputs& now,
                  const std::unordered_map<std::string, record>& locks, thoroughness how) {
    const std::size_t all = one.terms->partitions;
    const auto listed = how == thoroughness::detail ? all : std::min(all, partitions_listed_max);
    one.partitions.resize(listed);
    for (std::uint32_t i = 0; i < listed; ++i) one.partitions[i].partition = i;
    for (const auto which : others_of_note(one, now, locks, listed)) {
        auto& part = one.partitions.emplace_back();
        part.partition = which;
        part.rows_known = false;
    }
    for (auto& part : one.partitions) {
        const auto lock = locks.find(one.terms->key(part.partition));
        if (lock != locks.end()) part.lock = lock->second;
    }
    // What is begun and over since is read later, so these come first.
    for (const auto& run : one.runs) add_run(one.partitions, run);
    if (const auto active = now.active.find(one.entry.name); active != now.active.end())
        for (const auto& run : active->second) {
            const auto known = std::find_if(one.runs.begin(), one.runs.end(),
                                            [&](const auto& other) { return other.id == run.id; });
            if (known == one.runs.end()) add_run(one.partitions, run);
        }
    // What `pawl exec` or a program has left is not for the job that is called the same.
    if (const auto left = now.orphans.find(one.entry.name); left != now.orphans.end())
        for (const auto& run : left->second) {
            auto* part = part_of(one.partitions, run.partition);
            if (part != nullptr && run.trigger == "schedule" && !part->orphan) part->orphan = run;
        }
}

shared_facts context_of(const health_inputs& now) {
    shared_facts facts;
    facts.nodes = &now.nodes;
    facts.store_trouble = now.store_trouble;
    facts.jobs = now.jobs;
    facts.now = now.now;
    return facts;
}

json::object json_of(const blockage& what) {
    json::object made;
    made["partition"] = what.partition;
    made["key"] = what.lock.key;
    made["owner"] = what.lock.owner;
    made["fence_token"] = number(what.lock.holder);
    made["acquired_at"] = documents::time_text(what.lock.acquired_at);
    made["remaining_ms"] = what.lock.remaining.count();
    return made;
}

// -- reading

// Shared by the coroutines that read for one request.
struct job_operation {
    shared_context around;
    std::shared_ptr<health_inputs> now;
    std::vector<job_reading> jobs;
    std::size_t runs = 0;
    thoroughness how = thoroughness::list;
    // Of a page
    std::size_t checkpoint_bytes = 0;
    std::size_t full_at = SIZE_MAX;  // this job and those behind it are left out
};

async<void> read_runs(std::shared_ptr<job_operation> all, std::size_t which) {
    if (which >= all->full_at) co_return boost::system::in_place_value;
    run_filter filter;
    filter.job = all->jobs[which].entry.name;
    const auto most = runs_to_read(all->jobs[which].entry, all->runs, all->how);
    row_visitor keep = [all, which, kept = std::size_t{0}](run_record run) mutable {
        auto& job = all->jobs[which];
        // A list shows no other, and each may have 64 KiB.
        const bool shown = job.runs.empty() || all->how == thoroughness::detail;
        const bool has_room = job.entry.partitions <= 1 || kept < checkpoints_kept_max;
        if (!shown || !has_room) drop_checkpoint(run);
        if (all->how == thoroughness::brief) drop_long_checkpoint(run);
        kept += run.checkpoint.size();
        job.runs.push_back(std::move(run));
        return true;
    };
    auto reading = visit_runs(all->around, filter, most, keep);
    auto found = co_await std::move(reading);
    auto& runs = all->jobs[which].runs;
    if (found.has_value() && most < runs_read_back && !*found &&
        std::none_of(runs.begin(), runs.end(), is_conclusive)) {
        runs.clear();
        auto reading_back =
            visit_runs(all->around, std::move(filter), runs_read_back, std::move(keep));
        found = co_await std::move(reading_back);
    }
    if (found.has_error()) co_return std::move(found).error();
    if (!runs.empty()) all->checkpoint_bytes += runs.front().checkpoint.size();
    if (all->how == thoroughness::page && all->checkpoint_bytes >= page_bytes_max)
        all->full_at = std::min(all->full_at, which + 1);
    co_return boost::system::in_place_value;
}

struct lock_operation {
    shared_context around;
    std::vector<std::string> keys;
    std::shared_ptr<lock_reading> found = std::make_shared<lock_reading>();
};

async<void> inspect_one(std::shared_ptr<lock_operation> all, std::size_t which) {
    auto looking = all->around->core->running()->store().inspect(all->keys[which]);
    auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return std::move(seen).error();
    if (*seen) all->found->locks[all->keys[which]] = std::move(**seen);
    co_return boost::system::in_place_value;
}

std::string common_prefix(const std::string& first, const std::string& last) {
    const auto longest = std::min(first.size(), last.size());
    const auto end =
        std::mismatch(first.begin(), first.begin() + static_cast<long>(longest), last.begin());
    return {first.begin(), end.first};
}

// REQUIRES: the keys are in order. The first is read apart, as a page begins behind a key.
async<void> list_them(std::shared_ptr<lock_operation> all) {
    auto first = inspect_one(all, 0);
    const auto seen = co_await std::move(first);
    if (seen.has_error()) co_return seen.error();
    const auto prefix = common_prefix(all->keys.front(), all->keys.back());
    auto after = all->keys.front();
    for (std::size_t i = 0; i < lock_pages_max; ++i) {
        auto listing = all->around->core->running()->store().list(prefix, after, page_limit_max);
        auto page = co_await std::move(listing);
        if (page.has_error()) co_return std::move(page).error();
        after = page->next;
        const bool over = after.empty() || page->records.back().key >= all->keys.back();
        for (auto& one : page->records)
            if (std::binary_search(all->keys.begin(), all->keys.end(), one.key)) {
                auto key = one.key;
                all->found->locks[std::move(key)] = std::move(one);
            }
        if (over) break;
    }
    co_return boost::system::in_place_value;
}

async<void> read_active(shared_context around, std::shared_ptr<health_inputs> now,
                        run_choice shown) {
    run_filter filter;
    filter.status = run_status::started;
    row_visitor keep = [now, shown = std::move(shown),
                        kept = std::size_t{0}](run_record run) mutable {
        if (kept >= checkpoints_kept_max || !shown(run)) drop_checkpoint(run);
        kept += run.checkpoint.size();
        auto& of_job = now->active[run.job];
        of_job.push_back(std::move(run));
        return true;
    };
    auto reading = visit_runs(around, std::move(filter), active_runs_max, std::move(keep));
    const auto read = co_await std::move(reading);
    if (read.has_error()) co_return read.error();
    co_return boost::system::in_place_value;
}

// Only what looks late has to be asked about, and then once for all.
async<void> judge_all(std::shared_ptr<job_operation> all) {
    const auto facts = context_of(*all->now);
    bool suspicious = false;
    cooperative_yield turn{all->around->core->loop()};
    for (auto& one : all->jobs) {
        one.how = judge(facts_of(one, *all->now), facts);
        suspicious = suspicious || one.how.since.has_value();
        if (!turn.is_due()) continue;
        auto turning = turn.give_turn();
        co_await std::move(turning);
    }
    if (!suspicious) co_return boost::system::in_place_value;
    auto listing = all->around->records->list_audit(0, audit_looked_at);
    const auto audit = co_await std::move(listing);
    if (audit.has_error()) co_return audit.error();
    const auto resumed = resumptions(*audit);
    for (auto& one : all->jobs) {
        const auto found = resumed.find(one.entry.name);
        if (found == resumed.end()) continue;
        one.resumed_at = found->second;
        one.how = judge(facts_of(one, *all->now), facts);
    }
    co_return boost::system::in_place_value;
}

}  // namespace

void add_keys(job_reading& one, thoroughness how, std::size_t& others_left,
              std::vector<std::string>& keys) {
    const std::size_t all = one.terms->partitions;
    const auto listed = how == thoroughness::detail ? all : std::min(all, partitions_listed_max);
    one.keys = all - listed <= others_left ? all : listed;
    others_left -= one.keys - listed;
    for (std::uint32_t i = 0; i < one.keys; ++i) keys.push_back(one.terms->key(i));
}

void judge_by(job_reading& one, const health_inputs& now,
              const std::unordered_map<std::string, record>& locks) {
    put_together(one, now, locks, thoroughness::list);
    one.how = judge(facts_of(one, now), context_of(now));
}

std::unordered_map<std::string, std::int64_t> resumptions(const std::vector<audit_entry>& audit) {
    std::unordered_map<std::string, std::int64_t> found;
    for (const auto& one : audit)
        if (one.action == "job.resume") found.emplace(one.target, one.at);
    return found;
}

awaitable<std::shared_ptr<lock_reading>> read_locks(shared_context around,
                                                    std::vector<std::string> keys) {
    const auto all = std::make_shared<lock_operation>();
    all->around = around;
    all->keys = std::move(keys);
    std::sort(all->keys.begin(), all->keys.end());
    // A store that does not answer is not asked for every key.
    net::bounded_step inspect = [all](std::size_t which) { return inspect_one(all, which); };
    auto looking =
        all->keys.size() > keys_inspected_max
            ? list_them(all)
            : net::for_each_bounded(all->keys.size(), asked_at_once_max, std::move(inspect));
    const auto looked = co_await std::move(looking);
    if (looked.has_error()) all->found->trouble = looked.error().detail;
    co_return all->found;
}

async<std::shared_ptr<health_inputs>> read_health_inputs(shared_context around, run_choice shown) {
    const auto now = std::make_shared<health_inputs>();
    now->as_of = documents::unix_millis_now();
    auto looking = look_at_control(around);
    const auto look = co_await std::move(looking);
    if (look->has_error()) co_return look->error();
    const auto& seen = (*look)->seen;
    for (const auto& one : seen.pauses) now->pauses.emplace(one.job, one);
    for (const auto& one : seen.triggers) now->triggers[one.job].push_back(one);
    for (const auto& one : seen.orphans) now->orphans[one.job].push_back(one);
    auto listing = around->records->list_nodes();
    auto nodes = co_await std::move(listing);
    if (nodes.has_error()) co_return std::move(nodes).error();
    now->nodes = std::move(*nodes);
    auto finding = read_active(around, now, std::move(shown));
    const auto active = co_await std::move(finding);
    if (active.has_error()) co_return active.error();
    for (const auto& one : now->nodes) now->jobs = std::max<std::size_t>(now->jobs, one.jobs);
    now->now = documents::unix_millis_now();
    co_return now;
}

async<std::vector<job_reading>> read_jobs(shared_context around, std::shared_ptr<health_inputs> now,
                                          std::vector<job_entry> entries, std::size_t runs,
                                          thoroughness how) {
    const auto all = std::make_shared<job_operation>();
    all->around = around;
    all->now = now;
    all->runs = runs;
    all->how = how;
    std::vector<std::string> keys;
    std::size_t others_left = other_keys_max;
    cooperative_yield turn{around->core->loop()};
    for (auto& entry : entries) {
        job_reading one;
        one.terms = terms_of(*around, entry);
        one.entry = std::move(entry);
        add_keys(one, how, others_left, keys);
        all->jobs.push_back(std::move(one));
        if (!turn.is_due()) continue;
        auto turning = turn.give_turn();
        co_await std::move(turning);
    }
    net::bounded_step read = [all](std::size_t which) { return read_runs(all, which); };
    auto reading = net::for_each_bounded(all->jobs.size(), asked_at_once_max, std::move(read));
    const auto done = co_await std::move(reading);
    if (done.has_error()) co_return done.error();
    if (all->jobs.size() > all->full_at) all->jobs.resize(all->full_at);
    // Behind the rows: a run that has begun since is seen by one of the two.
    auto looking = read_locks(around, std::move(keys));
    const auto locks = co_await std::move(looking);
    now->store_trouble = locks->trouble;
    for (auto& one : all->jobs) {
        put_together(one, *now, locks->locks, how);
        if (!turn.is_due()) continue;
        auto turning = turn.give_turn();
        co_await std::move(turning);
    }
    auto judging = judge_all(all);
    const auto judged = co_await std::move(judging);
    if (judged.has_error()) co_return judged.error();
    co_return std::move(all->jobs);
}

json::object json_of(const job_reading& job, const health_inputs& now, std::size_t runs) {
    const auto facts = facts_of(job, now);
    const auto* last = job.runs.empty() ? nullptr : &job.runs.front();
    auto one = documents::json_of(job.entry, *job.terms, facts.pause, last,
                                  time::wall_instant{millis{now.now}});
    one["state"] = word_of(job.how.state);
    one["why"] = job.how.why;
    one["since"] = documents::time_or_null(job.how.since);
    one["running"] = job.how.running;
    one["consecutive_failures"] = job.how.failures.worst.count;
    one["blocked_by"] = nullptr;
    if (job.how.blocked_by) one["blocked_by"] = json_of(*job.how.blocked_by);
    json::array recent;
    for (std::size_t i = 0; i < std::min(runs, job.runs.size()); ++i) {
        const auto& run = job.runs[i];
        json::object mark;
        mark["id"] = run.id;
        mark["status"] = name_of(run.status);
        mark["started_at"] = documents::time_text(run.started_at);
        mark["completed_at"] = documents::time_or_null(run.completed_at);
        mark["node"] = run.node;
        mark["attempt"] = run.attempt;
        recent.push_back(std::move(mark));
    }
    one["recent"] = std::move(recent);
    return one;
}

async<std::vector<job_entry>> read_entries(shared_context around, std::string after,
                                           std::size_t most) {
    std::vector<job_entry> all;
    while (all.size() < most) {
        const auto some = std::min(page_limit_max, most - all.size());
        auto listing = around->records->list_jobs(after, some);
        auto page = co_await std::move(listing);
        if (page.has_error()) co_return std::move(page).error();
        const bool over = page->size() < some;
        std::move(page->begin(), page->end(), std::back_inserter(all));
        if (over) break;
        after = all.back().name;
    }
    co_return all;
}

async<job_look> look_at_job(shared_context around, job_entry entry) {
    run_choice of_job = [name = entry.name](const run_record& run) { return run.job == name; };
    auto looking = read_health_inputs(around, std::move(of_job));
    auto now = co_await std::move(looking);
    if (now.has_error()) co_return std::move(now).error();
    std::vector<job_entry> entries;
    entries.push_back(std::move(entry));
    auto reading = read_jobs(around, *now, std::move(entries), runs_of_one, thoroughness::detail);
    auto jobs = co_await std::move(reading);
    if (jobs.has_error()) co_return std::move(jobs).error();
    job_look seen;
    seen.job = std::move(jobs->front());
    seen.now = std::move(*now);
    co_return seen;
}

async<job_page> read_job_page(shared_context around, std::string after, std::size_t most,
                              std::size_t runs, thoroughness how) {
    const auto as_of = documents::unix_millis_now();
    auto listing = read_entries(around, std::move(after), most);
    auto entries = co_await std::move(listing);
    if (entries.has_error()) co_return std::move(entries).error();
    run_choice none = [](const run_record&) { return false; };
    auto looking = read_health_inputs(around, std::move(none));
    const auto now = co_await std::move(looking);
    if (now.has_error()) co_return now.error();
    (*now)->as_of = as_of;
    const auto all = entries->size();
    auto reading = read_jobs(around, *now, std::move(*entries), runs, how);
    auto jobs = co_await std::move(reading);
    if (jobs.has_error()) co_return std::move(jobs).error();
    job_page page;
    page.ends = all < most && jobs->size() == all;
    page.jobs = std::move(*jobs);
    page.now = *now;
    co_return page;
}

async<std::vector<json::object>> job_documents(shared_context around, std::string after,
                                               std::size_t most, std::size_t runs) {
    auto reading = read_job_page(around, std::move(after), most, runs, thoroughness::list);
    const auto page = co_await std::move(reading);
    if (page.has_error()) co_return page.error();
    std::vector<json::object> all;
    cooperative_yield turn{around->core->loop()};
    for (const auto& one : page->jobs) {
        all.push_back(json_of(one, *page->now, runs));
        if (!turn.is_due()) continue;
        auto turning = turn.give_turn();
        co_await std::move(turning);
    }
    co_return all;
}

}  // namespace pawl::api
