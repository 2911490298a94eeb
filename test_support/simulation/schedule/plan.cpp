#include "test_support/simulation/schedule/plan.hpp"

#include "schedule/queue/turns.hpp"
#include "time/rfc3339.hpp"

#include <algorithm>
#include <array>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Where clocks jump by half an hour, by a day, by two hours, at midnight, and for a month of
// fasting; a day before they do.
struct odd_time {
    const char* zone;
    const char* start;
};
constexpr odd_time odd_times[] = {{"Australia/Lord_Howe", "2026-04-04T00:00:00Z"},
                                  {"Australia/Lord_Howe", "2026-10-02T20:00:00Z"},
                                  {"Pacific/Apia", "2011-12-29T12:00:00Z"},
                                  {"Antarctica/Troll", "2026-03-28T12:00:00Z"},
                                  {"Antarctica/Troll", "2026-10-24T12:00:00Z"},
                                  {"Africa/Cairo", "2026-04-23T08:00:00Z"},
                                  {"Africa/Cairo", "2026-10-29T08:00:00Z"},
                                  {"Africa/Casablanca", "2026-02-14T14:00:00Z"},
                                  {"Africa/Casablanca", "2026-03-21T14:00:00Z"},
                                  {"Europe/Paris", "2026-10-24T16:00:00Z"}};

constexpr const char* often[] = {"*/5 * * * *",  "*/15 * * * *", "*/2 1-3 * * *",
                                 "7 * * * *",    "@every 7m",    "*/30 * * * *",
                                 "30 1,2 * * *", "@every 1m",    "0 */2 * * * *"};

constexpr const char* every_few_seconds[] = {"*/5 * * * * *", "*/10 * * * * *", "@every 7s",
                                             "*/20 * * * * *", "@every 45s"};
constexpr const char* every_few_minutes[] = {"*/5 * * * *", "@every 6m", "*/10 * * * *"};
constexpr const char* every_minute[] = {"* * * * *", "@every 1m", "@every 50s"};
constexpr millis short_ttls[] = {seconds{5}, seconds{10}, seconds{30}};

constexpr std::size_t editions_most = 3;

template <class Choices>
const auto& pick(rng& random, const Choices& choices) {
    return choices[random.below(std::size(choices))];
}

schedule::queue_rules draw_rules(rng& random) {
    schedule::queue_rules rules;
    rules.when_running = random.happens(0.3) ? overlap::queue : overlap::skip;
    rules.delivery = random.happens(0.6) ? delivery::at_least_once : delivery::at_most_once;
    return rules;
}

const char* draw_when(rng& random, character kind) {
    switch (kind) {
        case character::dense:
        case character::leaping:
            return pick(random, every_few_seconds);
        case character::overrun:
            return pick(random, every_few_minutes);
        case character::in_line:
            return pick(random, every_minute);
        case character::mixed:
            break;
    }
    return pick(random, often);
}

// What a deploy makes of it: another time, another place, another number of partitions.
edition draw_next(rng& random, character kind, edition last) {
    if (random.happens(0.6)) last.when.when = *time::cron::parse(draw_when(random, kind));
    if (random.happens(0.2)) last.when.where = *time::zone::find(pick(random, odd_times).zone);
    if (random.happens(0.4)) last.partitions = 1 + static_cast<std::uint32_t>(random.below(4));
    return last;
}

void draw_length(rng& random, character kind, job_plan& job) {
    // Queued occurrences that take longer than the time between them would wait for ever.
    const bool queues = job.rules.when_running == overlap::queue;
    const nanos longest = queues ? nanos{seconds{50}} : nanos{minutes{12}};
    job.run_least = seconds{1};
    switch (kind) {
        case character::mixed:
            job.run_most = random.happens(0.4) ? longest : nanos{seconds{40}};
            break;
        case character::dense:
        case character::leaping:
            job.run_least = std::chrono::milliseconds{100};
            job.run_most = random.happens(0.5) ? seconds{3} : seconds{15};
            break;
        case character::overrun:
            job.run_least = minutes{2};
            job.run_most = minutes{12};
            break;
        case character::in_line:
            // As long as the time between them, so that the line neither ends nor grows for ever.
            job.run_least = seconds{40};
            job.run_most = seconds{75};
            break;
    }
}

job_plan draw_job(rng& random, character kind, const time::zone& where, std::size_t index) {
    const auto when = time::cron::parse(draw_when(random, kind));
    const auto window = random.happens(0.5) ? millis{hours{1}} : millis{minutes{10}};
    edition first{{*when, where, {}, window}};
    if (random.happens(0.3)) first.when.policy.repeat = repeated_time::twice;
    if (random.happens(0.3)) first.when.policy.gap = gap_time::skip;
    job_plan job;
    job.name = "job-" + std::to_string(index);
    job.rules = draw_rules(random);
    if (kind == character::overrun) job.rules = {overlap::skip, delivery::at_most_once};
    if (kind == character::in_line) job.rules = {overlap::queue, delivery::at_least_once};
    job.rules.lateness_max = window;
    const bool is_dense = kind == character::dense || kind == character::leaping;
    if (is_dense) job.ttl = pick(random, short_ttls);
    if (is_dense && random.happens(0.4)) job.rules.delivery = delivery::at_most_once;
    if (random.happens(0.3)) job.jitter = is_dense ? seconds{1} : seconds{20};
    if (random.happens(0.2)) first.partitions = 2 + static_cast<std::uint32_t>(random.below(3));
    job.editions.push_back(first);
    while (job.editions.size() < editions_most && random.happens(0.4))
        job.editions.push_back(draw_next(random, kind, job.editions.back()));
    draw_length(random, kind, job);
    return job;
}

character draw_character(rng& random) {
    const auto uniform = random.fraction();
    if (uniform < 0.55) return character::mixed;
    if (uniform < 0.8) return character::dense;
    if (uniform < 0.86) return character::overrun;
    if (uniform < 0.9) return character::in_line;
    return character::leaping;
}

// For how long, and how often what happens.
void draw_course(rng& random, world_plan& plan) {
    plan.has_journal = random.happens(0.6);
    plan.healthy = minutes{75};
    plan.faulty = random.between(minutes{40}, hours{2});
    plan.faults_every = random.between(seconds{20}, minutes{10});
    plan.outage_most = minutes{25};
    if (plan.kind == character::mixed) return;
    plan.has_journal = true;  // who has none is told little
    plan.outage_most = minutes{3};
    plan.faults_every = random.between(seconds{10}, minutes{2});
    if (plan.kind == character::overrun || plan.kind == character::in_line) {
        plan.faulty = random.between(minutes{30}, minutes{60});
        plan.healthy = minutes{45};
        plan.faults_every = random.between(seconds{30}, minutes{4});
        plan.at_claims = 0.2;
        plan.clock_steps = 0;
        return;
    }
    plan.faulty = random.between(minutes{10}, minutes{20});
    plan.healthy = minutes{30};
    plan.at_claims = 0.6;
    plan.clock_steps = 0.5;
    if (plan.kind != character::leaping) return;
    plan.at_claims = 0.2;
    plan.clock_steps = 1;
    plan.leaps = 0.6;
}

}  // namespace

std::string key_of(const job_plan& job, std::uint32_t partitions, std::uint32_t partition) {
    return partitions == 1 ? "job/" + job.name
                           : "job/" + job.name + "/" + std::to_string(partition);
}

std::string_view name_of(plant bug) {
    constexpr std::array names{
        "none",         "occurrence_unsent", "used_up_by_grant", "no_early_guard", "unguarded",
        "skips_untold", "misses_untold",     "pause_unheard",    "orphans_left",   "mark_stays",
        "new_id"};
    return names[static_cast<std::size_t>(bug)];
}

std::string_view name_of(registry_kind kind) {
    constexpr std::array names{"right", "stale", "strange", "partial", "empty"};
    return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(character kind) {
    constexpr std::array names{"mixed", "dense", "overrun", "in_line", "leaping"};
    return names[static_cast<std::size_t>(kind)];
}

bool edition::has_turn(wall_instant at, std::uint32_t partition) const {
    return !has_slots || schedule::slot_of(when, at, partitions) == partition;
}

world_plan with_slots(world_plan plan) {
    for (auto& job : plan.jobs)
        for (auto& each : job.editions) {
            each.partitions = std::max(each.partitions, std::uint32_t{2});
            each.has_slots = true;
        }
    return plan;
}

nanos world_plan::clock_tolerated() const { return has_journal ? seconds{2} : seconds{30}; }

// As long as any lease that may have been granted.
std::optional<millis> world_plan::quarantine() const {
    if (!loses_data) return std::nullopt;
    millis longest{0};
    for (const auto& each : jobs) longest = std::max(longest, each.ttl);
    return longest;
}

nanos world_plan::timeout(const job_plan& job) const {
    return 3 * look + job.jitter + clock_tolerated() + seconds{60};
}

world_plan draw_plan(rng& random, plant bug) {
    world_plan plan;
    plan.bug = bug;
    const auto& odd = pick(random, odd_times);
    const auto where = time::zone::find(odd.zone);
    plan.start = *time::parse_rfc3339(odd.start) +
                 std::chrono::floor<seconds>(random.between(nanos{0}, hours{4}));
    plan.kind = draw_character(random);
    // Alone a node has nobody to make up for what it forgets.
    const auto alone = plan.kind == character::leaping ? 0.6 : 0.3;
    plan.nodes =
        random.happens(alone) ? 1 : 2 + random.below(plan.kind == character::mixed ? 5 : 3);
    const std::size_t jobs = 1 + random.below(plan.kind == character::mixed ? 3 : 2);
    for (std::size_t i = 0; i < jobs; ++i)
        plan.jobs.push_back(draw_job(random, plan.kind, *where, i));
    plan.look = seconds{3};
    draw_course(random, plan);
    // Clocks are put right by the journal's. Without one only those that are fast beyond measure
    // are, by the store's.
    plan.skew_most = plan.has_journal ? nanos{minutes{10}} : nanos{seconds{25}};
    plan.drift_most = 1e-5;
    plan.loses_data = random.happens(0.5);
    constexpr registry_kind wrong[]{registry_kind::stale, registry_kind::strange,
                                    registry_kind::partial, registry_kind::empty};
    if (random.happens(0.5)) plan.registry = pick(random, wrong);
    return plan;
}

}  // namespace pawl::simulation::schedules
