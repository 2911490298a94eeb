// From a wish to a run that is over: claims, attempts, and what is written down about them.
#include "base/identity.hpp"
#include "schedule/dispatcher.hpp"
#include "schedule/dispatcher_parts.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// How many runs of a job end between two looks at whether there are too many of them.
constexpr std::uint32_t prune_every = 16;
constexpr std::size_t prune_bite = 64;
// How long a run that somebody asked for waits for the journal to say that nobody else has run it.
constexpr millis trigger_patience{10'000};

run_start started_by(const wish& what, run_start start) {
    start.trigger = what.kind == wish_kind::trigger ? "manual" : "schedule";
    start.firing = what.firing;
    return start;
}

bool is_down(const failure& why) {
    return why.code == errc::unreachable || why.code == errc::outcome_unknown;
}

}  // namespace

// -- from a wish to a grant

awaitable<void> dispatcher::work(self_ptr self, std::shared_ptr<track> which) {
    auto& me = *self;
    for (;;) {
        which->woken = false;
        const auto step = which->decisions.next(lease_clock::now());
        me.tell(which);
        if (step.what == lane::act::nothing || me.stopping_) {
            if (which->woken && !me.stopping_) continue;
            break;
        }
        if (step.what == lane::act::pause) {
            if (which->woken) continue;
            const auto left = std::chrono::ceil<millis>(step.until - lease_clock::now());
            auto waiting = me.sleep(which->timer, std::max(left, millis{0}));
            co_await std::move(waiting);
            continue;
        }
        auto claiming = claim(self, which, step.patience);
        co_await std::move(claiming);
    }
    which->at_work = false;
    if (--me.at_work_ == 0) me.drained_.cancel();
}

bool dispatcher::fails_open(const track& which, const failure& why) const {
    return which.plan->on_store_down == outage::run_without_lease && is_down(why) &&
           which.decisions.wanted().kind == wish_kind::firing;
}

awaitable<void> dispatcher::audit_fail_open(self_ptr self, std::string job, std::string why) {
    auto& me = *self;
    audit_draft what;
    what.actor = me.me_.name;
    what.action = "job.fail_open";
    what.target = job;
    what.detail = why;
    boost::asio::steady_timer timer{me.loop_.get_executor()};
    for (int i = 0; i < journal_tries_max; ++i) {
        auto auditing = me.journal_->append_audit(what);
        const auto told = co_await std::move(auditing);
        if (told.has_value() || me.stopping_) co_return;
        auto waiting = me.sleep(timer, journal_retry);
        co_await std::move(waiting);
    }
}

awaitable<void> dispatcher::claim(self_ptr self, std::shared_ptr<track> which, millis patience) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const auto home = which->owner.lock();
    const auto bound = which->plan->runs_max;
    const auto may_begin = [&] {
        return home && !which->replaced && which->plan->enabled && !me.stopping_ &&
               !(home->paused && lane_of.wanted().kind == wish_kind::firing);
    };
    if (!may_begin()) co_return lane_of.on_called_off();
    // Whoever waits for another node's run needs no room here.
    if (patience.count() > 0) {
        auto waiting = runtime::engine::await_change(me.engine_, which->key, which->busy_under,
                                                     patience, me.call_off_.get_token());
        co_await std::move(waiting);
        if (!may_begin()) co_return lane_of.on_called_off();
    }
    const bool job_is_full = bound > 0 && home->running >= bound;
    if (job_is_full || !me.slots_.try_take()) {
        const auto left = lane_of.wanted().give_up - lease_clock::now();
        bool served = false;
        if (job_is_full) {
            auto waiting = me.sleep(which->timer, millis{200});
            co_await std::move(waiting);
        } else {
            auto waiting = me.slots_.take(std::max(left, lease_clock::duration{0}));
            served = co_await std::move(waiting);
        }
        if (!served) co_return lane_of.on_no_room(lease_clock::now());
        // It may have waited for hours.
        if (!may_begin()) {
            me.slots_.give_back();
            co_return lane_of.on_called_off();
        }
        if (bound > 0 && home->running >= bound) {
            me.slots_.give_back();
            co_return lane_of.on_no_room(lease_clock::now());
        }
    }
    // Counted from here: partitions of a job that come due together ask at the same time.
    ++home->running;
    const auto leave = [&] {
        --home->running;
        me.slots_.give_back();
    };
    auto options = which->plan->lease;
    if (lane_of.wanted().firing && !lane_of.wanted().passed &&
        which->plan->lane.mode != remembering::off) {
        options.firing = lane_of.wanted().firing;
        options.mode = which->plan->mode();
    }
    const struct patience how_long{};
    auto key = which->key;
    auto claiming = runtime::engine::claim_key(me.engine_, std::move(key), options, how_long,
                                               me.call_off_.get_token());
    auto answer = co_await std::move(claiming);
    const auto at = lease_clock::now();
    if (answer.has_error()) {
        if (!std::exchange(me.store_down_, true))
            me.say(tone::warn, "the store does not answer: " + answer.error().detail);
        if (me.fails_open(*which, answer.error())) {
            me.say(tone::warn, "job '" + which->plan->name +
                                   "' runs without a lease, as on_store_down says; it may run "
                                   "elsewhere too");
            if (me.watcher_) me.watcher_->on_fail_open(which->plan->name);
            if (me.journal_)
                me.spawn(audit_fail_open(self, which->plan->name, answer.error().detail));
            lane_of.on_granted();
            auto performing = perform(self, which, std::nullopt);
            co_await std::move(performing);
            co_return leave();
        }
        leave();
        co_return lane_of.on_failure(at, me.chance());
    }
    if (std::exchange(me.store_down_, false)) me.say(tone::info, "the store answers again");
    if (auto* won = std::get_if<std::shared_ptr<runtime::holding>>(&*answer)) {
        lane_of.on_granted();
        me.look_for_the_dead(which);
        std::optional<lease> held{lease{std::move(*won)}};
        auto performing = perform(self, which, std::move(held));
        co_await std::move(performing);
        co_return leave();
    }
    leave();
    if (auto* other = std::get_if<busy>(&*answer)) {
        auto settling = settle_busy(self, which, std::move(*other));
        co_await std::move(settling);
    } else if (std::holds_alternative<already_done>(*answer)) {
        lane_of.on_done();
    } else {
        lane_of.on_called_off();
    }
}

// Busy says nothing of this firing: the holder may be running it, or the one before.
awaitable<void> dispatcher::settle_busy(self_ptr self, std::shared_ptr<track> which, busy other) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const auto wanted = lane_of.wanted();
    which->busy_under = other.holder;
    bool marked = false;
    if (wanted.firing && other.reason != busy_reason::early &&
        other.reason != busy_reason::quarantined) {
        auto looking = me.engine_->store().inspect(which->key);
        const auto seen = co_await std::move(looking);
        if (seen.has_error()) co_return lane_of.on_failure(lease_clock::now(), me.chance());
        marked =
            *seen && (*seen)->last_done && number(*(*seen)->last_done) >= number(*wanted.firing);
        if (which->seen && which->seen->holder == other.holder)
            which->seen->twice = which->seen->twice || !marked;
        else if (*seen && (*seen)->last_done && other.reason == busy_reason::held) {
            me.look_for_the_dead(which);
            which->seen = track::sighting{*(*seen)->last_done, other.holder, other.owner, false};
        }
        if (!marked && me.journal_ && which->plan->lane.mode == remembering::at_most_once &&
            which->plan->lane.when_running == overlap::skip) {
            // Skipped for good only when nobody has begun it.
            auto finding =
                me.journal_->find_firing(which->plan->name, which->partition, *wanted.firing);
            const auto row = co_await std::move(finding);
            marked = row.has_value() && *row && (*row)->status != run_status::skipped;
        }
    }
    if (other.reason == busy_reason::early && wanted.firing && !me.journal_) {
        // The store has told how far ahead of it our clock is.
        const auto stores =
            wall_of(*wanted.firing) - me.engine_->settings().max_skew - other.remaining;
        me.clock_offset_ =
            std::chrono::floor<std::chrono::microseconds>(time::local_now() - stores);
        me.put_clock_back(me.now(), std::nullopt);
    }
    lane_of.on_busy(other, marked, lease_clock::now(), me.chance());
}

// The key has passed on, to this node or to another one, from somebody who held it for longer than
// it takes to run once. If that one died before it wrote a line, its firing has to be told.
void dispatcher::look_for_the_dead(const std::shared_ptr<track>& which) {
    const auto seen = std::exchange(which->seen, std::nullopt);
    if (!seen || !seen->twice || !journal_) return;
    if (which->plan->lane.mode != remembering::at_most_once) return;
    spawn(keep_telling_lost(shared_from_this(), which, seen->firing, seen->holder, seen->owner));
}

// Nobody else looks at that firing any more: the store remembers a later one.
awaitable<void> dispatcher::keep_telling_lost(self_ptr self, std::shared_ptr<track> which,
                                              occurrence firing, fence_token token,
                                              std::string owner) {
    auto& me = *self;
    boost::asio::steady_timer timer{me.loop_.get_executor()};
    for (int i = 0; i < journal_tries_max; ++i) {
        auto telling = tell_lost(self, which, firing, token, owner);
        const bool answered = co_await std::move(telling);
        if (answered || me.stopping_) co_return;
        auto waiting = me.sleep(timer, journal_retry);
        co_await std::move(waiting);
    }
}

// Beside the lane's work: no firing waits until others have been written down as skipped.
void dispatcher::tell(const std::shared_ptr<track>& which) {
    if (which->telling || !which->decisions.has_skipped()) return;
    which->telling = true;
    ++at_work_;
    spawn(tell_skipped(shared_from_this(), which));
}

awaitable<void> dispatcher::tell_skipped(self_ptr self, std::shared_ptr<track> which) {
    auto& me = *self;
    while (which->decisions.has_skipped()) {
        const auto skipped = which->decisions.take_skipped();
        if (!me.journal_) {
            me.tell_of_skipped(*which, skipped);
            continue;
        }
        auto writing = write_skipped(self, which, skipped);
        co_await std::move(writing);
    }
    which->telling = false;
    if (--me.at_work_ == 0) me.drained_.cancel();
}

void dispatcher::tell_of_skipped(const track& which, std::span<const skipped_firing> skipped) {
    if (!watcher_) return;
    for (const auto& one : skipped) watcher_->on_skipped(which.plan->name, one.firing, one.why);
}

// A firing that has a row has run elsewhere, or somebody else has told that it was skipped.
awaitable<void> dispatcher::write_skipped(self_ptr self, std::shared_ptr<track> which,
                                          const std::vector<skipped_firing>& skipped) {
    auto& me = *self;
    const std::span all{skipped};
    for (std::size_t i = 0; i < skipped.size(); ++i) {
        run_start start{base::fresh_uuid(), which->plan->name, which->key};
        start.partition = which->partition;
        start.owner = me.me_.owner;
        start.node = me.me_.name;
        start.firing = skipped[i].firing;
        start.mode = which->plan->mode();
        start.trigger = "schedule";
        auto skipping = me.journal_->skip(std::move(start), std::string{text_of(skipped[i].why)});
        const auto told = co_await std::move(skipping);
        if (told.has_value()) {
            if (*told) me.tell_of_skipped(*which, all.subspan(i, 1));
            continue;
        }
        // One wait for a journal that is away is enough.
        me.tell_of_skipped(*which, all.subspan(i));
        me.say(tone::warn, std::to_string(skipped.size() - i) + " skipped firings of '" +
                               which->plan->name +
                               "' were not written down: " + told.error().detail);
        co_return;
    }
}

// -- from a grant to its release

run_start dispatcher::start_of(const track& which, const std::optional<lease>& held) const {
    const auto& wanted = which.decisions.wanted();
    run_start start{wanted.kind == wish_kind::trigger ? wanted.id : base::fresh_uuid(),
                    which.plan->name, which.key};
    start.partition = which.partition;
    start.owner = me_.owner;
    start.node = me_.name;
    if (held) start.token = held->token();
    start.mode = which.plan->mode();
    start.silence_max = runtime::run_silence_max;
    start = started_by(wanted, std::move(start));
    // Its row says how it was to be run, whatever the job has become since.
    if (wanted.kind == wish_kind::orphan) start.mode = delivery::at_least_once;
    if (wanted.kind == wish_kind::trigger) {
        start.answers_trigger = true;
        const auto asked = triggers_.find(wanted.id);
        if (asked != triggers_.end()) start.past = asked->second.what.past;
    }
    return start;
}

run_order dispatcher::order_of(const track& which, const run_start& start,
                               const beginning& begun) const {
    run_order order;
    order.run_id = begun.id;
    order.job = start.job;
    order.key = start.key;
    order.checkpoint = begun.checkpoint;
    order.partition = which.partition;
    order.partition_count = which.plan->partitions;
    order.token = start.token;
    order.firing = start.firing;
    order.attempt = begun.attempt;
    order.trigger = start.trigger;
    order.owner = me_.owner;
    order.node = me_.name;
    order.idempotency_key = begun.id;
    if (start.firing)
        order.idempotency_key = start.key + "@" + time::format_rfc3339(wall_of(*start.firing));
    const auto asked = triggers_.find(start.id);
    if (start.answers_trigger && asked != triggers_.end())
        order.arguments = asked->second.what.arguments;
    return order;
}

awaitable<void> dispatcher::perform(self_ptr self, std::shared_ptr<track> which,
                                    std::optional<lease> held) {
    auto& me = *self;
    const auto plan = which->plan;
    const auto wanted = which->decisions.wanted();
    const auto home = which->owner.lock();
    auto run = std::make_shared<active_run>();
    run->where = which;
    run->plan = plan;
    run->begun = lease_clock::now();
    std::weak_ptr<active_run> weak = run;
    runtime::run_recorder::listener listener;
    listener.on_stale = [weak] {
        if (const auto who = weak.lock()) who->stop(stop_cause::lost);
    };
    run->record = std::make_shared<runtime::run_recorder>(me.loop_.get_executor(), me.journal_,
                                                          plan->output_limit, std::move(listener));
    auto how_it_ended = ending::settled;
    auto start = me.start_of(*which, held);
    const bool triggered = wanted.kind == wish_kind::trigger;
    auto beginning_of = runtime::run_recorder::begin(
        run->record, start, triggered ? trigger_patience : me.patience_with_journal());
    const auto told = co_await std::move(beginning_of);
    const auto begun = told.value_or(beginning{begin_outcome::begun, start.id});
    // Only the journal knows whether a trigger has been answered, and will offer it again.
    const bool unanswered = triggered && me.journal_ && !told;
    if (unanswered) run->record->forget();
    const bool ours = !unanswered && (begun.outcome == begin_outcome::begun ||
                                      begun.outcome == begin_outcome::resumed);
    if (ours) {
        run->order = me.order_of(*which, start, begun);
        if (me.journal_)
            run->order.save = [record = run->record](std::string text) {
                return runtime::run_recorder::checkpoint(record, std::move(text));
            };
        me.active_[begun.id] = run;
        if (me.out_of_patience_) run->stop(stop_cause::shutdown);
        if (me.watcher_) {
            const auto late = start.firing
                                  ? std::chrono::floor<millis>(me.now() - wall_of(*start.firing))
                                  : millis{0};
            me.watcher_->on_run_begun(plan->name, std::max(late, millis{0}), start.token);
            if (begun.outcome == begin_outcome::resumed) me.watcher_->on_orphan_taken(plan->name);
        }
        me.say(tone::info, "run " + begun.id + " of '" + start.key + "' begins, token " +
                               std::to_string(number(start.token)) + ", attempt " +
                               std::to_string(begun.attempt));
        if (held) {
            held->watch_deadline([weak, ttl = plan->lease.ttl](instant stop_at, instant trust_end) {
                if (const auto who = weak.lock()) who->extend(stop_at, trust_end, ttl);
            });
            // That is told by way of the loop, and nothing may begin without its deadline.
            auto token = boost::asio::use_awaitable;
            co_await boost::asio::post(me.loop_.get_executor(), token);
        }
        run_end how;
        {
            const auto on_loss = [weak] {
                if (const auto who = weak.lock()) who->stop(stop_cause::lost);
            };
            std::optional<std::stop_callback<decltype(on_loss)>> watching;
            if (held) watching.emplace(held->stop_token(), on_loss);
            auto attempts = attempt_until_over(self, run, held ? &*held : nullptr);
            how = co_await std::move(attempts);
        }
        if (held) held->watch_deadline({});
        const auto took = std::chrono::floor<millis>(lease_clock::now() - run->begun);
        me.say(how.status == run_status::completed ? tone::info : tone::warn,
               "run " + begun.id + " of '" + start.key + "' " + std::string{name_of(how.status)} +
                   (how.reason.empty() ? "" : ": " + how.reason));
        if (me.watcher_) me.watcher_->on_run_ended(plan->name, how.status, took);
        const auto status = how.status;
        auto finishing =
            runtime::run_recorder::finish(run->record, std::move(how), me.patience_with_journal());
        co_await std::move(finishing);
        me.active_.erase(begun.id);
        if (held && is_over(status) && status != run_status::lost) held->mark_done();
        if (!is_over(status)) how_it_ended = ending::unfinished;
    } else if (held && begun.outcome == begin_outcome::already_run && is_over(begun.status)) {
        // Whoever ran it was lost before it could tell the store.
        held->mark_done();
    }
    if (held) {
        auto releasing = held->async_release();
        co_await std::move(releasing);
    }
    if (wanted.kind == wish_kind::trigger) me.triggers_.erase(wanted.id);
    if (home && me.journal_ && ++home->ended % prune_every == 1)
        me.spawn(prune(self, plan->name, plan->keep_runs));
    which->decisions.on_ended(how_it_ended, lease_clock::now());
}

awaitable<void> dispatcher::prune(self_ptr self, std::string job, std::size_t keep) {
    auto& me = *self;
    auto pruning = me.journal_->prune(job, keep, millis{0}, prune_bite);
    const auto gone = co_await std::move(pruning);
    if (gone.has_error())
        me.say(tone::debug, "old runs of '" + job + "' stay for now: " + gone.error().detail);
}

// -- attempts

run_end dispatcher::judge(const active_run& run, const body_result& what, const lease* held) const {
    run_end how;
    how.exit_status = what.exit_status;
    how.reason = what.reason;
    const bool again = run.plan->lane.mode == remembering::at_least_once && run.order.firing;
    const bool lost = held != nullptr && !held->trusted();
    if (run.cause == stop_cause::lost || lost) {
        const auto why = held != nullptr ? held->lost() : std::nullopt;
        // It may have done all its work in time, and said so.
        if (what.succeeded && !lost) {
            how.status = run_status::completed;
            return how;
        }
        how.status = again ? run_status::abandoned : run_status::lost;
        how.reason = "its lease was lost (" + std::string{why ? name_of(*why) : "ending"} + ")" +
                     (what.reason.empty() ? "" : "; " + what.reason);
        return how;
    }
    if (what.succeeded) {
        how.status = run_status::completed;
    } else if (run.cause == stop_cause::cancelled) {
        how.status = run_status::cancelled;
        how.reason = "cancelled";
    } else if (run.cause == stop_cause::shutdown) {
        how.status = again ? run_status::abandoned : run_status::cancelled;
        how.reason = "the node was shut down";
    } else if (run.cause == stop_cause::timed_out) {
        how.status = run_status::timed_out;
        how.reason = "it took longer than its timeout";
    } else {
        how.status = run_status::failed;
    }
    return how;
}

awaitable<run_end> dispatcher::attempt_until_over(self_ptr self, std::shared_ptr<active_run> run,
                                                  lease* held) {
    auto& me = *self;
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
        auto attempting = attempt_once(self, run);
        const auto what = co_await std::move(attempting);
        auto how = me.judge(*run, what, held);
        const bool may_retry =
            how.status == run_status::failed ||
            (how.status == run_status::timed_out && run->cause == stop_cause::timed_out);
        if (!may_retry) co_return how;
        const auto wait = wait_before_retry(run->plan->retry, tries, me.chance());
        if (!wait) co_return how;
        // Told once only, perhaps while it was being stopped for another reason.
        if (held != nullptr && held->stop_token().stop_requested()) {
            run->cause = stop_cause::lost;
            co_return me.judge(*run, what, held);
        }
        if (me.stopping_) {
            // The attempts that are left are another node's.
            run->cause = stop_cause::shutdown;
            co_return me.judge(*run, what, held);
        }
        how.attempt = run->order.attempt;
        const auto last = how;
        run->record->next_attempt(last);
        run->cause.reset();
        run->retry_timer = std::make_shared<boost::asio::steady_timer>(me.loop_.get_executor());
        auto timer = run->retry_timer;
        auto waiting = me.sleep(*timer, *wait);
        co_await std::move(waiting);
        run->retry_timer.reset();
        if (run->cause) {
            body_result nothing;
            nothing.exit_status = last.exit_status;
            nothing.reason = last.reason;
            co_return me.judge(*run, nothing, held);
        }
        ++tries;
        ++run->order.attempt;
        if (me.watcher_) me.watcher_->on_retry(run->plan->name);
        if (me.journal_) {
            auto finding = me.journal_->find_run(run->order.run_id);
            const auto row = co_await std::move(finding);
            if (row.has_value() && *row) run->order.checkpoint = (*row)->checkpoint;
        }
    }
}

awaitable<body_result> dispatcher::attempt_once(self_ptr self, std::shared_ptr<active_run> run) {
    auto& me = *self;
    auto sink = [record = run->record](std::string_view bytes) { record->output(bytes); };
    run->doing = run->plan->make(std::move(sink));
    auto doing = run->doing;
    if (run->cause) doing->stop(*run->cause);
    doing->extend(run->stop_at, run->kill_at);
    if (run->plan->timeout.count() > 0 || run->plan->soft_timeout.count() > 0)
        me.spawn(watch_timeouts(self, run, run->order.attempt));
    auto order = run->order;
    auto running = doing->run(std::move(order));
    auto what = co_await std::move(running);
    run->doing.reset();
    if (run->timeout_timer) run->timeout_timer->cancel();
    co_return what;
}

awaitable<void> dispatcher::watch_timeouts(self_ptr self, std::shared_ptr<active_run> run,
                                           int attempt) {
    auto& me = *self;
    const auto still = [&] { return run->doing && run->order.attempt == attempt; };
    // What never began is over by now, and would be kept until its timeout.
    if (!still()) co_return;
    auto timer = std::make_shared<boost::asio::steady_timer>(me.loop_.get_executor());
    run->timeout_timer = timer;
    const auto soft = run->plan->soft_timeout;
    const auto hard = run->plan->timeout;
    if (soft.count() > 0) {
        auto waiting = me.sleep(*timer, soft);
        co_await std::move(waiting);
        if (!still()) co_return;
        run->record->note("note", "it has taken longer than its soft timeout");
        me.say(tone::warn, "run " + run->order.run_id + " of '" + run->order.key +
                               "' has taken longer than its soft timeout");
    }
    if (hard.count() == 0) co_return;
    auto waiting = me.sleep(*timer, hard - soft);
    co_await std::move(waiting);
    if (still()) run->stop(stop_cause::timed_out);
}

}  // namespace pawl::schedule
