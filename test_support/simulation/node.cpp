#include "test_support/simulation/node.hpp"

#include "runtime/link.hpp"
#include "test_support/simulation/remote.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cmath>

namespace pawl::simulation {
namespace {

using std::chrono::hours;

// Where clocks begin.
constexpr nanos booted = hours{1};

nanos part(nanos whole, double factor) {
    return nanos{static_cast<std::int64_t>(static_cast<double>(whole.count()) * factor)};
}

}  // namespace

// -- work

node::work::work(node& where, lease& under, std::stop_token told)
    : where_{where},
      under_{under},
      on_stop_{std::move(told), wake{changed_}},
      deadline_{std::make_shared<instant>(under.valid_until())} {
    under_.watch_deadline(
        [told = deadline_](instant /*stop_at*/, instant valid_until) { *told = valid_until; });
    where_.works_.push_back(this);
    where_.look_at_works();
}

node::work::~work() { std::erase(where_.works_, this); }

bool node::trusts(const work& what) const {
    if (home_.plan.bug == plant::unguarded && paused()) return true;
    return what.under_.valid();
}

std::size_t node::trusted_works() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(works_, [this](const work* each) { return trusts(*each); }));
}

void node::look_at_works() {
    for (auto* each : works_) {
        const auto& under = each->under_;
        if (!under.valid()) {
            each->ended_ = true;
            continue;
        }
        if (each->ended_)
            home_.judge.broken(law::trust_stays_ended,
                               name() + " trusts its lease of " + under.key() + " again");
        const auto valid_until = under.valid_until();
        if (std::exchange(each->valid_until_, valid_until) != valid_until) home_.audit(under.key());
    }
}

void node::on_lost(std::string_view key, fence_token token) {
    home_.judge.happened(fact::lost_leases);
    home_.judge.note(name(), " has lost ", key);
    for (auto* each : works_)
        if (each->under_.key() == key && each->under_.token() == token) each->changed_.notify_all();
}

// -- its clocks

node::node(world& home, std::size_t index, program what)
    : home_{home},
      index_{index},
      program_{std::move(what)},
      rate_{1.0 + home.plan.drift * (2.0 * home.random.fraction() - 1.0)},
      skew_{home.random.between(-home.plan.skew_most, home.plan.skew_most)} {}

// Crashed or not, what dies now is nothing to anybody.
node::~node() { process_.reset(); }

instant node::now() const {
    const bool stopped = home_.plan.bug == plant::clock_stops && paused();
    const auto until = stopped ? paused_since_ : home_.time.now();
    return instant{booted + part(until - asleep_, rate_)};
}

nanos node::world_time(instant at) const {
    if (at == instant::max()) return nanos::max();
    const auto since = at.time_since_epoch() - booted;
    return std::max(asleep_ + part(since, 1.0 / rate_) + nanos{2}, home_.time.now());
}

time::wall_instant node::wall() const {
    return time::wall_instant{
        std::chrono::floor<std::chrono::microseconds>(home_.time.now() + wall_at_start + skew_)};
}

std::uint64_t node::random() { return home_.random.below(std::size_t{1} << 62); }

// -- the machine

void node::pause(nanos duration) {
    if (paused()) return;
    const auto for_ever = duration >= nanos::max() - home_.time.now();
    paused_until_ = for_ever ? nanos::max() : home_.time.now() + duration;
    home_.judge.happened(fact::pauses);
    home_.judge.note(name(), " pauses");
    paused_since_ = home_.time.now();
    if (!for_ever)
        home_.time.at(paused_until_, [this, until = paused_until_] {
            if (paused_until_ == until) resume();
        });
}

// What came meanwhile is found in any order, and looked at before the timers that are due or after.
void node::resume() {
    home_.judge.note(name(), " goes on");
    paused_until_ = home_.time.now();
    if (home_.plan.bug == plant::clock_stops) asleep_ += home_.time.now() - paused_since_;
    busy_ = true;
    if (home_.random.happens(0.5)) fire();
    auto backlog = std::exchange(backlog_, {});
    while (!backlog.empty()) {
        const auto next = home_.random.below(backlog.size());
        std::swap(backlog[next], backlog.back());
        tell(life_, std::move(backlog.back()));
        backlog.pop_back();
    }
    turn();
}

void node::crash(nanos down) {
    if (!process_) return;
    home_.judge.happened(fact::crashes);
    home_.judge.note(name(), " crashes");
    std::erase_if(orphans_, [this](const orphan& each) { return each.deadline <= now(); });
    for (const auto* each : works_)
        if (each->under_.valid() && home_.plan.guards)
            orphans_.push_back({each->under_.key(), each->under_.token(), *each->deadline_});
    end();
    if (down > nanos{0}) home_.time.after(down, [this] { start(); });
}

void node::end() {
    ++life_;
    process_.reset();
    backlog_.clear();
    connected_.clear();
    busy_ = false;
}

// -- the process

node::process::~process() {
    // Nothing that a destructor says is heard: the handles of leases are let go of in silence.
    if (link) link->cut();
}

// Hears what the engine tells.
class node::listener : public observer {
public:
    explicit listener(node& home) : home_{home} {}
    void on_lost(std::string_view key, fence_token token, loss_reason /*why*/) override {
        home_.on_lost(key, token);
    }

private:
    node& home_;
};

void node::start() {
    if (process_) return;
    home_.judge.note(name(), " starts");
    process_ = std::make_unique<process>(*this);
    auto& mine = *process_;
    runtime::engine::parts made_of{};
    made_of.loop = &mine.loop;
    made_of.store = make_remote_store(*this);
    made_of.settings = home_.plan.settings;
    made_of.owner = name() + ":" + std::to_string(life_);
    made_of.observer = std::make_shared<listener>(*this);
    mine.engine = std::make_shared<runtime::engine>(std::move(made_of));
    mine.link = std::make_shared<runtime::link>(mine.loop, mine.engine);
    mine.engine->connect(mine.link);
    mine.engine->start();
    busy_ = true;
    program_(*this);
}

void node::spawn(boost::asio::awaitable<void> work) {
    busy_ = true;
    boost::asio::co_spawn(process_->loop.get_executor(), std::move(work),
                          [](const std::exception_ptr& raised) {
                              if (raised) std::rethrow_exception(raised);
                          });
}

void node::tell(std::uint64_t life, std::function<void()> what) {
    if (!process_ || life != life_) return;
    if (paused()) {
        backlog_.push_back(std::move(what));
        return;
    }
    busy_ = true;
    boost::asio::post(process_->loop.get_executor(), std::move(what));
}

void node::after(nanos delay, std::function<void()> what) {
    home_.time.after(delay, [this, life = life_, what = std::move(what)] { tell(life, what); });
}

void node::on_lost_connection(std::weak_ptr<std::function<void()>> who) {
    std::erase_if(connected_, [](const auto& one) { return one.expired(); });
    connected_.push_back(std::move(who));
}

void node::lose_connections() {
    for (const auto& one : std::exchange(connected_, {}))
        if (const auto who = one.lock()) tell(life_, [who] { (*who)(); });
}

void node::turn() {
    if (!process_ || paused() || !std::exchange(busy_, false)) return;
    look_at_works();
    process_->loop.turn();
    look_at_works();
}

nanos node::next_event() const {
    if (!process_) return nanos::max();
    const auto next = world_time(process_->loop.clocks().next());
    return paused() ? std::max(next, paused_until_) : next;
}

void node::fire() {
    if (!process_ || paused() || process_->loop.clocks().next() > now()) return;
    busy_ = true;
    process_->loop.clocks().fire();
}

}  // namespace pawl::simulation
