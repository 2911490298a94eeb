// A hundred thousand leases of 30 s, held by one process: what their heartbeat costs.
#include "benchmarks/folder.hpp"
#include "benchmarks/measure.hpp"
#include "test_support/servers/redis_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <condition_variable>
#include <future>
#include <mutex>

namespace pawl::benchmarks {
namespace {

constexpr int leases = 100'000;
constexpr int at_once = 500;
constexpr lease_options half_a_minute{.ttl = millis{30'000}};
// Two rounds of renewals and more.
constexpr std::chrono::seconds watched{20};

boost::asio::awaitable<bool> take(locks& store, int from, int to,
                                  std::vector<std::optional<lease>>& held) {
    for (int i = from; i < to; ++i) {
        auto asking = store.async_try_acquire("many/" + std::to_string(i), half_a_minute);
        held[static_cast<std::size_t>(i)] = co_await std::move(asking);
    }
    co_return true;
}

std::vector<std::optional<lease>> take_all(locks& store) {
    std::vector<std::optional<lease>> held(leases);
    std::vector<std::future<bool>> all;
    for (int i = 0; i < at_once; ++i)
        all.push_back(boost::asio::co_spawn(
            store.get_executor(),
            take(store, leases / at_once * i, leases / at_once * (i + 1), held),
            boost::asio::use_future));
    for (auto& one : all) one.get();
    return held;
}

void watch_for(std::chrono::seconds duration) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock{mutex};
    never.wait_for(lock, duration, [] { return false; });
}

std::string share_text(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %% of a core", share * 100);
    return text;
}

void hold(const std::string& where, locks& store, pid_t server) {
    const auto held = take_all(store);
    const auto before = cpu_time_of(getpid());
    const auto server_before = server > 0 ? cpu_time_of(server) : nanos{};
    watch_for(watched);
    const auto share = [](nanos used) { return std::chrono::duration<double>(used) / watched; };
    const double ours = share(cpu_time_of(getpid()) - before);
    const double theirs = server > 0 ? share(cpu_time_of(server) - server_before) : 0;
    int trusted = 0;
    for (const auto& one : held) trusted += one && one->valid() ? 1 : 0;
    print_row("holding " + std::to_string(leases) + " leases of 30 s on " + where +
                  ": server, process (" + std::to_string(trusted) + " still trusted after " +
                  std::to_string(watched.count()) + " s)",
              server > 0 ? share_text(theirs) : "in process", share_text(ours), ours, "each < 25 %",
              ours < 0.25 && theirs < 0.25 && trusted == leases);
}

void benchmark_holding() {
    {
        testing_servers::redis_server server;
        auto store = locks::open("redis://127.0.0.1:" + std::to_string(server.port()));
        hold("Redis", store, server.pid());
    }
    const folder place;
    auto store = locks::open("sqlite:" + place.file("held.db") + "?synchronous=normal");
    hold("SQLite", store, 0);
}

const benchmark registered{90, "holding", benchmark_holding};

}  // namespace
}  // namespace pawl::benchmarks
