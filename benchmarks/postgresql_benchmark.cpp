// Acquire, release and renewal on PostgreSQL, beside bare libpq with the same statements on the
// same server.
#include "benchmarks/bare_postgresql.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/postgresql/store/postgresql_store.hpp"
#include "engines/postgresql/store/statements.hpp"
#include "net/loop.hpp"
#include "test_support/servers/postgresql_server.hpp"
#include "test_support/servers/postgresql_settings.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

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

class bare_pairs : public bare_postgresql {
public:
    explicit bare_pairs(std::uint16_t port) : bare_postgresql{port} {
        prepare(first_call("key"));
        prepare(acquire_call("key"));
        prepare(release_call("key", 1));
    }

    // As the store does: by the function for a key that is not known yet, and without it from then
    // on.
    void pair(const std::string& key) {
        const bool is_known = key == known_;
        const auto won = ask(is_known ? acquire_call(key) : first_call(key));
        known_ = key;
        if (won.count() != 1) throw std::runtime_error{"the bare acquire was rejected"};
        const auto token =
            is_known ? won.integer(0, 0) : postgresql::integer_in(won.fields(0, 0).at(1));
        if (ask(release_call(key, token)).count() != 1)
            throw std::runtime_error{"the bare release was rejected"};
    }

private:
    static statement first_call(const std::string& key) {
        auto made = call(texts()->acquire);
        made.add_bytes(key).add_bytes(claim_id).add_bytes("bench:1:1:bare");
        made.add(std::int64_t{30'000}).add_or_null(std::nullopt).add_flag(true);
        made.add(std::int64_t{60'000}).add_or_null(std::nullopt);
        return made;
    }
    static statement acquire_call(const std::string& key) {
        auto made = call(texts()->acquire_known);
        made.add_bytes(key).add_bytes(claim_id).add_bytes("bench:1:1:bare");
        made.add(std::int64_t{30'000});
        return made;
    }
    static statement release_call(const std::string& key, std::int64_t token) {
        auto made = call(texts()->release_held);
        made.add_bytes(key).add(token).add_text("pawl_bench");
        return made;
    }

    std::string known_;
};

void one_caller(std::uint16_t port, locks& store) {
    bare_pairs bare{port};
    compare_one_caller(
        store, 3000,
        "PostgreSQL, acquire + release, one caller that blocks; bare: the same statements through "
        "libpq",
        [&] { bare.pair("one/bare"); });
    compare_one_coroutine(store, 40, 75, [&] { bare.pair("one/bare"); });
}

void many_callers(std::uint16_t port, locks& store) {
    constexpr int pairs = 6'400;
    std::vector<std::unique_ptr<bare_pairs>> connections;
    for (int i = 0; i < 64; ++i) connections.push_back(std::make_unique<bare_pairs>(port));
    const auto rates = compare_crowds(
        {4, 8, 16, 64}, pairs,
        [&](std::size_t i) { connections[i]->pair("many/bare/" + std::to_string(i)); },
        [&] { return pairs_per_second(store, 64, pairs / 64); });
    print_row("PostgreSQL, 64 concurrent callers; bare: libpq at its best, with " +
                  std::to_string(rates.connections) + " connections and threads",
              rate_text(rates.bare, "pairs"), rate_text(rates.ours, "pairs"),
              rates.ours / rates.bare, "≥ 0.8", rates.ours / rates.bare >= 0.8);
}

void renew_many(std::uint16_t port) {
    constexpr std::size_t leases = 10'000, batch = 1024;
    net::loop where;
    const auto settings = postgresql::on_port(port, millis{30'000});
    const auto store = postgresql::make_postgresql_store(where, settings);
    std::vector<held_lease> held_ones;
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
    bare_pairs bare{port};
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
    store.try_acquire("first", half_a_minute).value().release();
    one_caller(server.port(), store);
    many_callers(server.port(), store);
    renew_many(server.port());
}

const benchmark registered{30, "postgresql", benchmark_postgresql};

}  // namespace
}  // namespace pawl::benchmarks
