#include "engines/sqlite/journal/sqlite_journal.hpp"

#include "engines/rules/journal/texts.hpp"
#include "engines/sqlite/journal/journal_file.hpp"
#include "engines/sqlite/journal/write_queue.hpp"

#include <algorithm>
#include <utility>

namespace pawl::sqlite {
namespace {

namespace rules = journals;

// With a run may go megabytes of output: more of them in one transaction would hold up leases.
constexpr std::size_t runs_per_removal = 16;
constexpr std::size_t jobs_per_transaction = 200;
constexpr std::size_t beats_per_transaction = 250;

// Each verb is a step of a transaction, which has a name because a lambda that owns strings is none
// of g++ 12's strengths inside co_await.
class sqlite_journal : public journal {
public:
    sqlite_journal(net::loop& where, std::shared_ptr<journal_file> file)
        : loop_{where},
          file_{std::move(file)},
          writes_{std::make_shared<write_queue>(where, file_)} {}

#include "engines/rules/journal/verbs.inc"

private:
    // Step: T(journal_tables&, std::int64_t now), in one snapshot.
    template <class T, class Step>
    async<T> read(Step step) {
        auto job = [file = file_, step = std::move(step),
                    until = lease_clock::now() + file_->settings().timeout] {
            return file->read(until, step);
        };
        co_return co_await loop_.run_blocking(std::move(job));
    }
    // Step: rules::change(rules::run_row&, std::int64_t now), on the run's row if there is one.
    template <class Step>
    async<bool> change(synchronous durability, std::string id, Step step) {
        auto todo = [id = std::move(id), step = std::move(step)](journal_tables& on,
                                                                 std::int64_t now) -> result<bool> {
            auto found = on.runs.find(id);
            if (!found) return false;
            const result<rules::change> did = step(found->row, now);
            if (did.has_error()) return did.error();
            if (did->written) on.runs.update(found->place, found->row, did->event);
            return did->answer;
        };
        co_return co_await writes_->add<bool>(durability, std::move(todo));
    }

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<journal_file> file_;
    const std::shared_ptr<write_queue> writes_;
};

result<begin_result> begin_step(journal_tables& on, const run_start& start, std::int64_t now) {
    const auto found = start.occurrence
                           ? on.runs.find_occurrence(start.job, start.partition, *start.occurrence)
                           : on.runs.find(start.id);
    std::optional<rules::run_row> known;
    if (found) known = found->row;
    const bool waits = start.consumes_trigger && on.controls.has_trigger(start.id);
    rules::saved_checkpoint saved;
    if (start.starts_from == checkpoint_source::last_saved)
        saved = on.runs.saved(start.job, start.partition);
    auto decided = rules::begin(known, start, waits, saved.text, now);
    if (decided.has_error()) return decided.error();
    if (decided->write == rules::begin_write::insert) {
        if (start.occurrence && on.runs.find(start.id)) return rules::id_taken(start.id);
        on.runs.insert(decided->row, decided->event);
    }
    if (decided->write == rules::begin_write::update)
        on.runs.take_over(found->place, decided->row, decided->event);
    if (waits) on.controls.remove_trigger(start.id);
    return std::move(decided->answer);
}

async<begin_result> sqlite_journal::begin(run_start start) {
    auto step = [start = std::move(start)](journal_tables& on, std::int64_t now) {
        return begin_step(on, start, now);
    };
    return writes_->add<begin_result>(synchronous::full, std::move(step));
}

async<std::vector<heartbeat_result>> sqlite_journal::heartbeat(std::span<const run_ref> runs) {
    using answers = std::vector<heartbeat_result>;
    answers all;
    all.reserve(runs.size());
    while (!runs.empty()) {
        const auto part = runs.subspan(0, std::min(runs.size(), beats_per_transaction));
        runs = runs.subspan(part.size());
        auto step = [part](journal_tables& on, std::int64_t now) -> result<answers> {
            answers some;
            for (const auto& each : part) some.push_back(on.runs.heartbeat(each, now));
            return some;
        };
        const auto some = co_await writes_->add<answers>(synchronous::normal, std::move(step));
        if (some.has_error()) co_return some.error();
        all.insert(all.end(), some->begin(), some->end());
    }
    co_return all;
}

async<bool> sqlite_journal::checkpoint(run_ref who, std::string text) {
    auto step = [who = std::move(who), text = std::move(text)](journal_tables& on,
                                                               std::int64_t now) -> result<bool> {
        auto found = on.runs.find(who.id);
        if (!found) return false;
        const auto& run = found->row.record;
        auto saved = on.runs.saved(run.job, run.partition);
        const auto did = rules::checkpoint(found->row, who.token, text, saved, now);
        if (did.written) on.runs.save(*found, saved, did.event);
        return did.answer;
    };
    return writes_->add<bool>(synchronous::full, std::move(step));
}

async<bool> sqlite_journal::append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                          std::uint64_t limit) {
    auto step = [who = std::move(who), offset, bytes = std::move(bytes), limit](
                    journal_tables& on, std::int64_t) -> result<bool> {
        const auto found = on.runs.find(who.id);
        if (!found || !rules::is_writable(found->row, who.token)) return false;
        const auto plan =
            rules::plan_output(found->row.record.output_size, offset, bytes.size(), limit);
        on.runs.append_output(*found, plan, bytes);
        return true;
    };
    return writes_->add<bool>(synchronous::normal, std::move(step));
}

async<bool> sqlite_journal::add_event(run_ref who, std::string kind, std::string text) {
    auto step = [token = who.token, kind = std::move(kind), text = std::move(text)](
                    rules::run_row& row, std::int64_t now) {
        return rules::add_event(row, token, kind, text, now);
    };
    return change(synchronous::normal, std::move(who.id), std::move(step));
}

async<bool> sqlite_journal::next_attempt(run_ref who, run_end last) {
    auto step = [token = who.token, last = std::move(last)](rules::run_row& row, std::int64_t now) {
        return rules::next_attempt(row, token, last, now);
    };
    return change(synchronous::full, std::move(who.id), std::move(step));
}

async<bool> sqlite_journal::finish(run_ref who, run_end how) {
    auto step = [token = who.token, how = std::move(how)](rules::run_row& row, std::int64_t now) {
        return rules::finish(row, token, how, now);
    };
    return change(synchronous::full, std::move(who.id), std::move(step));
}

async<bool> sqlite_journal::skip(run_start what, std::string reason) {
    auto step = [what = std::move(what), reason = std::move(reason)](
                    journal_tables& on, std::int64_t now) -> result<bool> {
        const auto found = on.runs.find_occurrence(what.job, what.partition, *what.occurrence);
        if (found)
            return found->row.record.id == what.id &&
                   found->row.record.status == run_status::skipped;
        if (on.runs.find(what.id)) return rules::id_taken(what.id);
        const auto decided = rules::skip(what, reason, now);
        on.runs.insert(decided.row, decided.event);
        return true;
    };
    return writes_->add<bool>(synchronous::full, std::move(step));
}

std::optional<run_record> record_of(std::optional<placed_run> found) {
    if (!found) return std::nullopt;
    return std::move(found->row.record);
}

async<std::optional<run_record>> sqlite_journal::find_run(std::string id) {
    auto step = [id = std::move(id)](journal_tables& on, std::int64_t) {
        return record_of(on.runs.find(id));
    };
    return read<std::optional<run_record>>(std::move(step));
}

async<std::optional<run_record>> sqlite_journal::find_occurrence(std::string job,
                                                                 std::uint32_t partition,
                                                                 pawl::occurrence occurrence) {
    auto step = [job = std::move(job), partition, occurrence](journal_tables& on, std::int64_t) {
        return record_of(on.runs.find_occurrence(job, partition, occurrence));
    };
    return read<std::optional<run_record>>(std::move(step));
}

async<run_page> sqlite_journal::list_runs(run_filter which, std::string after, std::size_t limit) {
    const auto before = rules::place_of(after).value();
    auto step = [which = std::move(which), before, limit](journal_tables& on, std::int64_t) {
        return on.runs.list(which, before, limit);
    };
    return read<run_page>(std::move(step));
}

async<std::vector<run_event>> sqlite_journal::history(std::string id) {
    auto step = [id = std::move(id)](journal_tables& on, std::int64_t) {
        return on.runs.events(id);
    };
    return read<std::vector<run_event>>(std::move(step));
}

async<std::optional<output_part>> sqlite_journal::read_output(std::string id, std::uint64_t offset,
                                                              std::size_t bytes_max) {
    auto step = [id = std::move(id), offset, bytes_max](
                    journal_tables& on, std::int64_t) -> std::optional<output_part> {
        const auto found = on.runs.find(id);
        if (!found) return std::nullopt;
        return on.runs.read_output(*found, offset, bytes_max);
    };
    return read<std::optional<output_part>>(std::move(step));
}

async<bool> sqlite_journal::request_cancel(std::string id, std::string by) {
    auto step = [by = std::move(by)](rules::run_row& row, std::int64_t now) {
        return rules::request_cancel(row, by, now);
    };
    return change(synchronous::full, std::move(id), std::move(step));
}

async<std::vector<run_record>> sqlite_journal::stale_runs(std::size_t limit, std::size_t skip) {
    auto step = [limit, skip](journal_tables& on, std::int64_t now) {
        return on.runs.stale(now, limit, skip);
    };
    return read<std::vector<run_record>>(std::move(step));
}

async<bool> sqlite_journal::end_stale(run_ref who, run_end how) {
    auto step = [token = who.token, how = std::move(how)](rules::run_row& row, std::int64_t now) {
        return rules::judge(row, token, how, now);
    };
    return change(synchronous::full, std::move(who.id), std::move(step));
}

// What is to go is chosen without the write lock, and goes in small bites.
async<std::size_t> sqlite_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                         std::size_t limit) {
    using places = std::vector<std::int64_t>;
    auto choose = [job = std::move(job), keep, keep_for, limit](journal_tables& on,
                                                                std::int64_t now) {
        auto chosen = on.runs.beyond(job, keep, limit);
        if (keep_for.count() > 0) {
            const auto old = on.runs.ended_before(job, now - keep_for.count(), limit);
            chosen.insert(chosen.end(), old.begin(), old.end());
            std::sort(chosen.begin(), chosen.end());
            chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
            if (chosen.size() > limit) chosen.resize(limit);
        }
        return chosen;
    };
    const auto chosen = co_await read<places>(std::move(choose));
    if (chosen.has_error()) co_return chosen.error();
    std::size_t gone = 0;
    for (std::size_t at = 0; at < chosen->size(); at += runs_per_removal) {
        const auto bite = std::min(chosen->size() - at, runs_per_removal);
        const auto first = chosen->begin() + static_cast<std::ptrdiff_t>(at);
        auto step = [some = places(first, first + static_cast<std::ptrdiff_t>(bite))](
                        journal_tables& on, std::int64_t) -> result<std::size_t> {
            std::size_t removed = 0;
            for (const auto place : some)
                if (on.runs.remove(place)) ++removed;
            return removed;
        };
        const auto removed =
            co_await writes_->add<std::size_t>(synchronous::normal, std::move(step));
        if (removed.has_error()) co_return removed.error();
        gone += *removed;
    }
    co_return gone;
}

async<control_state> sqlite_journal::read_control_state() {
    auto step = [](journal_tables& on, std::int64_t) {
        control_state all;
        all.pauses = on.controls.pauses(control_entries_max);
        all.triggers = on.controls.triggers(control_entries_max);
        all.cancels = on.runs.cancels(control_entries_max);
        all.orphans = on.runs.orphans(control_entries_max);
        return all;
    };
    return read<control_state>(std::move(step));
}

async<bool> sqlite_journal::add_trigger(run_trigger what) {
    auto step = [what = std::move(what)](journal_tables& on, std::int64_t now) {
        return result<bool>{on.controls.add_trigger(what, now)};
    };
    return writes_->add<bool>(synchronous::full, std::move(step));
}

async<bool> sqlite_journal::remove_trigger(std::string id) {
    auto step = [id = std::move(id)](journal_tables& on, std::int64_t) {
        return result<bool>{on.controls.remove_trigger(id)};
    };
    return writes_->add<bool>(synchronous::full, std::move(step));
}

async<bool> sqlite_journal::pause_job(std::string job, std::string reason, std::string by) {
    job_pause what;
    what.job = std::move(job);
    what.reason = reason;
    what.by = by;
    auto step = [what = std::move(what)](journal_tables& on, std::int64_t now) {
        auto timed = what;
        timed.at = now;
        return result<bool>{on.controls.pause(timed)};
    };
    return writes_->add<bool>(synchronous::full, std::move(step));
}

async<bool> sqlite_journal::resume_job(std::string job) {
    auto step = [job = std::move(job)](journal_tables& on, std::int64_t now) {
        return result<bool>{on.controls.resume_job(job, now)};
    };
    return writes_->add<bool>(synchronous::full, std::move(step));
}

async<std::vector<job_entry>> sqlite_journal::publish(std::vector<job_entry> jobs) {
    using entries = std::vector<job_entry>;
    entries told;
    told.reserve(jobs.size());
    for (std::size_t at = 0; at < jobs.size(); at += jobs_per_transaction) {
        const auto count = std::min(jobs.size() - at, jobs_per_transaction);
        const auto first = jobs.begin() + static_cast<std::ptrdiff_t>(at);
        auto step = [some = entries(first, first + static_cast<std::ptrdiff_t>(count))](
                        journal_tables& on, std::int64_t now) -> result<entries> {
            auto published = some;
            for (auto& each : published) on.controls.publish(each, now);
            return published;
        };
        auto some = co_await writes_->add<entries>(synchronous::normal, std::move(step));
        if (some.has_error()) co_return some.error();
        std::move(some->begin(), some->end(), std::back_inserter(told));
    }
    co_return told;
}

async<std::size_t> sqlite_journal::retire(std::vector<std::string> names, std::string node) {
    auto step = [names = std::move(names), node = std::move(node)](
                    journal_tables& on, std::int64_t) -> result<std::size_t> {
        std::size_t gone = 0;
        for (const auto& name : names)
            if (on.controls.retire(name, node)) ++gone;
        return gone;
    };
    return writes_->add<std::size_t>(synchronous::normal, std::move(step));
}

async<std::vector<job_entry>> sqlite_journal::list_jobs(std::string after, std::size_t limit) {
    auto step = [after = std::move(after), limit](journal_tables& on, std::int64_t) {
        return on.controls.jobs(after, limit);
    };
    return read<std::vector<job_entry>>(std::move(step));
}

async<std::optional<job_entry>> sqlite_journal::find_job(std::string name) {
    auto step = [name = std::move(name)](journal_tables& on, std::int64_t) {
        return on.controls.find_job(name);
    };
    return read<std::optional<job_entry>>(std::move(step));
}

async<void> sqlite_journal::node_heartbeat(node_entry me) {
    auto step = [me = std::move(me)](journal_tables& on, std::int64_t now) {
        on.controls.node_heartbeat(me, now);
        return result<bool>{true};
    };
    const auto did = co_await writes_->add<bool>(synchronous::normal, std::move(step));
    if (did.has_error()) co_return did.error();
    co_return result<void>{};
}

async<void> sqlite_journal::node_leave(std::string id) {
    auto step = [id = std::move(id)](journal_tables& on, std::int64_t) {
        on.controls.node_leave(id);
        return result<bool>{true};
    };
    const auto did = co_await writes_->add<bool>(synchronous::normal, std::move(step));
    if (did.has_error()) co_return did.error();
    co_return result<void>{};
}

async<std::vector<node_entry>> sqlite_journal::list_nodes() {
    auto step = [](journal_tables& on, std::int64_t now) {
        return on.controls.nodes(now, page_limit_max);
    };
    return read<std::vector<node_entry>>(std::move(step));
}

async<audit_entry> sqlite_journal::append_audit(audit_draft what) {
    auto step = [what = std::move(what)](journal_tables& on, std::int64_t now) {
        return result<audit_entry>{on.controls.append_audit(what, now)};
    };
    return writes_->add<audit_entry>(synchronous::full, std::move(step));
}

async<std::vector<audit_entry>> sqlite_journal::list_audit(std::uint64_t before,
                                                           std::size_t limit) {
    auto step = [before, limit](journal_tables& on, std::int64_t) {
        return on.controls.audit(before, limit);
    };
    return read<std::vector<audit_entry>>(std::move(step));
}

}  // namespace

result<std::shared_ptr<journal>> make_sqlite_journal(net::loop& where, const std::string& path,
                                                     sqlite_settings settings) {
    auto opened = journal_file::open(path, std::move(settings));
    if (opened.has_error()) return opened.error();
    return std::shared_ptr<journal>{std::make_shared<sqlite_journal>(where, std::move(*opened))};
}

}  // namespace pawl::sqlite
