// Handing a contended key over: how long it takes, and what a thousand waiters cost the store.
#include "benchmarks/bare_redis.hpp"
#include "benchmarks/folder.hpp"
#include "benchmarks/measure.hpp"
#include "testing/servers/redis_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>

namespace pawl::benchmarks {
namespace {

constexpr lease_options half_a_minute{.ttl = millis{30'000}};
constexpr int hand_overs = 500;

// Two clients pass a key to and fro: from the moment one begins to release until the other holds
// it.
double hand_over_micros(locks& a, locks& b) {
    std::vector<double> samples;
    auto held = a.try_acquire("contended", half_a_minute);
    for (int i = 0; i < hand_overs; ++i) {
        auto& next = i % 2 == 0 ? b : a;
        auto waiting = boost::asio::co_spawn(
            next.get_executor(), next.async_acquire("contended", half_a_minute, millis{60'000}),
            boost::asio::use_future);
        while (a.inspect("contended")->waiters.value_or(0) == 0) {
        }
        const auto begun = lease_clock::now();
        held->release();
        held = waiting.get();
        samples.push_back(
            std::chrono::duration<double, std::micro>(lease_clock::now() - begun).count());
    }
    return median(std::move(samples));
}

double round_trip_micros(locks& store) {
    std::vector<double> samples;
    for (int i = 0; i < 2000; ++i) samples.push_back(micros_of([&] { store.inspect("nothing"); }));
    return median(std::move(samples));
}

void hand_over(const std::string& where, const std::string& bare, double bare_micros, locks& a,
               locks& b) {
    const double took = hand_over_micros(a, b);
    print_row("hand-over of a contended key between two clients on " + where + "; bare: " + bare,
              micros_text(bare_micros), micros_text(took), took / bare_micros, "≤ 4",
              took / bare_micros <= 4);
}

// A hand-over on SQLite contains a grant, and a grant waits for the disk: so does its measure.
double pair_micros(locks& store) {
    std::vector<double> samples;
    for (int i = 0; i < 500; ++i)
        samples.push_back(micros_of([&] { store.try_acquire("alone", half_a_minute)->release(); }));
    return median(std::move(samples));
}

long calls_so_far(bare_redis& server) {
    const auto info = server.ask({"INFO", "commandstats"});
    long calls = 0;
    for (const char* at = info->str; (at = std::strstr(at, "calls=")) != nullptr; at += 6) {
        // Only what clients asked for: commands inside scripts are counted under the script as
        // well.
        const std::string_view line{info->str, static_cast<std::size_t>(at - info->str)};
        const auto name = line.substr(line.rfind('_') + 1);
        if (name.starts_with("evalsha") || name.starts_with("subscribe") ||
            name.starts_with("unsubscribe"))
            calls += std::atol(at + 6);
    }
    return calls;
}

boost::asio::awaitable<bool> take_a_turn(locks& store) {
    auto asking = store.async_acquire("queue", half_a_minute, millis{60'000});
    auto held = co_await std::move(asking);
    auto ending = held->async_release();
    co_await std::move(ending);
    co_return true;
}

void many_waiters(testing_servers::redis_server& server, locks& store) {
    constexpr int waiters = 1000;
    bare_redis probe{server.port()};
    auto held = store.try_acquire("queue", half_a_minute);
    const auto before = calls_so_far(probe);
    std::vector<std::future<bool>> all;
    for (int i = 0; i < waiters; ++i)
        all.push_back(boost::asio::co_spawn(store.get_executor(), take_a_turn(store),
                                            boost::asio::use_future));
    held->release();
    for (auto& one : all) one.get();
    const double each = static_cast<double>(calls_so_far(probe) - before) / waiters;
    print_row("store operations for each hand-over, 1000 waiters on one key", "2",
              std::to_string(each).substr(0, 4), each / 2, "O(1)", each < 4);
}

}  // namespace

void benchmark_contention() {
    {
        testing_servers::redis_server server;
        auto a = locks::open("redis://127.0.0.1:" + std::to_string(server.port())),
             b = locks::open("redis://127.0.0.1:" + std::to_string(server.port()));
        hand_over("Redis", "a round trip", round_trip_micros(a), a, b);
        many_waiters(server, a);
    }
    const folder place;
    const auto url = "sqlite:" + place.file("contended.db");
    auto a = locks::open(url), b = locks::open(url);
    hand_over("SQLite", "an uncontended acquire + release", pair_micros(a), a, b);
}

}  // namespace pawl::benchmarks
