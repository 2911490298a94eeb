// pawl bench: what a lock costs on this store, beside the bare round trip.
#include "base/counted.hpp"
#include "base/duration.hpp"
#include "base/identity.hpp"
#include "cli/commands/fleet_option.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>

namespace pawl::cli {
namespace {

constexpr std::size_t samples_max = 1'000'000;
constexpr std::size_t round_trips = 1000;

constexpr int clients_usual = 1;
// As many as it takes to see what the store can do.
constexpr int clients_of_a_plan = 64;
// Beyond this share of what was measured, requests wait for each other.
constexpr double share_advised = 0.5;

struct bench_options {
    int clients = 0;  // 0: as many as suit what is asked
    std::string duration = "5s";
    std::optional<std::string> plan;
};

// Before a key that is not granted is asked for again.
constexpr millis pause_when_busy{100};

using samples = std::vector<std::chrono::nanoseconds>;

double micros_at(samples& all, double fraction) {
    if (all.empty()) return 0;
    const auto at =
        all.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(all.size() - 1) * fraction);
    std::nth_element(all.begin(), at, all.end());
    return static_cast<double>(at->count()) / 1000.0;
}

struct client_result {
    samples taken{};
    std::optional<busy> rejected{};  // the last time
};

// Each client has a key of its own: contention is not what is measured.
boost::asio::awaitable<client_result> one_client(locks& store, std::string key, instant until) {
    client_result made;
    auto& taken = made.taken;
    net::timer timer{store.get_executor()};
    const lease_options options{.ttl = millis{30'000}};
    while (lease_clock::now() < until && taken.size() < samples_max) {
        const auto begun = lease_clock::now();
        auto asking = store.async_acquire_with_reason(key, options);
        auto answer = co_await std::move(asking);
        auto* const held = std::get_if<lease>(&answer);
        if (held == nullptr) {
            if (const auto* other = std::get_if<busy>(&answer)) made.rejected = *other;
            auto pausing = timer.wait_for(pause_when_busy);
            co_await std::move(pausing);
            continue;
        }
        auto ending = held->async_release();
        co_await std::move(ending);
        taken.push_back(lease_clock::now() - begun);
    }
    co_return made;
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

struct measured {
    int clients = 0;
    std::size_t pairs = 0;
    double rate = 0;                          // pairs a second
    double round_trip = 0, p50 = 0, p99 = 0;  // in microseconds
    std::size_t round_trips = 0;
};

std::string with_one_digit(double value) {
    char line[32];
    std::snprintf(line, sizeof line, "%.1f", value);
    return line;
}

measured measure(const globals& options, int clients_wanted, millis duration) {
    auto store = open_locks(options);
    auto bare = bare_round_trips(store);
    const auto begun = lease_clock::now();
    std::vector<std::future<client_result>> clients;
    clients.reserve(static_cast<std::size_t>(clients_wanted));
    const auto run = base::fresh_id();
    for (int i = 0; i < clients_wanted; ++i)
        clients.push_back(boost::asio::co_spawn(
            store.get_executor(),
            one_client(store, "pawl-bench/" + run + "/" + std::to_string(i), begun + duration),
            boost::asio::use_future));
    samples all;
    std::optional<busy> rejected;
    for (auto& client : clients) {
        const auto made = client.get();
        all.insert(all.end(), made.taken.begin(), made.taken.end());
        if (made.rejected) rejected = made.rejected;
    }
    if (all.empty() && rejected)
        throw exit_error{status::busy,
                         "nothing was measured: " + describe(*rejected, "pawl-bench")};
    const auto elapsed = std::chrono::duration<double>(lease_clock::now() - begun).count();
    measured found;
    found.clients = clients_wanted;
    found.pairs = all.size();
    found.rate = static_cast<double>(all.size()) / elapsed;
    found.round_trip = micros_at(bare, 0.5);
    found.round_trips = bare.size();
    found.p50 = micros_at(all, 0.5);
    found.p99 = micros_at(all, 0.99);
    return found;
}

std::string clients_text(int clients) {
    return base::counted(static_cast<std::size_t>(clients), "client");
}

status report(const globals& options, const measured& found) {
    const double ratio = found.round_trip > 0 ? found.p50 / found.round_trip : 0;
    if (options.json) {
        print_json(boost::json::object{{"clients", found.clients},
                                       {"pairs", found.pairs},
                                       {"pairs_per_second", found.rate},
                                       {"pair_p50_us", found.p50},
                                       {"pair_p99_us", found.p99},
                                       {"round_trip_p50_us", found.round_trip},
                                       {"ratio", ratio}});
        return status::done;
    }
    const auto text = with_one_digit;
    print_table(
        {{"acquire + release", text(found.rate) + " per second, " + clients_text(found.clients)},
         {"  p50", text(found.p50) + " us"},
         {"  p99", text(found.p99) + " us"},
         {"bare round trip",
          text(found.round_trip) + " us (p50 of " + std::to_string(found.round_trips) + " reads)"},
         {"ratio of p50", text(ratio)}});
    return status::done;
}

// The jobs that such agents could have before the store does the advised share of what it did here.
std::uint64_t jobs_that_fit(const schedule::fleet& planned, double requests_max) {
    auto one = planned;
    one.jobs = 1;
    const auto least = schedule::load_of(one);
    const auto left = requests_max - least.looked;
    return left <= 0 ? 0 : static_cast<std::uint64_t>(left / (least.acquired + least.renewed));
}

status report_plan(const globals& options, const schedule::fleet& planned, const measured& found) {
    const auto load = schedule::load_of(planned);
    // A pair is two requests.
    const auto possible = 2 * found.rate;
    const auto share = load.store() / possible;
    const auto fit = jobs_that_fit(planned, possible * share_advised);
    if (options.json) {
        print_json(boost::json::object{{"agents", planned.agents},
                                       {"jobs", planned.jobs},
                                       {"every_ms", planned.every.count()},
                                       {"run_ms", planned.run.count()},
                                       {"ttl_ms", planned.ttl.count()},
                                       {"occurrences_per_second", load.occurrences},
                                       {"running", load.running},
                                       {"store_requests_per_second", load.store()},
                                       {"journal_requests_per_second", load.journal()},
                                       {"measured_requests_per_second", possible},
                                       {"clients", found.clients},
                                       {"share", share},
                                       {"jobs_that_fit", fit}});
        return status::done;
    }
    const auto text = with_one_digit;
    const auto per_second = [&](double value) { return text(value) + " per second"; };
    print_table(
        {{"occurrences",
          per_second(load.occurrences) + ", " + text(load.running) + " running at a time"},
         {"store requests", per_second(load.store())},
         {"  acquire, release", text(load.acquired)},
         {"  renew", text(load.renewed)},
         {"  of agents", text(load.looked)},
         {"journal requests", per_second(load.journal())},
         {"  begin, finish", text(load.recorded)},
         {"  heartbeats of runs", text(load.kept_alive)},
         {"  of agents", text(load.registered)},
         {"this store did",
          per_second(possible) + ", " + clients_text(found.clients) + " (measured)"},
         {"share of that",
          text(share * 100) + " %" + (share > share_advised ? ", too much: keep below 50 %" : "")},
         {"jobs that fit", std::to_string(fit) + " at 50 %, with as many agents"}});
    return status::done;
}

status bench(const globals& options, const bench_options& what) {
    const auto duration = duration_option("--for", what.duration);
    if (duration.count() == 0)
        throw CLI::ValidationError{"--for", "'" + what.duration + "' leaves no time to measure in"};
    if (!what.plan) {
        const auto clients = what.clients > 0 ? what.clients : clients_usual;
        return report(options, measure(options, clients, duration));
    }
    const auto planned = fleet_in(*what.plan);
    const auto clients = what.clients > 0 ? what.clients : clients_of_a_plan;
    return report_plan(options, planned, measure(options, clients, duration));
}

}  // namespace

void add_bench(context& all) {
    auto* one = all.app.add_subcommand(
        "bench", "measure acquire + release against the store, and its bare round trip");
    auto what = std::make_shared<bench_options>();
    one->add_option("--clients", what->clients,
                    "number of concurrent clients (default 1, with --plan 64)")
        ->check(number_within(1, 10'000))
        ->type_name("N");
    one->add_option("--for", what->duration, "duration of the measurement")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_option("--plan", what->plan,
                    "estimate the load of agents=N,jobs=N,every=DUR,run=DUR,ttl=DUR")
        ->type_name("FLEET");
    one->footer("Example: pawl bench --store redis://127.0.0.1:6379 --clients 64 --for 5s");
    one->callback(
        [&all, what] { all.chosen = [&all, what] { return bench(all.options, *what); }; });
}

}  // namespace pawl::cli
