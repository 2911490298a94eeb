#include "test_support/simulation/plan.hpp"

#include <algorithm>
#include <array>

namespace pawl::simulation {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

constexpr double drifts[] = {0.001, 0.02, 0.1};
constexpr millis ttls[] = {millis{300}, millis{1000}, millis{3000}, millis{10'000}};
constexpr millis max_skews[] = {millis{500}, millis{5000}};

template <class Choices>
auto pick(rng& random, const Choices& choices) {
    return choices[random.below(std::size(choices))];
}

lease_options draw_options(rng& random, double drift) {
    lease_options options;
    options.ttl = pick(random, ttls);
    options.drift = drift;
    options.grace = options.ttl / 4;
    if (random.happens(0.3)) options.min_hold = options.ttl / 2;
    if (random.happens(0.1)) options.hold_until_expiry = true;
    if (random.happens(0.3)) options.if_expired = expired_renewal::extend_if_unclaimed;
    if (random.happens(0.5)) options.max_lifetime = options.ttl * 3;
    if (random.happens(0.1)) options.renew = renewal_mode::manual;
    if (random.happens(0.5)) options.on_store_down = store_down::retry;
    return options;
}

key_plan draw_key(rng& random, double drift, std::size_t index) {
    constexpr std::array names{"plain", "at-most-once", "at-least-once"};
    key_plan plan;
    plan.key = names[index];
    plan.options = draw_options(random, drift);
    plan.has_occurrences = index > 0;
    plan.options.delivery = index == 2 ? delivery::at_least_once : delivery::at_most_once;
    plan.period = random.between(seconds{2}, seconds{8});
    plan.job_least = plan.options.ttl / 20;
    plan.job_most = plan.options.ttl * 3 / 2;
    // Only a bound on the lifetime saves a key from a job that hangs (rule 9).
    if (plan.options.max_lifetime.count() > 0) plan.hangs = 0.1;
    if (random.happens(0.2)) plan.rivals = 2;
    return plan;
}

fault_plan draw_faults(rng& random) {
    fault_plan faults;
    faults.lost = random.happens(0.7) ? random.fraction() * 0.2 : 0;
    faults.repeated = random.happens(0.5) ? random.fraction() * 0.1 : 0;
    faults.slow = random.happens(0.7) ? random.fraction() * 0.2 : 0;
    faults.slowest = random.between(millis{20}, seconds{5});
    faults.every = random.between(millis{300}, seconds{5});
    faults.loses_data = random.happens(0.4);
    faults.force_releases = random.happens(0.4);
    return faults;
}

}  // namespace

std::string_view name_of(plant bug) {
    constexpr std::array names{"none",
                               "clock_stops",
                               "unguarded",
                               "claim_id_reused",
                               "callers_clock",
                               "repeat_mints",
                               "renew_revives",
                               "withdraw_any",
                               "release_any",
                               "min_hold_ignored",
                               "force_release_at_once",
                               "occurrence_unmarked",
                               "occurrence_used_up",
                               "no_early_guard",
                               "no_birth_guard",
                               "birth_without_skew",
                               "no_quarantine",
                               "plain_counter",
                               "unchecked"};
    return names[static_cast<std::size_t>(bug)];
}

world_plan draw_plan(rng& random, plant bug) {
    world_plan plan;
    plan.bug = bug;
    plan.nodes = 2 + random.below(4);
    plan.drift = pick(random, drifts);
    for (std::size_t i = 0; i < 3; ++i) plan.keys.push_back(draw_key(random, plan.drift, i));
    plan.faults = draw_faults(random);
    plan.settings.timeout = duration_cast<millis>(random.between(millis{100}, millis{3000}));
    plan.settings.max_skew = pick(random, max_skews);
    // Most clocks are well within what is tolerated, some are beyond it.
    plan.skew_most = plan.settings.max_skew * 3 / 2;
    plan.faulty = seconds{60};
    plan.healthy = seconds{75};
    millis longest{0};
    for (const auto& key : plan.keys) longest = std::max(longest, key.options.ttl);
    if (plan.faults.loses_data) plan.settings.quarantine = longest;
    return plan;
}

}  // namespace pawl::simulation
