#include "engines/rules/journal/checked_journal.hpp"

#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace pawl::journals {
namespace {

// A coroutine's parameters die in the reverse of their order: the verb before its engine.
template <class T>
async<T> asked(std::shared_ptr<journal>, async<T> verb) {
    co_return co_await std::move(verb);
}

template <class T>
async<T> answered(result<T> answer) {
    co_return answer;
}

// A journal may be a program's own.
async<std::vector<heartbeat_result>> one_for_each(std::size_t runs,
                                                  async<std::vector<heartbeat_result>> verb) {
    auto answers = co_await std::move(verb);
    if (answers.has_value() && answers->size() != runs)
        co_return failure{errc::protocol, "the journal answered for " +
                                              std::to_string(answers->size()) + " of " +
                                              std::to_string(runs) + " runs"};
    co_return answers;
}

class checked_journal final : public journal {
public:
    explicit checked_journal(std::shared_ptr<journal> engine) : engine_{std::move(engine)} {}

#include "engines/rules/journal/verbs.inc"

private:
    template <class T>
    async<T> ask(async<T> verb) const {
        return asked<T>(engine_, std::move(verb));
    }

    // Constant after construction
    const std::shared_ptr<journal> engine_;
};

async<begin_result> checked_journal::begin(run_start start) {
    if (auto fault = fault_of(start)) return answered<begin_result>(std::move(*fault));
    return ask(engine_->begin(clean(std::move(start))));
}

async<std::vector<heartbeat_result>> checked_journal::heartbeat(std::span<const run_ref> runs) {
    if (runs.empty())
        return answered<std::vector<heartbeat_result>>(std::vector<heartbeat_result>{});
    return one_for_each(runs.size(), ask(engine_->heartbeat(runs)));
}

async<bool> checked_journal::checkpoint(run_ref who, std::string text) {
    if (auto fault = fault_of_checkpoint(text)) return answered<bool>(std::move(*fault));
    return ask(engine_->checkpoint(std::move(who), std::move(text)));
}

async<bool> checked_journal::append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                           std::uint64_t limit) {
    if (auto fault = fault_of_chunk(offset, bytes)) return answered<bool>(std::move(*fault));
    return ask(engine_->append_output(std::move(who), offset, std::move(bytes), limit));
}

async<bool> checked_journal::add_event(run_ref who, std::string kind, std::string text) {
    return ask(engine_->add_event(std::move(who), one_line(kind, name_bytes_max), one_line(text)));
}

async<bool> checked_journal::next_attempt(run_ref who, run_end last) {
    return ask(engine_->next_attempt(std::move(who), clean(std::move(last))));
}

async<bool> checked_journal::finish(run_ref who, run_end how) {
    if (auto fault = fault_of_end(how.status)) return answered<bool>(std::move(*fault));
    return ask(engine_->finish(std::move(who), clean(std::move(how))));
}

async<bool> checked_journal::skip(run_start what, std::string reason) {
    if (auto fault = fault_of_skip(what)) return answered<bool>(std::move(*fault));
    return ask(engine_->skip(clean(std::move(what)), one_line(reason)));
}

async<std::optional<run_record>> checked_journal::find_run(std::string id) {
    return ask(engine_->find_run(std::move(id)));
}

async<std::optional<run_record>> checked_journal::find_occurrence(std::string job,
                                                                  std::uint32_t partition,
                                                                  pawl::occurrence occurrence) {
    return ask(engine_->find_occurrence(std::move(job), partition, occurrence));
}

async<run_page> checked_journal::list_runs(run_filter which, std::string after, std::size_t limit) {
    if (const auto place = place_of(after); place.has_error())
        return answered<run_page>(place.error());
    return ask(engine_->list_runs(std::move(which), std::move(after), within_page(limit)));
}

async<std::vector<run_event>> checked_journal::history(std::string id) {
    return ask(engine_->history(std::move(id)));
}

async<std::optional<output_part>> checked_journal::read_output(std::string id, std::uint64_t offset,
                                                               std::size_t bytes_max) {
    return ask(engine_->read_output(std::move(id), offset, bytes_max));
}

async<bool> checked_journal::request_cancel(std::string id, std::string by) {
    return ask(engine_->request_cancel(std::move(id), one_line(by)));
}

async<std::vector<run_record>> checked_journal::stale_runs(std::size_t limit, std::size_t skip) {
    return ask(engine_->stale_runs(std::min(limit, page_limit_max), skip));
}

async<bool> checked_journal::end_stale(run_ref who, run_end how) {
    if (auto fault = fault_of(how.status)) return answered<bool>(std::move(*fault));
    return ask(engine_->end_stale(std::move(who), clean(std::move(how))));
}

async<std::size_t> checked_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                          std::size_t limit) {
    return ask(engine_->prune(std::move(job), keep, keep_for, limit));
}

async<control_state> checked_journal::read_control_state() {
    return ask(engine_->read_control_state());
}

async<bool> checked_journal::add_trigger(run_trigger what) {
    if (auto fault = fault_of(what)) return answered<bool>(std::move(*fault));
    return ask(engine_->add_trigger(clean(std::move(what))));
}

async<bool> checked_journal::remove_trigger(std::string id) {
    return ask(engine_->remove_trigger(std::move(id)));
}

async<bool> checked_journal::pause_job(std::string job, std::string reason, std::string by) {
    return ask(engine_->pause_job(std::move(job), one_line(reason), one_line(by, name_bytes_max)));
}

async<bool> checked_journal::resume_job(std::string job) {
    return ask(engine_->resume_job(std::move(job)));
}

async<std::vector<job_entry>> checked_journal::publish(std::vector<job_entry> jobs) {
    for (auto& each : jobs) {
        if (auto fault = fault_of(each)) return answered<std::vector<job_entry>>(std::move(*fault));
        each = clean(std::move(each));
    }
    if (jobs.empty()) return answered<std::vector<job_entry>>(std::move(jobs));
    return ask(engine_->publish(std::move(jobs)));
}

async<std::size_t> checked_journal::retire(std::vector<std::string> names, std::string node) {
    if (names.empty()) return answered<std::size_t>(std::size_t{0});
    return ask(engine_->retire(std::move(names), std::move(node)));
}

async<std::vector<job_entry>> checked_journal::list_jobs(std::string after, std::size_t limit) {
    return ask(engine_->list_jobs(std::move(after), within_page(limit)));
}

async<std::optional<job_entry>> checked_journal::find_job(std::string name) {
    return ask(engine_->find_job(std::move(name)));
}

async<void> checked_journal::node_heartbeat(node_entry me) {
    if (auto fault = fault_of(me)) return answered<void>(std::move(*fault));
    return ask(engine_->node_heartbeat(clean(std::move(me))));
}

async<void> checked_journal::node_leave(std::string id) {
    return ask(engine_->node_leave(std::move(id)));
}

async<std::vector<node_entry>> checked_journal::list_nodes() { return ask(engine_->list_nodes()); }

async<audit_entry> checked_journal::append_audit(audit_draft what) {
    return ask(engine_->append_audit(clean(std::move(what))));
}

async<std::vector<audit_entry>> checked_journal::list_audit(std::uint64_t before,
                                                            std::size_t limit) {
    return ask(engine_->list_audit(before, within_page(limit)));
}

}  // namespace

std::shared_ptr<journal> checked(std::shared_ptr<journal> engine) {
    return std::make_shared<checked_journal>(std::move(engine));
}

}  // namespace pawl::journals
