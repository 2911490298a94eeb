// From a wish to a grant, or to a line that says why there was none.
#include "base/duration.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "schedule/dispatcher.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// Between two withdrawals of a claim that was not answered, while nothing else is wanted.
constexpr millis withdraw_retry{1'000};
// A good clock may be as far off, with the journal's own.
constexpr millis premature_by_min{1'000};

// To the second: rows are read, not computed with.
std::string second_text(wall_instant at) {
    return time::format_rfc3339(wall_instant{std::chrono::floor<std::chrono::seconds>(at)},
                                std::chrono::seconds{0});
}

std::string length_text(millis how_long) {
    const millis seconds = std::chrono::ceil<std::chrono::seconds>(how_long);
    return base::format_duration(std::max(seconds, millis{1'000}));
}

// Where a busy key is waited for, what one node has skipped another may still have in mind.
bool gives_way(const job_plan& plan) {
    return plan.lane.mode == occurrence_mode::at_most_once &&
           plan.lane.when_running == overlap::skip;
}

// A row that is older than its occurrence was written by a clock that was fast: what it says came
// due had not.
bool is_premature(const run_record& row, occurrence which) {
    return row.started_at < number(which) - premature_by_min.count();
}

// The store does not know that an occurrence was skipped, so only its row keeps it from running.
async<bool> has_been_skipped(std::shared_ptr<journal> records, std::string job,
                             std::uint32_t partition, occurrence which) {
    auto finding = records->find_firing(std::move(job), partition, which);
    const auto row = co_await std::move(finding);
    if (row.has_error()) co_return row.error();
    co_return *row && (*row)->status == run_status::skipped && !is_premature(**row, which);
}

}  // namespace

awaitable<void> dispatcher::work(self_ptr self, std::shared_ptr<track> which) {
    auto& me = *self;
    for (;;) {
        which->woken = false;
        const auto step = which->decisions.next(me.node_.loop.now());
        me.skips_.record(which);
        if (me.must_withdraw(*which)) {
            auto withdrawing = withdraw_unresolved(self, which);
            const bool resolved = co_await std::move(withdrawing);
            const bool asks = step.what == lane::act::claim;
            if (!resolved && asks)
                which->decisions.on_failure(me.node_.loop.now(), me.node_.chance());
            if (!resolved && !asks && !me.node_.stopping) {
                auto waiting = which->timer.wait_for(withdraw_retry);
                co_await std::move(waiting);
            }
            if (!resolved) continue;
        }
        if (step.what == lane::act::nothing || me.node_.stopping) {
            if (which->woken && !me.node_.stopping) continue;
            break;
        }
        if (step.what == lane::act::pause) {
            if (which->woken) continue;
            const auto left = std::chrono::ceil<millis>(step.until - me.node_.loop.now());
            auto waiting = which->timer.wait_for(std::max(left, millis{0}));
            co_await std::move(waiting);
            continue;
        }
        // As if the store did not answer: asked again, and given up for the same reasons.
        if (!me.may_fire(*which) && which->decisions.wanted().kind == wish_kind::firing) {
            which->decisions.on_failure(me.node_.loop.now(), me.node_.chance());
            continue;
        }
        const bool waits_in_line = step.patience.count() > 0;
        if (!waits_in_line && me.catches_up(*which)) {
            auto asking = leave_skipped(self, which);
            const bool settled = co_await std::move(asking);
            if (settled) continue;
        }
        auto claiming = claim(self, which, step.patience);
        co_await std::move(claiming);
    }
    which->at_work = false;
    me.node_.work.end();
}

bool dispatcher::may_fire(const track& which) const {
    return knows_pauses() && positions_.may_run(which.plan->on_store_down);
}

bool dispatcher::must_withdraw(const track& which) const {
    return which.unresolved && (node_.stopping || which.replaced ||
                                !which.decisions.wants_firing(which.unresolved->firing));
}

// Whatever is claimed next would find the key held by the claim that was not answered. False when
// that is still unknown, and worth asking again.
awaitable<bool> dispatcher::withdraw_unresolved(self_ptr self, std::shared_ptr<track> which) {
    auto& me = *self;
    const auto what = *which->unresolved;
    const auto until =
        me.node_.engine->claims()->worth_withdrawing(what.claim->attempts, what.options);
    withdrawal given_up{which->key, what.claim->id, what.firing};
    if (me.node_.stopping) {
        which->unresolved.reset();
        me.node_.spawn(
            runtime::claimer::withdraw(me.node_.engine->claims(), std::move(given_up), until));
        co_return true;
    }
    auto withdrawing = me.node_.engine->store().withdraw(std::move(given_up));
    const auto gone = co_await std::move(withdrawing);
    const bool asks_again =
        gone.has_error() && may_pass(gone.error().code) && me.node_.loop.now() < until;
    if (!asks_again) which->unresolved.reset();
    co_return !asks_again;
}

// Whether others may have told what became of the firing.
bool dispatcher::catches_up(const track& which) const {
    const auto& wanted = which.decisions.wanted();
    // What was sent and not answered may be why others have skipped it, and what has begun here is
    // this node's own.
    const bool is_ours = which.unresolved || wanted.begun;
    if (!node_.records || wanted.kind != wish_kind::firing || is_ours) return false;
    return positions_.catches_up(
        wall_of(*wanted.firing), node_.now(),
        gives_way(*which.plan) ? positions::when_busy::gives_way : positions::when_busy::waits);
}

// True when no claim is to be made.
awaitable<bool> dispatcher::leave_skipped(self_ptr self, std::shared_ptr<track> which) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const auto firing = *lane_of.wanted().firing;
    auto asking = has_been_skipped(me.node_.records, which->plan->name, which->partition, firing);
    const auto skipped = co_await std::move(asking);
    if (skipped.has_error()) {
        // One that was here when it came due has not seen it skipped: no run waits for a journal.
        if (!me.positions_.was_due_before(wall_of(firing))) co_return false;
        lane_of.on_failure(me.node_.loop.now(), me.node_.chance());
        co_return true;
    }
    if (!*skipped) co_return false;
    lane_of.on_done();
    co_return true;
}

bool dispatcher::fails_open(const track& which, const failure& why) const {
    return which.plan->on_store_down == outage::run_without_lease && is_outage(why) &&
           which.decisions.wanted().kind == wish_kind::firing;
}

awaitable<void> dispatcher::audit_fail_open(self_ptr self, std::string job, std::string why) {
    auto& me = *self;
    audit_draft what;
    what.actor = me.node_.me.name;
    what.action = "job.fail_open";
    what.target = job;
    what.detail = why;
    net::timer timer{me.node_.loop.get_executor()};
    for (int i = 0; i < journal_tries_max; ++i) {
        auto auditing = me.node_.records->append_audit(what);
        const auto told = co_await std::move(auditing);
        if (told.has_value() || me.node_.stopping) co_return;
        auto waiting = timer.wait_for(journal_retry);
        co_await std::move(waiting);
    }
}

bool dispatcher::may_begin(const track& which) const {
    const auto home = which.owner.lock();
    return home && !which.replaced && which.plan->enabled && !node_.stopping &&
           !(home->paused && which.decisions.wanted().kind == wish_kind::firing);
}

// A place among the runs of this node and, where it has a bound, of its job. False when there is
// none, and the lane knows.
awaitable<bool> dispatcher::take_slot(self_ptr self, std::shared_ptr<track> which) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const auto home = which->owner.lock();
    const auto bound = which->plan->runs_max;
    const auto job_is_full = [&] { return bound > 0 && home->running >= bound; };
    const bool was_full = job_is_full();
    if (!was_full && me.slots_.try_take()) co_return true;
    const auto left = lane_of.wanted().give_up - me.node_.loop.now();
    bool served = false;
    if (was_full) {
        auto waiting = which->timer.wait_for(millis{200});
        co_await std::move(waiting);
    } else {
        auto waiting = me.slots_.take(std::max(left, lease_clock::duration{0}));
        served = co_await std::move(waiting);
    }
    // It may have waited for hours.
    const bool begins = served && me.may_begin(*which);
    if (begins && !job_is_full()) co_return true;
    if (served) me.slots_.give_back();
    if (served && !begins)
        lane_of.on_called_off();
    else
        lane_of.on_no_room(me.node_.loop.now());
    co_return false;
}

awaitable<void> dispatcher::claim(self_ptr self, std::shared_ptr<track> which, millis patience) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const auto home = which->owner.lock();
    if (!me.may_begin(*which)) co_return lane_of.on_called_off();
    // Whoever waits for another node's run needs no room here.
    if (patience.count() > 0) {
        auto waiting =
            runtime::claimer::await_change(me.node_.engine->claims(), which->key, which->busy_under,
                                           patience, me.node_.call_off.get_token());
        co_await std::move(waiting);
        if (!me.may_begin(*which)) co_return lane_of.on_called_off();
    }
    auto taking = take_slot(self, which);
    const bool has_room = co_await std::move(taking);
    if (!has_room) co_return;
    // Counted from here: partitions of a job that come due together ask at the same time.
    ++home->running;
    const auto leave = [&] {
        --home->running;
        me.slots_.give_back();
    };
    auto options = which->plan->lease;
    if (lane_of.wanted().firing && !lane_of.wanted().passed &&
        which->plan->lane.mode != occurrence_mode::off) {
        options.firing = lane_of.wanted().firing;
        options.mode = which->plan->mode();
    }
    const struct patience how_long{};
    auto key = which->key;
    auto under = me.claim_of(*which, options);
    auto claiming = runtime::engine::claim_key(me.node_.engine, std::move(key), options, how_long,
                                               me.node_.call_off.get_token(), under);
    auto answer = co_await std::move(claiming);
    const auto at = me.node_.loop.now();
    which->unresolved.reset();
    if (under && under->attempts.unanswered) {
        which->unresolved = track::unresolved_claim{under, *options.firing, options};
        lane_of.on_unanswered();
    }
    if (answer.has_error()) {
        if (!std::exchange(me.node_.store_down, true))
            me.node_.log(log_level::warn, "the store does not answer: " + answer.error().detail);
        if (me.fails_open(*which, answer.error())) {
            me.node_.log(log_level::warn,
                         "job '" + which->plan->name +
                             "' runs without a lease, as on_store_down says; it may run "
                             "elsewhere too");
            if (me.node_.watcher) me.node_.watcher->on_fail_open(which->plan->name);
            if (me.node_.records)
                me.node_.spawn(audit_fail_open(self, which->plan->name, answer.error().detail));
            lane_of.on_granted();
            auto performing = me.runner_.perform(which, std::nullopt);
            co_await std::move(performing);
            co_return leave();
        }
        leave();
        co_return lane_of.on_failure(at, me.node_.chance());
    }
    if (std::exchange(me.node_.store_down, false))
        me.node_.log(log_level::info, "the store answers again");
    if (auto* won = std::get_if<std::shared_ptr<runtime::holding>>(&*answer)) {
        me.look_for_the_dead(which);
        auto performing = perform_unless_skipped(self, which, std::move(*won),
                                                 under ? options.firing : std::nullopt);
        co_await std::move(performing);
        co_return leave();
    }
    leave();
    if (auto* other = std::get_if<busy>(&*answer)) {
        auto settling = settle_busy(self, which, std::move(*other));
        co_await std::move(settling);
    } else if (const auto* done = std::get_if<already_done>(&*answer)) {
        auto settling = settle_done(self, which, done->last);
        co_await std::move(settling);
    } else {
        lane_of.on_called_off();
    }
}

// Whether the store remembers a later firing than the one that is asked for. It cannot tell then
// what has become of that one, and neither can a node without a journal.
bool dispatcher::was_passed(const track& which, occurrence last) const {
    const auto& wanted = which.decisions.wanted();
    return node_.records && wanted.kind == wish_kind::firing &&
           number(last) > number(*wanted.firing);
}

awaitable<void> dispatcher::settle_done(self_ptr self, std::shared_ptr<track> which,
                                        occurrence last) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const auto wanted = lane_of.wanted();
    if (me.was_passed(*which, last)) co_return lane_of.on_passed();
    if (wanted.kind != wish_kind::orphan || last != *wanted.firing) co_return lane_of.on_done();
    auto looking = me.node_.engine->store().inspect(which->key);
    const auto seen = co_await std::move(looking);
    // Without its token nobody can write down what is known; the board offers it again.
    if (seen.has_value() && *seen)
        me.control_.on_orphan_done(wanted.id,
                                   {me.node_.loop.now(), (*seen)->last_token, (*seen)->owner});
    lane_of.on_called_off();
}

// While a claim was not answered, others may have found the key busy and let the occurrence go:
// then it is withdrawn, as their row tells what has become of it.
awaitable<void> dispatcher::perform_unless_skipped(self_ptr self, std::shared_ptr<track> which,
                                                   std::shared_ptr<runtime::holding> won,
                                                   std::optional<occurrence> claimed) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const bool came_late = claimed && won->claim_repeated;
    std::optional<lease> held{lease{std::move(won)}};
    if (came_late && me.node_.records && gives_way(*which->plan)) {
        auto asking =
            has_been_skipped(me.node_.records, which->plan->name, which->partition, *claimed);
        const auto skipped = co_await std::move(asking);
        if (skipped.has_value() && *skipped) {
            held->mark_not_started();
            auto releasing = held->async_release();
            co_await std::move(releasing);
            co_return lane_of.on_called_off();
        }
    }
    lane_of.on_granted();
    auto performing = me.runner_.perform(which, std::move(held));
    co_await std::move(performing);
}

// Busy says nothing of this firing: the holder may be running it, or the one before.
awaitable<void> dispatcher::settle_busy(self_ptr self, std::shared_ptr<track> which, busy other) {
    auto& me = *self;
    auto& lane_of = which->decisions;
    const auto wanted = lane_of.wanted();
    which->busy_under = other.holder;
    bool marked = false, passed = false;
    std::string holder;
    if (wanted.firing && other.reason != busy_reason::early &&
        other.reason != busy_reason::quarantined) {
        auto looking = me.node_.engine->store().inspect(which->key);
        const auto seen = co_await std::move(looking);
        if (seen.has_error()) co_return lane_of.on_failure(me.node_.loop.now(), me.node_.chance());
        marked =
            *seen && (*seen)->last_done && number(*(*seen)->last_done) >= number(*wanted.firing);
        passed = marked && me.was_passed(*which, *(*seen)->last_done);
        // Where the key is never free, the store has no other occasion to say so.
        if (wanted.kind == wish_kind::orphan && !wanted.passed && marked &&
            number(*(*seen)->last_done) > number(*wanted.firing))
            co_return lane_of.on_done();
        if (which->seen && which->seen->holder == other.holder)
            which->seen->twice = which->seen->twice || !marked;
        else if (*seen && (*seen)->last_done && other.reason == busy_reason::held) {
            me.look_for_the_dead(which);
            which->seen = track::sighting{*(*seen)->last_done, other.holder, other.owner, false};
        }
        if (!marked && me.node_.records && gives_way(*which->plan)) {
            // Skipped for good only when nobody has begun it.
            auto finding =
                me.node_.records->find_firing(which->plan->name, which->partition, *wanted.firing);
            const auto row = co_await std::move(finding);
            marked = row.has_value() && *row && (*row)->status != run_status::skipped;
        }
        if (!marked && me.node_.records && wanted.kind == wish_kind::firing) {
            auto naming = name_holder(self, which, other, *seen);
            holder = co_await std::move(naming);
        }
    }
    if (other.reason == busy_reason::early && wanted.firing && !me.node_.records) {
        // The store has told how far ahead of it our clock is.
        const auto stores =
            wall_of(*wanted.firing) - me.node_.engine->settings().max_skew - other.remaining;
        me.node_.clock.follow_store(me.node_.loop.wall(), stores);
        me.node_.time_changed.cancel();
    }
    if (passed && !wanted.passed) co_return lane_of.on_passed();
    lane_of.on_busy(other, marked, me.node_.loop.now(), me.node_.chance(), std::move(holder));
}

// For the row of a firing that gives way. Only an agent's owner is on the list of nodes: any other
// holder is no run of a job. Empty where the lane's own words say it all.
awaitable<std::string> dispatcher::name_holder(self_ptr self, std::shared_ptr<track> which,
                                               busy other, std::optional<record> lock) {
    auto& me = *self;
    const auto until = me.node_.now() + other.remaining;
    const auto shown_key = "lock " + base::printable(which->key);
    const auto left = "until " + second_text(until) + " (" + length_text(other.remaining) + ")";
    if (other.reason == busy_reason::lingering) co_return shown_key + " was in cooldown " + left;
    if (other.owner == me.node_.me.owner) co_return std::string{};
    auto listing = me.node_.records->list_nodes();
    const auto nodes = co_await std::move(listing);
    std::string since;
    if (lock && lock->holder == other.holder)
        since = " since " + second_text(wall_of(occurrence{lock->acquired_at}));
    const auto held = shown_key + " was held by " + base::printable(other.owner) + since +
                      " (token " + std::to_string(number(other.holder)) + "), " + left +
                      " unless renewed";
    if (nodes.has_error()) co_return held;
    const auto agent = std::find_if(nodes->begin(), nodes->end(),
                                    [&](const node_entry& one) { return one.id == other.owner; });
    if (agent == nodes->end()) co_return held + "; it is no run of this job";
    co_return std::string{text_of(skip_reason::overlap)} + " on " + base::printable(agent->name) +
        since;
}

// The id under which an occurrence is claimed: that of a claim of the same one whose outcome is
// unknown. What is not an occurrence of the schedule has nothing that could be used up.
std::shared_ptr<runtime::kept_claim> dispatcher::claim_of(const track& which,
                                                          const lease_options& options) {
    if (!options.firing || which.decisions.wanted().kind != wish_kind::firing) return nullptr;
    if (which.unresolved && which.unresolved->firing == *options.firing)
        return which.unresolved->claim;
    return node_.engine->claims()->new_claim();
}

// The key has passed on, to this node or to another one, from somebody who held it for longer than
// it takes to run once. If that one died before it wrote a line, its firing has to be told.
void dispatcher::look_for_the_dead(const std::shared_ptr<track>& which) {
    const auto seen = std::exchange(which->seen, std::nullopt);
    if (!seen || !seen->twice || !node_.records) return;
    if (which->plan->lane.mode != occurrence_mode::at_most_once) return;
    lost_beginning what{seen->firing, seen->holder, seen->owner};
    node_.spawn(reconciler_.keep_telling_lost(which, std::move(what)));
}

}  // namespace pawl::schedule
