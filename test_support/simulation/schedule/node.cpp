#include "test_support/simulation/schedule/node.hpp"

#include "test_support/simulation/schedule/command.hpp"
#include "test_support/simulation/schedule/remote.hpp"

#include <algorithm>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr millis shutdown_grace = seconds{30};
// How long a node needs to learn of its clock from the journal's.
constexpr nanos clock_learnt_within = seconds{15};

// As the agent does.
boost::asio::awaitable<void> run_and_leave(schedule::dispatcher::self_ptr which,
                                           std::stop_token stop) {
    auto running = schedule::dispatcher::run(which, std::move(stop), shutdown_grace);
    co_await std::move(running);
    auto leaving = schedule::dispatcher::leave(std::move(which));
    co_await std::move(leaving);
}

}  // namespace

// Hears what the dispatcher tells.
class node::listener : public schedule::dispatch_observer {
public:
    explicit listener(node& home) : home_{home} {}

    void log(log_level /*how*/, std::string_view line) override {
        judge().note(home_.name(), ": ", line);
    }
    void on_ready() override {
        home_.ready_ = true;
        home_.report_health();
    }
    void on_skipped(const std::string& job, pawl::occurrence occurrence,
                    schedule::skip_reason why) override {
        if (plan().bug == plant::skips_untold) return;
        const auto& all = plan().jobs;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].name != job) continue;
            const auto& now = home_.edition_of(i);
            for (std::uint32_t which = 0; which < now.partitions; ++which)
                if (now.has_turn(schedule::wall_of(occurrence), which))
                    tell_skip(key_of(all[i], now.partitions, which), occurrence, why);
        }
    }
    void on_missed(const std::string& job, wall_instant before, std::size_t count) override {
        if (plan().bug == plant::misses_untold) return;
        const auto& all = plan().jobs;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].name == job) judge().on_missed(i, home_.edition_of(i).when, before, count);
    }

private:
    // Where there is a journal, it counts when it is written there.
    void tell_skip(const std::string& key, pawl::occurrence occurrence, schedule::skip_reason why) {
        if (plan().has_journal)
            judge().on_let_go(key, occurrence, home_.index_);
        else
            judge().on_skip(key, occurrence, why, home_.index_);
    }
    referee& judge() const { return home_.home_.judge; }
    const world_plan& plan() const { return home_.home_.plan; }

    node& home_;
};

node::node(world& home, std::size_t index) : home_{home}, index_{index} {
    const auto& plan = home.plan;
    error_ = home.random.between(-plan.skew_most, plan.skew_most);
    drift_ = plan.drift_most * (2 * home.random.fraction() - 1);
}

node::~node() = default;

// -- its clocks

instant node::now() const { return instant{home_.time.now() + hours{1 + index_}}; }

nanos node::world_time(instant at) const {
    return at == instant::max() ? nanos::max() : at.time_since_epoch() - hours{1 + index_};
}

time::wall_instant node::wall() const {
    const auto since = home_.time.now() - error_since_;
    const auto drifted =
        nanos{static_cast<std::int64_t>(static_cast<double>(since.count()) * drift_)};
    return home_.plan.start + floor<microseconds>(home_.time.now() + error_ + drifted);
}

std::uint64_t node::random() { return home_.random.below(std::size_t{1} << 62); }

void node::step_clock(nanos by) {
    home_.judge.note(name(), "'s clock steps by ", by.count() / 1'000'000'000, " s");
    home_.judge.happened(by < nanos{0} ? fact::steps_back : fact::steps_forward);
    home_.judge.on_clock_step();
    error_ = wall() - home_.plan.start - home_.time.now() + by;
    error_since_ = stepped_at_ = home_.time.now();
    report_health();
    home_.time.after(clock_learnt_within, [this] { report_health(); });
}

// -- the network

bool node::reaches(side which) const {
    return home_.is_up(which) && home_.time.now() >= cut_until_[static_cast<int>(which)];
}

bool node::hears(side which) const {
    return reaches(which) && home_.time.now() >= deaf_until_[static_cast<int>(which)];
}

void node::note_contact(contact& seen, bool holds) {
    // Its end is reported, too.
    if (!holds || !seen.holds) seen.without_until = home_.time.now();
    seen.holds = holds;
}

bool node::has_reached(side which, nanos for_how_long) const {
    const auto& seen = reaching_[static_cast<int>(which)];
    return reaches(which) && home_.time.now() - seen.without_until > for_how_long;
}

bool node::has_heard(side which, nanos for_how_long) const {
    const auto& seen = hearing_[static_cast<int>(which)];
    return hears(which) && home_.time.now() - seen.without_until > for_how_long;
}

void node::cut(nanos how_long, direction which, far_end what) {
    home_.judge.note(name(), which == direction::both ? " is cut off" : " hears no answers",
                     what == far_end::store     ? " from the store"
                     : what == far_end::journal ? " from the journal"
                                                : "");
    home_.judge.happened(fact::cuts);
    for (const auto each : {side::store, side::journal}) {
        if (what == (each == side::store ? far_end::journal : far_end::store)) continue;
        auto& until = (which == direction::both ? cut_until_ : deaf_until_)[static_cast<int>(each)];
        until = std::max(until, home_.time.now() + how_long);
        if (which == direction::both) lose_connections(each);
        home_.time.at(until, [this] { report_health(); });
    }
    report_health();
}

void node::tell(std::uint64_t life, std::function<void()> what) {
    if (!lives(life)) return;
    boost::asio::post(process_->loop.get_executor(), std::move(what));
    home_.touch(index_);
}

void node::on_lost_connection(side which, std::weak_ptr<std::function<void()>> who) {
    std::erase_if(connected_, [](const auto& one) { return one.second.expired(); });
    connected_.emplace_back(which, std::move(who));
}

void node::lose_connections(side which) {
    std::vector<std::pair<side, std::weak_ptr<std::function<void()>>>> kept;
    for (auto& one : std::exchange(connected_, {})) {
        const auto who = one.second.lock();
        if (who && one.first == which)
            tell(life_, [who] { (*who)(); });
        else if (who)
            kept.push_back(std::move(one));
    }
    connected_.insert(connected_.end(), kept.begin(), kept.end());
}

// -- the machine

void node::report_health() {
    for (const auto each : {side::store, side::journal}) {
        note_contact(reaching_[static_cast<int>(each)], reaches(each));
        note_contact(hearing_[static_cast<int>(each)], hears(each));
    }
    const auto off = wall() - (home_.plan.start + floor<microseconds>(home_.time.now()));
    const auto most = home_.plan.clock_tolerated();
    const bool learnt =
        home_.plan.has_journal && home_.time.now() >= stepped_at_ + clock_learnt_within;
    const bool right = learnt || (off < most && off > -most);
    const bool reachable = hears(side::store) && (!home_.plan.has_journal || hears(side::journal));
    home_.judge.on_health(index_,
                          process_ && ready_ && !draining_ && right && reachable && !is_frozen());
}

void node::freeze(nanos how_long) {
    if (!process_ || is_frozen()) return;
    home_.judge.note(name(), " freezes");
    home_.judge.happened(fact::freezes);
    frozen_until_ = home_.time.now() + how_long;
    home_.touch(index_);
    report_health();
    home_.time.at(frozen_until_, [this] {
        home_.touch(index_);
        home_.judge.note(name(), " goes on");
        report_health();
    });
}

void node::crash(nanos down) {
    if (!process_) return;
    home_.judge.note(name(), " crashes");
    home_.judge.happened(fact::crashes);
    end_process();
    home_.time.after(down, [this] { start(); });
}

void node::end_process() {
    ++life_;
    ready_ = draining_ = false;
    frozen_until_ = home_.time.now();
    connected_.clear();
    home_.judge.on_death(index_);
    process_.reset();
    home_.touch(index_);
    report_health();
}

void node::deploy() {
    if (!process_ || draining_ || is_frozen()) return;
    home_.judge.note(name(), " is deployed anew");
    home_.judge.happened(fact::deploys);
    draining_ = true;
    report_health();
    process_->stop.request_stop();
    home_.touch(index_);
}

void node::reload() {
    tell(life_, [this] {
        if (draining_) return;
        home_.judge.note(name(), " reloads");
        process_->dispatcher->replace_jobs(jobs());
    });
}

// -- the process

std::vector<std::shared_ptr<const schedule::job_plan>> node::jobs() {
    std::vector<std::shared_ptr<const schedule::job_plan>> all;
    const auto groups = home_.plan.groups;
    for (std::size_t i = index_ % groups; i < home_.plan.jobs.size(); i += groups) {
        const auto& wanted = home_.plan.jobs[i];
        editions_[i] = home_.edition_of(i);
        home_.judge.on_edition(index_, i, editions_[i]);
        const auto& now = edition_of(i);
        auto plan = std::make_shared<schedule::job_plan>();
        plan->name = wanted.name;
        plan->when = now.when;
        plan->queue = wanted.rules;
        plan->lease.ttl = wanted.ttl;
        plan->lease.delivery = plan->mode();
        plan->jitter = wanted.jitter;
        if (plan->when) plan->when->lateness_max += wanted.jitter;
        plan->partitions = now.partitions;
        plan->has_slots = now.has_slots;
        plan->keep_runs = 100'000;  // the referee reads them at the end
        plan->make = [this, i](const schedule::output_sink&) {
            return std::make_shared<command>(*this, i);
        };
        plan->entry.name = wanted.name;
        plan->entry.schedule = now.when.when.text();
        plan->entry.zone = now.when.where.name();
        plan->entry.partitions = now.partitions;
        plan->entry.definition = "{}";
        plan->entry.node = name();
        all.push_back(std::move(plan));
    }
    return all;
}

void node::start() {
    if (process_) return;
    home_.judge.note(name(), " starts");
    home_.touch(index_);
    process_ = std::make_unique<process>(*this);
    auto& mine = *process_;
    runtime::engine::parts made_of{};
    made_of.loop = &mine.loop;
    made_of.store = make_remote_store(*this);
    made_of.settings.max_skew = max_skew;
    made_of.settings.quarantine = home_.plan.quarantine();
    made_of.owner = owner();
    mine.engine = std::make_shared<runtime::engine>(std::move(made_of));
    mine.link = std::make_shared<runtime::link>(mine.loop, mine.engine);
    mine.engine->connect(mine.link);
    mine.engine->start();
    schedule::dispatcher::parts parts;
    parts.loop = &mine.loop;
    parts.engine = mine.engine;
    if (home_.plan.has_journal) parts.records = make_remote_journal(*this);
    parts.me = {name(), owner(), "simulated", ""};
    parts.runs_max = home_.plan.runs_max;
    parts.observer = std::make_shared<listener>(*this);
    mine.dispatcher = std::make_shared<schedule::dispatcher>(std::move(parts));
    mine.dispatcher->replace_jobs(jobs());
    boost::asio::co_spawn(mine.loop.get_executor(),
                          run_and_leave(mine.dispatcher, mine.stop.get_token()),
                          [this, life = life_](const std::exception_ptr& raised) {
                              if (raised) std::rethrow_exception(raised);
                              // Not from within: the loop would end under its own feet.
                              home_.time.after(nanos{0}, [this, life] {
                                  if (!lives(life)) return;
                                  end_process();
                                  home_.time.after(home_.random.between(seconds{1}, seconds{20}),
                                                   [this] { start(); });
                              });
                          });
}

bool node::turn() {
    if (!process_ || is_frozen()) return false;
    const auto done = process_->loop.turn();
    if (done == 0) return false;
    return home_.judge.on_work(index_, done);
}

nanos node::next_event() const {
    if (!process_) return nanos::max();
    const auto next = world_time(process_->loop.clocks().next());
    // A frozen one finds all that was due when it goes on.
    return is_frozen() ? std::max(next, frozen_until_) : next;
}

void node::fire() {
    if (process_ && !is_frozen() && process_->loop.clocks().next() <= now())
        process_->loop.clocks().fire();
}

}  // namespace pawl::simulation::schedules
