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
    if (step.what != schedule::lane::act::pause) return;
    after(std::max<nanos>(step.until - clock(), nanos{0}), [this, which, number] {
        if (which->wakes == number) drive(which);
    });
}

void node::claim_for(const std::shared_ptr<track>& which, millis patience) {
    const auto& wanted = which->decisions.wanted();
    if (draining_ || (paused_.contains(which->job) && wanted.kind == schedule::wish_kind::firing)) {
        which->decisions.on_called_off();
        return drive(which);
    }
    auto what = std::make_shared<errand>();
    what->where = which;
    what->wanted = wanted;
    what->id = name() + "/" + std::to_string(life_) + "/" + std::to_string(++ids_);
    what->first_sent = home_.time.now();
    what->patient_until = home_.time.now() + patience;
    send(what);
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
    const auto serve = [this, what, wanted]() -> std::function<void()> {
        return [this, what, answer = home_.store.acquire(wanted)] { answered(what, answer); };
    };
    ask(serve, [this, what] { unanswered(what); });
}

// The outcome is unknown: only the same claim is safe to send again.
void node::unanswered(const std::shared_ptr<errand>& what) {
    if (home_.time.now() - what->first_sent < settle_within)
        return after(claim_again_after, [this, what] { send(what); });
    const auto forget = [this, what]() -> std::function<void()> {
        home_.store.withdraw(what->where->key, what->id);
        return [] {};
    };
    ask(forget, [] {});
    what->where->decisions.on_failure(clock(), home_.random.fraction());
    drive(what->where);
}

void node::answered(const std::shared_ptr<errand>& what, const verdict& answer) {
    auto& lane = what->where->decisions;
    if (const auto* won = std::get_if<grant>(&answer)) {
        const auto trusted_until = what->sent + won->ttl - margin_of(won->ttl);
        if (home_.time.now() >= trusted_until) return unanswered(what);
        lane.on_granted();
        return perform(what, won->token);
    }
    if (const auto* other = std::get_if<busy>(&answer)) {
        if (other->reason == busy_reason::early) home_.judge.happened(fact::early);
        const bool waits =
            other->reason == busy_reason::held && home_.time.now() < what->patient_until;
        if (waits) return listen(what, other->remaining);
        return settle_busy(what, *other);
    }
    home_.judge.happened(fact::already_done);
    lane.on_done();
    drive(what->where);
}

// Until the store says that the key is free, or its lease must have ended, or patience has.
void node::listen(const std::shared_ptr<errand>& what, millis remaining) {
    auto again = [this, what, once = std::make_shared<bool>(false)] {
        if (std::exchange(*once, true)) return;
        what->first_sent = home_.time.now();
        what->id = name() + "/" + std::to_string(life_) + "/" + std::to_string(++ids_);
        send(what);
    };
    const auto left = std::min<nanos>(remaining, what->patient_until - home_.time.now());
    after(left + home_.random.between(milliseconds{1}, milliseconds{50}), again);
    home_.store.listen(what->where->key, [this, again] { after(milliseconds{5}, again); });
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
    const bool once = plan.rules.mode == schedule::remembering::at_most_once &&
                      plan.rules.when_running == schedule::overlap::skip;
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
