#include "engines/rules/journal/run_rules.hpp"

#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <utility>

namespace pawl::journals {
namespace {

run_event event_of(const run_row& row, std::int64_t now, std::string_view kind,
                   std::string_view text) {
    run_event event;
    event.at = now;
    event.kind = one_line(kind, name_bytes_max);
    event.text = one_line(text);
    event.node = row.record.node;
    event.token = row.record.token;
    event.attempt = row.record.attempt;
    return event;
}

begin_result answer_about(const run_row& row, begin_outcome outcome) {
    begin_result answer;
    answer.outcome = outcome;
    answer.id = row.record.id;
    answer.attempt = row.record.attempt;
    answer.checkpoint = row.record.checkpoint;
    answer.status = row.record.status;
    answer.output_size = row.record.output_size;
    return answer;
}

void put_runner(run_row& row, const run_start& start, std::int64_t now) {
    auto& run = row.record;
    run.key = start.key;
    run.owner = start.owner;
    run.node = start.node;
    run.token = start.token;
    run.delivery = start.delivery;
    run.status = run_status::started;
    run.reason.clear();
    run.completed_at.reset();
    run.exit_status.reset();
    run.last_heartbeat = now;
    row.heartbeat_timeout = start.heartbeat_timeout;
}

run_row fresh_row(const run_start& start, std::int64_t now) {
    run_row row;
    auto& run = row.record;
    run.id = start.id;
    run.job = start.job;
    run.partition = start.partition;
    run.occurrence = start.occurrence;
    run.trigger = start.trigger;
    run.started_at = now;
    put_runner(row, start, now);
    return row;
}

begin_decision begun(run_row row, begin_write write, const run_start& start,
                     std::string_view last_saved, std::int64_t now) {
    begin_decision decision;
    if (start.starts_from == checkpoint_source::last_saved) row.record.checkpoint = last_saved;
    decision.answer = answer_about(row, begin_outcome::begun);
    decision.write = write;
    decision.event = event_of(row, now, "begun", start.trigger);
    decision.row = std::move(row);
    return decision;
}

begin_decision take_over_skipped(run_row row, const run_start& start, std::string_view last_saved,
                                 std::int64_t now) {
    put_runner(row, start, now);
    row.record.trigger = start.trigger;
    row.record.started_at = now;
    return begun(std::move(row), begin_write::update, start, last_saved, now);
}

begin_decision resume(run_row row, const run_start& start, std::int64_t now) {
    begin_decision decision;
    const auto before = row.record.node;
    put_runner(row, start, now);
    row.taken_over = true;
    row.record.attempt = std::min(row.record.attempt + 1, attempts_max);
    decision.answer = answer_about(row, begin_outcome::resumed);
    decision.write = begin_write::update;
    decision.event = event_of(row, now, "resumed", "after " + before);
    decision.row = std::move(row);
    return decision;
}

// A run that is to be cancelled is not left to others.
run_status status_after(const run_record& run, run_status wanted) {
    const bool is_left = wanted == run_status::abandoned || wanted == run_status::skipped;
    return run.cancel_requested && is_left ? run_status::cancelled : wanted;
}

begin_decision rejected(const run_row& row, begin_outcome why) {
    begin_decision decision;
    decision.answer = answer_about(row, why);
    return decision;
}

bool is_same_run(const run_record& run, const run_start& start) {
    return run.job == start.job && run.partition == start.partition &&
           run.occurrence == start.occurrence;
}

// Tokens tell runs apart, except for 0, which all runs without a lease have.
bool is_repetition(const run_row& row, const run_start& start) {
    const auto& run = row.record;
    return run.status == run_status::started && run.token == start.token &&
           (run.id == start.id || number(start.token) != 0);
}

void end(run_row& row, const run_end& how, std::int64_t now) {
    auto& run = row.record;
    run.status = how.status;
    run.reason = one_line(how.reason);
    run.exit_status = how.exit_status;
    if (is_finished(how.status)) run.completed_at = now;
}

// It was cancelled while no runner could be told, or one that is gone: no other attempt begins.
begin_decision called_off(run_row row, std::int64_t now) {
    begin_decision decision;
    end(row, {run_status::cancelled, std::string{called_off_reason}, row.record.exit_status}, now);
    decision.answer = answer_about(row, begin_outcome::already_run);
    decision.write = begin_write::update;
    decision.event = event_of(row, now, name_of(run_status::cancelled), called_off_reason);
    decision.row = std::move(row);
    return decision;
}

}  // namespace

std::string cancel_reason(std::string_view by) {
    return by.empty() ? "cancelled" : one_line("cancelled by " + std::string{by});
}

failure id_taken(const std::string& id) {
    return {errc::rejected, "journal: the id " + one_line(id, id_bytes_max) +
                                " is that of another run: give a fresh one"};
}

failure attempts_used_up(const std::string& id) {
    return {errc::rejected, "journal: the run " + one_line(id, id_bytes_max) + " has had " +
                                std::to_string(attempts_max) + " attempts: no more are kept"};
}

result<begin_decision> begin(const std::optional<run_row>& known, const run_start& start,
                             bool trigger_waits, std::string_view last_saved, std::int64_t now) {
    if (!known) {
        if (!start.consumes_trigger || trigger_waits)
            return begun(fresh_row(start, now), begin_write::insert, start, last_saved, now);
        begin_decision gone;
        gone.answer.outcome = begin_outcome::already_run;
        gone.answer.id = start.id;
        gone.answer.status = run_status::cancelled;
        return gone;
    }
    const auto& run = known->record;
    if (!is_same_run(run, start)) return id_taken(start.id);
    if (is_repetition(*known, start))
        return rejected(*known, known->taken_over ? begin_outcome::resumed : begin_outcome::begun);
    if (run.status == run_status::skipped) {
        // With the token of its own runner it is a late copy of what that one has taken back.
        const bool is_copy = start.token == run.token && number(run.token) != 0;
        if (start.token < run.token || is_copy) return rejected(*known, begin_outcome::superseded);
        if (run.cancel_requested) return rejected(*known, begin_outcome::already_run);
        return take_over_skipped(*known, start, last_saved, now);
    }
    if (is_finished(run.status) || start.delivery == delivery::at_most_once)
        return rejected(*known, begin_outcome::already_run);
    if (start.token <= run.token) return rejected(*known, begin_outcome::superseded);
    return run.cancel_requested ? called_off(*known, now) : resume(*known, start, now);
}

begin_decision skip(const run_start& what, std::string_view reason, std::int64_t now) {
    begin_decision decision;
    auto row = fresh_row(what, now);
    end(row, {run_status::skipped, std::string{reason}}, now);
    decision.answer = answer_about(row, begin_outcome::already_run);
    decision.write = begin_write::insert;
    decision.event = event_of(row, now, name_of(run_status::skipped), reason);
    decision.row = std::move(row);
    return decision;
}

bool is_writable(const run_row& row, fence_token token) {
    return row.record.status == run_status::started && row.record.token == token;
}

bool is_stale(const run_row& row, std::int64_t now) {
    return row.record.status == run_status::started &&
           now - row.record.last_heartbeat > row.heartbeat_timeout.count();
}

bool is_orphan(const run_record& run) {
    return run.status == run_status::abandoned && run.delivery == delivery::at_least_once;
}

bool repeats(const run_event& newest, const run_event& event) {
    return newest.kind == event.kind && newest.text == event.text && newest.node == event.node &&
           newest.token == event.token && newest.attempt == event.attempt;
}

heartbeat_result heartbeat(run_row& row, fence_token token, std::int64_t now) {
    if (!is_writable(row, token)) return heartbeat_result::stale;
    row.record.last_heartbeat = now;
    return row.record.cancel_requested ? heartbeat_result::cancel_requested
                                       : heartbeat_result::alive;
}

change checkpoint(run_row& row, fence_token token, std::string text, saved_checkpoint& saved,
                  std::int64_t now) {
    if (!is_writable(row, token)) return {};
    const bool is_behind = saved.token > token;
    // Without a lease it is in no order with others: it saves for itself alone.
    if (is_behind && number(token) != 0) return {};
    row.record.checkpoint = text;
    if (!is_behind) saved = {std::move(text), token};
    return {
        true, true,
        event_of(row, now, "checkpoint", std::to_string(row.record.checkpoint.size()) + " bytes")};
}

change add_event(const run_row& row, fence_token token, std::string_view kind,
                 std::string_view text, std::int64_t now) {
    if (!is_writable(row, token)) return {};
    return {true, true, event_of(row, now, kind, text)};
}

result<change> next_attempt(run_row& row, fence_token token, const run_end& last,
                            std::int64_t now) {
    if (!is_writable(row, token)) return change{};
    auto& run = row.record;
    if (last.attempt != 0 && last.attempt < run.attempt) return change{true, false};
    if (run.attempt >= attempts_max) return attempts_used_up(run.id);
    run.reason = one_line(last.reason);
    run.exit_status = last.exit_status;
    run.started_at = now;
    ++run.attempt;
    return change{true, true, event_of(row, now, "attempt", last.reason)};
}

change finish(run_row& row, fence_token token, const run_end& how, std::int64_t now) {
    const auto status = status_after(row.record, how.status);
    if (row.record.token == token && row.record.status == status) return {true, false};
    if (!is_writable(row, token)) return {};
    end(row, {status, how.reason, how.exit_status}, now);
    return {true, true, event_of(row, now, name_of(status), how.reason)};
}

change judge(run_row& row, fence_token token, const run_end& how, std::int64_t now) {
    const auto& run = row.record;
    const auto status = status_after(run, how.status);
    if (run.token == token && run.status == status && run.reason == one_line(how.reason))
        return {true, false};
    if (!is_writable(row, token) || !is_stale(row, now)) return {};
    end(row, {status, how.reason, how.exit_status}, now);
    return {true, true, event_of(row, now, name_of(status), how.reason)};
}

change request_cancel(run_row& row, std::string_view by, std::int64_t now) {
    auto& run = row.record;
    const auto reason = cancel_reason(by);
    if (is_finished(run.status)) {
        // What this very request has ended, when it is repeated.
        const bool is_so = run.cancel_requested && run.status == run_status::cancelled;
        return {is_so && run.reason == reason, false};
    }
    const bool has_runner = run.status == run_status::started;
    if (has_runner && run.cancel_requested) return {true, false};
    run.cancel_requested = true;
    if (!has_runner) end(row, {run_status::cancelled, reason, run.exit_status}, now);
    return {true, true, event_of(row, now, "cancel_requested", by)};
}

output_plan plan_output(std::uint64_t size_before, std::uint64_t offset, std::size_t bytes,
                        std::uint64_t limit) {
    output_plan plan;
    const auto known = offset < size_before ? size_before - offset : 0;
    plan.skip = static_cast<std::size_t>(std::min<std::uint64_t>(known, bytes));
    plan.offset = offset + plan.skip;
    plan.size = plan.skip == bytes ? size_before : offset + bytes;
    plan.floor = plan.size > limit ? plan.size - limit : 0;
    return plan;
}

}  // namespace pawl::journals
