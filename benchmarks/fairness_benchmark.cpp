// How long the unluckiest of many processes waits for a key that all of them want.
#include "benchmarks/channel.hpp"
#include "benchmarks/folder.hpp"
#include "benchmarks/measure.hpp"
#include "test_support/servers/cloud_urls.hpp"
#include "test_support/servers/etcd_server.hpp"
#include "test_support/servers/mysql_server.hpp"
#include "test_support/servers/postgresql_server.hpp"
#include "test_support/servers/redis_server.hpp"
#include "test_support/servers/redlock_servers.hpp"
#include "test_support/servers/zookeeper_server.hpp"
#include "time/pause.hpp"

#include <pawl/locks.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

namespace pawl::benchmarks {
namespace {

constexpr int processes = 8;
constexpr int waiters = 8;  // in each
constexpr millis measured{60'000};
// As long as the work under a key that many want.
constexpr millis held_for{5};

double millis_between(instant from, instant to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

std::string text_of(double millis) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f ms", millis);
    return text;
}

// Takes the key again and again until the time is over, and tells how long each wait was. A wait
// that is not over by then counts for as long as it was.
void want(locks& here, const channel& waits, instant until) {
    while (lease_clock::now() < until) {
        const auto asked = lease_clock::now();
        const auto left = std::chrono::ceil<millis>(until - asked);
        const auto held = here.acquire("wanted", {.ttl = millis{30'000}}, left);
        waits.send(millis_between(asked, lease_clock::now()));
        if (held) time::pause_until(lease_clock::now() + held_for);
    }
}

[[noreturn]] void want_with_others(const std::string& url, const channel& waits, instant until) {
    auto here = locks::open(url);
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < waiters; ++i) all.emplace_back([&] { want(here, waits, until); });
    }
    waits.send(-1.0);  // the last word of this process
    _exit(0);
}

// Processes that are there before any thread is.
void measure_on(const std::string& where, const std::string& url) {
    const channel waits;
    const auto until = lease_clock::now() + measured;
    std::vector<pid_t> all;
    for (int i = 0; i < processes; ++i) {
        const pid_t pid = fork();
        if (pid == 0) want_with_others(url, waits, until);
        all.push_back(pid);
    }
    std::vector<double> samples;
    for (int at_work = processes; at_work > 0;) {
        const auto wait = waits.receive<double>();
        if (wait < 0)
            --at_work;
        else
            samples.push_back(wait);
    }
    for (const pid_t pid : all) waitpid(pid, nullptr, 0);
    const double longest = *std::max_element(samples.begin(), samples.end());
    const double usual = median(samples);
    print_row(where + ", " + std::to_string(samples.size()) +
                  " waits of 8 processes × 8 threads for one key, the longest; bare: the median",
              text_of(usual), text_of(longest), longest / usual, "≤ 4", longest / usual <= 4);
}

std::string at(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

void on_sqlite() {
    const folder files;
    measure_on("SQLite", "sqlite:" + files.file("wanted.db"));
}

void on_redis() {
    testing_servers::redis_server server;
    measure_on("Redis", "redis://" + at(server.port()));
}

void on_postgresql() {
    testing_servers::postgresql_server server;
    measure_on("PostgreSQL", "postgresql://postgres@" + at(server.port()) + "/postgres");
}

void on_mysql() {
    using testing_servers::mysql_server;
    const mysql_server server;
    measure_on("MariaDB", std::string{"mysql://"} + mysql_server::user + ":" +
                              mysql_server::password + "@" + at(server.port()) + "/" +
                              mysql_server::database);
}

void on_etcd() {
    testing_servers::etcd_server server;
    measure_on("etcd", "etcd://" + at(server.port()));
}

void on_zookeeper() {
    testing_servers::zookeeper_server server;
    measure_on("ZooKeeper", "zookeeper://" + at(server.port()));
}

void on_redlock() {
    const testing_servers::redlock_servers servers;
    measure_on("Redlock", "redlock://" + servers.hosts() + "?quarantine=off");
}

template <class Server>
void on_cloud(const char* name) {
    const Server server;
    measure_on(name, url_of(server));
}

void on_mongodb() { on_cloud<testing_servers::mongodb_server>("MongoDB"); }
void on_dynamodb() { on_cloud<testing_servers::dynamodb_server>("DynamoDB"); }
void on_azblob() { on_cloud<testing_servers::azurite_server>("Azure Blob"); }
void on_s3() { on_cloud<testing_servers::s3_server>("S3"); }
void on_kubernetes() { on_cloud<testing_servers::kube_server>("Kubernetes"); }

const benchmark registered[] = {{96, "fairness_sqlite", on_sqlite, asked::by_name},
                                {96, "fairness_redis", on_redis, asked::by_name},
                                {96, "fairness_postgresql", on_postgresql, asked::by_name},
                                {96, "fairness_mysql", on_mysql, asked::by_name},
                                {96, "fairness_etcd", on_etcd, asked::by_name},
                                {96, "fairness_zookeeper", on_zookeeper, asked::by_name},
                                {96, "fairness_redlock", on_redlock, asked::by_name},
                                {96, "fairness_mongodb", on_mongodb, asked::by_name},
                                {96, "fairness_dynamodb", on_dynamodb, asked::by_name},
                                {96, "fairness_azblob", on_azblob, asked::by_name},
                                {96, "fairness_s3", on_s3, asked::by_name},
                                {96, "fairness_kubernetes", on_kubernetes, asked::by_name}};

}  // namespace
}  // namespace pawl::benchmarks
