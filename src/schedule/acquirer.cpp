#include "schedule/acquirer.hpp"

#include "base/duration.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "runtime/done_mark.hpp"
#include "runtime/inspect_keys.hpp"
#include "schedule/job/log_text.hpp"
#include "schedule/timing/intervals.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// Between two withdrawals of a claim that was not answered, while nothing else is wanted.
constexpr millis withdraw_retry{1'000};

// To the second: rows are read, not computed with.
std::string second_text(wall_instant at) {
    return time::format_rfc3339(wall_instant{std::chrono::floor<std::chrono::seconds>(at)},
                                std::chrono::seconds{0});
}

std::string length_text(millis how_long) {
    const millis seconds = std::chrono::ceil<std::chrono::seconds>(how_long);
    return base::format_duration(std::max(seconds, millis{1'000}));
}

// The store does not know that an occurrence was skipped, so only its row keeps it from running.
async<bool> has_been_skipped(std::shared_ptr<journal> records, std::string job,
                             std::uint32_t partition, occurrence which) {
    auto finding = records->find_occurrence(std::move(job), partition, which);
    const auto row = co_await std::move(finding);
    if (row.has_error()) co_return row.error();
    co_return *row && (*row)->status == run_status::skipped && !is_premature(**row, which);
}

// A job that is remembered no more is claimed without its occurrence, and under another id.
bool must_withdraw(const node_state& node, const track& which) {
    return which.unresolved &&
           (node.stopping || which.replaced || which.plan->queue.delivery == delivery::off ||
            !which.decisions.queue().wants_occurrence(which.unresolved->occurrence));
}

// Whatever is claimed next would find the key held by the claim that was not answered. Tells why
// where that is still unknown, and worth asking again.
awaitable<std::optional<failure>> withdraw_unresolved(node_state& node,
                                                      std::shared_ptr<track> which) {
    const auto what = *which->unresolved;
    const auto until = node.engine->claims()->worth_withdrawing(what.claim->attempts, what.options);
    withdrawal given_up{which->key, what.claim->id, what.occurrence};
    if (what.has_run) given_up.occurrence.reset();
    if (node.stopping) {
        which->unresolved.reset();
        node.spawn(runtime::claimer::withdraw(node.engine->claims(), std::move(given_up), until));
        co_return std::nullopt;
    }
    auto withdrawing = node.engine->store().withdraw(std::move(given_up));
    const auto gone = co_await std::move(withdrawing);
    if (gone.has_error() && may_pass(gone.error().code) && node.loop.now() < until)
        co_return gone.error();
    which->unresolved.reset();
    co_return std::nullopt;
}

bool fails_open(const track& which, const failure& why) {
    return which.plan->on_store_down == outage::run_without_lease && is_outage(why) &&
           which.decisions.wanted().kind == request_kind::occurrence;
}

// What is asked for by hand runs all the same.
bool is_paused(const track& which) {
    const auto home = which.owner.lock();
    return home && home->paused && which.decisions.wanted().kind != request_kind::trigger;
}

bool may_begin(const node_state& node, const track& which) {
    return which.owner.lock() && !which.replaced && which.plan->enabled && !node.stopping &&
           !is_paused(which);
}

// Nothing is claimed. What a pause has kept from it is told.
void call_off(const node_state& node, track& which) {
    if (is_paused(which) && !which.replaced && !node.stopping)
        which.decisions.on_paused();
    else
        which.decisions.on_called_off();
}

// Whether the store remembers a later occurrence than the one that is asked for. It cannot tell
// then what has become of that one, and neither can a node without a journal.
bool was_passed(const node_state& node, const track& which, occurrence last) {
    const auto& wanted = which.decisions.wanted();
    return node.records && wanted.kind == request_kind::occurrence &&
           number(last) > number(*wanted.occurrence);
}

// What is claimed of the store: with the occurrence, where that is to be remembered.
lease_options options_of(const track& which) {
    auto options = which.plan->lease;
    const auto& wanted = which.decisions.wanted();
    const bool is_orphan = wanted.kind == request_kind::orphan;
    const bool is_remembered = is_orphan || which.plan->queue.delivery != delivery::off;
    if (wanted.occurrence && !wanted.passed && is_remembered) {
        options.occurrence = wanted.occurrence;
        // An orphan's row says how it was to be run, whatever the job has become since.
        options.delivery = is_orphan ? delivery::at_least_once : which.plan->mode();
    }
    return options;
}

// The id under which an occurrence is claimed: that of a claim of the same one whose outcome is
// unknown. What is not an occurrence of the schedule has nothing that could be used up.
std::shared_ptr<runtime::kept_claim> claim_of(node_state& node, const track& which,
                                              const lease_options& options) {
    if (!options.occurrence || which.decisions.wanted().kind != request_kind::occurrence)
        return nullptr;
    if (which.unresolved && which.unresolved->occurrence == *options.occurrence)
        return which.unresolved->claim;
    return node.engine->claims()->new_claim();
}

// Without who waits for it, which some engines are asked for apart.
async<std::optional<record>> look_at(std::shared_ptr<runtime::engine> engine, std::string key) {
    std::vector<std::string> one;
    one.push_back(std::move(key));
    auto looking = runtime::inspect_keys(std::move(engine), std::move(one));
    auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return seen.error();
    co_return std::move(seen->front());
}

struct holder_of_key {
    std::string shown{};  // in one line; empty where the key state's own words say it all
    bool is_live_agent = false;
};

// For the row of an occurrence that gives way. Only an agent's owner is on the list of nodes: any
// other holder is no run of a job. Empty where the key state's own words say it all.
awaitable<holder_of_key> name_holder(node_state& node, std::shared_ptr<track> which, busy other,
                                     std::optional<record> lock) {
    const auto until = node.now() + other.remaining;
    const auto shown_key = "lock " + base::printable(which->key);
    const auto left = "until " + second_text(until) + " (" + length_text(other.remaining) + ")";
    holder_of_key found;
    found.shown = shown_key + " was in cooldown " + left;
    if (other.reason == busy_reason::cooldown) co_return found;
    // A program may have the same owner at each start, and this be its predecessor's.
    const bool is_ours = other.owner == node.me.owner;
    if (is_ours && node.engine->held(which->key)) co_return holder_of_key{{}, true};
    auto listing = node.records->list_nodes();
    const auto nodes = co_await std::move(listing);
    std::string since;
    if (lock && lock->holder == other.holder)
        since = " since " + second_text(wall_of(occurrence{lock->acquired_at}));
    found.shown = shown_key + " was held by " + base::printable(other.owner) + since + " (token " +
                  std::to_string(number(other.holder)) + "), " + left + " unless renewed";
    if (nodes.has_error() || is_ours) co_return found;
    const auto agent = std::find_if(nodes->begin(), nodes->end(),
                                    [&](const node_entry& one) { return one.id == other.owner; });
    if (agent == nodes->end()) {
        found.shown += "; it is no run of this job";
        co_return found;
    }
    found.is_live_agent = agent->age < node_heartbeat_timeout;
    found.shown =
        std::string{text_of(skip_reason::overlap)} + " on " + base::printable(agent->name) + since;
    co_return found;
}

}  // namespace

void acquirer::wake(const std::shared_ptr<track>& which) {
    others_.skips.record(which);
    if (which->at_work) {
        which->woken = true;
        which->timer.cancel();
        return;
    }
    which->at_work = true;
    node_.work.begin();
    node_.spawn(work(which));
}

void acquirer::let_go(const std::shared_ptr<track>& which) {
    auto& queue = which->decisions.queue();
    queue.forget_occurrences();
    // Its next attempt would be called off, and who stops would wait for it.
    if (const auto* asked = queue.current(); asked && asked->at == key_queue::stage::waiting)
        queue.let_go_of_current();
    which->replaced = true;
    if (which->at_work) wake(which);
}

awaitable<void> acquirer::work(std::shared_ptr<track> which) {
    for (;;) {
        which->woken = false;
        const auto step = which->decisions.next(node_.loop.now());
        others_.skips.record(which);
        std::optional<failure> away;
        if (must_withdraw(node_, *which)) {
            auto withdrawing = withdraw_unresolved(node_, which);
            away = co_await std::move(withdrawing);
        }
        // As a claim is: one connection that broke, of a store that is back, is no outage.
        if (away && away->code == errc::outcome_unknown) {
            auto again = withdraw_unresolved(node_, which);
            away = co_await std::move(again);
        }
        // What may run without a lease does not wait until that claim is given back.
        const bool needs_no_store =
            away && step.what == key_state::act::claim && fails_open(*which, *away);
        if (away && !needs_no_store) {
            auto waiting = put_off(which, step.what);
            co_await std::move(waiting);
            continue;
        }
        if (step.what == key_state::act::nothing || node_.stopping) {
            if (which->woken && !node_.stopping) continue;
            // Withdrawn in the background from here on.
            if (node_.stopping && which->unresolved) continue;
            break;
        }
        if (step.what == key_state::act::pause) {
            if (which->woken) continue;
            const auto left = std::chrono::ceil<millis>(step.until - node_.loop.now());
            auto waiting = which->timer.wait_for(std::max(left, millis{0}));
            co_await std::move(waiting);
            continue;
        }
        // As if the store did not answer: asked again, and given up for the same reasons.
        if (!may_fire(*which) && which->decisions.wanted().kind == request_kind::occurrence) {
            which->decisions.on_failure(node_.loop.now(), node_.uniform());
            continue;
        }
        // What waits for the key, or for room, is asked about once it has that.
        const bool waits =
            step.timeout.count() > 0 || which->decisions.queue().current()->was_crowded;
        if (!waits && catches_up(*which)) {
            auto asking = leave_skipped(which);
            const bool settled = co_await std::move(asking);
            if (settled) continue;
        }
        auto beginning = away ? begin_without_lease(which, *away) : claim(which, step.timeout);
        co_await std::move(beginning);
    }
    which->at_work = false;
    node_.work.end();
}

// A claim is still to be withdrawn before anything else is done.
awaitable<void> acquirer::put_off(std::shared_ptr<track> which, key_state::act next) {
    if (next == key_state::act::claim)
        co_return which->decisions.on_failure(node_.loop.now(), node_.uniform());
    if (node_.stopping) co_return;
    auto waiting = which->timer.wait_for(withdraw_retry);
    co_await std::move(waiting);
}

bool acquirer::may_fire(const track& which) const {
    return others_.control.knows_pauses() && others_.where.may_run(which.plan->on_store_down);
}

// Whether others may have told what became of the occurrence.
bool acquirer::catches_up(const track& which) const {
    const auto& wanted = which.decisions.wanted();
    if (!node_.records || wanted.kind != request_kind::occurrence) return false;
    // What was sent and not answered may be why others have skipped it, and what has begun here is
    // this node's own.
    const bool was_sent = which.unresolved && which.unresolved->occurrence == *wanted.occurrence;
    if (was_sent || wanted.begun) return false;
    return others_.where.catches_up(wall_of(*wanted.occurrence), node_.now(),
                                    may_be_skipped(which.plan->queue)
                                        ? positions::when_busy::gives_way
                                        : positions::when_busy::waits);
}

// True when no claim is to be made.
awaitable<bool> acquirer::leave_skipped(std::shared_ptr<track> which) {
    auto& decisions = which->decisions;
    const auto occurrence = *decisions.wanted().occurrence;
    auto asking = has_been_skipped(node_.records, which->plan->name, which->partition, occurrence);
    const auto skipped = co_await std::move(asking);
    if (skipped.has_error()) {
        // One that was here when it came due has not seen it skipped: no run waits for a journal.
        if (!others_.where.was_due_before(wall_of(occurrence))) co_return false;
        decisions.on_failure(node_.loop.now(), node_.uniform());
        co_return true;
    }
    if (!*skipped) co_return false;
    // Its row tells what has become of it, also where its own claim was never answered.
    decisions.on_called_off();
    co_return true;
}

// A place among the runs of this node and, where it has a bound, of its job. False when there is
// none, and the key state knows.
awaitable<bool> acquirer::take_turn(std::shared_ptr<track> which) {
    auto& decisions = which->decisions;
    const auto home = which->owner.lock();
    const auto bound = which->plan->runs_max;
    const auto job_is_full = [&] { return bound > 0 && *home->running >= bound; };
    const bool was_full = job_is_full();
    if (!was_full && capacity_.try_take()) {
        decisions.on_room(node_.loop.now(), may_fire(*which));
        co_return true;
    }
    decisions.on_full();
    const auto left = decisions.wanted().give_up - node_.loop.now();
    bool served = false;
    if (was_full) {
        auto waiting = which->timer.wait_for(millis{200});
        co_await std::move(waiting);
    } else {
        auto waiting = capacity_.take(std::max(left, lease_clock::duration{0}));
        served = co_await std::move(waiting);
    }
    // It may have waited for hours.
    const bool begins = served && may_begin(node_, *which);
    if (begins && !job_is_full()) {
        decisions.on_room(node_.loop.now(), may_fire(*which));
        co_return true;
    }
    if (served) capacity_.give_back();
    if (served && !begins)
        call_off(node_, *which);
    else
        decisions.on_no_room(node_.loop.now());
    co_return false;
}

void acquirer::leave_turn(known_job& home) {
    --*home.running;
    capacity_.give_back();
}

// False where there is nothing to claim any more, or no room to do it, and the queue knows. True:
// it has taken room, which is to be given back.
awaitable<bool> acquirer::await_turn(std::shared_ptr<track> which, millis wait) {
    bool begins = may_begin(node_, *which);
    // A claim that waits for another node's run needs no room here.
    if (begins && wait.count() > 0) {
        auto waiting =
            runtime::claimer::await_change(node_.engine->claims(), which->key, which->busy_under,
                                           wait, node_.call_off.get_token());
        co_await std::move(waiting);
        begins = may_begin(node_, *which);
    }
    if (!begins) {
        call_off(node_, *which);
        co_return false;
    }
    const auto asked = which->decisions.wanted().occurrence;
    auto taking = take_turn(which);
    const bool has_room = co_await std::move(taking);
    if (!has_room) co_return false;
    // Counted from here: partitions of a job that come due together ask at the same time.
    const auto home = which->owner.lock();
    ++*home->running;
    // Others may have told meanwhile what became of it, or of the later one in its place.
    const bool has_waited = wait.count() > 0 || which->decisions.queue().current()->was_crowded ||
                            which->decisions.wanted().occurrence != asked;
    if (!has_waited || !catches_up(*which)) co_return true;
    auto asking = leave_skipped(which);
    bool is_settled = co_await std::move(asking);
    if (!is_settled && !may_begin(node_, *which)) {
        call_off(node_, *which);
        is_settled = true;
    }
    if (is_settled) leave_turn(*home);
    co_return !is_settled;
}

awaitable<void> acquirer::claim(std::shared_ptr<track> which, millis wait) {
    auto& decisions = which->decisions;
    const auto home = which->owner.lock();
    auto waiting = await_turn(which, wait);
    const bool is_its_turn = co_await std::move(waiting);
    if (!is_its_turn) co_return;
    const auto options = options_of(*which);
    // As it is asked for: a reload may come before the answer.
    const auto mode = which->plan->mode();
    const wait_policy none{};
    auto key = which->key;
    auto under = claim_of(node_, *which, options);
    auto claiming = runtime::engine::acquire_with_reason(node_.engine, std::move(key), options,
                                                         none, node_.call_off.get_token(), under);
    auto answer = co_await std::move(claiming);
    const auto at = node_.loop.now();
    if (which->unresolved && which->unresolved->claim == under) which->unresolved.reset();
    if (under && under->attempts.unanswered) {
        which->unresolved = track::unresolved_claim{under, *options.occurrence, options};
        decisions.on_unanswered();
    }
    if (answer.has_error()) {
        if (!std::exchange(node_.store_down, true))
            node_.log(log_level::warn, "store unreachable: " + answer.error().detail);
        if (!fails_open(*which, answer.error()) || !may_begin(node_, *which)) {
            leave_turn(*home);
            co_return decisions.on_failure(at, node_.uniform());
        }
        auto running = run_without_lease(which, answer.error());
        co_await std::move(running);
        co_return leave_turn(*home);
    }
    if (std::exchange(node_.store_down, false)) node_.log(log_level::info, "store reachable again");
    if (auto* won = std::get_if<won_lease>(&*answer)) {
        look_for_the_dead(which);
        auto performing = perform_unless_skipped(which, std::move(*won), mode,
                                                 under ? options.occurrence : std::nullopt);
        co_await std::move(performing);
        co_return leave_turn(*home);
    }
    leave_turn(*home);
    if (auto* other = std::get_if<busy>(&*answer)) {
        auto settling = settle_busy(which, std::move(*other));
        co_await std::move(settling);
    } else if (const auto* done = std::get_if<already_done>(&*answer)) {
        auto settling = settle_done(which, done->last);
        co_await std::move(settling);
    } else {
        decisions.on_called_off();
    }
}

awaitable<void> acquirer::begin_without_lease(std::shared_ptr<track> which, failure why) {
    const auto home = which->owner.lock();
    auto waiting = await_turn(which, millis{0});
    const bool is_its_turn = co_await std::move(waiting);
    if (!is_its_turn) co_return;
    auto running = run_without_lease(which, std::move(why));
    co_await std::move(running);
    leave_turn(*home);
}

awaitable<void> acquirer::run_without_lease(std::shared_ptr<track> which, failure why) {
    auto mode = which->plan->mode();
    // Its own claim may have marked it: that stays, as its occurrence is run.
    auto& sent = which->unresolved;
    if (sent && sent->occurrence == which->decisions.wanted().occurrence) {
        sent->has_run = true;
        mode = sent->options.delivery;
    }
    which->decisions.on_granted();
    // The journal may answer where the store does not, and know that another node has it.
    // By its occurrence one entry of the audit is told from another.
    auto detail = std::move(why.detail);
    if (const auto& due = which->decisions.wanted().occurrence)
        detail += "; scheduled " + time::format_rfc3339(wall_of(*due));
    std::function<void()> telling = [this, job = which->plan->name, detail = std::move(detail)] {
        tell_fail_open(job, detail);
    };
    auto performing = others_.runs.perform(which, std::nullopt, mode, std::move(telling));
    co_await std::move(performing);
}

void acquirer::tell_fail_open(const std::string& job, const std::string& why) {
    node_.log(log_level::warn, "running without a lease (on_store_down) " + job_field(job) +
                                   ": another node may run it too");
    if (node_.observer) node_.observer->on_fail_open(job);
    if (node_.records) audit_fail_open(job, why);
}

void acquirer::audit_fail_open(const std::string& job, const std::string& why) {
    audit_draft what;
    what.actor = node_.me.name;
    what.action = "job.fail_open";
    what.target = job;
    what.detail = why;
    unaudited_.add({std::move(what), node_.loop.now()});
    if (!std::exchange(is_auditing_, true)) node_.spawn(keep_auditing());
}

// Each append is an entry of its own, so what was not answered is looked for before it is repeated.
async<void> acquirer::audit_once(const untold_audit& one) {
    if (one.may_be_told) {
        auto listing = node_.records->list_audit(0, page_limit_max);
        const auto newest = co_await std::move(listing);
        if (newest.has_error()) co_return newest.error();
        const auto is_it = [&what = one.what](const audit_entry& entry) {
            return std::tie(entry.actor, entry.action, entry.target, entry.detail) ==
                   std::tie(what.actor, what.action, what.target, what.detail);
        };
        if (std::any_of(newest->begin(), newest->end(), is_it)) co_return result<void>{};
    }
    auto appending = node_.records->append_audit(one.what);
    const auto appended = co_await std::move(appending);
    if (appended.has_error()) co_return appended.error();
    co_return result<void>{};
}

// The journal is perhaps on the same server, and away for as long: one asks for all of them.
awaitable<void> acquirer::keep_auditing() {
    net::timer timer{node_.loop.get_executor()};
    while (!unaudited_.empty()) {
        auto one = unaudited_.take_oldest();
        auto auditing = audit_once(one);
        const auto told = co_await std::move(auditing);
        // What is rejected now is rejected again, and the others would wait behind it.
        if (told.has_value() || !may_pass(told.error().code)) continue;
        one.may_be_told = one.may_be_told || told.error().code == errc::outcome_unknown;
        if (node_.stopping) break;
        if (node_.loop.now() < one.since + journal_retry * journal_tries_max)
            unaudited_.put_back(std::move(one));
        auto waiting = timer.wait_for(journal_retry);
        co_await std::move(waiting);
    }
    is_auditing_ = false;
}

awaitable<void> acquirer::settle_done(std::shared_ptr<track> which, occurrence last) {
    auto& decisions = which->decisions;
    const auto wanted = decisions.wanted();
    auto finding =
        runtime::find_done_mark(node_.engine, which->key, wanted.occurrence.value_or(last), last);
    const auto mark = co_await std::move(finding);
    if (mark.has_error()) co_return decisions.on_failure(node_.loop.now(), node_.uniform());
    if (!*mark) co_return decisions.on_forgotten();
    if (was_passed(node_, *which, **mark)) co_return decisions.on_passed();
    if (wanted.kind != request_kind::orphan || **mark != *wanted.occurrence)
        co_return decisions.on_done();
    auto looking = look_at(node_.engine, which->key);
    const auto seen = co_await std::move(looking);
    // Without its token what is known cannot be recorded; the control state offers it again.
    if (seen.has_value() && *seen)
        others_.control.on_orphan_done(wanted.id,
                                       {node_.loop.now(), (*seen)->last_token, (*seen)->owner});
    decisions.on_called_off();
}

// While a claim was not answered, others may have found the key busy and let the occurrence go:
// then it is withdrawn, as their row tells what has become of it.
awaitable<void> acquirer::perform_unless_skipped(std::shared_ptr<track> which,
                                                 std::shared_ptr<runtime::lease_state> won,
                                                 delivery mode, std::optional<occurrence> claimed) {
    auto& decisions = which->decisions;
    const bool came_late = claimed && won->claim_repeated;
    std::optional<lease> held{lease{std::move(won)}};
    bool was_skipped = false;
    if (came_late && node_.records && may_be_skipped(which->plan->queue)) {
        auto asking =
            has_been_skipped(node_.records, which->plan->name, which->partition, *claimed);
        const auto skipped = co_await std::move(asking);
        was_skipped = skipped.has_value() && *skipped;
    }
    // A pause, a stop or a reload may have come while the store was waited for.
    if (was_skipped || !may_begin(node_, *which)) {
        decisions.on_given_back();
        if (was_skipped)
            decisions.on_called_off();
        else
            call_off(node_, *which);
        held->mark_not_started();
        auto releasing = held->async_release();
        co_await std::move(releasing);
        co_return;
    }
    decisions.on_granted();
    auto performing = others_.runs.perform(which, std::move(held), mode);
    co_await std::move(performing);
}

// Busy says nothing of this occurrence: the holder may be running it, or the one before.
awaitable<void> acquirer::settle_busy(std::shared_ptr<track> which, busy other) {
    auto& decisions = which->decisions;
    const auto wanted = decisions.wanted();
    which->busy_under = other.holder;
    bool marked = false, passed = false, overlaps = false;
    std::string holder;
    if (wanted.occurrence && other.reason != busy_reason::early &&
        other.reason != busy_reason::quarantined) {
        auto looking = look_at(node_.engine, which->key);
        const auto seen = co_await std::move(looking);
        if (seen.has_error()) co_return decisions.on_failure(node_.loop.now(), node_.uniform());
        marked = *seen && (*seen)->last_done &&
                 number(*(*seen)->last_done) >= number(*wanted.occurrence);
        passed = marked && was_passed(node_, *which, *(*seen)->last_done);
        // Where the key is never free, the store has no other occasion to say so.
        if (wanted.kind == request_kind::orphan && !wanted.passed && marked &&
            number(*(*seen)->last_done) > number(*wanted.occurrence))
            co_return decisions.on_done();
        if (which->seen && which->seen->holder == other.holder)
            which->seen->twice = which->seen->twice || !marked;
        else if (*seen && (*seen)->last_done && other.reason == busy_reason::held) {
            look_for_the_dead(which);
            which->seen = track::observation{*(*seen)->last_done, other.holder, other.owner, false,
                                             *wanted.occurrence};
        }
        if (!marked && node_.records && gives_way(which->plan->queue)) {
            // Skipped for good only when no node has begun it.
            auto finding = node_.records->find_occurrence(which->plan->name, which->partition,
                                                          *wanted.occurrence);
            const auto row = co_await std::move(finding);
            marked = row.has_value() && *row && (*row)->status != run_status::skipped;
        }
        overlaps = *seen && is_overlapped(which->plan->queue, **seen, *wanted.occurrence,
                                          node_.engine->settings().max_skew);
        if (!marked && node_.records && wanted.kind == request_kind::occurrence) {
            auto naming = name_holder(node_, which, other, *seen);
            auto named = co_await std::move(naming);
            holder = std::move(named.shown);
            // What a lock of another program or a dead agent's lease holds up is waited for.
            overlaps = overlaps && named.is_live_agent;
        }
    }
    if (other.reason == busy_reason::early && wanted.occurrence && !node_.records) {
        // The store has told how far ahead of it our clock is.
        const auto stores =
            wall_of(*wanted.occurrence) - node_.engine->settings().max_skew - other.remaining;
        node_.clock.follow_store(node_.loop.wall(), stores);
        node_.time_changed.cancel();
    }
    if (passed && !wanted.passed) co_return decisions.on_passed();
    decisions.on_busy(other, marked, node_.loop.now(), node_.uniform(), std::move(holder),
                      overlaps);
}

// The same where this node has only looked, as it has left `latest` to others.
void acquirer::note_holder(const std::shared_ptr<track>& which, const std::optional<record>& seen,
                           occurrence latest) {
    const auto holder = seen && seen->remaining.count() > 0 ? seen->holder : fence_token{};
    if (which->seen && which->seen->holder != holder) look_for_the_dead(which);
    const bool marked = seen && seen->last_done && number(*seen->last_done) >= number(latest);
    if (number(holder) == 0 || marked || !seen->last_done) return;
    if (!which->seen)
        which->seen = track::observation{*seen->last_done, holder, seen->owner, false, latest};
    else if (which->seen->at != latest)
        which->seen->twice = true;
}

// The key has passed on, to this node or to another one, from a holder that held it for longer than
// it takes to run once. If that one died before it wrote a line, its occurrence has to be told.
void acquirer::look_for_the_dead(const std::shared_ptr<track>& which) {
    const auto seen = std::exchange(which->seen, std::nullopt);
    if (!seen || !seen->twice || !node_.records) return;
    if (which->plan->queue.delivery != delivery::at_most_once) return;
    lost_beginning what{seen->occurrence, seen->holder, seen->owner};
    node_.spawn(others_.lost.keep_telling_lost(which, std::move(what)));
}

}  // namespace pawl::schedule
