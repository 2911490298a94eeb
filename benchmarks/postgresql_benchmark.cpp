// Acquire, release and renewal on PostgreSQL, beside bare libpq with the same statements on the
// same server.
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "net/loop.hpp"
#include "stores/postgresql/postgresql_store.hpp"
#include "stores/postgresql/statements.hpp"
#include "testing/servers/postgresql_server.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <thread>

namespace pawl::benchmarks {
namespace {

using postgresql::rows;
using postgresql::statement;
using postgresql::statement_text;
using postgresql::statements;

const std::string claim_id = "0123456789abcdef0123456789abcdef";

std::shared_ptr<const statements> texts() {
    static const auto all = std::make_shared<const statements>("pawl");
    return all;
}

statement call(const statement_text& text) {
    statement made{std::shared_ptr<const statement_text>{texts(), &text}};
    made.add_text("pawl");
    return made;
}

// libpq as it comes: one blocking connection, and statements that it has prepared.
class bare_postgresql {
public:
    explicit bare_postgresql(std::uint16_t port)
        : session_{PQconnectdb(
                       ("host=127.0.0.1 user=postgres dbname=postgres port=" + std::to_string(port))
                           .c_str()),
                   PQfinish} {
        if (PQstatus(session_.get()) != CONNECTION_OK)
            throw std::runtime_error{PQerrorMessage(session_.get())};
        prepare(acquire_call("key"));
        prepare(release_call("key", 1));
    }

    void prepare(const statement& what) {
        what.send_prepare(session_.get());
        finish();
    }
    rows ask(const statement& what) {
        what.send_prepared(session_.get());
        return finish();
    }

    void pair(const std::string& key) {
        const auto won = ask(acquire_call(key));
        if (won.integer(0, 0) != 0) throw std::runtime_error{"the bare acquire was refused"};
        if (!ask(release_call(key, won.integer(0, 1))).flag(0, 0))
            throw std::runtime_error{"the bare release was refused"};
    }

private:
    static statement acquire_call(const std::string& key) {
        auto made = call(texts()->acquire);
        made.add_bytes(key).add_bytes(claim_id).add_bytes("bench:1:1:bare");
        made.add(std::int64_t{30'000}).add_or_null(std::nullopt).add_flag(true);
        made.add(std::int64_t{60'000}).add_or_null(std::nullopt);
        return made;
    }
    static statement release_call(const std::string& key, std::int64_t token) {
        auto made = call(texts()->release);
        made.add_bytes(key).add(token).add(std::int64_t{0}).add_or_null(std::nullopt);
        return made;
    }

    rows finish() {
        rows last;
        while (auto* got = PQgetResult(session_.get())) {
            last = rows{got};
            const auto status = PQresultStatus(got);
            if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
                throw std::runtime_error{PQresultErrorMessage(got)};
        }
        return last;
    }

    std::unique_ptr<PGconn, void (*)(PGconn*)> session_;
};

void one_caller(std::uint16_t port, locks& store) {
    bare_postgresql bare{port};
    const auto blocking = compare(
        3000, [&] { bare.pair("one/bare"); },
        [&] { store.try_acquire("one/ours", half_a_minute)->release(); });
    print_row(
        "PostgreSQL, acquire + release, one caller that blocks; bare: the same statements through "
        "libpq",
        micros_text(blocking.bare), micros_text(blocking.ours), blocking.ours / blocking.bare,
        "≤ 1.15", blocking.ours / blocking.bare <= 1.15);

    std::vector<double> bare_samples, our_samples;
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 75; ++i)
            bare_samples.push_back(micros_of([&] { bare.pair("one/bare"); }));
        time_async_pairs(store, "one/async", 75, our_samples);
    }
    const double bare_median = median(std::move(bare_samples)),
                 our_median = median(std::move(our_samples));
    print_row("the same, one coroutine", micros_text(bare_median), micros_text(our_median),
              our_median / bare_median, "≤ 1.15", our_median / bare_median <= 1.15);
}

// So many connections, each with a thread that blocks.
double bare_rate(std::uint16_t port, int connections, int pairs_each) {
    std::vector<std::unique_ptr<bare_postgresql>> all;
    for (int i = 0; i < connections; ++i) all.push_back(std::make_unique<bare_postgresql>(port));
    const auto micros = micros_of([&] {
        std::vector<std::jthread> threads;
        for (int i = 0; i < connections; ++i)
            threads.emplace_back([&, i] {
                for (int j = 0; j < pairs_each; ++j)
                    all[static_cast<std::size_t>(i)]->pair("many/bare/" + std::to_string(i));
            });
    });
    return connections * pairs_each / micros * 1e6;
}

void many_callers(std::uint16_t port, locks& store) {
    constexpr std::array connections{4, 8, 16, 64};
    constexpr int pairs = 6'400;
    std::array<std::vector<double>, connections.size()> bare_rates;
    std::vector<double> our_rates;
    for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < connections.size(); ++i)
            bare_rates[i].push_back(bare_rate(port, connections[i], pairs / connections[i]));
        our_rates.push_back(pairs_per_second(store, 64, pairs / 64));
    }
    double best = 0;
    int best_with = 0;
    for (std::size_t i = 0; i < connections.size(); ++i)
        if (const double rate = median(std::move(bare_rates[i])); rate > best) {
            best = rate;
            best_with = connections[i];
        }
    const double rate = median(std::move(our_rates));
    const auto text = [](double value) {
        return std::to_string(static_cast<long>(value)) + " pairs/s";
    };
    print_row("PostgreSQL, 64 concurrent callers; bare: libpq at its best, with " +
                  std::to_string(best_with) + " connections and threads",
              text(best), text(rate), rate / best, "≥ 0.8", rate / best >= 0.8);
}

void renew_many(std::uint16_t port) {
    constexpr std::size_t leases = 10'000, batch = 1024;
    net::loop where;
    postgresql::postgresql_settings settings;
    settings.common.timeout = millis{30'000};
    settings.servers.servers.push_back({"127.0.0.1", "", std::to_string(port)});
    settings.servers.keywords = {{"user", "postgres"}, {"dbname", "postgres"}};
    const auto store = postgresql::make_postgresql_store(where, settings);
    std::vector<held> held_ones;
    for (std::size_t i = 0; i < leases; ++i) {
        const auto key = "renew/" + std::to_string(i);
        claim wanted{key, claim_id, "bench:1:1:ours", millis{600'000}};
        auto asking = store->acquire(std::move(wanted));
        const auto got = where.wait_for(std::move(asking));
        auto& one = held_ones.emplace_back();
        one.key = key;
        one.token = std::get<grant>(got.value()).token;
        one.ttl = millis{600'000};
    }
    bare_postgresql bare{port};
    std::vector<statement> batches;
    for (std::size_t from = 0; from < leases; from += batch) {
        std::vector<std::string_view> keys;
        std::vector<std::int64_t> tokens, ttls, lifetimes;
        for (std::size_t i = from; i < std::min(leases, from + batch); ++i) {
            keys.push_back(held_ones[i].key);
            tokens.push_back(static_cast<std::int64_t>(number(held_ones[i].token)));
            ttls.push_back(600'000);
            lifetimes.push_back(0);
        }
        auto& made = batches.emplace_back(call(texts()->renew));
        made.add(keys).add(tokens).add(ttls).add(lifetimes);
        made.add_flags(std::vector<bool>(keys.size(), false));
        made.add(std::int64_t{1000});  // how long it waits for a locked row
    }
    bare.prepare(batches.front());
    const auto times = compare(
        15,
        [&] {
            for (const auto& one : batches) bare.ask(one);
        },
        [&] {
            auto asking = store->renew(held_ones);
            const auto answers = where.wait_for(std::move(asking));
            if (std::count(answers->begin(), answers->end(), renewal::renewed) !=
                std::ptrdiff_t{leases})
                throw std::runtime_error{"a renewal was lost"};
        });
    const auto text = [](double micros) { return micros_text(micros / leases) + " a lease"; };
    print_row(
        "PostgreSQL, renewal of 10,000 leases of one process; bare: the same batches, made before",
        text(times.bare), text(times.ours), times.ours / times.bare, "≤ 1.15",
        times.ours / times.bare <= 1.15);
}

void benchmark_postgresql() {
    testing_servers::postgresql_server server;
    auto store = locks::open("postgresql://postgres@127.0.0.1:" + std::to_string(server.port()) +
                             "/postgres");
    // The first verb makes the schema, which the bare side needs as well.
    store.try_acquire("first", half_a_minute)->release();
    one_caller(server.port(), store);
    many_callers(server.port(), store);
    renew_many(server.port());
}

const benchmark registered{30, "postgresql", benchmark_postgresql};

}  // namespace
}  // namespace pawl::benchmarks
