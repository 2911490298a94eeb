// From a wish to a run that is over: what a node of a simulation does about one firing.
#include "testing/simulation/schedule/node.hpp"

#include <algorithm>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr nanos claim_again_after = seconds{1};
constexpr nanos settle_within = seconds{10};  // a claim that is not answered
constexpr int release_attempts = 3;

nanos margin_of(millis ttl) { return nanos{ttl} / 25; }

}  // namespace

void node::tell_skipped(track& which) {
    for (const auto& one : which.decisions.take_skipped()) {
        if (home_.plan.bug == plant::skips_untold) continue;
        // The journal is told again until it hears of it.
        home_.store.skip(which.key, one.firing, one.why);
    }
}

void node::drive(const std::shared_ptr<track>& which) {
    if (!home_.judge.on_step(index_)) return;
    const auto number = ++which->wakes;
    const auto step = which->decisions.next(clock());
    tell_skipped(*which);
    if (step.what == schedule::lane::act::claim) return claim_for(which, step.patience);
    withdraw_unwanted(which);
    if (step.what != schedule::lane::act::pause) return;
    after(std::max<nanos>(step.until - clock(), nanos{0}), [this, which, number] {
        if (which->wakes == number) drive(which);
    });
}

std::string node::fresh_id() {
    return name() + "/" + std::to_string(life_) + "/" + std::to_string(++ids_);
}

void node::claim_for(const std::shared_ptr<track>& which, millis patience) {
    const auto& wanted = which->decisions.wanted();
    if (draining_ || (paused_.contains(which->job) && wanted.kind == schedule::wish_kind::firing)) {
        which->decisions.on_called_off();
        return drive(which);
    }
    const bool asked_before = which->unresolved && wanted.kind == schedule::wish_kind::firing &&
                              wanted.firing == which->unresolved->firing;
    // What is claimed next would find the key held by the claim that was not answered.
    if (which->unresolved && !asked_before)
        return withdraw(which, [this, which, patience](bool resolved) {
            if (resolved) return claim_for(which, patience);
            which->decisions.on_failure(clock(), home_.random.fraction());
            drive(which);
        });
    auto what = std::make_shared<errand>();
    what->where = which;
    what->wanted = wanted;
    what->unanswered = asked_before;
    what->id = asked_before ? which->unresolved->id : fresh_id();
    what->first_sent = home_.time.now();
    what->patient_until = home_.time.now() + patience;
    which->unresolved.reset();
    if (!asked_before && patience.count() == 0 && catches_up(*which)) return leave_skipped(what);
    send(what);
}

bool node::catches_up(const track& which) const {
    const auto& wanted = which.decisions.wanted();
    if (!home_.plan.has_journal || wanted.kind != schedule::wish_kind::firing || wanted.begun)
        return false;
    const wall_instant due{millis{number(*wanted.firing)}};
    const bool is_late = now() - due > schedule::lateness_tolerated;
    return due <= caught_up_until_ || (is_late && gives_way(home_.plan.jobs[which.job].rules));
}

bool node::has_been_skipped(const errand& what) const {
    const auto* row = home_.store.find(what.where->key, *what.wanted.firing);
    return row != nullptr && row->status == run_status::skipped;
}

void node::leave_skipped(const std::shared_ptr<errand>& what) {
    const auto look = [this, what]() -> std::function<void()> {
        const bool skipped = home_.plan.bug != plant::skipped_revived && has_been_skipped(*what);
        return [this, what, skipped] {
            what->first_sent = home_.time.now();
            if (!skipped) return send(what);
            what->where->decisions.on_done();
            drive(what->where);
        };
    };
    ask(look, [this, what] {
        what->where->decisions.on_failure(clock(), home_.random.fraction());
        drive(what->where);
    });
}

void node::send(const std::shared_ptr<errand>& what) {
    const auto& plan = home_.plan.jobs[what->where->job];
    what->sent = home_.time.now();
    claim wanted{what->where->key, what->id, name(), plan.ttl};
    const bool sends = home_.plan.bug != plant::occurrence_unsent && !what->wanted.passed;
    if (sends) wanted.firing = what->wanted.firing;
    const bool careless = home_.plan.bug == plant::used_up_by_grant;
    if (plan.rules.mode == schedule::remembering::at_least_once && !careless)
        wanted.mode = delivery::at_least_once;
    const auto serve = [this, what, wanted, life = life_]() -> std::function<void()> {
        const auto answer = home_.store.acquire(wanted);
        if (std::holds_alternative<grant>(answer))
            home_.judge.on_granted(wanted.key, *what->wanted.firing, index_, life == life_,
                                   hears());
        return [this, what, answer] { answered(what, answer); };
    };
    ask(serve, [this, what] { unanswered(what); });
}

// The outcome is unknown: only the same claim is safe to send again, also after a while.
void node::unanswered(const std::shared_ptr<errand>& what) {
    what->unanswered = true;
    if (home_.plan.bug != plant::withdrawn_used_up) what->where->decisions.on_unanswered();
    if (home_.time.now() - what->first_sent < settle_within)
        return after(claim_again_after, [this, what] { send(what); });
    if (home_.plan.bug == plant::withdrawn_used_up) {
        const auto forget = [this, what]() -> std::function<void()> {
            home_.store.withdraw({what->where->key, what->id});
            return [] {};
        };
        ask(forget, [] {});
    } else {
        keep(what);
    }
    what->where->decisions.on_failure(clock(), home_.random.fraction());
    drive(what->where);
}

void node::keep(const std::shared_ptr<errand>& what) {
    if (!what->unanswered || home_.plan.bug == plant::withdrawn_used_up) return;
    const auto ttl = home_.plan.jobs[what->where->job].ttl;
    what->where->unresolved = {what->id, *what->wanted.firing, home_.time.now() + ttl};
}

// `then` is told whether it is known by now, or not worth asking any more.
void node::withdraw(const std::shared_ptr<track>& which, std::function<void(bool)> then) {
    const auto given_up = *which->unresolved;
    const auto forget = [which, id = given_up.id] {
        if (which->unresolved && which->unresolved->id == id) which->unresolved.reset();
    };
    const auto serve = [this, which, given_up, forget, then]() -> std::function<void()> {
        home_.store.withdraw({which->key, given_up.id, given_up.firing});
        return [forget, then] {
            forget();
            then(true);
        };
    };
    ask(serve, [this, given_up, forget, then] {
        const bool over = home_.time.now() > given_up.until;
        if (over) forget();
        then(over);
    });
}

void node::withdraw_unwanted(const std::shared_ptr<track>& which) {
    if (which->withdrawing || !which->unresolved) return;
    if (which->decisions.wants_firing(which->unresolved->firing)) return;
    which->withdrawing = true;
    withdraw(which, [this, which](bool resolved) {
        which->withdrawing = false;
        if (!resolved) after(claim_again_after, [this, which] { withdraw_unwanted(which); });
    });
}

void node::answered(const std::shared_ptr<errand>& what, const verdict& answer) {
    auto& lane = what->where->decisions;
    if (const auto* won = std::get_if<grant>(&answer)) {
        const auto trusted_until = what->sent + won->ttl - margin_of(won->ttl);
        if (home_.time.now() >= trusted_until) return unanswered(what);
        if (what->unanswered) return run_unless_skipped(what, won->token);
        lane.on_granted();
        return perform(what, won->token);
    }
    if (const auto* other = std::get_if<busy>(&answer)) {
        if (other->reason == busy_reason::early) home_.judge.happened(fact::early);
        const bool waits =
            other->reason == busy_reason::held && home_.time.now() < what->patient_until;
        if (waits) return listen(what, other->remaining);
        keep(what);
        return settle_busy(what, *other);
    }
    home_.judge.happened(fact::already_done);
    keep(what);
    lane.on_done();
    drive(what->where);
}

// While it was not answered, others may have found the key busy and let the occurrence go.
void node::run_unless_skipped(const std::shared_ptr<errand>& what, fence_token token) {
    const auto run = [this, what, token] {
        what->where->decisions.on_granted();
        perform(what, token);
    };
    if (!home_.plan.has_journal || !gives_way(home_.plan.jobs[what->where->job].rules))
        return run();
    const auto leave = [this, what] {
        what->where->decisions.on_called_off();
        drive(what->where);
    };
    const auto give_back = [this, what, leave]() -> std::function<void()> {
        home_.store.withdraw({what->where->key, what->id, what->wanted.firing});
        return leave;
    };
    const auto look = [this, what, run, give_back, leave]() -> std::function<void()> {
        if (!has_been_skipped(*what)) return run;
        return [this, give_back, leave] { ask(give_back, leave); };
    };
    ask(look, run);
}

// Until the store says that the key is free, or its lease must have ended, or patience has.
void node::listen(const std::shared_ptr<errand>& what, millis remaining) {
    auto again = [this, what, once = std::make_shared<bool>(false)] {
        if (std::exchange(*once, true)) return;
        what->first_sent = home_.time.now();
        if (!what->unanswered) what->id = fresh_id();
        send(what);
    };
    const auto left = std::min<nanos>(remaining, what->patient_until - home_.time.now());
    after(left + home_.random.between(milliseconds{1}, milliseconds{50}), again);
    // Who has died meanwhile hears nothing.
    home_.store.listen(what->where->key, [this, again, life = life_] {
        if (life == life_) after(milliseconds{5}, again);
    });
}

// Busy says nothing of this firing: the holder may be running it, or the one before.
void node::settle_busy(const std::shared_ptr<errand>& what, const busy& other) {
    const auto& plan = home_.plan.jobs[what->where->job];
    const auto settle = [this, what, other](bool marked) {
        auto& lane = what->where->decisions;
        if (home_.plan.bug == plant::busy_ends_it && other.reason == busy_reason::held)
            lane.on_done();
        else
            lane.on_busy(other, marked, clock(), home_.random.fraction());
        drive(what->where);
    };
    const bool asks = what->wanted.firing && other.reason != busy_reason::early;
    if (!asks) return settle(false);
    const auto firing = *what->wanted.firing;
    const bool once = gives_way(plan.rules);
    const auto look = [this, what, firing, once, settle]() -> std::function<void()> {
        const auto last = home_.store.last_done(what->where->key);
        bool marked = last && number(*last) >= number(firing);
        if (!marked && once && home_.plan.has_journal) {
            const auto* row = home_.store.find(what->where->key, firing);
            marked = row != nullptr && row->status != run_status::skipped;
        }
        return [settle, marked] { settle(marked); };
    };
    ask(look, [this, what] {
        what->where->decisions.on_failure(clock(), home_.random.fraction());
        drive(what->where);
    });
}

// -- runs

void node::perform(const std::shared_ptr<errand>& what, fence_token token) {
    const auto& plan = home_.plan.jobs[what->where->job];
    auto one = std::make_shared<run>();
    one->where = what->where;
    one->firing = *what->wanted.firing;
    one->token = token;
    if (plan.rules.mode == schedule::remembering::at_least_once)
        one->mode = delivery::at_least_once;
    one->kill_at = what->sent + plan.ttl - margin_of(plan.ttl);
    runs_.push_back(one);
    guard(one);
    const auto ttl = nanos{plan.ttl};
    after(what->sent + ttl * 3 / 10 - home_.time.now(), [this, one] { renew(one); });
    if (!home_.plan.has_journal) return begun(one, beginning{});
    const auto serve = [this, one]() -> std::function<void()> {
        const auto told = home_.store.begin(one->where->job, one->where->partition, one->where->key,
                                            one->firing, one->token, one->mode);
        return [this, one, told] { begun(one, told); };
    };
    // Without an answer it runs all the same: the lease is what counts.
    ask(serve, [this, one] { begun(one, beginning{}); });
}

void node::begun(const std::shared_ptr<run>& one, const beginning& told) {
    if (one->lost || home_.time.now() >= one->kill_at) {
        one->over = one->lost = true;
        home_.judge.on_too_late(one->where->key, one->firing);
        return conclude(one);
    }
    const bool ours =
        told.outcome == begin_outcome::begun || told.outcome == begin_outcome::resumed;
    if (!ours) {
        one->over = true;
        one->completed = told.outcome == begin_outcome::already_run && is_over(told.status);
        return conclude(one);
    }
    const auto& plan = home_.plan.jobs[one->where->job];
    one->begun = true;
    home_.judge.on_begin(one->where->key, one->firing, one->where->job, index_);
    one->ends = home_.time.now() + home_.random.between(plan.run_least, plan.run_most);
    // The command ends whether or not its parent can see it.
    home_.time.at(one->ends, [this, one] {
        if (!one->over) end(one, true);
    });
}

// Kills the command when trust ends; independent of the process, which may be frozen.
void node::guard(const std::shared_ptr<run>& one) {
    home_.time.at(one->kill_at, [this, one] {
        if (one->over) return;
        const bool careless =
            home_.plan.bug == plant::unguarded && home_.time.now() < frozen_until_;
        if (careless) return home_.time.at(frozen_until_, [this, one] { guard(one); });
        if (home_.time.now() < one->kill_at) return guard(one);
        one->lost = true;
        if (one->begun) end(one, false);
    });
}

void node::end(const std::shared_ptr<run>& one, bool completed) {
    one->over = true;
    one->completed = completed;
    home_.judge.on_end(one->where->key, one->firing, completed);
    enter([this, one, life = life_] {
        if (life == life_) conclude(one);
    });
}

void node::renew(const std::shared_ptr<run>& one) {
    if (one->over || one->lost) return;
    const auto& plan = home_.plan.jobs[one->where->job];
    const auto sent = home_.time.now();
    const auto serve = [this, one, sent, ttl = plan.ttl]() -> std::function<void()> {
        const bool renewed = home_.store.renew(one->where->key, one->token, ttl);
        return [this, one, sent, ttl, renewed] {
            if (one->over || one->lost) return;
            if (renewed) one->kill_at = sent + ttl - margin_of(ttl);
            if (renewed) return after(nanos{ttl} * 3 / 10, [this, one] { renew(one); });
            one->lost = true;
            if (one->begun) end(one, false);
        };
    };
    ask(serve, [this, one] { renew(one); });
}

// Last words, the release, and then the lane goes on.
void node::conclude(const std::shared_ptr<run>& one) {
    std::erase(runs_, one);
    const bool again = one->mode == delivery::at_least_once;
    auto how = run_status::completed;
    if (!one->completed) how = again ? run_status::abandoned : run_status::lost;
    if (one->begun && home_.plan.has_journal) {
        // Written again until it is there, or the process ends.
        const auto serve = [this, one, how]() -> std::function<void()> {
            home_.store.finish(one->where->key, one->firing, one->token, how);
            return [] {};
        };
        ask(serve, [this, one, serve] { ask(serve, [] {}); });
    }
    std::optional<occurrence> done;
    if (one->completed) done = one->firing;
    release(one, done, release_attempts);
}

void node::release(const std::shared_ptr<run>& one, std::optional<occurrence> done, int attempts) {
    const auto how = done ? schedule::ending::settled : schedule::ending::unfinished;
    const auto free = [this, one, how] {
        one->where->decisions.on_ended(how, clock());
        drive(one->where);
    };
    if (attempts == 0) return free();
    const auto serve = [this, one, done, free]() -> std::function<void()> {
        home_.store.release(one->where->key, one->token, done);
        return free;
    };
    ask(serve, [this, one, done, attempts] { release(one, done, attempts - 1); });
}

}  // namespace pawl::simulation::schedules
