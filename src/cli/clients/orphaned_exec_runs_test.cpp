#include "cli/clients/orphaned_exec_runs.hpp"

#include "test_support/faults/journal_world.hpp"
#include "tests/crash/observation.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace pawl::cli {
namespace {

// Rows without a heartbeat since they began, and a reader that judges them.
class unresponsive_runs {
public:
    void leave(const std::string& id, const std::string& trigger, fence_token token) {
        run_start start{id, "job-of-" + id, "key-of-" + id};
        start.token = token;
        start.trigger = trigger;
        start.heartbeat_timeout = millis{1};
        world_.ask([&] { return world_.records->begin(std::move(start)); });
        ++left_;
    }
    // The keys are held under no token.
    void judge() {
        const auto are_stale = [&] {
            return world_.ask([&] { return world_.records->stale_runs(page_limit_max, 0); })
                       .size() == left_;
        };
        ASSERT_TRUE(crash::eventually(are_stale));
        const auto inspect = [](std::string) -> async<std::optional<record>> {
            co_return std::optional<record>{};
        };
        world_.looking.wait_for(judge_orphaned_exec_runs(world_.records, "", inspect));
    }
    run_status status_of(const std::string& id) { return world_.run_of(id).status; }

private:
    journal_world world_;
    std::size_t left_ = 0;
};

// Goal: behind an outage of the journal no living command is told as lost. Method: no row has a
// heartbeat, and no lease is held.
TEST(OrphanedExecRuns, OneWithoutALeaseMayStillSayThatItLives) {
    unresponsive_runs rows;
    rows.leave("leased", "exec", fence_token{7});
    rows.leave("unleased", "exec", fence_token{});
    rows.leave("program", "library", fence_token{7});
    rows.leave("agents", "schedule", fence_token{});
    rows.judge();
    EXPECT_EQ(rows.status_of("leased"), run_status::lost);
    EXPECT_EQ(rows.status_of("unleased"), run_status::started);
    EXPECT_EQ(rows.status_of("program"), run_status::started);
    EXPECT_EQ(rows.status_of("agents"), run_status::started);
}

}  // namespace
}  // namespace pawl::cli
