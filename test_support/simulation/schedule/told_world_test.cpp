// Worlds that are told what happens to them: step by step what few seeds come to.
#include "test_support/simulation/schedule/node.hpp"
#include "test_support/simulation/schedule/world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace pawl::simulation::schedules {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// One node and one job, which is due every five minutes, over two partitions and then over one.
world_plan two_partitions_and_then_one() {
    world_plan plan;
    plan.nodes = 1;
    plan.start = wall_instant{std::chrono::hours{24 * 365 * 56}};
    plan.faulty = minutes{10};
    plan.healthy = minutes{1};
    plan.look = seconds{3};
    plan.slow_way = plan.repeated = 0;
    job_plan job;
    job.name = "job-0";
    schedule::occurrence_rule each_five_minutes{*time::cron::parse("*/5 * * * *")};
    each_five_minutes.lateness_max = minutes{3};
    job.editions = {{each_five_minutes, 2}, {each_five_minutes, 1}};
    job.run_least = job.run_most = seconds{1};
    plan.jobs.push_back(std::move(job));
    return plan;
}

// What another node has recorded of it.
run_start skipped_elsewhere(std::uint32_t partition, occurrence which) {
    run_start what{"00000000-0000-4000-8000-00000000000" + std::to_string(partition), "job-0",
                   "job/job-0/" + std::to_string(partition)};
    what.partition = partition;
    what.owner = what.node = "another";
    what.occurrence = which;
    what.trigger = "schedule";
    return what;
}

// Goal: what another node has told of an occurrence is not told again as a claim without an answer.
// Method: the answers to a claim are lost, and those to its withdrawals for longer than these are
// asked for; a reload with other partitions comes meanwhile, and the other node's row.
TEST(ToldWorld, WhatOthersHaveSkippedIsNotToldAsUnansweredBehindAReload) {
    world all{1, two_partitions_and_then_one()};
    all.nodes.push_back(std::make_unique<node>(all, 0));
    auto& only = *all.nodes.front();
    const auto due = minutes{5};
    const auto which = schedule::occurrence_of(all.plan.start + due);
    all.time.at(seconds{1}, [&] { only.start(); });
    all.time.at(due - seconds{1},
                [&] { only.cut(minutes{2}, node::direction::answers, node::far_end::store); });
    all.time.at(due + seconds{1}, [&] {
        for (const std::uint32_t partition : {0, 1})
            EXPECT_TRUE(*all.serve(all.records->skip(skipped_elsewhere(partition, which),
                                                     "an earlier run had yet to begin")));
        all.reload_job(0);
    });
    all.run_until(due + minutes{2});
    EXPECT_TRUE(all.leases().inspect("job/job-0/0")) << "it was not claimed";
    EXPECT_FALSE(all.judge.first_breach()) << *all.judge.first_breach();
}

}  // namespace
}  // namespace pawl::simulation::schedules
