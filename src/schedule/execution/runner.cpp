#include "schedule/execution/runner.hpp"

#include "base/argument_rule.hpp"
#include "base/duration.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "runtime/bodies.hpp"
#include "schedule/execution/begin_wait.hpp"
#include "schedule/job/log_text.hpp"
#include "schedule/job/retry.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// What becomes of a run that ends between two attempts.
work_result ended_without_attempt(const run_end& last) {
    work_result nothing;
    nothing.exit_status = last.exit_status;
    nothing.reason = last.reason;
    return nothing;
}

constexpr std::size_t beats_at_once_max = 500;

run_start started_by(const run_request& what, run_start start) {
    start.trigger = what.kind == request_kind::trigger ? "manual" : "schedule";
    start.occurrence = what.occurrence;
    return start;
}

run_start start_of(node_state& node, const control_cache& control, const track& which,
                   const std::optional<lease>& held, delivery mode) {
    const auto& wanted = which.decisions.wanted();
    run_start start{wanted.kind == request_kind::trigger ? wanted.id : node.ids.next_uuid(),
                    which.plan->name, which.key};
    start.partition = which.partition;
    start.owner = node.me.owner;
    start.node = node.me.name;
    if (held) start.token = held->token();
    start.delivery = mode;
    start.heartbeat_timeout = runs::run_heartbeat_timeout;
    start = started_by(wanted, std::move(start));
    // Its row says how it was to be run, whatever the job has become since.
    if (wanted.kind == request_kind::orphan) start.delivery = delivery::at_least_once;
    if (wanted.kind == request_kind::trigger) {
        // Another node, which has read the same request, must not go on with it.
        start.delivery = delivery::at_most_once;
        start.consumes_trigger = true;
        if (const auto* asked = control.trigger(wanted.id)) start.starts_from = asked->starts_from;
    }
    return start;
}

run_order order_of(const node_state& node, const control_cache& control, const track& which,
                   const run_start& start, const begin_result& begun) {
    run_order order;
    order.run_id = begun.id;
    order.job = start.job;
    order.key = start.key;
    order.checkpoint = begun.checkpoint;
    order.partition = which.partition;
    order.partition_count = which.plan->partitions;
    order.has_slots = which.plan->has_slots;
    order.token = start.token;
    order.occurrence = start.occurrence;
    order.attempt = begun.attempt;
    order.trigger = start.trigger;
    order.owner = node.me.owner;
    order.node = node.me.name;
    order.idempotency_key = runs::idempotency_key(start, begun);
    const auto* asked = control.trigger(start.id);
    if (start.consumes_trigger && asked) order.arguments = asked->arguments;
    return order;
}

run_end judge(const active_run& run, const work_result& what, const lease* held) {
    runs::run_context under;
    under.is_at_least_once = run.is_at_least_once;
    under.has_worked = run.worked;
    under.cause = run.cause;
    under.has_lease = held != nullptr;
    if (held != nullptr) {
        under.trusted = held->valid();
        under.loss = held->lost();
    }
    return runs::judge(what, under);
}

void tell_of_retry(const node_state& node, const active_run& run, const run_end& last,
                   millis wait) {
    const auto line = "attempt " + std::to_string(last.attempt) + " " +
                      std::string{name_of(last.status)} +
                      (last.reason.empty() ? "" : ": " + last.reason) + "; the next begins in " +
                      base::format_duration(wait);
    run.session->add_event("note", line);
    node.log(log_level::warn, "run retrying " + job_field(run.plan->name, run.order.key) +
                                  " run=" + run.order.run_id + ": " + line);
}

// Who cancelled the run, and why, as its history tells.
awaitable<std::string> reason_of_cancel(std::shared_ptr<journal> records, std::string id) {
    std::string reason = "cancelled";
    if (!records) co_return reason;
    auto reading = records->history(std::move(id));
    const auto history = co_await std::move(reading);
    if (history.has_error()) co_return reason;
    for (const auto& event : *history)
        if (event.kind == "cancel_requested" && !event.text.empty())
            reason = "cancelled by " + event.text;
    co_return reason;
}

async<bool> save_checkpoint(std::shared_ptr<active_run> run, std::string text) {
    if (!run) co_return false;
    auto saving = runs::run_session::checkpoint(run->session, std::move(text));
    auto saved = co_await std::move(saving);
    // A body that ends for that has not done all.
    if (saved.has_value() && !*saved) run->stop(stop_cause::lost);
    co_return std::move(saved);
}

}  // namespace

runner::runner(node_state& node, control_cache& control)
    : node_{node}, control_{control}, beat_timer_{node.loop.get_executor()} {}

// Tells the run's history, the node's own list and the log that it begins.
void runner::announce(const std::shared_ptr<active_run>& run, const run_start& start,
                      const begin_result& begun) {
    run->order = order_of(node_, control_, *run->where, start, begun);
    if (node_.records)
        run->order.save_checkpoint = [run = std::weak_ptr{run}](std::string text) {
            return save_checkpoint(run.lock(), std::move(text));
        };
    const auto with = base::quoted_words(run->order.arguments);
    if (!with.empty()) run->session->add_event("note", "arguments " + with);
    run->number = ++begun_;
    active_.emplace(run->number, run);
    const auto* asked = control_.trigger(begun.id);
    if (start.consumes_trigger && asked && !asked->by.empty())
        run->session->add_event("asked", asked->by);
    if (stops_all_) run->stop(stop_cause::shutdown);
    if (node_.observer) {
        const auto late = start.occurrence
                              ? std::chrono::floor<millis>(node_.now() - wall_of(*start.occurrence))
                              : millis{0};
        node_.observer->on_run_started(start.job, std::max(late, millis{0}), start.token);
        if (begun.outcome == begin_outcome::resumed) node_.observer->on_orphan_resumed(start.job);
    }
    node_.log(log_level::info, "run started " + job_field(start.job, start.key) + " run=" +
                                   begun.id + " token=" + std::to_string(number(start.token)) +
                                   " attempt=" + std::to_string(begun.attempt) +
                                   (with.empty() ? "" : " arguments=" + with));
}

// The attempts, under the deadline of the lease where there is one.
awaitable<run_end> runner::carry_out(std::shared_ptr<active_run> run, lease* held) {
    std::weak_ptr<active_run> weak = run;
    if (held) {
        held->watch_deadline([weak, &loop = node_.loop, ttl = run->plan->lease.ttl](
                                 instant stop_at, instant valid_until) {
            const auto who = weak.lock();
            if (who && who->doing && valid_until <= loop.now())
                who->doing->force_stop();
            else if (who)
                who->extend(stop_at, valid_until, ttl);
        });
        // That is told by way of the loop, and nothing may begin without its deadline.
        auto token = boost::asio::use_awaitable;
        co_await boost::asio::post(node_.loop.get_executor(), token);
    }
    run_end how;
    {
        const auto on_loss = [weak] {
            if (const auto who = weak.lock()) who->stop(stop_cause::lost);
        };
        std::optional<std::stop_callback<decltype(on_loss)>> watching;
        if (held) watching.emplace(held->stop_token(), on_loss);
        auto attempts = attempt_until_over(run, held);
        how = co_await std::move(attempts);
    }
    if (how.status == run_status::cancelled && run->cause == stop_cause::cancelled) {
        auto asking = reason_of_cancel(node_.records, run->order.run_id);
        how.reason = co_await std::move(asking);
    }
    if (held) held->watch_deadline({});
    co_return how;
}

// So far it is not known whether it takes place.
std::shared_ptr<active_run> runner::prepare(const std::shared_ptr<track>& which) {
    auto run = std::make_shared<active_run>();
    run->where = which;
    run->plan = which->plan;
    run->begun = node_.loop.now();
    std::weak_ptr<active_run> weak = run;
    runs::run_session::settings written;
    written.where = node_.records;
    written.who.on_told = [weak](stop_cause why) {
        if (const auto who = weak.lock()) who->stop(why);
    };
    written.output_limit = run->plan->output_limit;
    written.holds = runs::lease_look(node_.engine);
    written.room = output_room_;
    written.says_that_it_lives = false;  // beat() does, for all of this node
    run->session = runs::run_session::make(node_.loop, std::move(written));
    return run;
}

awaitable<void> runner::perform(std::shared_ptr<track> which, std::optional<lease> held,
                                delivery mode, std::function<void()> on_begins) {
    const auto plan = which->plan;
    const auto wanted = which->decisions.wanted();
    const auto home = which->owner.lock();
    auto run = prepare(which);
    auto how_it_ended = ending::settled;
    auto start = start_of(node_, control_, *which, held, mode);
    if (home && start.occurrence) home->begun.add(which->key, *start.occurrence);
    run->is_at_least_once =
        start.delivery == delivery::at_least_once && start.occurrence.has_value();
    const bool triggered = wanted.kind == request_kind::trigger;
    auto beginning_of = runs::run_session::begin(
        run->session, start, triggered ? begin_wait_max : node_.timeout_with_journal());
    const auto told = co_await std::move(beginning_of);
    const auto begun = told.value_or(begin_result{begin_outcome::begun, start.id});
    // Only the journal knows whether a trigger has been answered. If not, it will offer it again.
    const bool unanswered = triggered && node_.records && !told;
    if (unanswered) {
        run_end how;
        how.status = run_status::skipped;
        how.reason = "the journal answered too late: ask for it again";
        node_.spawn(runs::run_session::take_back(run->session, std::move(how)));
    }
    const bool ours = !unanswered && runs::may_begin(begun);
    if (ours) {
        if (on_begins) on_begins();
        auto working = do_work(run, start, begun, held ? &*held : nullptr);
        how_it_ended = co_await std::move(working);
    } else if (held && begun.outcome == begin_outcome::already_run && is_finished(begun.status)) {
        // The node that ran it was lost before it could tell the store.
        held->mark_done();
    } else if (held) {
        auto looking = runs::is_left_to_resume(node_.records, start, begun);
        if (co_await std::move(looking)) held->mark_not_started();
    }
    if (held) {
        auto releasing = held->async_release();
        co_await std::move(releasing);
    }
    if (wanted.kind == request_kind::trigger) control_.on_answered(wanted.id);
    if (home && node_.records && home->is_time_to_prune())
        node_.prune(plan->name, plan->runs_kept());
    // Then its claim is given back with its occurrence; that of one before it may have run.
    if (how_it_ended == ending::not_started && which->unresolved &&
        which->unresolved->occurrence == wanted.occurrence)
        which->unresolved->has_run = false;
    which->decisions.on_ended(how_it_ended, node_.loop.now(), node_.uniform());
}

// From the beginning in the journal to the end there.
awaitable<ending> runner::do_work(std::shared_ptr<active_run> run, const run_start& start,
                                  const begin_result& begun, lease* held) {
    bool may_start = true;
    if (held != nullptr) {
        auto starting = runtime::async_may_start(*held, run->plan->lease.ttl);
        may_start = co_await std::move(starting);
    }
    run_end how;
    if (may_start) {
        announce(run, start, begun);
        auto carrying = carry_out(run, held);
        how = co_await std::move(carrying);
    } else {
        work_result nothing;
        nothing.started = false;
        runs::run_context under;
        under.is_at_least_once = run->is_at_least_once;
        how = runs::judge(nothing, under);
    }
    const auto took = std::chrono::floor<millis>(node_.loop.now() - run->begun - run->waited);
    node_.log(how.status == run_status::completed ? log_level::info : log_level::warn,
              "run " + std::string{name_of(how.status)} + " " + job_field(start.job, start.key) +
                  " run=" + begun.id + (how.reason.empty() ? "" : ": " + how.reason));
    // What was announced ends, also where its work could not begin any more.
    if (node_.observer && may_start)
        node_.observer->on_run_finished(run->plan->name, how.status, took);
    const auto status = how.status;
    auto finishing =
        runs::run_session::end(run->session, std::move(how), node_.timeout_with_journal());
    const bool written = co_await std::move(finishing);
    active_.erase(run->number);
    const auto settled = runs::settle(status, written);
    if (held != nullptr) runs::tell(*held, settled);
    if (settled == runs::settlement::not_started) co_return ending::not_started;
    if (is_finished(status)) co_return ending::settled;
    co_return run->worked ? ending::unfinished : ending::start_failed;
}

// -- attempts

awaitable<run_end> runner::attempt_until_over(std::shared_ptr<active_run> run, lease* held) {
    const auto given_up = 1 + run->plan->retry.max + takeovers_max;
    if (run->order.attempt > given_up) {
        run_end how;
        how.status = run_status::failed;
        how.reason = "given up after " + std::to_string(run->order.attempt - 1) + " attempts";
        co_return how;
    }
    // Attempts of runners that are gone are not retries.
    int tries = 1;
    for (;;) {
        auto attempting = attempt_once(run);
        const auto what = co_await std::move(attempting);
        auto how = judge(*run, what, held);
        const bool may_retry =
            how.status == run_status::failed ||
            (how.status == run_status::timed_out && run->cause == stop_cause::timed_out);
        if (!may_retry) co_return how;
        const auto wait = wait_before_retry(run->plan->retry, tries, node_.uniform());
        if (!wait) co_return how;
        // Told once only, perhaps while it was being stopped for another reason.
        if (held != nullptr && held->stop_token().stop_requested()) {
            run->cause = stop_cause::lost;
            co_return judge(*run, what, held);
        }
        if (node_.stopping) {
            // The attempts that are left are another node's.
            run->cause = stop_cause::shutdown;
            co_return judge(*run, what, held);
        }
        how.attempt = run->order.attempt;
        const auto last = how;
        tell_of_retry(node_, *run, last, *wait);
        run->cause.reset();
        auto pausing = pause(run, *wait);
        co_await std::move(pausing);
        if (run->cause) co_return judge(*run, ended_without_attempt(last), held);
        ++tries;
        auto beginning_again = begin_again(run, last);
        co_await std::move(beginning_again);
        // The journal may have been slow, and nothing was there that could be told to stop.
        if (node_.stopping && !run->cause) run->cause = stop_cause::shutdown;
        if (run->cause) co_return judge(*run, ended_without_attempt(last), held);
    }
}

awaitable<void> runner::pause(std::shared_ptr<active_run> run, millis wait) {
    auto timer = std::make_shared<net::timer>(node_.loop.get_executor());
    run->retry_timer = timer;
    const auto since = node_.loop.now();
    auto waiting = timer->wait_for(wait);
    co_await std::move(waiting);
    run->waited += node_.loop.now() - since;
    run->retry_timer.reset();
}

awaitable<void> runner::begin_again(std::shared_ptr<active_run> run, run_end last) {
    // Only now, so that the wait is no part of the attempt.
    run->session->next_attempt(std::move(last));
    ++run->order.attempt;
    if (node_.observer) node_.observer->on_retry(run->plan->name);
    if (!node_.records) co_return;
    auto finding = node_.records->find_run(run->session->mark().id);
    const auto row = co_await std::move(finding);
    if (row.has_value() && *row) run->order.checkpoint = (*row)->checkpoint;
}

awaitable<work_result> runner::attempt_once(std::shared_ptr<active_run> run) {
    auto sink = [session = run->session](std::string_view bytes) { session->output(bytes); };
    run->doing = run->plan->make(std::move(sink));
    auto doing = run->doing;
    if (run->cause) doing->stop(*run->cause);
    doing->extend(run->stop_at, run->kill_at);
    if (run->plan->timeout.count() > 0 || run->plan->soft_timeout.count() > 0)
        node_.spawn(watch_timeouts(run, run->order.attempt));
    auto order = run->order;
    auto running = doing->run(std::move(order));
    auto what = co_await std::move(running);
    run->doing.reset();
    run->worked = run->worked || what.started;
    if (run->timeout_timer) run->timeout_timer->cancel();
    co_return what;
}

awaitable<void> runner::watch_timeouts(std::shared_ptr<active_run> run, int attempt) {
    const auto still = [&] { return run->doing && run->order.attempt == attempt; };
    // What never began is over by now, and would be kept until its timeout.
    if (!still()) co_return;
    auto timer = std::make_shared<net::timer>(node_.loop.get_executor());
    run->timeout_timer = timer;
    const auto soft = run->plan->soft_timeout;
    const auto hard = run->plan->timeout;
    if (soft.count() > 0) {
        auto waiting = timer->wait_for(soft);
        co_await std::move(waiting);
        if (!still()) co_return;
        run->session->add_event("note", "it has taken longer than its soft timeout");
        node_.log(log_level::warn, "run exceeded its soft timeout " +
                                       job_field(run->plan->name, run->order.key) +
                                       " run=" + run->order.run_id);
    }
    if (hard.count() == 0) co_return;
    auto waiting = timer->wait_for(hard - soft);
    co_await std::move(waiting);
    if (still()) run->stop(stop_cause::timed_out);
}

// -- heartbeats

awaitable<void> runner::beat() {
    // Until the last run has ended, however long the node has been stopping.
    while (!node_.stopping || node_.work.goes_on()) {
        auto waiting = beat_timer_.wait_for(runs::run_heartbeat_interval);
        co_await std::move(waiting);
        if (!node_.records) continue;
        std::vector<std::shared_ptr<active_run>> runs;
        for (const auto& [number, run] : active_)
            if (run->session->has_begun()) runs.push_back(run);
        for (std::size_t from = 0; from < runs.size(); from += beats_at_once_max) {
            const auto many = std::min(beats_at_once_max, runs.size() - from);
            auto beating = beat_for(std::span{runs}.subspan(from, many));
            const bool told = co_await std::move(beating);
            if (!told) break;
        }
    }
}

// False when the journal does not answer.
awaitable<bool> runner::beat_for(std::span<const std::shared_ptr<active_run>> runs) {
    std::vector<run_ref> marks;
    for (const auto& run : runs) marks.push_back(run->session->mark());
    auto beating = node_.records->heartbeat(marks);
    const auto answers = co_await std::move(beating);
    if (answers.has_error()) co_return false;
    for (std::size_t i = 0; i < answers->size(); ++i) runs[i]->session->heed((*answers)[i]);
    co_return true;
}

// -- from outside

millis runner::longest_grace() const {
    auto longest = millis{0};
    for (const auto& [number, run] : active_) longest = std::max(longest, run->plan->grace);
    return longest;
}

// One that began without its journal may have the id of the row that was there before it by now.
void runner::stop(const std::string& run, stop_cause why) {
    for (const auto& [number, one] : active_)
        if (one->order.run_id == run ||
            (one->session->has_begun() && one->session->mark().id == run))
            one->stop(why);
}

void runner::stop_waiting() {
    for (auto& [number, run] : active_)
        if (run->retry_timer) run->stop(stop_cause::shutdown);
}

void runner::stop_all() {
    stops_all_ = true;
    for (auto& [number, run] : active_) run->stop(stop_cause::shutdown);
}

}  // namespace pawl::schedule
