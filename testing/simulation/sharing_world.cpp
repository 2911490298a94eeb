#include "testing/simulation/sharing_world.hpp"

#include "lease/heartbeat.hpp"
#include "lease/sharing.hpp"
#include "stores/rules/rules.hpp"
#include "testing/simulation/dice.hpp"
#include "testing/simulation/timeline.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace pawl::simulation {
namespace {

using leasing::heartbeat;
using leasing::sharing;
using leasing::term_end;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string share_name = "reindex";
const std::string members_prefix = share_name + "/members/";
constexpr std::size_t members_most = 8;
constexpr nanos latency_most = milliseconds{10};
constexpr nanos request_timeout = milliseconds{400};
// Beyond ttl + interval: a list, a claim, and the jitter of a claim that waited for the expiry.
constexpr nanos takeover_slack = latency_most * 6 + milliseconds{100};
constexpr std::int64_t wall_at_start_us = 1'700'000'000'000'000;

class member_process;

// What all members share: time, chance, the store, and a referee who sees everything.
struct sharing_scene {
    sharing_scene(std::uint64_t seed, sharing_plant planted)
        : random{seed},
          bug{planted},
          count{static_cast<std::uint32_t>(1 + random.below(40))},
          last_holder(count, nullptr),
          last_grant(count, nanos{0}) {
        const std::array<millis, 3> ttls{millis{1000}, millis{3000}, millis{10'000}};
        options.lease.ttl = ttls[random.below(ttls.size())];
    }

    dice random;
    timeline time;
    const sharing_plant bug;
    const std::uint32_t count;
    share_options options;
    bool faults = true;
    std::map<std::string, rules::lease_state> keys;
    std::multimap<std::string, std::function<void()>> listeners;
    std::vector<std::shared_ptr<member_process>> processes;
    std::uint64_t ids = 0;
    // The referee
    std::vector<const member_process*> last_holder;
    std::vector<nanos> last_grant;
    sharing_outcome seen;

    nanos interval() const { return leasing::sharing_plan_of(share_name, count, options).interval; }
    rules::store_time now() const {
        const auto elapsed = std::chrono::duration_cast<microseconds>(time.now());
        return {elapsed + seconds{1}, elapsed + microseconds{wall_at_start_us}};
    }
    void happened(sharing_fact what) { ++seen.counts[static_cast<std::size_t>(what)]; }
    void breach(sharing_law law, std::string story) {
        if (seen.broken) return;
        seen.broken = law;
        seen.story = std::to_string(time.now().count() / 1'000'000) + " ms: " + std::move(story);
    }
    // How long a message takes.
    nanos latency() {
        if (faults && random.happens(0.05)) return random.between(latency_most, request_timeout);
        return random.between(microseconds{100}, latency_most);
    }
    bool loses_message() { return faults && random.happens(0.02); }
    void changed(const std::string& key) {
        const auto [from, to] = listeners.equal_range(key);
        std::vector<std::function<void()>> woken;
        for (auto it = from; it != to; ++it) woken.push_back(it->second);
        listeners.erase(from, to);
        for (const auto& wake : woken) time.after(latency(), wake);
    }
    void check_grant(std::uint32_t which, const member_process& to);
};

// One process that shares, from its start to its end.
class member_process : public std::enable_shared_from_this<member_process> {
public:
    member_process(sharing_scene& scene, int number)
        : scene_{scene},
          number_{number},
          rate_{scene.random.between(nanos{999'600}, nanos{1'000'400})},
          machine_{leasing::sharing_plan_of(share_name, scene.count, scene.options), clock()} {}

    void start() { drive(); }
    void crash() {
        alive_ = false;
        scene_.happened(sharing_fact::crashed);
    }
    void freeze() {
        frozen_ = true;
        scene_.happened(sharing_fact::froze);
    }
    void thaw() {
        frozen_ = false;
        for (const auto& one : std::exchange(deferred_, {})) one();
        drive();
    }
    void shut_down() {
        machine_.call_off();
        leaving_ = true;
        drive();
    }

    bool alive() const { return alive_; }
    bool frozen() const { return frozen_; }
    bool leaving() const { return leaving_; }
    bool serves() const { return alive_ && !leaving_; }
    int number() const { return number_; }
    bool trusts(std::uint32_t which) const {
        const auto found = kept_.find(key_of(which));
        if (!alive_ || found == kept_.end()) return false;
        return scene_.bug == sharing_plant::trusts_for_ever || found->second.beat.trusted(clock());
    }
    // Holds what it is to hold, and nothing else.
    bool settled() const {
        for (std::uint32_t i = 0; i < scene_.count; ++i)
            if (trusts(i) != machine_.wants(i)) return false;
        return true;
    }
    std::uint32_t share() const {
        std::uint32_t held = 0;
        for (std::uint32_t i = 0; i < scene_.count; ++i) held += trusts(i) ? 1 : 0;
        return held;
    }

private:
    struct keeping {
        grant what;
        heartbeat beat;
        bool ending = false;
        std::uint64_t wakes = 0;
    };
    using work = std::function<void()>;

    // The member's own clock, which runs at a rate of its own.
    instant clock() const {
        return instant{seconds{5}} + nanos{scene_.time.now().count() / 1'000'000 * rate_.count()};
    }
    static std::string key_of(std::uint32_t which) {
        return share_name + '/' + std::to_string(which);
    }
    double chance() { return scene_.random.fraction(); }

    // What happens to this process, unless it is dead; after it thaws, if it is frozen.
    void later(nanos delay, work what) {
        scene_.time.after(delay, [self = shared_from_this(), what = std::move(what)] {
            if (!self->alive_) return;
            if (self->frozen_)
                self->deferred_.push_back(what);
            else
                what();
        });
    }
    // A request and its answer: done at the store after a while, heard of later, or never.
    template <class Answer>
    void ask(std::function<Answer()> at_store, std::function<void(std::optional<Answer>)> heard) {
        const bool lost_there = scene_.loses_message();
        const bool lost_back = scene_.loses_message();
        if (lost_there || lost_back) {
            scene_.happened(sharing_fact::answer_lost);
            if (!lost_there) scene_.time.after(scene_.latency(), [at_store] { at_store(); });
            later(request_timeout, [heard] { heard(std::nullopt); });
            return;
        }
        scene_.time.after(scene_.latency(), [self = shared_from_this(), at_store, heard] {
            const auto answer = at_store();
            self->later(self->scene_.latency(), [heard, answer] { heard(answer); });
        });
    }

    void drive();
    void perform(const sharing::step& step);
    void look();
    void announce(std::uint32_t slot);
    void leave();
    void attempt(std::uint32_t which);
    void wait_for(std::uint32_t which, const busy& why);
    void keep(const std::string& key, grant won, instant sent, work told);
    void beat(const std::string& key, work told);
    void renew(const std::string& key, work told);
    void tell(std::uint32_t which, term_end how);
    void release(const std::string& key, work done);
    verdict acquire_at_store(const std::string& key, const std::string& id);

    sharing_scene& scene_;
    const int number_;
    const nanos rate_;  // of a millisecond
    sharing machine_;
    bool alive_ = true, frozen_ = false, leaving_ = false;
    std::vector<work> deferred_;
    std::map<std::string, keeping> kept_;
    std::set<std::uint32_t> called_off_;
    std::optional<std::string> slot_;
    std::uint64_t wakes_ = 0;
};

void sharing_scene::check_grant(std::uint32_t which, const member_process& to) {
    for (const auto& other : processes)
        if (other.get() != &to && other->trusts(which))
            breach(sharing_law::one_holder, "partition " + std::to_string(which) +
                                                " was granted to member " +
                                                std::to_string(to.number()) + " while member " +
                                                std::to_string(other->number()) + " holds it");
    if (last_holder[which] != nullptr && last_holder[which] != &to) happened(sharing_fact::moved);
    last_holder[which] = &to;
    last_grant[which] = time.now();
}

void member_process::drive() {
    if (!alive_ || frozen_) return;
    for (;;) {
        const auto now = clock();
        if (slot_ && (!kept_.contains(*slot_) || !kept_.at(*slot_).beat.trusted(now))) {
            kept_.erase(*slot_);
            slot_.reset();
            machine_.forgotten(now);
        }
        const auto step = machine_.next(now);
        if (step.what == sharing::act::over) {
            alive_ = false;
            return;
        }
        if (step.what == sharing::act::wait) {
            const auto order = ++wakes_;
            if (step.until == instant::max()) return;
            later(std::max<nanos>(step.until - now, microseconds{10}), [this, order] {
                if (order == wakes_) drive();
            });
            return;
        }
        perform(step);
    }
}

void member_process::perform(const sharing::step& step) {
    switch (step.what) {
        case sharing::act::look:
            return look();
        case sharing::act::announce:
            return announce(step.which);
        case sharing::act::claim:
            called_off_.erase(step.which);
            return attempt(step.which);
        case sharing::act::call_off:
            // Heard of by whatever the claim does next.
            called_off_.insert(step.which);
            scene_.changed(key_of(step.which));
            return;
        case sharing::act::give_up:
            if (scene_.bug != sharing_plant::keeps_all || leaving_)
                tell(step.which, term_end::taken_away);
            return;
        case sharing::act::leave:
            return leave();
        case sharing::act::wait:
        case sharing::act::over:
            return;
    }
}

void member_process::look() {
    using view = std::vector<leasing::member>;
    if (scene_.bug == sharing_plant::looks_once && slot_) return;
    ask<view>(
        [this] {
            view present;
            for (const auto& [key, state] : scene_.keys) {
                if (!key.starts_with(members_prefix) || !state.held(scene_.now())) continue;
                auto who = leasing::parse_member(key.substr(members_prefix.size()));
                who->since = state.acquired_wall.count() / 1000;
                present.push_back(*who);
            }
            return present;
        },
        [this](const std::optional<view>& present) {
            if (present)
                machine_.looked(*present, clock(), chance());
            else
                machine_.look_failed({errc::outcome_unknown, "lost"}, clock(), chance());
            drive();
        });
}

verdict member_process::acquire_at_store(const std::string& key, const std::string& id) {
    const claim wanted{key, id, "member", scene_.options.lease.ttl};
    return rules::acquire(scene_.keys[key], wanted, scene_.now(), millis{60'000});
}

void member_process::announce(std::uint32_t slot) {
    const auto key = members_prefix + leasing::member_text(scene_.count, slot);
    const auto id = std::to_string(++scene_.ids);
    const auto sent = clock();
    ask<verdict>([this, key, id] { return acquire_at_store(key, id); },
                 [this, key, id, sent](const std::optional<verdict>& answer) {
                     if (!answer) {
                         scene_.time.after(scene_.latency(), [this, key, id] {
                             rules::withdraw(scene_.keys[key], {key, id}, scene_.now());
                         });
                         machine_.announce_failed({errc::outcome_unknown, "lost"}, clock(),
                                                  chance());
                     } else if (const auto* won = std::get_if<grant>(&*answer)) {
                         slot_ = key;
                         scene_.happened(sharing_fact::joined);
                         machine_.announced(clock());
                         keep(key, *won, sent, [this] { drive(); });
                     } else {
                         machine_.slot_taken(clock());
                     }
                     drive();
                 });
}

void member_process::leave() {
    const auto key = slot_.value_or("");
    slot_.reset();
    scene_.happened(sharing_fact::left);
    release(key, [this] {
        machine_.left();
        drive();
    });
}

// One request of a claim that goes on until it is granted or called off.
void member_process::attempt(std::uint32_t which) {
    if (called_off_.erase(which) > 0) {
        machine_.unclaimed(which, std::nullopt, clock(), chance());
        return drive();
    }
    const auto key = key_of(which);
    const auto id = std::to_string(++scene_.ids);
    const auto sent = clock();
    ask<verdict>(
        [this, key, id, which] {
            auto answer = acquire_at_store(key, id);
            if (std::holds_alternative<grant>(answer)) scene_.check_grant(which, *this);
            return answer;
        },
        [this, which, key, id, sent](const std::optional<verdict>& answer) {
            if (!answer) {
                scene_.time.after(scene_.latency(), [this, key, id] {
                    if (rules::withdraw(scene_.keys[key], {key, id}, scene_.now()).was_holder)
                        scene_.changed(key);
                });
                called_off_.erase(which);
                const failure lost{errc::outcome_unknown, "lost"};
                machine_.unclaimed(which, lost, clock(), chance());
            } else if (const auto* won = std::get_if<grant>(&*answer)) {
                if (called_off_.erase(which) > 0) scene_.happened(sharing_fact::late_grant);
                machine_.granted(which);
                keep(key, *won, sent, [this, which] { tell(which, term_end::taken_away); });
                if (scene_.faults && scene_.random.happens(0.1))
                    later(scene_.random.between(nanos{0}, nanos{scene_.options.lease.ttl} * 5),
                          [this, which] {
                              if (scene_.faults) tell(which, term_end::given_up);
                          });
            } else {
                return wait_for(which, std::get<busy>(*answer));
            }
            drive();
        });
}

// For the push or the expiry, whichever comes first.
void member_process::wait_for(std::uint32_t which, const busy& why) {
    const auto key = key_of(which);
    if (called_off_.contains(which)) return attempt(which);
    auto once = std::make_shared<bool>(false);
    const auto wake = [this, self = shared_from_this(), which, once] {
        if (std::exchange(*once, true)) return;
        later(nanos{0}, [this, which] { attempt(which); });
    };
    scene_.listeners.emplace(key, wake);
    scene_.time.after(why.remaining + scene_.random.between(nanos{0}, milliseconds{100}), wake);
}

void member_process::keep(const std::string& key, grant won, instant sent, work told) {
    const auto how = leasing::rhythm_of(scene_.options.lease);
    kept_.insert_or_assign(key, keeping{std::move(won), heartbeat{how, sent, chance()}});
    beat(key, std::move(told));
}

// What the keeper does, for one lease.
void member_process::beat(const std::string& key, work told) {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return;
    auto& mine = found->second;
    for (;;) {
        const auto step = mine.beat.next(clock());
        switch (step.what) {
            case heartbeat::act::renew:
                renew(key, told);
                continue;
            case heartbeat::act::stop:
                mine.beat.stop_told();
                told();
                continue;
            case heartbeat::act::lose:
                return told();
            case heartbeat::act::wait: {
                const auto order = ++mine.wakes;
                const auto token = mine.what.token;
                later(std::max<nanos>(step.until - clock(), microseconds{10}),
                      [this, key, told, order, token] {
                          const auto still = kept_.find(key);
                          if (still != kept_.end() && still->second.wakes == order &&
                              still->second.what.token == token)
                              beat(key, told);
                      });
                return;
            }
        }
    }
}

void member_process::renew(const std::string& key, work told) {
    auto& mine = kept_.at(key);
    const auto sent = clock();
    mine.beat.renewal_sent(sent, chance());
    const held request{key, mine.what.token, mine.what.ttl};
    ask<bool>(
        [this, request] { return rules::renew(scene_.keys[request.key], request, scene_.now()); },
        [this, key, sent, told, token = mine.what.token](std::optional<bool> renewed) {
            const auto still = kept_.find(key);
            if (still == kept_.end() || still->second.what.token != token) return;
            const auto answer = !renewed   ? renewal::unknown
                                : *renewed ? renewal::renewed
                                           : renewal::lost;
            still->second.beat.renewal_answered(sent, answer, clock(), chance());
            beat(key, told);
        });
}

// The body of a partition is told to stop, or returns by itself; then its lease is released.
void member_process::tell(std::uint32_t which, term_end how) {
    const auto key = key_of(which);
    const auto found = kept_.find(key);
    if (found == kept_.end() || std::exchange(found->second.ending, true)) return;
    const nanos grace = scene_.faults ? nanos{scene_.options.lease.ttl} / 3 : latency_most;
    const auto stopping =
        how == term_end::given_up ? nanos{0} : scene_.random.between(nanos{0}, grace);
    later(stopping, [this, which, key, how] {
        release(key, [this, which, how] {
            machine_.ended(which, how, clock(), chance());
            drive();
        });
    });
}

void member_process::release(const std::string& key, work done) {
    const auto found = kept_.find(key);
    const auto token = found == kept_.end() ? fence_token{} : found->second.what.token;
    kept_.erase(key);
    ask<bool>(
        [this, key, token] {
            const auto effect = rules::release(scene_.keys[key], token, {}, scene_.now());
            if (effect.was_holder) scene_.changed(key);
            return effect.was_holder;
        },
        [done](std::optional<bool>) { done(); });
}

// What happens to the members of a world.
class sharing_play {
public:
    sharing_play(std::uint64_t seed, sharing_plant bug) : scene_{seed, bug} {}

    sharing_outcome play() {
        const std::size_t at_first = 1 + scene_.random.below(members_most);
        for (std::size_t i = 0; i < at_first; ++i) start_one();
        for (int i = 0; i < 40 && !scene_.seen.broken; ++i) disturb();
        quieten();
        converge(until_the_dead_are_gone());
        watch_for_thrash();
        crash_some();
        converge(until_the_dead_are_gone());
        welcome_some();
        return scene_.seen;
    }

private:
    using process = std::shared_ptr<member_process>;

    void pass(nanos duration) { scene_.time.run_until(scene_.time.now() + duration); }
    nanos ttl() const { return scene_.options.lease.ttl; }

    void start_one() {
        auto made = std::make_shared<member_process>(scene_, ++started_);
        scene_.processes.push_back(made);
        made->start();
    }
    std::vector<process> serving() const {
        std::vector<process> all;
        for (const auto& one : scene_.processes)
            if (one->serves()) all.push_back(one);
        return all;
    }

    void disturb() {
        auto& random = scene_.random;
        pass(random.between(nanos{0}, ttl()));
        const auto all = serving();
        if (all.empty() || (all.size() < members_most && random.happens(0.3))) return start_one();
        const auto& victim = all[random.below(all.size())];
        if (victim->frozen()) return victim->thaw();
        const auto what = random.fraction();
        if (what < 0.15) return victim->crash();
        if (what < 0.3) return victim->shut_down();
        if (what < 0.6) return victim->freeze();
    }

    void quieten() {
        for (const auto& one : scene_.processes)
            if (one->frozen()) one->thaw();
        scene_.faults = false;
        if (serving().empty()) start_one();
    }

    bool is_fair() const {
        const auto all = serving();
        const auto least = scene_.count / all.size();
        std::size_t total = 0;
        for (const auto& one : all) {
            const auto share = one->share();
            if (share < least || share > least + 1 || !one->settled()) return false;
            total += share;
        }
        return total == scene_.count;
    }

    // Dead members show for a ttl, and what was on its way arrives.
    nanos until_the_dead_are_gone() const { return ttl() + request_timeout; }

    void converge(nanos first) {
        pass(first);
        const auto step = scene_.interval() / 4;
        for (int i = 0; i <= leasing::intervals_to_converge * 4; ++i) {
            if (is_fair()) {
                const double took = i / 4.0;
                auto& longest = scene_.seen.intervals_to_converge;
                longest = std::max(longest, took);
                return;
            }
            pass(step);
        }
        std::string shares;
        for (const auto& one : serving())
            shares +=
                " member " + std::to_string(one->number()) + ": " + std::to_string(one->share());
        scene_.breach(sharing_law::fair_share,
                      std::to_string(scene_.count) + " partitions are held so:" + shares);
    }

    std::vector<nanos> grants() const { return scene_.last_grant; }

    void watch_for_thrash() {
        if (scene_.seen.broken) return;
        const auto before = grants();
        pass(scene_.interval() * 50);
        if (grants() != before)
            scene_.breach(sharing_law::no_thrash, "with nothing going on, partitions moved");
    }

    void crash_some() {
        auto all = serving();
        if (scene_.seen.broken || all.size() < 2) return;
        pass(scene_.random.between(nanos{0}, ttl()));
        std::vector<std::uint32_t> orphans;
        const auto dying = 1 + scene_.random.below(all.size() - 1);
        for (std::size_t i = 0; i < dying; ++i) {
            for (std::uint32_t which = 0; which < scene_.count; ++which)
                if (all[i]->trusts(which)) orphans.push_back(which);
            all[i]->crash();
        }
        const auto crashed = scene_.time.now();
        pass(ttl() + scene_.interval() + takeover_slack);
        for (const auto which : orphans) {
            if (scene_.last_grant[which] <= crashed)
                return scene_.breach(sharing_law::taken_over,
                                     "partition " + std::to_string(which) + " still lies, " +
                                         "one ttl and one interval after the crash");
            const auto late = scene_.last_grant[which] - crashed - ttl();
            scene_.seen.takeover_beyond_ttl = std::max(scene_.seen.takeover_beyond_ttl, late);
        }
    }

    // One moves few partitions; a crowd is given its share as soon.
    void welcome_some() {
        if (scene_.seen.broken) return;
        const auto before = grants();
        const auto newcomers = 1 + scene_.random.below(members_most);
        for (std::size_t i = 0; i < newcomers; ++i) start_one();
        converge(nanos{0});
        const auto after = grants();
        std::size_t moved = 0;
        for (std::uint32_t i = 0; i < scene_.count; ++i) moved += before[i] != after[i] ? 1 : 0;
        const auto members = serving().size();
        const auto needed = (scene_.count + members - 1) / members;
        if (newcomers == 1 && moved > needed * 4)
            scene_.breach(sharing_law::no_thrash, "a newcomer among " + std::to_string(members) +
                                                      " moved " + std::to_string(moved) + " of " +
                                                      std::to_string(scene_.count));
    }

    sharing_scene scene_;
    int started_ = 0;
};

}  // namespace

sharing_outcome simulate_sharing(std::uint64_t seed, sharing_plant bug) {
    return sharing_play{seed, bug}.play();
}

}  // namespace pawl::simulation
