// One machine with one process: it claims keys, runs jobs under them, and obeys the real machines
// of src/lease. It may be paused, when its handlers and timers wait, and it may crash and come
// back.
#pragma once

#include "lease/claiming.hpp"
#include "lease/heartbeat.hpp"
#include "testing/simulation/plan.hpp"
#include "testing/simulation/referee.hpp"
#include "testing/simulation/simulated_store.hpp"
#include "testing/simulation/timeline.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::simulation {

class node;
class worker;

// What all nodes share, and outlives them.
struct world {
    world(std::uint64_t seed, plant bug)
        : random{seed},
          plan{draw_plan(random, bug)},
          judge{[this] { return time.now(); }},
          store{plan, time, judge} {}
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    // A message: lost, delayed, repeated, and overtaken by others.
    void carry(std::size_t node, const std::function<void()>& deliver);
    // Looks at everybody who trusts a lease of the key in this instant.
    void audit(const std::string& key);

    dice random;
    world_plan plan;
    timeline time;
    referee judge;
    simulated_store store;
    bool healthy = false;
    std::vector<nanos> cut_until;  // for each node: the network between it and the store
    std::vector<std::unique_ptr<node>> nodes;
};

class node {
public:
    node(world& home, std::size_t index);
    ~node();

    void start();
    // The process does nothing until then; its clock, and its guard, go on.
    void pause(nanos duration);
    void crash();

    // Runs `what` now, or once the process is no longer paused.
    void enter(std::function<void()> what);
    // The same for the process that is alive now, and for no later one.
    std::function<void()> bound(std::function<void()> what);
    void after(nanos delay, std::function<void()> what);
    void at(instant when, std::function<void()> what);

    instant clock() const;
    nanos wall() const;
    double chance() { return home_.random.fraction(); }

    // Sends a request and hears the answer, or that the outcome is unknown, once.
    template <class Answer>
    void ask(std::function<Answer(simulated_store&)> serve,
             std::function<void(result<Answer>)> heard);
    void tell(std::function<void(simulated_store&)> serve);

    // The leases of commands on this machine that are trusted in this instant, by their guards.
    std::vector<fence_token> trusted(const std::string& key) const;
    void check_progress() const;

    world& home() { return home_; }
    std::size_t index() const { return index_; }
    bool paused() const { return home_.time.now() < paused_until_; }
    std::string name() const { return "node " + std::to_string(index_); }

private:
    struct orphan {  // a command whose process has crashed: its guard may let it live to its
                     // deadline
        std::string key;
        fence_token token;
        leasing::heartbeat beat;
    };

    void resume();

    // Constant after construction
    world& home_;
    const std::size_t index_;
    const double rate_;  // of its clock against that of the store
    const nanos skew_;   // of its wall clock
    // State
    std::uint64_t life_ = 0;
    nanos paused_until_{0};
    nanos paused_since_{0};
    nanos asleep_{0};  // time that a clock which stops has not counted
    std::vector<std::pair<std::uint64_t, std::function<void()>>> waiting_;
    std::vector<std::unique_ptr<worker>> workers_;
    std::vector<orphan> orphans_;
};

template <class Answer>
void node::ask(std::function<Answer(simulated_store&)> serve,
               std::function<void(result<Answer>)> heard) {
    auto pending = std::make_shared<std::function<void(result<Answer>)>>(std::move(heard));
    const auto settle = [this, pending, life = life_](result<Answer> answer) {
        enter([pending, life, answer = std::move(answer), this] {
            if (life != life_ || !*pending) return;
            const auto handler = std::exchange(*pending, nullptr);
            handler(answer);
        });
    };
    const auto timeout = nanos{home_.plan.settings.timeout};
    if (!home_.store.up() && home_.random.happens(0.5)) {
        home_.time.after(timeout / 10, [settle] { settle(failure{errc::unreachable, "refused"}); });
        return;
    }
    home_.carry(index_, [this, settle, serve = std::move(serve)] {
        if (!home_.store.up()) return;
        auto answer = serve(home_.store);
        home_.carry(index_, [settle, answer = std::move(answer)] { settle(answer); });
    });
    home_.time.after(timeout, [this, settle] {
        home_.judge.happened(fact::unknown);
        settle(failure{errc::outcome_unknown, "no answer"});
    });
}

}  // namespace pawl::simulation
