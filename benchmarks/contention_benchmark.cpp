// Handing a contended key over: how long it takes, and what a thousand waiters cost the store.
#include "benchmarks/bare_redis.hpp"
#include "benchmarks/folder.hpp"
#include "benchmarks/measure.hpp"
#include "test_support/servers/redis_server.hpp"

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

// What two clients, each a coroutine on its own loop, tell each other.
struct ping_pong {
    std::atomic<int> left = hand_overs;
    std::atomic<instant::rep> released{0};
    std::vector<double> hand_over, round_trip;
};

double micros_since(instant when) {
    return std::chrono::duration<double, std::micro>(lease_clock::now() - when).count();
}

// Waits for the key, holds it until the other one waits, and releases it. Looking whether somebody
// waits is a request and its answer: the round trip, measured in turns with the hand-over.
boost::asio::awaitable<bool> play(locks& mine, std::shared_ptr<ping_pong> game) {
    while (game->left-- > 0) {
        auto asking = mine.async_acquire("contended", half_a_minute, millis{60'000});
        auto held = co_await std::move(asking);
        if (const auto since = game->released.load(); since != 0)
            game->hand_over.push_back(micros_since(instant{instant::duration{since}}));
        for (bool waited_for = false; !waited_for && game->left > 0;) {
            const auto begun = lease_clock::now();
            auto looking = mine.async_inspect("contended");
            const auto seen = co_await std::move(looking);
            game->round_trip.push_back(micros_since(begun));
            waited_for = seen->waiters.value_or(0) > 0;
        }
        game->released = lease_clock::now().time_since_epoch().count();
        auto ending = held->async_release();
        co_await std::move(ending);
    }
    co_return true;
}

std::shared_ptr<ping_pong> play_together(locks& a, locks& b) {
    auto game = std::make_shared<ping_pong>();
    auto one = boost::asio::co_spawn(a.get_executor(), play(a, game), boost::asio::use_future);
    auto other = boost::asio::co_spawn(b.get_executor(), play(b, game), boost::asio::use_future);
    one.get();
    other.get();
    return game;
}

void print_hand_over(const std::string& where, const std::string& bare, double bare_micros,
                     double took) {
    print_row("hand-over of a contended key between two clients on " + where + "; bare: " + bare,
              micros_text(bare_micros), micros_text(took), took / bare_micros, "≤ 4",
              took / bare_micros <= 4);
}

// A hand-over on SQLite contains a grant, and a grant waits for the disk: so does its measure.
double pair_micros(locks& store) {
    std::vector<double> samples;
    for (int i = 0; i < 500; ++i)
        samples.push_back(
            micros_of([&] { store.try_acquire("alone", half_a_minute).value().release(); }));
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

void benchmark_contention() {
    {
        testing_servers::redis_server server;
        auto a = locks::open("redis://127.0.0.1:" + std::to_string(server.port())),
             b = locks::open("redis://127.0.0.1:" + std::to_string(server.port()));
        const auto game = play_together(a, b);
        print_hand_over("Redis", "a round trip", median(game->round_trip), median(game->hand_over));
        many_waiters(server, a);
    }
    const folder place;
    const auto url = "sqlite:" + place.file("contended.db");
    auto a = locks::open(url), b = locks::open(url);
    const double pair = pair_micros(a);
    print_hand_over("SQLite", "an uncontended acquire + release", pair,
                    median(play_together(a, b)->hand_over));
}

const benchmark registered{80, "contention", benchmark_contention};

}  // namespace
}  // namespace pawl::benchmarks
