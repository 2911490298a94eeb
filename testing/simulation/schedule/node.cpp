#include "testing/simulation/schedule/node.hpp"

#include <algorithm>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// As the dispatcher has it.
constexpr microseconds step_tolerated = milliseconds{200};
constexpr microseconds offset_tolerated = milliseconds{500};
constexpr millis share_hold_back = seconds{2};

constexpr std::size_t due_at_once = 1000;

}  // namespace

world::~world() = default;

node::node(world& home, std::size_t index) : home_{home}, index_{index} {
    const auto& plan = home.plan;
    error_ = home.random.between(-plan.skew_most, plan.skew_most);
    drift_ = plan.drift_most * (2 * home.random.fraction() - 1);
}

node::~node() = default;

// -- the machine

instant node::clock() const { return instant{home_.time.now() + std::chrono::hours{1 + index_}}; }

wall_instant node::wall() const {
    const auto since = home_.time.now() - error_since_;
    const auto drifted =
        nanos{static_cast<std::int64_t>(static_cast<double>(since.count()) * drift_)};
    return home_.plan.start + floor<microseconds>(home_.time.now() + error_ + drifted);
}

void node::set_clock(nanos error) {
    error_ = error;
    error_since_ = home_.time.now();
    report_health();
}

void node::step_clock(nanos by) {
    home_.judge.note(name(), "'s clock steps by ", by.count() / 1'000'000'000, " s");
    home_.judge.happened(by < nanos{0} ? fact::steps_back : fact::steps_forward);
    home_.judge.on_clock_step();
    const auto so_far = wall() - home_.plan.start - home_.time.now();
    set_clock(so_far + by);
}

bool node::reachable() const { return home_.store.up && home_.time.now() >= cut_until_; }
bool node::hears() const { return reachable() && home_.time.now() >= deaf_until_; }

void node::report_health() {
    const auto off = now() - (home_.plan.start + floor<microseconds>(home_.time.now()));
    const bool right = off < home_.plan.clock_tolerated() && off > -home_.plan.clock_tolerated();
    home_.judge.on_health(index_, alive_ && ready_ && !draining_ && right && hears() &&
                                      home_.time.now() >= frozen_until_);
}

void node::freeze(nanos how_long) {
    if (!alive_ || home_.time.now() < frozen_until_) return;
    home_.judge.note(name(), " freezes");
    home_.judge.happened(fact::freezes);
    frozen_until_ = home_.time.now() + how_long;
    report_health();
    home_.time.at(frozen_until_, [this] {
        home_.judge.note(name(), " goes on");
        auto backlog = std::exchange(waiting_, {});
        for (auto& [life, what] : backlog)
            if (life == life_) what();
        report_health();
    });
}

void node::cut(nanos how_long, direction which) {
    home_.judge.note(name(), which == direction::both ? " is cut off" : " hears no answers");
    home_.judge.happened(fact::cuts);
    auto& until = which == direction::both ? cut_until_ : deaf_until_;
    until = std::max(until, home_.time.now() + how_long);
    report_health();
    home_.time.at(until, [this] { report_health(); });
}

void node::crash(nanos down) {
    if (!alive_) return;
    home_.judge.note(name(), " crashes");
    home_.judge.happened(fact::crashes);
    lose_runs();
    home_.judge.on_death(index_);
    ++life_;
    alive_ = ready_ = draining_ = false;
    waiting_.clear();
    frozen_until_ = home_.time.now();
    report_health();
    home_.time.after(down, [this] { start(); });
}

void node::lose_runs() {
    for (const auto& one : std::exchange(runs_, {}))
        if (one->begun && !one->over) {
            one->over = true;
            home_.judge.on_end(one->where->key, one->firing, false);
        }
}

void node::deploy() {
    if (!alive_ || draining_ || home_.time.now() < frozen_until_) return;
    home_.judge.note(name(), " is deployed anew");
    home_.judge.happened(fact::deploys);
    draining_ = true;
    report_health();
    for (const auto& one : tracks_) one->decisions.forget_firings();
    after(seconds{30}, [this] {
        for (const auto& one : std::vector{runs_})
            if (one->begun && !one->over) end(one, false);
        // Last words and releases have left by then.
        after(seconds{5}, [this] {
            lose_runs();
            home_.judge.on_death(index_);
            ++life_;
            alive_ = ready_ = draining_ = false;
            waiting_.clear();
            home_.time.after(home_.random.between(seconds{1}, seconds{20}), [this] { start(); });
        });
    });
}

// -- the process

void node::enter(std::function<void()> what) {
    if (home_.time.now() < frozen_until_)
        waiting_.emplace_back(life_, std::move(what));
    else
        what();
}

void node::after(nanos delay, std::function<void()> what) {
    home_.time.after(delay, [this, life = life_, what = std::move(what)] {
        if (life == life_) enter(what);
    });
}

// `serve` happens at the store and returns what happens when its answer is here.
void node::ask(std::function<std::function<void()>()> serve, std::function<void()> unknown) {
    const auto way = [this] { return home_.random.between(milliseconds{1}, milliseconds{20}); };
    const auto lost = [this, unknown = std::move(unknown)] { after(seconds{2}, unknown); };
    home_.time.after(way(), [this, life = life_, way, lost, serve = std::move(serve)] {
        if (!reachable()) {
            if (life == life_) lost();
            return;
        }
        auto heard = serve();
        home_.time.after(way(), [this, life, lost, heard = std::move(heard)] {
            if (life != life_) return;
            if (hears())
                enter(heard);
            else
                lost();
        });
    });
}

void node::start() {
    if (alive_) return;
    home_.judge.note(name(), " starts");
    alive_ = true;
    table_ = std::make_unique<schedule::timetable>();
    tracks_.clear();
    offset_ = microseconds{0};
    jumped_.reset();
    paused_.clear();
    for (std::size_t job = 0; job < home_.plan.jobs.size(); ++job) {
        const auto& plan = home_.plan.jobs[job];
        for (std::uint32_t i = 0; i < plan.partitions; ++i)
            tracks_.push_back(std::make_shared<track>(job, i, key_of(plan, i), plan.rules));
    }
    find_positions();
}

// Where each schedule stands is known at the store; how long there has been one, at the journal.
void node::find_positions() {
    if (!reachable()) return after(seconds{1}, [this] { find_positions(); });
    if (home_.plan.has_journal) compare_clocks();
    for (std::size_t job = 0; job < home_.plan.jobs.size(); ++job) {
        const auto& plan = home_.plan.jobs[job];
        auto position = home_.plan.has_journal ? home_.plan.start : now();
        std::optional<wall_instant> last;
        for (std::uint32_t i = 0; i < plan.partitions; ++i) {
            const auto done = home_.store.last_done(key_of(plan, i));
            if (!done) continue;
            const wall_instant at{millis{number(*done)}};
            last = last ? std::min(*last, at) : at;
        }
        if (last && home_.plan.has_journal)
            position = std::max(position, *last);
        else if (last)
            position = *last;
        if (home_.plan.bug == plant::position_forgotten) position = now();
        table_->add(static_cast<schedule::entry_id>(job), plan.when, position, now());
    }
    caught_up_until_ = now();
    first_due_ = table_->next_due();
    last_wall_ = now();
    last_seen_ = clock();
    ready_ = true;
    do_duties();
    keep_time();
    report_health();
}

// -- time

void node::notice_steps(wall_instant now) {
    const auto seen = clock();
    const auto expected = last_wall_ + floor<microseconds>(seen - last_seen_);
    if (now > expected + step_tolerated) jumped_ = jump{last_wall_, now - expected};
    if (now + step_tolerated < expected) {
        // Undoes a jump that was seen: then it is known since when the clock was wrong.
        const auto back = expected - now;
        std::optional<wall_instant> last_right;
        if (jumped_ && back > jumped_->by / 2) last_right = jumped_->from;
        jumped_.reset();
        if (home_.plan.bug != plant::put_back_ignored) put_back(now, last_right);
    }
    last_wall_ = now;
    last_seen_ = seen;
}

void node::put_back(wall_instant now, std::optional<wall_instant> last_right) {
    table_->clock_put_back(now, last_right);
    if (home_.plan.bug == plant::ahead_kept) return;
    const occurrence latest{floor<millis>(now.time_since_epoch()).count()};
    for (const auto& one : tracks_) {
        one->decisions.forget_ahead(latest);
        drive(one);
    }
}

void node::keep_time() {
    if (draining_ || !home_.judge.on_look(index_)) return;
    const auto number = ++looks_;
    const auto wall = now();
    notice_steps(wall);
    for (const auto& one : table_->advance(wall, due_at_once)) take_due(one, wall);
    nanos pause = home_.plan.look;
    const auto next = home_.plan.bug == plant::look_again_at_once ? first_due_ : table_->next_due();
    if (next) pause = std::clamp<nanos>(*next - now(), nanos{0}, pause);
    after(pause, [this, number] {
        if (number == looks_) keep_time();
    });
}

void node::take_due(const schedule::due_firing& due, wall_instant now) {
    const std::size_t job = due.entry;
    const auto& plan = home_.plan.jobs[job];
    if (due.missed > 0 && home_.plan.bug != plant::misses_untold)
        home_.judge.on_missed(job, due.at, due.missed);
    if (paused_.contains(job)) return;
    const auto late = std::max(floor<millis>(now - due.at), millis{0});
    const occurrence firing{floor<millis>(due.at.time_since_epoch()).count()};
    for (const auto& one : tracks_) {
        if (one->job != job) continue;
        auto hold_back = floor<millis>(home_.random.between(nanos{0}, plan.jitter));
        if (plan.partitions > 1) {
            const schedule::fair_shares shares{plan.name, plan.partitions, live_nodes_};
            const auto place = shares.place_in_line(one->partition, name());
            hold_back += share_hold_back * static_cast<long>(std::min<std::size_t>(place, 5));
        }
        one->decisions.offer_firing(firing, clock(), late, hold_back);
        drive(one);
    }
}

// -- the board, the registry and the reconciler

void node::do_duties() {
    if (draining_) return;
    after(home_.plan.look, [this] { do_duties(); });
    if (!reachable() || !home_.plan.has_journal) return;
    home_.store.seen[name()] = home_.time.now();
    live_nodes_.clear();
    for (const auto& [other, when] : home_.store.seen)
        if (home_.time.now() - when < 3 * home_.plan.look) live_nodes_.push_back(other);
    compare_clocks();
    for (const auto& one : runs_)
        if (one->begun && !one->over) home_.store.beat(one->where->key, one->firing, one->token);
    home_.store.judge_stale(4 * home_.plan.look);
    read_board();
}

void node::compare_clocks() {
    const auto off = wall() - (home_.plan.start + floor<microseconds>(home_.time.now()));
    const bool matters = off > offset_tolerated || off < -offset_tolerated;
    const auto change = off > offset_ ? off - offset_ : offset_ - off;
    const auto before = offset_;
    if (!matters)
        offset_ = microseconds{0};
    else if (change > offset_tolerated)
        offset_ = off;
    report_health();
    if (ready_ && offset_ != before) keep_time();
}

void node::read_board() {
    for (std::size_t job = 0; job < home_.plan.jobs.size(); ++job) {
        const bool was = paused_.contains(job);
        const bool is = home_.store.paused.contains(job) && home_.plan.bug != plant::pause_unheard;
        if (is && !was) {
            paused_.insert(job);
            for (const auto& one : tracks_)
                if (one->job == job) one->decisions.forget_firings();
        } else if (was && !is) {
            paused_.erase(job);
            table_->add(static_cast<schedule::entry_id>(job), home_.plan.jobs[job].when, now(),
                        now());
        }
    }
    if (home_.plan.bug == plant::orphans_left) return;
    for (const auto& one : home_.store.orphans())
        for (const auto& each : tracks_)
            if (each->job == one.job && each->partition == one.partition &&
                !paused_.contains(one.job) &&
                each->decisions.offer_orphan(each->key + std::to_string(number(one.firing)),
                                             one.firing, clock()))
                drive(each);
}

}  // namespace pawl::simulation::schedules
