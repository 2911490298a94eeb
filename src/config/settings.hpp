// What an agent is told: its configuration file as values.
//
// A field has the name of its key, and its initialiser is the key's default. What the file may say
// is in fields.cpp, which docs/configuration.md is checked against; the bounds named here hold for
// every value that reading.hpp returns.
#pragma once

#include "base/argument_rule.hpp"
#include "base/reserved_names.hpp"
#include "base/url.hpp"
#include "time/cron.hpp"
#include "time/zone.hpp"

#include <pawl/policies.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pawl::config {

constexpr std::size_t jobs_max = 100'000;
constexpr std::size_t users_max = 10'000;
// So that job/NAME/PARTITION stays a valid key.
constexpr std::size_t job_name_bytes_max = 200;
constexpr std::int64_t partitions_max = 1024;
constexpr std::int64_t slots_max = 256;
// A command takes longer than this to start.
constexpr millis job_ttl_min{100};
constexpr millis wait_max = std::chrono::hours{24};
constexpr millis timeout_max = std::chrono::hours{24 * 365};
constexpr std::int64_t output_bytes_max = 64LL << 20;
constexpr std::int64_t runs_kept_max = 1'000'000;
constexpr std::int64_t concurrent_runs_max = 4'000;  // a launcher has 4096 guards
constexpr std::int64_t retries_max = 1000;

// Where something stands in the file: line and column, from 1. Two settings are equal wherever they
// stand, so that a job which only moved has not changed.
struct place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;

    friend bool operator==(const place&, const place&) { return true; }
};

// Each may what those before it may.
enum class user_role { viewer, client, operator_, admin };
// Who may scrape /metrics, which name jobs, nodes, owners of leases and fenced resources.
enum class metrics_access { open, viewer };

struct variable {
    std::string name;
    std::string value;

    bool operator==(const variable&) const = default;
};

// After a run that failed or timed out.
struct retry_settings {
    std::int64_t max = 0;         // attempts beyond the first; 0 to 1000
    millis backoff{10'000};       // before the first retry; 0 to 24 h
    double factor = 2.0;          // by which each wait is longer than the one before; 1 to 100
    millis max_backoff{600'000};  // no wait is longer; backoff to 24 h

    bool operator==(const retry_settings&) const = default;
};

// setrlimit(2) for the command and all that it starts; nothing: the agent's own.
struct limit_settings {
    std::optional<std::int64_t> open_files{};  // RLIMIT_NOFILE
    std::optional<std::int64_t> processes{};   // RLIMIT_NPROC: of the user, on the whole machine
    std::optional<std::int64_t> memory{};      // RLIMIT_AS, bytes of each process
    std::optional<millis> cpu_time{};          // RLIMIT_CPU, whole seconds of each process
    std::optional<std::int64_t> file_size{};   // RLIMIT_FSIZE, bytes
    std::optional<std::int64_t> core_size{};   // RLIMIT_CORE, bytes

    bool operator==(const limit_settings&) const = default;
};

// An expression beside what it means, equal to another when it is written the same.
struct schedule_setting {
    std::string text;
    std::optional<time::cron> when{};  // nothing: the job runs only when triggered manually

    bool operator==(const schedule_setting& other) const { return text == other.text; }
};

struct job_settings {
    place at;  // of its name

    std::string name;  // the key of its lease is job/NAME; 1 to 200 bytes, no '/', no white space
    std::string description;
    bool enabled = true;  // a job that is not enabled fires never, and cannot be run by hand

    // When it fires.
    schedule_setting schedule;
    time::zone zone{};  // UTC
    gap_time gap = gap_time::end;
    repeated_time repeat = repeated_time::once;
    millis jitter{0};  // a random delay, up to this, before claiming; 0 to 24 h
    pawl::misfire misfire = pawl::misfire::run_once;
    millis misfire_window{3'600'000};  // how late an occurrence may start; 0 to 365 d
    pawl::overlap overlap = pawl::overlap::skip;

    // What it runs.
    std::vector<std::string> command;  // one argument or more; no NUL
    base::argument_rule arguments;     // which ones people may add
    std::vector<variable> env;         // sorted by name
    std::string env_file;              // NAME=value lines, read with the configuration
    std::vector<variable> secrets;     // what env_file says; beats env; never shown, never logged
    bool clean_environment = false;    // only env, env_file and the variables PAWL_…
    bool store_access = false;         // it is told the URLs of store and journal, without secrets
    std::string working_directory;     // empty: the agent's own
    std::string user;                  // empty: the agent's own
    std::string group;                 // empty: the user's own
    std::optional<std::uint32_t> umask{};  // 0 to 0777; nothing: the agent's own
    std::optional<std::int64_t> nice{};    // -20 to 19; nothing: the agent's own
    limit_settings limits;
    millis soft_timeout{0};  // then the log and the run say so; 0: never; below timeout
    millis timeout{0};       // then SIGTERM and, after grace, SIGKILL; 0: never; to 365 d
    millis grace{10'000};    // from SIGTERM to SIGKILL; 0 to 24 h
    std::int64_t output_limit = 1 << 20;  // bytes of output kept of each run; 0 to 64 MiB
    std::int64_t keep_runs = 1000;        // of this job in the journal; 1 to 1,000,000
    retry_settings retries;

    // Its lease. Not shared: each node has one of its own, and runs each occurrence; the name is
    // NAME@NODE then.
    bool lease_is_shared = true;
    millis ttl{30'000};              // 100 ms to 7 d
    millis min_hold{0};              // 0 to 7 d; with hold_until_expiry at most ttl
    bool hold_until_expiry = false;  // not with partitions or slots
    pawl::delivery delivery = pawl::delivery::at_most_once;
    std::int64_t max_renew_failures = 3;  // 1 to 100
    double renew_fraction = 0.3;          // of the ttl; 0.01 to below 1/3
    outage on_store_down = outage::wait;  // run: not with safety=correctness

    std::int64_t partitions = 1;           // 1 to 1024
    std::int64_t slots = 1;                // 1 to 256; above 1 not with partitions
    std::int64_t max_concurrent_runs = 0;  // of its partitions on this node, 0 to 4,000; 0: any

    time::transitions transitions() const { return {gap, repeat}; }
    std::string key() const { return std::string{base::job_key_prefix} + name; }
    // How many keys it has: more than one with partitions or with slots.
    std::int64_t key_count() const noexcept { return slots > 1 ? slots : partitions; }

    bool operator==(const job_settings&) const = default;
};

struct tls_files {
    std::string cert;
    std::string key;

    bool operator==(const tls_files&) const = default;
};

struct agent_settings {
    std::string name;                          // the host's unless told; an owner's rules
    base::endpoint listen{"127.0.0.1", 7295};  // port 1 to 65535
    std::int64_t max_concurrent_runs = 8;      // on this node; 1 to 4,000
    millis shutdown_grace{30'000};             // for runs to finish; 0 to 24 h
    metrics_access metrics = metrics_access::open;
    std::optional<tls_files> tls{};  // nothing: plain HTTP
    // Where `listen` is this machine only: names by which requests reach it besides, as through a
    // proxy.
    std::vector<std::string> hosts{};

    bool operator==(const agent_settings&) const = default;
};

struct user_settings {
    place at;  // of its name

    std::string name;                    // 1 to 64 bytes
    user_role role = user_role::viewer;  // required in the file
    std::string token_hash;  // $argon2id$v=19$m=…,t=…,p=…$salt$hash; never shown, never logged

    bool operator==(const user_settings&) const = default;
};

struct settings {
    std::string store;    // URL; empty: what the command line or the environment says
    std::string journal;  // URL; empty: the store, if it can
    agent_settings agent;
    std::vector<user_settings> users;
    std::vector<job_settings> jobs;  // in the order of the file, each name once

    bool operator==(const settings&) const = default;
};

}  // namespace pawl::config
