#include "config/config_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <chrono>

namespace pawl::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* contract = R"(
store   = "redis://127.0.0.1:6379"        # leases
journal = "postgresql://pawl@127.0.0.1/pawl"

[agent]
name = "node-a"                 # default: hostname
listen = "127.0.0.1:7295"       # API, UI, /metrics
max_concurrent_runs = 8
shutdown_grace = "30s"
tls = { cert = "…", key = "…" }

[[user]]
name = "alice"
role = "admin"                  # viewer | operator | admin
token_hash = "$argon2id$…"

[defaults]                      # any job field

[[job]]
name = "daily-report"           # lock key: job/daily-report
schedule = "0 6 * * *"          # 5 or 6 fields, @daily …, @every 90s
zone = "Europe/Paris"
command = ["/usr/local/bin/report", "--day"]
env = { MODE = "full" }
working_directory = "/srv"
user = "report"
ttl = "30s"                     # lock_at_most_for, renewed while it runs
min_hold = "0s"                 # lock_at_least_for
hold_until_expiry = false
delivery = "at-most-once"     # or "at-least-once", or "off"
misfire = "run-once"            # skip | run-once
misfire_window = "1h"
overlap = "skip"                # skip | queue
jitter = "0s"
timeout = "0s"
soft_timeout = "0s"
grace = "10s"
retries = { max = 0, backoff = "10s", factor = 2.0, max_backoff = "10m" }
partitions = 1
max_renew_failures = 3
renew_fraction = 0.3
on_store_down = "skip"
output_limit = "1MiB"
keep_runs = 1000
gap = "end"
repeat = "once"
)";

// The example that users are shown says the defaults, and so every value that it does not need to
// say is the one of a job that says nothing.
TEST(Configuration, ReadsTheExampleOfTheContract) {
    const auto values = read_whole(contract);
    EXPECT_EQ(values.store, "redis://127.0.0.1:6379");
    EXPECT_EQ(values.journal, "postgresql://pawl@127.0.0.1/pawl");
    EXPECT_EQ(values.agent.name, "node-a");
    EXPECT_EQ(values.agent.listen, (base::endpoint{"127.0.0.1", 7295}));
    ASSERT_TRUE(values.agent.tls);
    ASSERT_EQ(values.users.size(), 1u);
    EXPECT_EQ(values.users[0].role, user_role::admin);
    ASSERT_EQ(values.jobs.size(), 1u);

    job_settings expected;
    expected.name = "daily-report";
    expected.schedule.text = "0 6 * * *";
    expected.zone = time::zone::find("Europe/Paris").value();
    expected.command = {"/usr/local/bin/report", "--day"};
    expected.env = {{"MODE", "full"}};
    expected.working_directory = "/srv";
    expected.user = "report";
    EXPECT_EQ(values.jobs[0], expected);
    EXPECT_TRUE(values.jobs[0].schedule.when);
    EXPECT_EQ(values.jobs[0].key(), "job/daily-report");
}

TEST(Configuration, AnEmptyFileIsAnAgentWithoutJobs) {
    const auto values = read_whole("");
    EXPECT_TRUE(values.jobs.empty());
    EXPECT_FALSE(values.agent.name.empty());
    EXPECT_EQ(values.agent.listen.port, 7295);
}

TEST(Configuration, AJobTakesFromDefaultsWhatItDoesNotSay) {
    const auto values = read_whole(R"(
[[job]]
name = "a"
schedule = "@daily"
env = { B = "job", C = "job" }
retries = { max = 5 }
limits.open_files = 10
[[job]]
name = "b"
command = ["/bin/b"]
[defaults]
command = ["/bin/a"]
env = { A = "defaults", B = "defaults" }
retries = { max = 1, backoff = "3s" }
limits = { open_files = 20, memory = "1GiB" }
zone = "Asia/Tokyo"
)");
    const auto& a = values.jobs[0];
    EXPECT_EQ(a.command, std::vector<std::string>{"/bin/a"});
    EXPECT_EQ(a.env, (std::vector<variable>{{"A", "defaults"}, {"B", "job"}, {"C", "job"}}));
    EXPECT_EQ(a.retries.max, 5);
    EXPECT_EQ(a.retries.backoff, 3s);
    EXPECT_EQ(a.limits.open_files, 10);
    EXPECT_EQ(a.limits.memory, 1 << 30);
    EXPECT_EQ(a.zone.name(), "Asia/Tokyo");
    const auto& b = values.jobs[1];
    EXPECT_EQ(b.command, std::vector<std::string>{"/bin/b"});
    EXPECT_EQ(b.retries.max, 1);
    EXPECT_FALSE(b.schedule.when);
}

TEST(Configuration, ReadsWhatTheContractOnlyImplies) {
    const auto values = read_whole(R"(
[[job]]
name = "a"
command = ["/bin/a", ""]
description = "what it does"
enabled = false
clean_environment = true
store_access = true
arguments = ["--day=*", "full"]
group = "staff"
umask = "027"
nice = -5
limits = { open_files = 1, processes = "unlimited", cpu_time = "1m", file_size = 5, core_size = "0" }
max_concurrent_runs = 2
partitions = 8
delivery = "off"
overlap = "queue"
gap = "skip"
repeat = "twice"
on_store_down = "run"
misfire = "skip"
output_limit = 0
[agent]
listen = "[::1]:0"
)");
    const auto& job = values.jobs[0];
    EXPECT_FALSE(job.enabled);
    EXPECT_TRUE(job.clean_environment);
    EXPECT_TRUE(job.store_access);
    EXPECT_EQ(job.arguments.patterns, (std::vector<std::string>{"--day=*", "full"}));
    EXPECT_FALSE(job.arguments.any);
    EXPECT_EQ(job.umask, 0027u);
    EXPECT_EQ(job.nice, -5);
    EXPECT_EQ(job.limits.open_files, 1);
    EXPECT_EQ(job.limits.processes, INT64_MAX);
    EXPECT_EQ(job.limits.cpu_time, millis{60'000});
    EXPECT_EQ(job.limits.file_size, 5);
    EXPECT_EQ(job.limits.core_size, 0);
    EXPECT_FALSE(job.limits.memory);
    EXPECT_EQ(job.max_concurrent_runs, 2);
    EXPECT_EQ(job.delivery, delivery::off);
    EXPECT_EQ(job.overlap, overlap::queue);
    EXPECT_EQ(job.transitions().gap, gap_time::skip);
    EXPECT_EQ(job.transitions().repeat, repeated_time::twice);
    EXPECT_EQ(job.on_store_down, outage::run_without_lease);
    EXPECT_EQ(job.misfire, misfire::skip);
    EXPECT_EQ(job.output_limit, 0);
    EXPECT_EQ(values.agent.listen, (base::endpoint{"::1", 0}));
}

struct mistake {
    const char* text;
    const char* shown;
};

// Each text has one mistake; the position is that of the mistake and not of the line.
TEST(Configuration, SaysWhatIsWrongWhereAndWhatWouldBeRight) {
    const mistake mistakes[] = {
        {"[agent]\nlisen = \"h:1\"",
         "f:2:1: unknown key 'lisen' in [agent]; did you mean 'listen'?"},
        {"timeout = \"3s\"", "f:1:1: unknown key 'timeout' in the file; it belongs to [[job]]"},
        {"[agent]\nstore = \"memory:\"",
         "f:2:1: unknown key 'store' in [agent]; it belongs to the file, above its first [table]"},
        {"[jobs]", "f:1:2: unknown key 'jobs' in the file; did you mean 'job'?"},
        {"[job]\nname = \"a\"",
         "f:1:1: job is not a list of tables; expected [[job]] with two brackets on each side"},
        {"agent = 1", "f:1:9: agent is not a table; expected [agent] once, on a line of its own"},
        {"store = 3", "f:1:9: store is an integer; expected a text in quotes"},
        {"store = \"redis://h:x\"", "f:1:20: store is not a store URL"},
        {"[agent]\nhosts = \"pawl.example.com\"", "f:2:9: hosts is a text"},
        {"[agent]\nhosts = [\"pawl.example.com:80\"]",
         "is not a host; expected a name without a port"},
        {"[agent]\nlisten = \":80\"", "f:2:11: listen has no host; expected 127.0.0.1:PORT"},
        {"[agent]\nlisten = \"::1:80\"", "f:2:11: listen has an IPv6 address without brackets"},
        {"[agent]\nlisten = \"127.0.0.1:99999\"", "f:2:21: listen has no port from 0 to 65535"},
        {"[agent]\nlisten = \"0.0.0.0:80\"",
         "f:2:1: listen opens '0.0.0.0' to other machines, but there is no [[user]]; add one"},
        {"[agent]\nlisten = \"127.evil.example:80\"", "f:2:1: listen opens '127.evil.example'"},
        {"[agent]\ntls = { cert = \"x\" }", "f:2:7: tls lacks key"},
        {"[agent]\nmax_concurrent_runs = 0",
         "f:2:23: max_concurrent_runs is 0; expected 1 to 4,000"},
        {"[agent]\nshutdown_grace = 30",
         "f:2:18: shutdown_grace is an integer; expected a duration in quotes, such as \"30s\""},
        {"[agent]\nname = \"a b\"", "f:2:10: name has white space"},
        {"[[user]]\nname = \"a\"\nrole = \"root\"\ntoken_hash = \"$argon2id$x\"",
         "f:3:8: role is 'root'; expected \"viewer\", \"client\", \"operator\" or \"admin\""},
        {"[[user]]\nname = \"ops: night\"\nrole = \"viewer\"\ntoken_hash = \"$argon2id$x\"",
         "f:2:12: name has ': ', behind which a reason"},
        {"[[user]]\nname = \"a\"\nrole = \"admin\"",
         "f:1:1: a [[user]] has no token_hash; it needs name, role and token_hash"},
        {"[defaults]\nname = \"a\"", "f:2:1: name stands in [defaults]"},
        {"[defaults]\nretires = {}",
         "f:2:1: unknown key 'retires' in [defaults]; did you mean 'retries'?"},
        {"[defaults]\nretries.maxx = 3",
         "f:2:9: unknown key 'retries.maxx' in [defaults]; did you mean 'retries.max'?"},
        {"a = 1 b = 2", "f:1:7: no valid TOML: key-value pair"},
        {"a = 1; b = 2", "write each setting on a line of its own"},
        {"store = sqlite", "texts and durations stand in quotes"},
        {"[agent]\n[agent]", "each key and each [table] stands once"},
    };
    for (const auto& [text, shown] : mistakes) EXPECT_THAT(only_fault(text), HasSubstr(shown));
}

TEST(Configuration, SaysWhatIsWrongWithAJob) {
    const mistake mistakes[] = {
        {"ttl = \"10x\"", "f:4:10: ttl is not a duration: unknown unit 'x'"},
        {"ttl = \"8d\"", "f:4:7: ttl is 8d; expected 100ms to 7d"},
        {"ttl = \"99ms\"", "f:4:7: ttl is 99ms; expected 100ms to 7d"},
        {"ttl = 30", "f:4:7: ttl is an integer; expected a duration in quotes"},
        {"lock_at_most_for = \"3s\"", "did you mean 'ttl'?"},
        {"retries.maxx = 3",
         "f:4:9: unknown key 'retries.maxx' in [[job]]; did you mean 'retries.max'?"},
        {"retries = 3", "f:4:11: retries is an integer; expected a table, such as { max = … }"},
        {"retries = { backoff = \"1h\" }",
         "f:4:13: retries.backoff is 1h, but retries.max_backoff is 10m"},
        {"retries.factor = 0.5", "f:4:18: retries.factor is 0.5; expected 1 to 100"},
        {"retries.factor = nan", "retries.factor is not finite; expected 1 to 100"},
        {"retries.max = 1.5", "retries.max is a number; expected an integer from 0 to 1,000"},
        {"zone = \"Europe/Pariss\"",
         "f:4:9: zone is wrong: there is no time zone 'Europe/Pariss'; did you mean "
         "'Europe/Paris'?"},
        {"schedule = \"0 25 * * *\"", "f:4:15: schedule is wrong here: "},
        {"schedule = \"0\\t25 * * *\"", "f:4:16: schedule is wrong here: "},
        {"schedule = '''\n0 25 * * *'''", "f:5:3: schedule is wrong here: "},
        {"schedule = \"0 0 30 2 *\"", "f:4:"},
        {"hold_until_expiry = \"yes\"",
         "f:4:21: hold_until_expiry is a text; expected true or false, without quotes"},
        {"hold = \"yes\"", "f:4:8: hold is a text; expected true or false, without quotes"},
        {"hold = true\nhold_until_expiry = true",
         "f:4:1: hold_until_expiry stands here twice, once as hold, as it was called before; keep "
         "hold_until_expiry"},
        {"min_hold = \"1s\"\nat_least = \"1s\"",
         "f:5:1: min_hold stands here twice, once as at_least"},
        {"occurrence = \"off\"\ndelivery = \"off\"",
         "f:4:1: delivery stands here twice, once as occurrence"},
        {"hold = true\npartitions = 2", "f:4:1: hold_until_expiry keeps a lease after its run"},
        {"hold = true\nat_least = \"31s\"",
         "f:5:1: min_hold is 31s, but with hold_until_expiry the lease ends after its ttl of 30s"},
        {"lease = false\npartitions = 2", "f:4:1: lease = false runs all of the job on each node"},
        {"hold = true\nslots = 2",
         "f:4:1: hold_until_expiry keeps a lease after its run, so a slot"},
        {"lease = false\nslots = 2", "f:4:1: lease = false runs the job on each node by itself"},
        {"partitions = 3\nslots = 2",
         "f:5:1: slots limits concurrent runs, and partitions splits each run"},
        {"slots = 257", "f:4:9: slots is 257; expected 1 to 256"},
        {"slots = 0", "f:4:9: slots is 0; expected 1 to 256"},
        {"lease = \"no\"", "f:4:9: lease is a text; expected true or false"},
        {"timeout = \"1m\"\nsoft_timeout = \"1m\"", "f:5:1: soft_timeout is 1m, but timeout is 1m"},
        {"partitions = 1025", "f:4:14: partitions is 1025; expected 1 to 1,024"},
        {"renew_fraction = 0.71", "f:4:18: renew_fraction is 0.71; expected 0.01 to 0.7"},
        {"renew_fraction = 0.7",
         "f:4:1: renew_fraction is 0.7, but with a ttl of 30s and a grace of 10s the command would "
         "be stopped before; stay below 0.58"},
        {"renew_fraction = \"x\"", "renew_fraction is a text; expected a number from 0.01 to 0.7"},
        {"output_limit = \"65MiB\"",
         "f:4:16: output_limit is 68,157,440 bytes; expected 0 to 64MiB"},
        {"output_limit = \"1XB\"", "f:4:18: output_limit is not a size: unknown unit"},
        {"output_limit = \"99999999999999999999\"",
         "output_limit is not a size: more than 2^60 bytes"},
        {"output_limit = -1", "f:4:16: output_limit is -1 bytes; expected 0 to 64MiB"},
        {"limits.memory = -1", "f:4:17: limits.memory is negative; expected 0 or more"},
        {"limits.cpu_time = \"10ms\"", "f:4:19: limits.cpu_time is 10ms; expected 1s to 365d"},
        {"limits.memory = true", "limits.memory is a boolean; expected a size in quotes"},
        {"keep_runs = 0", "f:4:13: keep_runs is 0; expected 1 to 1,000,000"},
        {"umask = 27", "f:4:9: umask is a decimal number"},
        {"umask = \"028\"", "f:4:12: umask is not a file mode"},
        {"umask = 0o1777", "f:4:9: umask is above 0777"},
        {"nice = 20", "f:4:8: nice is 20; expected -20 to 19"},
        {"overlap = \"forbid\"", "f:4:11: overlap is 'forbid'; expected \"skip\" or \"queue\""},
        {"misfire = true", "misfire is a boolean; expected \"skip\" or \"run-once\""},
        {"env = [\"A=1\"]",
         "f:4:7: env is an array; expected a table of texts, such as { MODE = \"full\" }"},
        {"env.A = 1", "f:4:9: env.A is an integer; expected a text in quotes"},
        {"env.PAWL_KEY = \"x\"", "f:4:5: the variable 'PAWL_KEY' would hide one of pawl's own"},
        {"env.'A=B' = \"x\"", "f:4:5: the variable 'A=B' is not a name"},
        {"env.A = \"a\\u0000b\"", "f:4:11: env.A has a NUL byte"},
        {"working_directory = \"srv\"", "f:4:22: working_directory is a relative path"},
        {"working_directory = \"\"", "f:4:22: working_directory is empty"},
        {"user = \"a b\"", "f:4:10: user has white space or a ':'"},
        {"env_file = \"/nonexistent/x\"",
         "f:4:1: env_file '/nonexistent/x' cannot be read: No such file or directory"},
        {"env_file = \"/dev\"", "f:4:1: env_file '/dev' is not a regular file"},
        {"jitter = 1979-05-27",
         "f:4:10: jitter is a date or a time; expected a duration in quotes"},
    };
    for (const auto& [line, shown] : mistakes) {
        const auto text = "[[job]]\nname = \"a\"\ncommand = [\"/bin/a\"]\n" + std::string{line};
        EXPECT_THAT(only_fault(text), HasSubstr(shown)) << line;
    }
}

TEST(Configuration, AJobNeedsANameAndACommand) {
    EXPECT_EQ(only_fault("[[job]]\nname = \"a\""),
              "f:1:1: the job 'a' has no command; add one, such as command = [\"/bin/true\"]");
    EXPECT_EQ(only_fault("[[job]]\ncommand = [\"x\"]"),
              "f:1:1: a [[job]] has no name; add one, such as name = \"daily-report\"");
    EXPECT_THAT(only_fault("[[job]]\nname = \"a\"\ncommand = \"x\""),
                HasSubstr("f:3:11: command is a text; expected an array of texts"));
    EXPECT_THAT(only_fault("[[job]]\nname = \"a\"\ncommand = []"),
                HasSubstr("f:3:11: command is empty"));
    EXPECT_THAT(only_fault("[[job]]\nname = \"a\"\ncommand = [\"\"]"),
                HasSubstr("f:3:12: command has no program"));
    EXPECT_THAT(only_fault("[[job]]\nname = \"a\"\ncommand = [\"x\", 3]"),
                HasSubstr("f:3:17: command is an integer; expected a text in quotes"));
}

// The name is a part of the lease's key, whose parts are told apart by '/'.
TEST(Configuration, AJobsNameIsAWord) {
    const auto fault_of = [](const std::string& name) {
        return only_fault("[[job]]\ncommand = [\"x\"]\nname = \"" + name + "\"");
    };
    EXPECT_EQ(fault_of("a.b-c_1:2é"), "");
    EXPECT_EQ(fault_of(std::string(200, 'a')), "");
    EXPECT_THAT(fault_of("ab/0"), HasSubstr("f:3:11: name has a '/'"));
    EXPECT_THAT(fault_of("ab c"), HasSubstr("f:3:11: name has white space"));
    EXPECT_THAT(fault_of("ab\\u200b"), HasSubstr("f:3:11: name has an invisible character"));
    EXPECT_THAT(fault_of("é\\nc"), HasSubstr("f:3:10: name has white space"));
    EXPECT_EQ(fault_of("..."), "");
    EXPECT_THAT(fault_of("."), HasSubstr("f:3:9: name is '.' or '..', which no URL can have"));
    EXPECT_THAT(fault_of(".."), HasSubstr("f:3:9: name is '.' or '..', which no URL can have"));
    EXPECT_THAT(fault_of(""), HasSubstr("f:3:9: name is empty"));
    EXPECT_THAT(fault_of(std::string(201, 'a')), HasSubstr("name has 201 bytes; at most 200"));
}

TEST(Configuration, TheSecondOfTwoNamesPointsAtTheFirst) {
    EXPECT_EQ(only_fault("[[job]]\nname='a'\ncommand=['x']\n[[job]]\nname='a'\ncommand=['x']"),
              "f:5:1: a second job is named 'a'; the first one is at line 2, so give this one "
              "another name");
    EXPECT_THAT(only_fault("[[user]]\nname='a'\nrole='admin'\ntoken_hash='$argon2id$x'\n"
                           "[[user]]\nname='a'\nrole='admin'\ntoken_hash='$argon2id$x'"),
                HasSubstr("f:6:1: a second user is named 'a'; the first one is at line 2"));
}

// safety=correctness is said in the store's URL, which the command line may give.
TEST(Configuration, CorrectnessDoesNotRunWithoutAStore) {
    const std::string job = "[[job]]\nname='a'\ncommand=['x']\non_store_down='run'";
    EXPECT_EQ(only_fault(job), "");
    EXPECT_THAT(only_fault("store='sqlite:x?safety=correctness'\n" + job),
                HasSubstr("f:5:1: on_store_down = \"run\" runs without a lease"));
    EXPECT_FALSE(read_configuration(job, "f", "sqlite:x?safety=correctness").usable());
    EXPECT_TRUE(read_configuration("store='sqlite:x?safety=correctness'\n" + job, "f", "sqlite:y")
                    .usable());
}

// What the store has forgotten would run again.
TEST(Configuration, AMisfireWindowDoesNotOutlastTheStoresMemory) {
    const std::string job = "[[job]]\nname='a'\ncommand=['x']\nschedule='@daily'\nmisfire_window=";
    EXPECT_EQ(only_fault(job + "'7d'"), "");
    EXPECT_THAT(only_fault(job + "'8d'"),
                AllOf(HasSubstr("f:5:1: misfire_window is 8d, but the store forgets"),
                      HasSubstr("retention of 7d"), HasSubstr("retention=8d")));
    EXPECT_EQ(only_fault("store='sqlite:x?retention=8d'\n" + job + "'8d'"), "");
    EXPECT_THAT(only_fault("store='sqlite:x?retention=1h'\n" + job + "'2h'"),
                HasSubstr("retention of 1h"));
    EXPECT_THAT(only_fault(job + "'7d'\njitter='1h'"),
                HasSubstr("misfire_window and jitter are together 7d1h, but the store forgets"));
    // Neither looks back.
    EXPECT_EQ(only_fault(job + "'30d'\ndelivery='off'"), "");
    EXPECT_TRUE(read_configuration(job + "'30d'\nmisfire='skip'", "f", "").usable());
}

// A mistake in [defaults] is one mistake, however many jobs take it from there.
TEST(Configuration, AMistakeInDefaultsIsToldOnce) {
    EXPECT_THAT(only_fault("[defaults]\nhold=true\npartitions=2\ncommand=['x']\n"
                           "[[job]]\nname='a'\n[[job]]\nname='b'"),
                HasSubstr("f:2:1: hold_until_expiry keeps a lease"));
}

// Everything that is wrong is found at once, sorted; people are shown the first 20 and the count.
TEST(Configuration, TwoHundredFaultsAreAllFound) {
    std::string text;
    for (int i = 0; i < 50; ++i)
        text += "[[job]]\nname = \"j" + std::to_string(i) +
                "\"\nttl = 3\nzone = \"x\"\nlimts = {}\n";  // and no command
    const auto read = read_configuration(text, "pawl.toml");
    EXPECT_EQ(read.fault_count, 200u);
    ASSERT_EQ(read.faults.size(), 200u);
    const auto lines = describe(read);
    ASSERT_EQ(lines.size(), 21u);
    EXPECT_THAT(lines[0], HasSubstr("pawl.toml:1:1: the job 'j0' has no command"));
    EXPECT_THAT(lines[1], HasSubstr("pawl.toml:3:7: ttl is an integer"));
    EXPECT_THAT(lines[2], HasSubstr("pawl.toml:4:9: zone is wrong"));
    EXPECT_THAT(lines[3],
                HasSubstr("pawl.toml:5:1: unknown key 'limts' in [[job]]; did you mean 'limits'?"));
    EXPECT_EQ(lines[20], "pawl.toml: 200 faults, of which the first 20 are shown");
    for (std::size_t i = 1; i < read.faults.size(); ++i)
        EXPECT_LE(read.faults[i - 1].at.line, read.faults[i].at.line);
}

// Beyond a bound they are only counted, and it is still the first ones that are kept.
TEST(Configuration, AHundredThousandFaultsAreCounted) {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += "[[job]]\n";
    const auto read = read_configuration(text, "f");
    EXPECT_EQ(read.fault_count, 100'000u);
    EXPECT_EQ(read.faults.size(), faults_kept_max);
    EXPECT_EQ(read.faults.front().at.line, 1u);
    EXPECT_EQ(read.faults.back().at.line, faults_kept_max / 2);
}

TEST(Configuration, NoSecretShowsInAFault) {
    const std::string text = R"(
store = "redis://u:hunter2@h:x"
journal = "postgresql://u:hunter2@h/%zz"
[[user]]
name = "a"
role = "admin"
token_hash = "hunter2"
[[user]]
name = "b"
role = "admin"
token_hash = "$argon2id$ hunter2"
)";
    const auto read = read_configuration(text, "f");
    EXPECT_EQ(read.fault_count, 4u);
    for (const auto& line : describe(read)) EXPECT_THAT(line, Not(HasSubstr("hunter2")));
    for (const std::string syntax :
         {"store = redis://u:hunter2@h", "token_hash = hunter2", "token_hash = \"hunter2",
          "token_hash = 99999999999999hunter2", "env = { A = hunter2 }"})
        EXPECT_THAT(only_fault(syntax), Not(HasSubstr("hunter2")));
    EXPECT_THAT(only_fault("token_hash = 12345678901234567890"), Not(HasSubstr("12345")));
}

// Files come from every editor, and from people who mean no good.
TEST(Configuration, OddFilesAreOneClearLineAndNoCrash) {
    EXPECT_EQ(only_fault("\xEF\xBB\xBF[agent]\r\nname = \"a\"\r\n"), "");
    EXPECT_THAT(only_fault("\xEF\xBB\xBFstore = 3\r\n"), HasSubstr("f:1:9: store is an integer"));
    EXPECT_THAT(only_fault(std::string("a = \"x\0y\"\n", 10)), HasSubstr("f:1:7: no valid TOML"));
    EXPECT_THAT(only_fault(std::string("a\0 = 1\n", 7)), HasSubstr("f:1:2: no valid TOML"));
    EXPECT_THAT(only_fault("a = \"\xff\xfe\""), HasSubstr("f:1:5: no valid TOML"));
    EXPECT_THAT(only_fault("a = " + std::string(100'000, '[')),
                HasSubstr("f:1:37: brackets are nested more than 32 deep"));
    std::string deep = "a";
    for (int i = 0; i < 300'000; ++i) deep += ".a";
    EXPECT_THAT(only_fault(deep + " = 1"), HasSubstr("f:1:64: a key has more than 32 parts"));
    EXPECT_THAT(only_fault("[" + deep + "]"), HasSubstr("f:1:65: a key has more than 32 parts"));
    const std::string long_line(1 << 20, 'x');
    EXPECT_THAT(only_fault(long_line + " = 1"), HasSubstr("f:1:1: unknown key 'xxx"));
    EXPECT_LT(only_fault(long_line + " = 1").size(), 500u);
    EXPECT_LT(only_fault("[agent]\nname = \"" + long_line + "\"").size(), 500u);
    EXPECT_LT(only_fault("[[job]]\nname='a'\ncommand=['x']\nttl = \"1" + long_line + "\"").size(),
              500u);
    EXPECT_EQ(only_fault(std::string(file_bytes_max + 1, '\n')),
              "f: has more than 16 MiB; share the jobs out over several agents");
}

TEST(Configuration, AFileThatCannotBeReadIsAFault) {
    const test_folder here;
    const auto path = here.write("pawl.toml", "store = 3\n");
    EXPECT_THAT(describe(read_configuration_file(path)),
                ElementsAre(HasSubstr("pawl.toml:1:9: store is an integer")));
    EXPECT_THAT(describe(read_configuration_file(here.path() / "none")),
                ElementsAre(HasSubstr("none: cannot be read: No such file or directory")));
    EXPECT_THAT(describe(read_configuration_file(here.path())),
                ElementsAre(HasSubstr(": is not a regular file")));
    const auto pipe = here.path() / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(describe(read_configuration_file(pipe)),
                ElementsAre(HasSubstr("pipe: is not a regular file")));
    EXPECT_THAT(describe(read_configuration_file(
                    here.write("large", std::string(file_bytes_max + 1, '\n')))),
                ElementsAre(HasSubstr("large: has more than 16,777,216 bytes")));
}

// What works, but hardly as meant.
TEST(Configuration, Warns) {
    const auto warnings_of = [](const std::string& text) {
        const auto read = read_configuration(text, "f");
        EXPECT_TRUE(read.usable()) << text;
        return describe_warnings(read);
    };
    const std::string job = "[[job]]\nname='a'\ncommand=['x']\n";
    EXPECT_THAT(warnings_of(job + "ttl='3s'"), ElementsAre());
    EXPECT_THAT(warnings_of(job + "ttl='3s'\ngrace='2s'"),
                ElementsAre(HasSubstr("f:5:1: grace is 2s")));
    EXPECT_THAT(warnings_of(job + "renew_fraction=0.34"), ElementsAre());
    EXPECT_THAT(warnings_of(job + "renew_fraction=0.7\ngrace='2s'"),
                ElementsAre(HasSubstr("f:4:1: renew_fraction is 0.7, which leaves little time")));
    EXPECT_THAT(warnings_of(job + "misfire='skip'\nmisfire_window='2h'"),
                ElementsAre(HasSubstr("f:5:1: misfire_window does nothing")));
    EXPECT_THAT(warnings_of(job + "misfire='skip'\nmisfire_window='2h'\noverlap='queue'"),
                ElementsAre());
    EXPECT_THAT(warnings_of(job + "max_concurrent_runs=2"),
                ElementsAre(HasSubstr("f:4:1: max_concurrent_runs is more than the partitions")));
    EXPECT_THAT(warnings_of(job + "slots=2\nmax_concurrent_runs=2"), ElementsAre());
    EXPECT_THAT(warnings_of(job + "slots=2\nmax_concurrent_runs=3"),
                ElementsAre(HasSubstr("f:5:1: max_concurrent_runs is more than the slots")));
    const std::string user = "[[user]]\nname='a'\nrole='admin'\ntoken_hash='$argon2id$";
    const std::string rest = "$c29tZXNhbHQ$dGhlIGhhc2ggaXRzZWxm'";
    EXPECT_THAT(warnings_of(user + "v=19$m=65536,t=3,p=4" + rest), ElementsAre());
    EXPECT_THAT(warnings_of(user + "v=19$m=1048576,t=64,p=16" + rest), ElementsAre());
    for (const std::string broken :
         {"v=19$m=65536,t=3,p=4$c29tZXNhbHQ'", "v=19$m=65536,t=3,p=4$c2FsdA$dGhlIGhhc2ggaXRzZWxm'",
          "v=19$m=65536,t=3,p=4$c29tZXNhbHQ$aGFzaA'", "v=19$m=65536,t=3$c29tZXNhbHQ$aGFzaGhhc2ho'"})
        EXPECT_THAT(warnings_of(user + broken),
                    ElementsAre(HasSubstr("f:2:1: the token_hash of 'a' is not whole")))
            << broken;
    for (const std::string costs : {"m=1048577,t=3,p=4", "m=65536,t=65,p=4", "m=65536,t=3,p=17",
                                    "m=0,t=3,p=4", "m=65536,t=3,p=4,x=1", "m=65536,t=3,p=4,",
                                    "m=-1,t=3,p=4", "m=99999999999,t=3,p=4", "t=3,m=65536,p=4"})
        EXPECT_THAT(warnings_of(user + "v=19$" + costs + rest),
                    ElementsAre(HasSubstr("costs too much")))
            << costs;
    EXPECT_THAT(warnings_of(user + "v=19$m=65536,t=3,p=4" + rest + "\n[agent]\nlisten='h:1'"),
                ElementsAre(HasSubstr("f:6:1: listen opens 'h' to other machines without tls")));
}

// As many jobs as one process is to schedule.
TEST(Configuration, AHundredThousandJobsAreRead) {
    std::string text;
    for (int i = 0; i < 100'000; ++i)
        text += "[[job]]\nname='j" + std::to_string(i) + "'\ncommand=['x']\nschedule='@daily'\n";
    EXPECT_EQ(read_whole(text).jobs.size(), 100'000u);
    const auto more = read_configuration(text + "[[job]]\nname='x'\ncommand=['x']\n", "f");
    EXPECT_THAT(describe(more), ElementsAre(HasSubstr(":400001:1: more than 100,000 [[job]]")));
}

// ---- Jobs that run on each node

constexpr auto* each_node =
    "store='memory:'\n[agent]\nname='NODE'\n[[job]]\nname='clean'\ncommand=['x']\nlease=false\n";

std::string on_node(std::string text, const std::string& node) {
    return text.replace(text.find("NODE"), 4, node);
}

TEST(Reading, AJobOfEachNodeHasTheNodeInItsName) {
    const auto parsed = read_configuration(on_node(each_node, "web-1"), "f");
    ASSERT_TRUE(parsed.faults.empty());
    EXPECT_EQ(parsed.values.jobs[0].name, "clean@web-1");
    EXPECT_EQ(parsed.values.jobs[0].key(), "job/clean@web-1");
    EXPECT_FALSE(parsed.values.jobs[0].lease_is_shared);
    // One beside it that all nodes share.
    const auto both = read_configuration(
        on_node(each_node, "web-1") + "[[job]]\nname='clean'\ncommand=['x']\n", "f");
    ASSERT_TRUE(both.faults.empty());
    EXPECT_EQ(both.values.jobs[1].name, "clean");
}

TEST(Reading, ANodeWhoseNameFitsNoJobIsAFaultOfTheKey) {
    EXPECT_THAT(only_fault(on_node(each_node, "rack/7")),
                HasSubstr("lease = false makes the job 'clean@rack/7' on this node, which has a "
                          "'/'"));
    EXPECT_THAT(
        only_fault(on_node(each_node, "web-1") + "[[job]]\nname='clean@web-1'\ncommand=['x']\n"),
        HasSubstr("a second job is named 'clean@web-1'"));
}

}  // namespace
}  // namespace pawl::config
