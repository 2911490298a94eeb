#include "test_support/simulation/sharing_world.hpp"

#include "net/timer.hpp"
#include "runtime/partition_runner.hpp"
#include "test_support/simulation/node.hpp"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace pawl::simulation {
namespace {

using boost::asio::awaitable;
using runtime::partition_runner;
using std::chrono::milliseconds;

const std::string share_name = "reindex";
constexpr std::size_t members_most = 8;
constexpr std::size_t trace_lines = 20'000;
constexpr std::size_t machines_most = members_most * 3;
constexpr nanos latency_most = milliseconds{10};
constexpr millis request_timeout{400};
// Beyond ttl + interval: a list, a claim, and the jitter of a claim that waited for the expiry.
constexpr nanos takeover_slack = latency_most * 6 + milliseconds{100};

world_plan plan_of_sharing(rng&) {
    world_plan plan;
    plan.nodes = machines_most;
    plan.settings.timeout = request_timeout;
    plan.faults.lost = 0.02;
    plan.faults.slow = 0.05;
    plan.faults.repeated = 0.02;
    plan.faults.slowest = request_timeout;
    plan.drift = 0.0004;
    plan.guards = false;
    return plan;
}

// What happens to the members of a world, and the referee who sees what they hold.
class sharing_play {
public:
    sharing_play(std::uint64_t seed, tracing trace)
        : all_{seed, plan_of_sharing},
          count_{static_cast<std::uint32_t>(1 + all_.random.below(40))} {
        parts_.resize(count_);
        if (trace == tracing::on) all_.judge.trace_lines(trace_lines);
        constexpr millis ttls[]{millis{1000}, millis{3000}, millis{10'000}};
        options_.lease.ttl = ttls[all_.random.below(std::size(ttls))];
        for (std::size_t i = 0; i < machines_most; ++i)
            members_.push_back(std::make_unique<member>());
        for (std::size_t i = 0; i < machines_most; ++i)
            all_.nodes.push_back(std::make_unique<node>(
                all_, i, [this, i](node& home) { share(home, *members_[i]); }));
    }

    sharing_outcome play() {
        const std::size_t at_first = 1 + all_.random.below(members_most);
        for (std::size_t i = 0; i < at_first; ++i) start_one();
        for (int i = 0; i < 40 && !seen_.broken; ++i) disturb();
        quieten();
        converge(until_the_dead_are_gone());
        watch_for_thrash();
        crash_some();
        converge(until_the_dead_are_gone());
        welcome_some();
        return outcome();
    }

private:
    // On the machine of the same number.
    struct member {
        std::stop_source shutdown;
        bool leaves = false;  // it is told, if it does not know yet
    };
    struct part {
        const node* runs_at = nullptr;
        const node* last_at = nullptr;
        nanos began{0};
    };

    // -- the members

    static awaitable<void> live(sharing_play& play, node& home,
                                std::shared_ptr<partition_runner> who) {
        auto sharing = partition_runner::run(std::move(who));
        co_await std::move(sharing);
        play.happened(sharing_fact::left);
        // Not from within: the loop would end under its own feet.
        play.all_.time.after(nanos{0}, [&home, life = home.life()] {
            if (home.life() == life) home.end();
        });
    }

    void share(node& home, member& me) {
        happened(sharing_fact::joined);
        me = member{};
        auto task = [this, &home](partition mine, lease& held, std::stop_source) {
            return work(*this, home, std::move(mine), held);
        };
        partition_runner::parts made_of{home.engine(),           share_name,     count_, options_,
                                        me.shutdown.get_token(), std::move(task)};
        home.spawn(live(*this, home, partition_runner::make(home.loop(), std::move(made_of))));
    }

    // While it goes on the member runs the partition.
    struct running {
        running(sharing_play& where, part& what, const node& machine)
            : play{where}, which{what}, at{machine} {
            // A body that did not stop in time is excused where its machine stood still.
            if (which.runs_at != nullptr && !which.runs_at->paused_after(which.began))
                play.breach(sharing_law::one_holder,
                            "two bodies of partition " + play.number_of(what) + " go on");
            if (which.last_at != nullptr && which.last_at != &at)
                play.happened(sharing_fact::moved);
            which.runs_at = which.last_at = &at;
            which.began = play.all_.time.now();
            play.all_.judge.note(at.name(), " runs ", play.number_of(what));
        }
        ~running() {
            play.all_.judge.note(at.name(), " ends ", play.number_of(which));
            if (which.runs_at == &at) which.runs_at = nullptr;
        }
        running(const running&) = delete;
        running& operator=(const running&) = delete;
        sharing_play& play;
        part& which;
        const node& at;
    };

    // Until it is told to stop, and a little longer. Some return by themselves.
    static awaitable<void> work(sharing_play& play, node& home, partition mine, lease& held) {
        auto& random = play.all_.random;
        node::work doing{home, held, mine.stop};
        const running here{play, play.parts_[mine.index], home};
        auto until = instant::max();
        if (play.has_faults() && random.happens(0.1))
            until = home.now() + random.between(nanos{0}, play.ttl() * 5);
        while (!mine.stop.stop_requested()) {
            if (home.now() >= until) {
                if (play.has_faults()) co_return;
                until = instant::max();
            }
            auto waiting = doing.wait_until(until);
            co_await std::move(waiting);
        }
        const auto grace = play.has_faults() ? play.ttl() / 3 : latency_most;
        auto stopping = net::sleep_for(random.between(nanos{0}, grace));
        co_await std::move(stopping);
    }

    // -- what happens to them

    bool has_faults() const { return !all_.healthy; }
    nanos ttl() const { return options_.lease.ttl; }
    nanos interval() const {
        return leasing::sharing_plan_of(share_name, count_, options_).interval;
    }
    // Dead members show for a ttl, and what was on its way arrives.
    nanos until_the_dead_are_gone() const { return ttl() + request_timeout; }

    void pass(nanos duration) {
        all_.run_until(all_.time.now() + duration);
        const auto& first_breach = all_.judge.first_breach();
        if (first_breach) breach(sharing_law::one_holder, *first_breach);
    }

    bool is_leaving(const node& who) const { return members_[who.index()]->leaves; }
    // Members that are there to stay.
    std::vector<node*> serving() const {
        std::vector<node*> found;
        for (const auto& each : all_.nodes)
            if (each->lives() && !is_leaving(*each)) found.push_back(each.get());
        return found;
    }

    void start_one() {
        for (const auto& each : all_.nodes)
            if (!each->lives() && !each->paused()) return each->start();
    }

    void disturb() {
        auto& random = all_.random;
        pass(random.between(nanos{0}, ttl()));
        const auto present = serving();
        if (present.empty() || (present.size() < members_most && random.happens(0.3)))
            return start_one();
        auto& victim = *present[random.below(present.size())];
        if (victim.paused()) return victim.resume();
        const auto what = random.fraction();
        if (what < 0.15) return victim.crash(nanos{0});
        if (what < 0.3) return shut_down(victim);
        if (what < 0.6) return victim.pause(nanos::max());
    }

    void shut_down(node& victim) {
        members_[victim.index()]->leaves = true;
        victim.tell(victim.life(),
                    [stop = members_[victim.index()]->shutdown]() mutable { stop.request_stop(); });
    }

    void quieten() {
        for (const auto& each : all_.nodes)
            if (each->paused()) each->resume();
        all_.healthy = true;
        if (serving().empty()) start_one();
    }

    bool is_fair() const {
        const auto present = serving();
        const auto least = count_ / present.size();
        std::size_t total = 0;
        for (const auto* each : present) {
            const auto share = each->trusted_works();
            if (share < least || share > least + 1) return false;
            total += share;
        }
        return total == count_;
    }

    // Within so many intervals all is fair, and then stays as it is.
    void converge(nanos first) {
        if (seen_.broken) return;
        pass(first);
        const auto step = interval() / 4;
        int last_unfair = 0;
        for (int i = 1; i <= leasing::intervals_to_converge * 4; ++i) {
            const auto before = begins();
            const bool fair = is_fair();
            pass(step);
            if (!fair || begins() != before) last_unfair = i;
        }
        seen_.intervals_to_converge = std::max(seen_.intervals_to_converge, last_unfair / 4.0);
        if (is_fair()) return;
        std::string shares;
        for (const auto* each : serving())
            shares += " " + each->name() + ": " + std::to_string(each->trusted_works());
        breach(sharing_law::fair_share,
               std::to_string(count_) + " partitions are held so:" + shares);
    }

    std::vector<nanos> begins() const {
        std::vector<nanos> when;
        for (const auto& each : parts_) when.push_back(each.began);
        return when;
    }

    void watch_for_thrash() {
        if (seen_.broken) return;
        const auto before = begins();
        pass(interval() * 50);
        if (begins() != before)
            breach(sharing_law::no_thrash, "with nothing going on, partitions moved");
    }

    void crash_some() {
        auto present = serving();
        if (seen_.broken || present.size() < 2) return;
        pass(all_.random.between(nanos{0}, ttl()));
        std::vector<std::uint32_t> orphans;
        const auto dying = 1 + all_.random.below(present.size() - 1);
        for (std::size_t i = 0; i < dying; ++i) {
            for (std::uint32_t which = 0; which < count_; ++which)
                if (parts_[which].runs_at == present[i]) orphans.push_back(which);
            present[i]->crash(nanos{0});
        }
        const auto crashed = all_.time.now();
        pass(ttl() + interval() + takeover_slack);
        for (const auto which : orphans) {
            if (parts_[which].began <= crashed)
                return breach(sharing_law::taken_over, "partition " + std::to_string(which) +
                                                           " still lies, one ttl and one " +
                                                           "interval after the crash");
            const auto late = parts_[which].began - crashed - ttl();
            seen_.takeover_beyond_ttl = std::max(seen_.takeover_beyond_ttl, late);
        }
    }

    // One moves few partitions; a crowd is given its share as soon.
    void welcome_some() {
        if (seen_.broken) return;
        const auto before = begins();
        const auto newcomers = 1 + all_.random.below(members_most);
        for (std::size_t i = 0; i < newcomers; ++i) start_one();
        converge(nanos{0});
        const auto after = begins();
        std::size_t moved = 0;
        for (std::uint32_t i = 0; i < count_; ++i) moved += before[i] != after[i] ? 1 : 0;
        const auto present = serving().size();
        const auto needed = (count_ + present - 1) / present;
        if (newcomers == 1 && moved > needed * 4)
            breach(sharing_law::no_thrash, "a newcomer among " + std::to_string(present) +
                                               " moved " + std::to_string(moved) + " of " +
                                               std::to_string(count_));
    }

    // -- what was seen

    std::string number_of(const part& which) const {
        return std::to_string(&which - parts_.data());
    }
    void happened(sharing_fact what) { ++seen_.counts[static_cast<std::size_t>(what)]; }
    void breach(sharing_law which, const std::string& story) {
        if (seen_.broken) return;
        seen_.broken = which;
        seen_.trace = all_.judge.trace();
        seen_.breach = std::string{name_of(which)} + ": " + story + ", at " +
                       std::to_string(all_.time.now().count() / 1'000'000) + " ms";
    }
    sharing_outcome outcome() {
        const auto count = [this](sharing_fact mine, fact theirs) {
            seen_.counts[static_cast<std::size_t>(mine)] =
                all_.judge.counts()[static_cast<std::size_t>(theirs)];
        };
        count(sharing_fact::crashed, fact::crashes);
        count(sharing_fact::froze, fact::pauses);
        count(sharing_fact::answer_lost, fact::unknown);
        count(sharing_fact::given_back, fact::given_back);
        const std::chrono::duration<double, std::ratio<3600>> lived = all_.time.now();
        seen_.node_hours = lived.count() * static_cast<double>(serving().size());
        return seen_;
    }

    partition_options options_;
    sharing_outcome seen_;
    std::vector<std::unique_ptr<member>> members_;
    std::vector<part> parts_;
    // Its coroutines use the above until they go.
    world all_;
    const std::uint32_t count_;
};

}  // namespace

std::string_view name_of(sharing_law which) {
    constexpr std::array<std::string_view, sharing_laws> names{"one_holder", "taken_over",
                                                               "fair_share", "no_thrash"};
    return names[static_cast<std::size_t>(which)];
}

sharing_outcome simulate_sharing(std::uint64_t seed, tracing trace) {
    return sharing_play{seed, trace}.play();
}

}  // namespace pawl::simulation
