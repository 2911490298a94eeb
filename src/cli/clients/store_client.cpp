// The client that asks the store and its journal by itself.
#include "api/jobs/job_reading.hpp"
#include "assembly/engines.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "cli/clients/client.hpp"
#include "cli/clients/journal_client.hpp"
#include "cli/clients/orphaned_exec_runs.hpp"
#include "cli/output/output.hpp"
#include "documents/job_terms.hpp"
#include "engines/rules/journal/control_limits.hpp"
#include "runtime/change_effect.hpp"
#include "time/pause.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pawl::cli {
namespace {

using runtime::change_effect;

// Between two looks at output that is followed.
constexpr millis follow_interval{250};
constexpr millis judge_interval{8'000};

store_error unknown_outcome(const std::string& what) {
    return store_error{
        failure{errc::outcome_unknown, "the journal did not say " + what + "; look again"}};
}

void check_arguments(const documents::job_terms& job, const std::vector<std::string>& arguments) {
    if (const auto fault = base::argument_fault(job.arguments, job.name, arguments))
        throw exit_error{status::rejected, *fault};
}

std::vector<std::uint32_t> partitions_of(const job_entry& job, const run_request& what) {
    if (!what.partition) {
        std::vector<std::uint32_t> all(job.partitions);
        std::iota(all.begin(), all.end(), 0U);
        return all;
    }
    if (*what.partition >= job.partitions)
        throw exit_error{status::usage, "invalid --partition '" + std::to_string(*what.partition) +
                                            "'; expected 0 to " +
                                            std::to_string(job.partitions - 1) + " for job '" +
                                            base::printable(job.name) + "'"};
    return {*what.partition};
}

class store_client final : public client {
public:
    explicit store_client(const globals& options) : options_{options} {}

    page list_locks(const std::string& prefix, const std::string& after,
                    std::size_t limit) override {
        return store().list(prefix, after, limit);
    }
    std::optional<record> find_lock(const std::string& key) override {
        return store().inspect(key);
    }
    millis release(const forced_release& what) override;
    fence_result check_fence(const std::string& resource, fence_token token,
                             fence_rule rule) override {
        return store().check_fence(resource, token, rule);
    }

    std::vector<boost::json::object> list_jobs() override;
    seen_job show_job(const std::string& name, std::size_t runs) override;
    boost::json::object dry_run(const run_request& what) override;
    std::vector<std::string> ask_for_runs(const run_request& what) override;
    bool pause_job(const std::string& name, const std::string& reason) override;
    bool resume_job(const std::string& name) override;

    run_page list_runs(const run_filter& which, const std::string& after,
                       std::size_t limit) override;
    seen_run look_for_run(const std::string& id) override;
    run_details show_run(const std::string& id) override;
    void read_output(const std::string& id, reading how, const output_taker& into) override;
    cancelled_run cancel_run(const std::string& id, const std::string& reason) override;

    std::vector<node_entry> list_nodes() override { return ask(verbs().list_nodes()); }
    std::vector<audit_entry> list_audit(std::uint64_t before, std::size_t limit) override {
        return ask(verbs().list_audit(before, limit));
    }
    boost::json::object examine(const health::doctor_bounds& bounds) override;

private:
    locks& store() {
        if (!store_) store_.emplace(open_locks(options_));
        return *store_;
    }
    journal_client& records() {
        if (!records_) records_.emplace(options_);
        return *records_;
    }
    journal& verbs() { return records().verbs(); }
    template <class T>
    T ask(async<T> asking) {
        return records().ask(std::move(asking));
    }

    change_effect make_change(std::function<async<bool>()> verb) {
        return ask(runtime::make_change(std::move(verb)));
    }
    // A change that was made, or may have been, is in the audit log.
    void note_change(change_effect done, std::string action, std::string target,
                     std::string detail) {
        if (done == change_effect::none) return;
        if (done != change_effect::made) detail = documents::in_doubt(std::move(detail));
        note_audit(std::move(action), std::move(target), std::move(detail));
    }

    // What was done cannot be taken back, so a failure is told with the status, behind the result.
    void note_audit(std::string action, std::string target, std::string detail) {
        const auto what = "action=" + action + " target=" + target;
        try {
            audit(records(), std::move(action), std::move(target), std::move(detail));
        } catch (const store_error& error) {
            log(log_level::error, "done, but not in the audit log " + what + ": " + error.what());
            unaudited_ = status_of(error);
        }
    }

    api::shared_context context();
    std::vector<run_record> last_runs(const std::string& job, std::size_t limit);
    std::vector<std::uint32_t> choose_partitions(const job_entry& job,
                                                 const documents::job_terms& terms,
                                                 const run_request& what);
    std::size_t live_nodes() { return documents::count_live(list_nodes()); }
    std::optional<run_trigger> asked_for(const std::string& id);
    [[noreturn]] void reject_unknown(const std::string& id);
    run_record known_run(const std::string& id);
    health::diagnosis diagnose(const store_settings& settings, const health::doctor_bounds& bounds);

    // Once: a run whose process is dead is ended before it is shown.
    void end_orphaned_exec_runs() {
        if (std::exchange(judged_, true)) return;
        const auto inspect = [this](std::string key) -> async<std::optional<record>> {
            co_return inspect_or_fail(key);
        };
        records().loop().wait_for(judge_orphaned_exec_runs(records().shared_verbs(), "", inspect));
    }

    // Opens the store if need be, which may have another loop: this thread drives both.
    result<std::optional<record>> inspect_or_fail(const std::string& key) {
        try {
            // This user's own store says nothing of who holds what elsewhere.
            if (choose_store(options_).from == "default" && !choose_journal(options_).url.empty())
                return failure{errc::unsupported, "no store is named beside the journal"};
            return store().inspect(key);
        } catch (const store_error& error) {
            return failure{error.code(), error.what()};
        } catch (const exit_error& error) {
            return failure{errc::unsupported, error.what()};
        }
    }

    const globals& options_;
    bool judged_ = false;
    std::optional<locks> store_;
    std::optional<journal_client> records_;
    std::unique_ptr<runtime::core> judging_;
};

millis store_client::release(const forced_release& what) {
    const auto& shown = what.shown;
    // Rule 5. A renewal interval and a grace are enough only while the holder's heartbeat is heard;
    // when one is lost, the model finds two holders. All that is left of the lease is always
    // enough: the store takes the least of both, and what was shown may have been renewed since.
    const auto delay = what.delay.value_or(ttl_max);
    const auto token = documents::releasable(shown);
    // Before anything is done: a URL that is none is a mistake of the command line. A journal that
    // is down is none, and no reason to leave the key held.
    const bool audited = keeps_journal(options_);
    // What may have been done stands in the audit log as well: the next attempt only finds it done.
    std::optional<store_error> unknown;
    try {
        if (!store().force_release(shown.key, token, delay))
            throw exit_error{status::rejected, "not released: lock '" + base::printable(shown.key) +
                                                   "' no longer has token " +
                                                   std::to_string(number(token)) +
                                                   "; see 'pawl locks show'"};
    } catch (const store_error& error) {
        if (error.code() != errc::outcome_unknown) throw;
        unknown = error;
    }
    auto line = documents::force_release_line(shown, what.reason);
    auto detail = documents::force_release_detail(shown, what.reason);
    if (unknown) {
        line += "; whether it took effect is not known";
        detail = documents::in_doubt(std::move(detail));
    }
    log(log_level::warn, line);
    if (audited)
        note_audit("lock.release", shown.key, std::move(detail));
    else
        log(log_level::debug, "not audited: the store keeps no journal");
    if (unknown) throw *unknown;
    const auto after = store().inspect(shown.key);
    // What the next holder has left is no wait: the key was free when it was granted to them.
    return after && number(after->holder) == 0 ? after->remaining : millis{0};
}

// -- jobs

std::vector<run_record> store_client::last_runs(const std::string& job, std::size_t limit) {
    run_filter which;
    which.job = job;
    return ask(verbs().list_runs(which, "", limit)).records;
}

// Judged by what judges them in an agent's API: from a store and a journal on one loop.
api::shared_context store_client::context() {
    if (!judging_) judging_ = open_core(options_);
    auto around = std::make_shared<api::context>();
    around->core = judging_.get();
    around->records = judging_->run_journal();
    if (!around->records) throw journal_missing();
    return around;
}

std::vector<boost::json::object> store_client::list_jobs() {
    const auto around = context();
    auto listing = api::job_documents(around, "", SIZE_MAX, 0);
    auto jobs = around->core->loop().wait_for(std::move(listing)).value();
    for (auto& one : jobs) one.erase("recent");
    return jobs;
}

seen_job store_client::show_job(const std::string& name, std::size_t runs) {
    auto entry = known_job(records(), name);
    const auto around = context();
    auto looking = api::look_at_job(around, std::move(entry));
    auto seen = around->core->loop().wait_for(std::move(looking)).value();
    seen_job made;
    made.document = api::json_of(seen.job, *seen.now, 0);
    made.document.erase("recent");
    made.runs = std::move(seen.job.runs);
    if (made.runs.size() > runs) made.runs.resize(runs);
    return made;
}

// Each partition; of a job with slots the one slot that is to have the run.
std::vector<std::uint32_t> store_client::choose_partitions(const job_entry& job,
                                                           const documents::job_terms& terms,
                                                           const run_request& what) {
    auto all = partitions_of(job, what);
    if (what.partition || !terms.has_slots) return all;
    const auto seen = ask(verbs().read_control_state());
    documents::slot_inputs now{seen.triggers};
    if (what.resume)
        for (const auto& run : last_runs(job.name, page_limit_max))
            if (!now.saved && documents::has_saved(terms, run)) now.saved = run.partition;
    try {
        for (const auto slot : all) {
            const auto lock = store().inspect(terms.key(slot));
            now.taken.push_back(lock && lock->remaining.count() > 0);
        }
    } catch (const store_error&) {
        // The journal takes the request also while the store is away.
    }
    return {documents::choose_slot(terms, now)};
}

// Everything but the effect.
boost::json::object store_client::dry_run(const run_request& what) {
    const auto job = known_job(records(), what.job);
    const documents::job_terms terms{job};
    check_arguments(terms, what.arguments);
    const auto saved =
        what.resume ? last_runs(job.name, page_limit_max) : std::vector<run_record>{};
    std::vector<documents::planned_run> runs;
    for (const auto partition : choose_partitions(job, terms, what)) {
        documents::planned_run one;
        one.partition = partition;
        one.lease = store().inspect(terms.key(partition));
        one.checkpoint = documents::last_checkpoint(saved, partition);
        runs.push_back(std::move(one));
    }
    return documents::dry_run_of(terms, what.arguments, live_nodes(), runs);
}

std::vector<std::string> store_client::ask_for_runs(const run_request& what) {
    const auto job = known_job(records(), what.job);
    if (!documents::is_enabled(job))
        throw exit_error{status::usage, "job '" + base::printable(job.name) +
                                            "' is disabled; set enabled = true in its "
                                            "configuration"};
    const documents::job_terms terms{job};
    check_arguments(terms, what.arguments);
    const auto partitions = choose_partitions(job, terms, what);
    const auto seen = ask(verbs().read_control_state());
    if (const auto full = journals::request_fault(
            journals::queue_of(seen), journals::queue_of(seen, job.name),
            {partitions.size(), partitions.size() * journals::bytes_of(what.arguments)}))
        throw exit_error{status::usage, *full};
    if (live_nodes() == 0)
        log(log_level::warn, "no live agent: the run stays queued until one starts");
    const auto past = what.resume ? checkpoint_source::last_saved : checkpoint_source::none;
    const auto words = documents::words_of_request(past, what.arguments);
    std::vector<std::string> ids;
    for (const auto partition : partitions) {
        run_trigger one;
        one.id = base::fresh_uuid();
        one.job = job.name;
        one.partition = partition;
        one.arguments = what.arguments;
        one.starts_from = past;
        one.by = actor_name();
        documents::queued_count count{ids.size(), partitions.size()};
        try {
            count.is_last_sure =
                make_change([&] { return verbs().add_trigger(one); }) != change_effect::unknown;
        } catch (const store_error&) {
            if (ids.empty()) throw;
            // What was queued runs.
            tell_queued_in_part(ids);
            note_audit("job.run", job.name, documents::words_of_queued(count, words));
            throw;
        }
        ids.push_back(one.id);
        if (count.is_last_sure) continue;
        count.queued = ids.size();
        tell_queued_in_part(ids);
        note_audit("job.run", job.name, documents::words_of_queued(count, words));
        throw unknown_outcome("whether run '" + one.id + "' was queued");
    }
    note_audit("job.run", job.name, words);
    return ids;
}

bool store_client::pause_job(const std::string& name, const std::string& reason) {
    const auto job = known_job(records(), name);
    if (const auto full = journals::pause_fault(ask(verbs().read_control_state()), job.name))
        throw exit_error{status::usage, *full};
    const auto done =
        make_change([&] { return verbs().pause_job(job.name, reason, actor_name()); });
    note_change(done, "job.pause", name, reason);
    if (done == change_effect::unknown)
        throw unknown_outcome("whether job '" + base::printable(name) + "' was paused");
    return done != change_effect::none;
}

bool store_client::resume_job(const std::string& name) {
    const auto done = make_change([&] { return verbs().resume_job(name); });
    note_change(done, "job.resume", name, "");
    if (done == change_effect::unknown)
        throw unknown_outcome("whether job '" + base::printable(name) + "' was resumed");
    if (done == change_effect::none) known_job(records(), name);
    return done != change_effect::none;
}

// -- runs

// A cursor that no page gave is a mistake in the command line; nothing else here can be rejected.
run_page store_client::list_runs(const run_filter& which, const std::string& after,
                                 std::size_t limit) {
    end_orphaned_exec_runs();
    try {
        return ask(verbs().list_runs(which, after, limit));
    } catch (const store_error& error) {
        if (after.empty() || error.code() != errc::rejected) throw;
        throw exit_error{status::usage, std::string{"--after: "} + error.what()};
    }
}

// What is in the control state is read first: a trigger makes way for its row in one step.
seen_run store_client::look_for_run(const std::string& id) {
    end_orphaned_exec_runs();
    const auto seen = ask(verbs().read_control_state());
    seen_run made;
    made.run = ask(verbs().find_run(id));
    if (made.run) return made;
    const auto found = std::find_if(seen.triggers.begin(), seen.triggers.end(),
                                    [&](const run_trigger& one) { return one.id == id; });
    if (found != seen.triggers.end()) made.waits_for = found->job;
    // There may be more of them than are shown.
    if (!made.waits_for && seen.triggers.size() >= control_entries_max) made.waits_for = "";
    return made;
}

// A run that is requested, and not started yet.
std::optional<run_trigger> store_client::asked_for(const std::string& id) {
    auto seen = ask(verbs().read_control_state());
    const auto found = std::find_if(seen.triggers.begin(), seen.triggers.end(),
                                    [&](const run_trigger& one) { return one.id == id; });
    if (found == seen.triggers.end()) return std::nullopt;
    return std::move(*found);
}

void store_client::reject_unknown(const std::string& id) {
    if (const auto waiting = asked_for(id))
        throw exit_error{status::usage, "run '" + base::printable(id) + "' of '" +
                                            base::printable(waiting->job) +
                                            "' is queued: it waits for an agent, or its lock"};
    throw exit_error{status::usage,
                     "run '" + base::printable(id) + "' not found; see 'pawl runs ls'"};
}

run_record store_client::known_run(const std::string& id) {
    auto found = ask(verbs().find_run(id));
    if (!found) reject_unknown(id);
    return *found;
}

run_details store_client::show_run(const std::string& id) {
    end_orphaned_exec_runs();
    run_details made;
    made.run = known_run(id);
    made.history = ask(verbs().history(id));
    return made;
}

void store_client::read_output(const std::string& id, reading how, const output_taker& into) {
    const bool follow = how == reading::following;
    std::uint64_t offset = 0;
    auto judge_at = lease_clock::now() + judge_interval;
    for (;;) {
        const bool may_come = follow && offset == 0 && asked_for(id);
        const auto part = ask(verbs().read_output(id, offset, output_chunk_bytes_max));
        if (!part && may_come) {
            time::pause_until(lease_clock::now() + follow_interval);
            continue;
        }
        if (!part) reject_unknown(id);
        if (part->offset > offset) into.gap(part->offset - offset);
        into.bytes(part->bytes);
        offset = part->offset + part->bytes.size();
        if (!part->bytes.empty()) continue;
        if (!follow || part->over) return;
        // One that was killed is ended by no other process where no agent runs.
        if (lease_clock::now() >= judge_at) {
            judged_ = false;
            end_orphaned_exec_runs();
            judge_at = lease_clock::now() + judge_interval;
        }
        time::pause_until(lease_clock::now() + follow_interval);
    }
}

cancelled_run store_client::cancel_run(const std::string& id, const std::string& reason) {
    const auto doubt = "whether run '" + base::printable(id) + "' was cancelled";
    if (const auto asked = asked_for(id)) {
        const auto done = make_change([&] { return verbs().remove_trigger(id); });
        const auto detail = documents::cancel_words(asked->job, reason);
        if (done == change_effect::unknown) note_change(done, "run.cancel", id, detail);
        if (done == change_effect::unknown) throw unknown_outcome(doubt);
        // Gone since it was looked at: withdrawn, or begun by an agent.
        if (done == change_effect::made ||
            (done == change_effect::settled && !ask(verbs().find_run(id)))) {
            note_change(done, "run.cancel", id, detail);
            return {asked->job, true};
        }
    }
    const auto run = known_run(id);
    const auto words = documents::cancel_words(actor_name(), reason);
    auto done = change_effect::none;
    if (!is_finished(run.status))
        done = make_change([&] { return verbs().request_cancel(id, words); });
    note_change(done, "run.cancel", id, documents::cancel_words(run.job, reason));
    if (done == change_effect::unknown) throw unknown_outcome(doubt);
    if (done != change_effect::made)
        throw exit_error{status::usage, "run '" + base::printable(id) + "' already finished: " +
                                            std::string{name_of(run.status)}};
    const bool had_no_node = run.status == run_status::abandoned;
    return {run.job, false, had_no_node && is_finished(known_run(id).status)};
}

// -- the store's health

health::diagnosis store_client::diagnose(const store_settings& settings,
                                         const health::doctor_bounds& bounds) {
    health::diagnosis made;
    try {
        made = health::diagnose(store(), settings, bounds);
    } catch (const store_error& error) {
        made.findings.push_back({severity::fail, "reachability", error.what()});
        return made;
    }
    try {
        end_orphaned_exec_runs();
    } catch (const std::exception& error) {
        log(log_level::debug, std::string{"stale runs not resolved: "} + error.what());
    }
    try {
        const auto zones = documents::zones_of(list_nodes());
        if (!zones.empty()) made.findings.push_back(health::judge_zones(zones));
    } catch (const std::exception& error) {
        // Where there is no journal there are no agents, and it is the store that was asked about.
        log(log_level::debug, std::string{"no agents to compare: "} + error.what());
    }
    return made;
}

boost::json::object store_client::examine(const health::doctor_bounds& bounds) {
    const auto chosen = choose_store(options_);
    assembly::store_plan plan;
    try {
        plan = assembly::plan_store(chosen.url);
    } catch (const option_error& error) {
        throw exit_error{chosen.from == "--store" ? status::usage : status::configuration,
                         chosen.from + ": " + error.what()};
    }
    const auto made = diagnose(plan.settings, bounds);
    boost::json::array checks;
    for (const auto& one : made.findings)
        checks.push_back(boost::json::object{{"check", one.check},
                                             {"level", documents::word_of(one.level)},
                                             {"text", one.text},
                                             {"runbook", "docs/runbook.md#" + one.check}});
    return {{"store", plan.shown},
            {"engine", plan.engine},
            {"version", made.version},
            {"level", documents::word_of(made.worst())},
            {"checks", std::move(checks)}};
}

}  // namespace

std::unique_ptr<client> open_store_client(const globals& options) {
    return std::make_unique<store_client>(options);
}

}  // namespace pawl::cli
