// pawl bench: what a lock costs on this store, beside the bare round trip.
#include "base/duration.hpp"
#include "base/identity.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <future>
#include <memory>

namespace pawl::cli {
namespace {

constexpr std::size_t samples_max = 1'000'000;
constexpr std::size_t round_trips = 1000;

struct bench_options {
    int clients = 1;
    std::string duration = "5s";
};

using samples = std::vector<std::chrono::nanoseconds>;

double micros_at(samples& all, double fraction) {
    if (all.empty()) return 0;
    const auto at =
        all.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(all.size() - 1) * fraction);
    std::nth_element(all.begin(), at, all.end());
    return static_cast<double>(at->count()) / 1000.0;
}

// Each client has a key of its own: contention is not what is measured.
boost::asio::awaitable<samples> one_client(locks& store, std::string key, instant until) {
    samples taken;
    const lease_options options{.ttl = millis{30'000}};
    while (lease_clock::now() < until && taken.size() < samples_max) {
        const auto begun = lease_clock::now();
        auto asking = store.async_try_acquire(key, options);
        auto held = co_await std::move(asking);
        if (!held) continue;
        auto ending = held->async_release();
        co_await std::move(ending);
        taken.push_back(lease_clock::now() - begun);
    }
    co_return taken;
}

samples bare_round_trips(locks& store) {
    samples taken;
    const auto key = "pawl-bench/" + base::fresh_id();
    for (std::size_t i = 0; i < round_trips; ++i) {
        const auto begun = lease_clock::now();
        static_cast<void>(store.inspect(key));
        taken.push_back(lease_clock::now() - begun);
    }
    return taken;
}

status bench(const globals& options, const bench_options& what) {
    const auto duration = duration_option("--for", what.duration);
    auto store = open_locks(options);
    auto bare = bare_round_trips(store);
    const auto begun = lease_clock::now();
    std::vector<std::future<samples>> clients;
    clients.reserve(static_cast<std::size_t>(what.clients));
    const auto run = base::fresh_id();
    for (int i = 0; i < what.clients; ++i)
        clients.push_back(boost::asio::co_spawn(
            store.get_executor(),
            one_client(store, "pawl-bench/" + run + "/" + std::to_string(i), begun + duration),
            boost::asio::use_future));
    samples all;
    for (auto& client : clients) {
        auto taken = client.get();
        all.insert(all.end(), taken.begin(), taken.end());
    }
    const auto elapsed = std::chrono::duration<double>(lease_clock::now() - begun).count();
    const double rate = static_cast<double>(all.size()) / elapsed;
    const double round_trip = micros_at(bare, 0.5), p50 = micros_at(all, 0.5),
                 p99 = micros_at(all, 0.99);
    const double ratio = round_trip > 0 ? p50 / round_trip : 0;
    if (options.json) {
        print_json(boost::json::object{{"clients", what.clients},
                                       {"pairs", all.size()},
                                       {"pairs_per_second", rate},
                                       {"pair_p50_us", p50},
                                       {"pair_p99_us", p99},
                                       {"round_trip_p50_us", round_trip},
                                       {"ratio", ratio}});
        return status::done;
    }
    const auto text = [](double value) {
        char line[32];
        std::snprintf(line, sizeof line, "%.1f", value);
        return std::string{line};
    };
    print_table({{"acquire + release",
                  text(rate) + " per second, " + std::to_string(what.clients) + " clients"},
                 {"  median", text(p50) + " us"},
                 {"  99th percentile", text(p99) + " us"},
                 {"bare round trip",
                  text(round_trip) + " us (median of " + std::to_string(bare.size()) + " reads)"},
                 {"ratio of medians", text(ratio)}});
    return status::done;
}

}  // namespace

void add_bench(context& all) {
    auto* one = all.app.add_subcommand(
        "bench", "measure acquire + release against the store, beside its bare round trip");
    auto what = std::make_shared<bench_options>();
    one->add_option("--clients", what->clients, "how many at once")
        ->check(CLI::Range(1, 10'000))
        ->type_name("N")
        ->capture_default_str();
    one->add_option("--for", what->duration, "how long")->type_name("DUR")->capture_default_str();
    one->footer("Example: pawl bench --store redis://127.0.0.1:6379 --clients 64 --for 5s");
    one->callback(
        [&all, what] { all.chosen = [&all, what] { return bench(all.options, *what); }; });
}

}  // namespace pawl::cli
