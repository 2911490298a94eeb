#include "testing/simulation/node.hpp"

#include "testing/simulation/worker.hpp"

#include <algorithm>
#include <utility>

namespace pawl::simulation {
namespace {

constexpr nanos quickest = std::chrono::microseconds{100};
constexpr nanos usual = std::chrono::milliseconds{3};

}  // namespace

void world::carry(std::size_t node, const std::function<void()>& deliver) {
    const auto& faults = plan.faults;
    if (!healthy && (time.now() < cut_until[node] || random.happens(faults.lost))) return;
    const bool slow = !healthy && random.happens(faults.slow);
    time.after(random.between(quickest, slow ? faults.slowest : usual), deliver);
    if (!healthy && random.happens(faults.repeated))
        time.after(random.between(quickest, faults.slowest), deliver);
}

void world::audit(const std::string& key) {
    std::size_t trusting = 0;
    for (const auto& each : nodes) {
        for (const auto token : each->trusted(key)) {
            ++trusting;
            if (!store.backs(key, token))
                judge.broken(law::trust_is_backed, each->name() + " trusts " +
                                                       std::to_string(number(token)) + " of " +
                                                       key + ", which the store does not hold");
        }
    }
    if (trusting > 1)
        judge.broken(law::one_holder, std::to_string(trusting) + " trust their lease of " + key);
}

world::~world() = default;

node::node(world& home, std::size_t index)
    : home_{home},
      index_{index},
      rate_{1.0 + home.plan.drift * (2.0 * home.random.fraction() - 1.0)},
      skew_{home.random.between(-home.plan.skew_most, home.plan.skew_most)} {}

node::~node() = default;

void node::start() {
    for (const auto& key : home_.plan.keys) {
        workers_.push_back(std::make_unique<worker>(*this, key));
        workers_.back()->rest();
    }
}

instant node::clock() const {
    const bool stopped = home_.plan.bug == plant::clock_stops && paused();
    const auto until = stopped ? paused_since_ : home_.time.now();
    const auto counted = static_cast<double>((until - asleep_).count()) * rate_;
    return instant{std::chrono::hours{1} + nanos{static_cast<std::int64_t>(counted)}};
}

nanos node::wall() const { return home_.time.now() + wall_at_start + skew_; }

void node::enter(std::function<void()> what) {
    if (paused())
        waiting_.emplace_back(life_, std::move(what));
    else
        what();
}

std::function<void()> node::bound(std::function<void()> what) {
    return [this, life = life_, what = std::move(what)] {
        if (life == life_) enter(what);
    };
}

void node::after(nanos delay, std::function<void()> what) {
    home_.time.after(delay, bound(std::move(what)));
}

void node::at(instant when, std::function<void()> what) {
    const auto left = std::max(nanos{0}, when - clock());
    after(nanos{static_cast<std::int64_t>(static_cast<double>(left.count()) / rate_) + 1},
          std::move(what));
}

void node::tell(std::function<void(simulated_store&)> serve) {
    home_.carry(index_, [this, serve = std::move(serve)] { serve(home_.store); });
}

void node::pause(nanos duration) {
    if (paused()) return;
    paused_until_ = home_.time.now() + duration;
    home_.judge.happened(fact::pauses);
    home_.judge.note(name(), " pauses");
    paused_since_ = home_.time.now();
    home_.time.at(paused_until_, [this] { resume(); });
}

void node::resume() {
    if (paused()) return;
    home_.judge.note(name(), " goes on");
    if (home_.plan.bug == plant::clock_stops) asleep_ += home_.time.now() - paused_since_;
    auto backlog = std::exchange(waiting_, {});
    while (!backlog.empty()) {
        const auto next = home_.random.below(backlog.size());
        std::swap(backlog[next], backlog.back());
        const auto [life, what] = std::move(backlog.back());
        backlog.pop_back();
        if (life == life_) what();
    }
}

void node::crash() {
    ++life_;
    home_.judge.happened(fact::crashes);
    home_.judge.note(name(), " crashes");
    for (const auto& each : workers_)
        if (each->trusts())
            orphans_.push_back({each->key(), each->holding()->token, each->holding()->beat});
    workers_.clear();
    waiting_.clear();
    const auto back = home_.random.between(std::chrono::milliseconds{1}, std::chrono::seconds{3});
    after(back, [this] { start(); });
}

std::vector<fence_token> node::trusted(const std::string& key) const {
    std::vector<fence_token> tokens;
    for (const auto& each : orphans_)
        if (each.key == key && each.beat.trusted(clock())) tokens.push_back(each.token);
    for (const auto& each : workers_)
        if (each->key() == key && each->trusts()) tokens.push_back(each->holding()->token);
    return tokens;
}

void node::check_progress() const {
    for (const auto& each : workers_)
        if (each->stuck())
            home_.judge.broken(law::progress, name() + " waits for ever for " + each->key());
}

}  // namespace pawl::simulation
