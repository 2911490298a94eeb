#include "testing/simulation/worker.hpp"

#include <algorithm>
#include <utility>

namespace pawl::simulation {
namespace {

using leasing::claiming;
using leasing::heartbeat;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr nanos patience_most = seconds{20};

}  // namespace

worker::worker(node& home, const key_plan& plan) : home_{home}, world_{home.home()}, plan_{plan} {}

leasing::rhythm worker::rhythm() const {
    auto how = leasing::rhythm_of(plan_.options);
    if (world_.plan.bug == plant::no_margin) how.trust = how.ttl;
    if (world_.plan.bug == plant::lifetime_ignored) how.max_lifetime = nanos{0};
    if (world_.plan.bug == plant::lifetime_unadjusted)
        how.max_lifetime = plan_.options.max_lifetime;
    return how;
}

leasing::claim_plan worker::draw_claim_plan() {
    auto& random = world_.random;
    leasing::claim_plan plan;
    plan.how = rhythm();
    if (random.happens(0.6)) plan.wait = random.between(milliseconds{10}, patience_most);
    if (random.happens(0.2)) plan.retries = 2;
    plan.backoff = milliseconds{200};
    plan.when_down = plan_.options.on_store_down;
    plan.settle = world_.plan.settings.timeout * 2;
    if (random.happens(0.2)) plan.poll = seconds{1};
    return plan;
}

// Mostly the firing that is due, at times the one before (a misfire) or the one to come.
std::optional<occurrence> worker::choose_firing() {
    if (!plan_.has_firings) return std::nullopt;
    auto due = home_.wall() / plan_.period;
    const auto chance = home_.chance();
    if (chance < 0.15) --due;
    if (chance > 0.9) ++due;
    return occurrence{std::chrono::floor<millis>(due * plan_.period).count()};
}

bool worker::trusts() const {
    if (!lease_) return false;
    if (world_.plan.bug == plant::unguarded && home_.paused()) return true;
    return lease_->beat.trusted(home_.clock());
}

bool worker::stuck() const { return claim_ && world_.time.now() > patient_until_ + seconds{20}; }

void worker::rest() {
    home_.after(world_.random.between(milliseconds{1}, seconds{2}), [this] { begin(); });
}

void worker::name_claim() {
    id_ = plan_.key + home_.name();
    if (world_.plan.bug != plant::claim_id_reused) id_ += std::to_string(world_.time.happened());
}

void worker::begin() {
    if (claim_ || lease_) return;  // a lease came back to life by a planted bug
    lost_.reset();
    firing_ = choose_firing();
    name_claim();
    const auto plan = draw_claim_plan();
    patient_until_ = world_.time.now() + plan.wait + plan.settle * 2;
    claim_.emplace(plan, home_.clock());
    drive_claim();
}

void worker::drive_claim() {
    for (;;) {
        ++wait_;
        const auto step = claim_->next(home_.clock());
        switch (step.what) {
            case claiming::act::send:
                return send_claim();
            case claiming::act::await:
                return;
            case claiming::act::listen:
                return listen(step.until);
            case claiming::act::pause:
                return wake_at(step.until);
            case claiming::act::withdraw:
                withdraw({plan_.key, id_, firing_}, home_.clock() + plan_.options.ttl);
                claim_->withdrawn();
                break;
            case claiming::act::done:
                return conclude();
        }
    }
}

void worker::send_claim() {
    claim wanted{plan_.key, id_, home_.name(), plan_.options.ttl};
    wanted.firing = firing_;
    wanted.mode = plan_.options.mode;
    claim_->sent(home_.clock());
    home_.ask<verdict>(
        [&shared = world_, wanted, wall = home_.wall()](simulated_store& store) {
            auto answer = store.acquire(wanted, wall);
            shared.audit(wanted.key);
            return answer;
        },
        [this](result<verdict> answer) {
            claim_->answered(std::move(answer), home_.clock(), home_.chance());
            drive_claim();
        });
}

void worker::listen(instant until) {
    const auto wake = home_.bound([this, mine = wait_] {
        if (mine != wait_ || !claim_) return;
        claim_->woken(home_.clock());
        drive_claim();
    });
    home_.tell([&shared = world_, key = plan_.key, seen = claim_->seen(), wake,
                index = home_.index()](simulated_store& store) {
        if (store.up())
            store.listen(key, seen, [&shared, index, wake] { shared.carry(index, wake); });
    });
    if (world_.plan.bug != plant::push_only) home_.at(until, wake);
}

void worker::wake_at(instant until) {
    home_.at(until, [this, mine = wait_] {
        if (mine != wait_ || !claim_) return;
        claim_->woken(home_.clock());
        drive_claim();
    });
}

// For as long as the lease that it may have left can last, and once more.
void worker::withdraw(const withdrawal& given_up, instant until) {
    home_.ask<bool>(
        [&shared = world_, given_up](simulated_store& store) {
            const bool was = store.withdraw(given_up);
            shared.audit(given_up.key);
            return was;
        },
        [this, given_up, until](const result<bool>& gone) {
            if (gone.has_value() || home_.clock() > until) return;
            home_.after(milliseconds{100}, [this, given_up, until] { withdraw(given_up, until); });
        });
}

void worker::conclude() {
    const auto outcome = claim_->outcome();
    claim_.reset();
    if (const auto* won = std::get_if<leasing::granted>(&outcome)) return hold(*won);
    rest();
}

void worker::hold(const leasing::granted& won) {
    const auto now = home_.clock();
    const auto from = world_.plan.bug == plant::trust_from_answer ? now : won.sent;
    const auto first = world_.plan.bug == plant::lifetime_restarts ? from : won.first_sent;
    lease_.emplace(lease{won.what.token, heartbeat{rhythm(), from, first, home_.chance()}, firing_,
                         ++serial_, !world_.healthy && home_.chance() < plan_.hangs});
    world_.judge.note(home_.name(), " holds ", plan_.key, " under ", number(won.what.token));
    if (firing_) world_.judge.on_run(plan_.key, *firing_, plan_.options.mode);
    world_.audit(plan_.key);
    work();
    drive_lease();
}

void worker::work() {
    const auto mine = lease_->serial;
    write_on();
    if (lease_->hangs) return;
    home_.after(world_.random.between(plan_.job_least, plan_.job_most), [this, mine] {
        if (lease_ && lease_->serial == mine) finish();
    });
}

// A job checks that it still holds the key, and writes a moment later: rule 15 is for that moment.
void worker::write_on() {
    if (!lease_ || !lease_->beat.trusted(home_.clock())) return;
    const auto write = [&shared = world_, key = plan_.key,
                        token = lease_->token](simulated_store& store) {
        store.write(key, token);
        shared.audit(key);
    };
    home_.after(world_.random.between(nanos{0}, plan_.options.ttl / 10),
                [this, write] { home_.tell(write); });
    home_.after(world_.random.between(plan_.options.ttl / 10, plan_.options.ttl / 2),
                [this, mine = lease_->serial] {
                    if (lease_ && lease_->serial == mine) write_on();
                });
}

void worker::drive_lease() {
    const auto mine = ++drive_;
    while (lease_) {
        const auto step = lease_->beat.next(home_.clock());
        switch (step.what) {
            case heartbeat::act::wait:
                return home_.at(step.until, [this, mine] {
                    if (mine == drive_) drive_lease();
                });
            case heartbeat::act::renew:
                renew();
                break;
            case heartbeat::act::stop:
                lease_->beat.stop_told();
                if (lease_->hangs) break;
                home_.after(world_.random.between(nanos{0}, plan_.options.grace),
                            [this, serial = lease_->serial] {
                                if (lease_ && lease_->serial == serial) finish();
                            });
                break;
            case heartbeat::act::lose:
                return lose();
        }
    }
}

void worker::renew() {
    const auto sent = home_.clock();
    lease_->beat.renewal_sent(sent, home_.chance());
    auto lifetime = plan_.options.max_lifetime;
    if (world_.plan.bug == plant::lifetime_ignored) lifetime = millis{0};
    const held request{plan_.key, lease_->token, plan_.options.ttl, lifetime,
                       plan_.options.if_lapsed};
    home_.ask<renewal>(
        [&shared = world_, request](simulated_store& store) {
            const auto answer = store.renew(request);
            shared.audit(request.key);
            return answer;
        },
        [this, sent, serial = lease_->serial](const result<renewal>& answer) {
            renewed(serial, sent, answer.has_value() ? *answer : renewal::unknown);
        });
}

void worker::renewed(std::uint64_t serial, instant sent, renewal answer) {
    if (!lease_ || lease_->serial != serial) return revive(serial, sent, answer);
    const auto now = home_.clock();
    const bool before = lease_->beat.trusted(now);
    const auto from = world_.plan.bug == plant::trust_from_answer ? now : sent;
    lease_->beat.renewal_answered(from, answer, now, home_.chance());
    if (!before && lease_->beat.trusted(now))
        world_.judge.broken(law::trust_stays_ended,
                            home_.name() + " trusts its lease of " + plan_.key + " again");
    world_.audit(plan_.key);
    drive_lease();
}

// The planted bug: late good news makes a lease come back that was lost.
void worker::revive(std::uint64_t serial, instant sent, renewal answer) {
    if (!lost_ || lost_->serial != serial || lease_ || answer != renewal::renewed) return;
    lease_ = std::exchange(lost_, std::nullopt);
    lease_->beat = heartbeat{rhythm(), sent, home_.chance()};
    world_.audit(plan_.key);
    drive_lease();
}

void worker::finish() {
    if (!lease_->beat.trusted(home_.clock())) return lose();
    farewell how;
    how.at_least = plan_.options.hold ? farewell::until_expiry : plan_.options.at_least;
    if (lease_->firing) {
        how.done = lease_->firing;
        world_.judge.on_completion(plan_.key, *lease_->firing);
    }
    release(how, 2);
    if (world_.plan.bug == plant::late_answer_revives) lost_ = lease_;
    lease_.reset();
    rest();
}

void worker::lose() {
    world_.judge.happened(fact::lost_leases);
    world_.judge.note(home_.name(), " has lost ", plan_.key);
    if (home_.chance() < 0.5) release(farewell{}, 2);
    if (world_.plan.bug == plant::late_answer_revives) lost_ = lease_;
    lease_.reset();
    rest();
}

void worker::release(const farewell& how, int attempts) {
    const auto token = lease_->token;
    home_.ask<bool>(
        [&shared = world_, key = plan_.key, token, how](simulated_store& store) {
            const bool was = store.release(key, token, how);
            shared.audit(key);
            return was;
        },
        [this, key = plan_.key, token, how, attempts](const result<bool>& answer) {
            if (answer.has_value() || attempts < 2) return;
            home_.ask<bool>([key, token, how](
                                simulated_store& store) { return store.release(key, token, how); },
                            [](const result<bool>&) {});
        });
}

}  // namespace pawl::simulation
