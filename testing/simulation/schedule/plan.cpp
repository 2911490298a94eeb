#include "testing/simulation/schedule/plan.hpp"

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

constexpr std::size_t editions_most = 3;

template <class Choices>
const auto& pick(dice& random, const Choices& choices) {
    return choices[random.below(std::size(choices))];
}

schedule::lane_rules draw_rules(dice& random) {
    schedule::lane_rules rules;
    rules.when_running = random.happens(0.3) ? overlap::queue : overlap::skip;
    rules.mode =
        random.happens(0.6) ? occurrence_mode::at_least_once : occurrence_mode::at_most_once;
    return rules;
}

// What a deploy makes of it: another time, another place, another number of partitions.
edition draw_next(dice& random, edition last) {
    if (random.happens(0.6)) last.when.when = *time::cron::parse(pick(random, often));
    if (random.happens(0.2)) last.when.where = *time::zone::find(pick(random, odd_times).zone);
    if (random.happens(0.4)) last.partitions = 1 + static_cast<std::uint32_t>(random.below(4));
    return last;
}

job_plan draw_job(dice& random, const time::zone& where, std::size_t index) {
    const auto when = time::cron::parse(pick(random, often));
    const auto window = random.happens(0.5) ? millis{hours{1}} : millis{minutes{10}};
    edition first{{*when, where, {}, window}};
    if (random.happens(0.3)) first.when.policy.repeat = repeated_time::twice;
    if (random.happens(0.3)) first.when.policy.gap = gap_time::skip;
    job_plan job;
    job.name = "job-" + std::to_string(index);
    job.rules = draw_rules(random);
    job.rules.lateness_max = window;
    if (random.happens(0.3)) job.jitter = seconds{20};
    if (random.happens(0.2)) first.partitions = 2 + static_cast<std::uint32_t>(random.below(3));
    job.editions.push_back(first);
    while (job.editions.size() < editions_most && random.happens(0.4))
        job.editions.push_back(draw_next(random, job.editions.back()));
    job.run_least = seconds{1};
    // Queued firings that take longer than the time between them would wait for ever.
    const bool queues = job.rules.when_running == overlap::queue;
    const nanos longest = queues ? nanos{seconds{50}} : nanos{minutes{12}};
    job.run_most = random.happens(0.4) ? longest : nanos{seconds{40}};
    return job;
}

}  // namespace

std::string_view name_of(plant bug) {
    constexpr std::array names{"none",           "occurrence_unsent", "used_up_by_grant",
                               "no_early_guard", "unguarded",         "skips_untold",
                               "misses_untold",  "pause_unheard",     "orphans_left"};
    return names[static_cast<std::size_t>(bug)];
}

bool gives_way(const schedule::lane_rules& rules) {
    return rules.when_running == overlap::skip && rules.mode == occurrence_mode::at_most_once;
}

nanos world_plan::clock_tolerated() const { return has_journal ? seconds{2} : seconds{30}; }

// As long as any lease that may have been granted.
std::optional<millis> world_plan::quarantine() const {
    if (!loses_data) return std::nullopt;
    millis longest{0};
    for (const auto& each : jobs) longest = std::max(longest, each.ttl);
    return longest;
}

nanos world_plan::patience(const job_plan& job) const {
    return 3 * look + job.jitter + clock_tolerated() + seconds{60};
}

world_plan draw_plan(dice& random, plant bug) {
    world_plan plan;
    plan.bug = bug;
    const auto& odd = pick(random, odd_times);
    const auto where = time::zone::find(odd.zone);
    plan.start = *time::parse_rfc3339(odd.start) +
                 std::chrono::floor<seconds>(random.between(nanos{0}, hours{4}));
    // Alone a node has nobody to make up for what it forgets.
    plan.nodes = random.happens(0.3) ? 1 : 2 + random.below(5);
    const std::size_t jobs = 1 + random.below(3);
    for (std::size_t i = 0; i < jobs; ++i) plan.jobs.push_back(draw_job(random, *where, i));
    plan.look = seconds{3};
    plan.faulty = random.between(minutes{40}, hours{2});
    plan.healthy = minutes{75};
    plan.faults_every = random.between(seconds{20}, minutes{10});
    plan.has_journal = random.happens(0.6);
    // Clocks are put right by the journal's. Without one only those that are fast beyond measure
    // are, by the store's.
    plan.skew_most = plan.has_journal ? nanos{minutes{10}} : nanos{seconds{25}};
    plan.drift_most = 1e-5;
    plan.loses_data = random.happens(0.5);
    return plan;
}

}  // namespace pawl::simulation::schedules
