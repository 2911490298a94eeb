#include "agent/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace pawl::agent {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

exec::account alice() {
    exec::account who;
    who.who.user = 1000;
    who.name = "alice";
    who.home = "/home/alice";
    who.shell = "/bin/dash";
    return who;
}

// A command learns all about its run, in the form that docs/jobs.md gives.
TEST(Environment, TellsTheCommandOfItsRun) {
    schedule::run_order order;
    order.run_id = "run-7";
    order.job = "report";
    order.key = "job/report/3";
    order.idempotency_key = "report/3/1792490400000";
    order.checkpoint = "row 17\nof 40";
    order.partition = 3;
    order.partition_count = 8;
    order.token = fence_token{9};
    order.occurrence = occurrence{1'792'490'400'250};
    order.attempt = 2;
    order.trigger = "schedule";
    order.owner = "node-a:1";
    order.node = "node-a";
    config::job_settings job;
    job.store_access = true;
    const auto all = environment_of(job, order, {}, ground::clean,
                                    {"redis://u:hunter2@r/1", "postgresql://p/pawl?password=x"});
    for (const char* expected :
         {"PAWL_RUN_ID=run-7", "PAWL_JOB=report", "PAWL_KEY=job/report/3",
          "PAWL_IDEMPOTENCY_KEY=report/3/1792490400000", "PAWL_CHECKPOINT=row 17\nof 40",
          "PAWL_PARTITION=3", "PAWL_PARTITION_COUNT=8", "PAWL_SLOT=", "PAWL_SLOT_COUNT=",
          "PAWL_FENCE_TOKEN=9", "PAWL_OCCURRENCE=2026-10-20T10:00:00.250Z", "PAWL_ATTEMPT=2",
          "PAWL_TRIGGER=schedule", "PAWL_OWNER=node-a:1", "PAWL_NODE=node-a",
          "PAWL_STORE=redis://u@r/1", "PAWL_JOURNAL=postgresql://p/pawl"})
        EXPECT_THAT(all, Contains(expected).Times(1));
}

// Goal: a command that divides its work by partitions is not misled by a job with slots, nor by
// what the agent itself was started under.
TEST(Environment, OfAJobWithSlotsItNamesTheSlotAndNoPartition) {
    setenv("PAWL_PARTITION", "5", 1);
    setenv("PAWL_PARTITION_COUNT", "6", 1);
    schedule::run_order order;
    order.partition = 1;
    order.partition_count = 4;
    order.has_slots = true;
    for (const auto from : {ground::clean, ground::inherited}) {
        const auto all = environment_of({}, order, {}, from, {});
        EXPECT_THAT(all, Contains("PAWL_SLOT=1").Times(1));
        EXPECT_THAT(all, Contains("PAWL_SLOT_COUNT=4").Times(1));
        EXPECT_THAT(all, Not(Contains(StartsWith("PAWL_PARTITION"))));
    }
    unsetenv("PAWL_PARTITION");
    unsetenv("PAWL_PARTITION_COUNT");
}

// A run by hand has no occurrence, and one without a lease no token: the variables are there,
// empty.
TEST(Environment, WhatTheRunDoesNotHaveIsEmpty) {
    const auto all = environment_of({}, {}, {}, ground::clean, {});
    for (const char* expected : {"PAWL_OCCURRENCE=", "PAWL_FENCE_TOKEN=", "PAWL_CHECKPOINT="})
        EXPECT_THAT(all, Contains(expected).Times(1));
}

// Who has the store's address and password has every lease, and by the agent's journal every
// job: neither the agent's own variables nor its configuration hand them to a command unasked.
TEST(Environment, TheStoreIsNotHandedOverUnasked) {
    setenv("PAWL_STORE", "redis://u:hunter2@r/1", 1);
    setenv("PAWL_CONFIG", "/etc/pawl/pawl.toml", 1);
    setenv("PAWL_JOURNAL", "postgresql://u:hunter2@p/pawl", 1);
    const addresses where{"redis://u:hunter2@r/1", "postgresql://u:hunter2@p/pawl"};
    for (const auto from : {ground::clean, ground::inherited}) {
        const auto all = environment_of({}, {}, {}, from, where);
        EXPECT_THAT(all, Not(Contains(StartsWith("PAWL_STORE"))));
        EXPECT_THAT(all, Not(Contains(StartsWith("PAWL_CONFIG"))));
        EXPECT_THAT(all, Not(Contains(StartsWith("PAWL_JOURNAL"))));
        EXPECT_THAT(all, Not(Contains(HasSubstr("hunter2"))));
    }
    unsetenv("PAWL_STORE");
    unsetenv("PAWL_CONFIG");
    unsetenv("PAWL_JOURNAL");
}

// What the service manager has told the agent, and its token, are the agent's alone.
TEST(Environment, WhatSpeaksToTheAgentIsNotInherited) {
    const char* names[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC",  "WATCHDOG_PID",
                           "LISTEN_FDS",    "LISTEN_PID",     "LISTEN_FDNAMES",
                           "PAWL_TOKEN",    "JOURNAL_STREAM", "CREDENTIALS_DIRECTORY"};
    for (const char* name : names) setenv(name, "agent's own", 1);
    setenv("TRIAL_OF_ENVIRONMENT", "shared", 1);
    const auto all = environment_of({}, {}, {}, ground::inherited, {});
    EXPECT_THAT(all, Contains("TRIAL_OF_ENVIRONMENT=shared"));
    EXPECT_THAT(all, Not(Contains(HasSubstr("agent's own"))));
    for (const char* name : names) unsetenv(name);
    unsetenv("TRIAL_OF_ENVIRONMENT");
}

// A clean environment is what a login of that user would have, and nothing of the agent's.
TEST(Environment, ACleanOneIsThatOfALogin) {
    setenv("TRIAL_OF_ENVIRONMENT", "shared", 1);
    const auto all = environment_of({}, {}, alice(), ground::clean, {});
    for (const char* expected : {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/alice",
                                 "USER=alice", "LOGNAME=alice", "SHELL=/bin/dash"})
        EXPECT_THAT(all, Contains(expected).Times(1));
    EXPECT_THAT(all, Not(Contains(StartsWith("TRIAL_OF_ENVIRONMENT"))));
    unsetenv("TRIAL_OF_ENVIRONMENT");
}

// What is nearer to the run wins, and each name stands once: the ground, env, env_file, the run.
TEST(Environment, WhatIsNearerToTheRunWins) {
    config::job_settings job;
    job.env = {{"HOME", "/srv"}, {"MODE", "from env"}, {"PAWL_KEY", "forged"}};
    job.secrets = {{"MODE", "from env_file"}};
    schedule::run_order order;
    order.key = "job/real";
    const auto all = environment_of(job, order, alice(), ground::clean, {});
    EXPECT_THAT(all, Contains(StartsWith("HOME=")).Times(1));
    EXPECT_THAT(all, Contains("HOME=/srv"));
    EXPECT_THAT(all, Contains(StartsWith("MODE=")).Times(1));
    EXPECT_THAT(all, Contains("MODE=from env_file"));
    EXPECT_THAT(all, Contains(StartsWith("PAWL_KEY=")).Times(1));
    EXPECT_THAT(all, Contains("PAWL_KEY=job/real"));
}

// The command may stand in another folder, where a relative path would name another file.
TEST(Environment, PathsInUrlsNoLongerDependOnTheFolder) {
    EXPECT_THAT(absolute_url("sqlite:pawl.db?timeout=3s"), StartsWith("sqlite:/"));
    EXPECT_THAT(absolute_url("sqlite:pawl.db?timeout=3s"), HasSubstr("/pawl.db?timeout=3s"));
    EXPECT_THAT(absolute_url("redis+unix:run/redis.sock"), StartsWith("redis+unix:/"));
    EXPECT_THAT(absolute_url("valkey+unix:run/valkey.sock"), StartsWith("valkey+unix:/"));
    for (const char* same : {"sqlite:", "sqlite:/a/b.db", "redis://h/1", "memory:", ""})
        EXPECT_EQ(absolute_url(same), same);
}

// A NUL would end the text there, unseen; it is rejected by name, and the value is not shown.
TEST(Environment, ANulByteIsRejectedByName) {
    exec::command wanted{{"report", std::string{"a\0b", 3}}};
    EXPECT_EQ(unspeakable(wanted),
              "argument 1 of the command holds a NUL byte, which no command can be given");
    wanted.arguments.pop_back();
    EXPECT_EQ(unspeakable(wanted), "");
    wanted.environment = {"FINE=1", std::string{"SECRET=hunter\0002", 15}};
    EXPECT_EQ(unspeakable(wanted),
              "the variable SECRET holds a NUL byte, which no command can be given");
}

}  // namespace
}  // namespace pawl::agent
