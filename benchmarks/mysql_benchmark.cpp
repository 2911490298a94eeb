// Acquire, release and renewal on MariaDB, beside bare libmariadb that sends the same statements.
#include "base/hex.hpp"
#include "benchmarks/bare_mysql.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/mysql/store/mysql_store.hpp"
#include "engines/mysql/store/statements.hpp"
#include "test_support/servers/mysql_settings.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

using mysql::literal;
using mysql::statements;
using testing_servers::mysql_server;

const std::string space = literal("pawl");
const std::string claim_id = "0123456789abcdef0123456789abcdef";
const std::string owner = "bench:1:1:bare";

class bare_pairs : public bare_mysql {
public:
    using bare_mysql::bare_mysql;

    std::uint64_t acquire(const std::string& key) {
        const auto mark = "'," + base::to_hex(claim_id) + ",'";
        // As the store does: first for a key that has a record.
        const auto known = call({&statements::all().acquire_free,
                                 {{"space", "pawl"},
                                  {"key", key},
                                  {"id", claim_id},
                                  {"owner", owner},
                                  {"ttl_us", std::int64_t{30'000'000}},
                                  {"mark", "," + base::to_hex(claim_id) + ","}}});
        if (known.rows != 0) return known.insert_id;
        const auto told = ask(statements::all().acquire.with({{"space", space},
                                                              {"key", literal(key)},
                                                              {"id", literal(claim_id)},
                                                              {"owner", literal(owner)},
                                                              {"ttl_us", "30000000"},
                                                              {"mark", mark}}));
        const auto& won = told.front();
        if (won.rows == 0) throw std::runtime_error{"the bare acquire was rejected"};
        return won.insert_id;
    }
    void pair(const std::string& key) {
        const auto token = acquire(key);
        const auto released =
            call({&statements::all().release_now,
                  {{"space", "pawl"}, {"key", key}, {"token", static_cast<std::int64_t>(token)}}});
        if (released.rows != 1) throw std::runtime_error{"the bare release was rejected"};
    }
};

void one_caller(std::uint16_t port, locks& store) {
    bare_pairs bare{port};
    compare_one_caller(
        store, 3000,
        "MariaDB, acquire + release, one caller that blocks; bare: the same statements through "
        "libmariadb",
        [&] { bare.pair("one/bare"); });
    compare_one_coroutine(store, 30, 100, [&] { bare.pair("one/bare"); });
}

void many_callers(std::uint16_t port, locks& store) {
    constexpr int pairs = 6400;
    std::vector<std::unique_ptr<bare_pairs>> connections;
    for (int i = 0; i < 64; ++i) connections.push_back(std::make_unique<bare_pairs>(port));
    const auto rates = compare_crowds(
        {2, 4, 8, 16, 64}, pairs,
        [&](std::size_t i) { connections[i]->pair("many/bare/" + std::to_string(i)); },
        [&] { return pairs_per_second(store, 64, pairs / 64); });
    print_row("MariaDB, 64 concurrent callers; bare: the best of 2 to 64 connections, " +
                  std::to_string(rates.connections),
              rate_text(rates.bare, "pairs"), rate_text(rates.ours, "pairs"),
              rates.ours / rates.bare, "≥ 0.8", rates.ours / rates.bare >= 0.8);
}

std::vector<std::string> renewal_texts(const std::vector<held_lease>& leases) {
    constexpr std::size_t batch_max = 256;
    std::vector<std::string> texts;
    for (std::size_t from = 0; from < leases.size(); from += batch_max) {
        std::string keys, pairs;
        for (std::size_t i = from; i < std::min(from + batch_max, leases.size()); ++i) {
            const auto key = literal(leases[i].key);
            keys += (keys.empty() ? "" : ",") + key;
            pairs += (pairs.empty() ? "(" : ",(") + key + "," +
                     std::to_string(number(leases[i].token)) + ")";
        }
        texts.push_back(statements::all().renew.with({{"space", space},
                                                      {"keys", keys},
                                                      {"pairs", pairs},
                                                      {"until", "@pawl_now + 30000000"},
                                                      {"extend", "0"}}));
    }
    return texts;
}

void renewals(const mysql_server& server) {
    constexpr std::size_t count = 10'000;
    bare_pairs bare{server.port()};
    std::vector<held_lease> leases(count);
    for (std::size_t i = 0; i < count; ++i) {
        leases[i].key = "renewed/" + std::to_string(i);
        leases[i].ttl = millis{30'000};
        leases[i].token = fence_token{bare.acquire(leases[i].key)};
    }
    const auto to = mysql::on_port(server.port(), millis{10'000});
    net::loop where;
    const auto store = mysql::make_mysql_store(where, to);
    std::vector<double> bare_times, our_times;
    for (int round = 0; round < 15; ++round) {
        bare_times.push_back(micros_of([&] {
            for (const auto& text : renewal_texts(leases)) bare.ask(text);
        }));
        our_times.push_back(micros_of([&] {
            const auto answers = where.wait_for(store->renew(leases)).value();
            if (std::count(answers.begin(), answers.end(), renewal::renewed) !=
                static_cast<std::ptrdiff_t>(count))
                throw std::runtime_error{"a renewal was lost"};
        }));
    }
    const double bare_time = median(std::move(bare_times)), our_time = median(std::move(our_times));
    print_row("MariaDB, renewal of 10,000 leases; bare: the same 40 statements",
              micros_text(bare_time), micros_text(our_time), our_time / bare_time, "≤ 1.15",
              our_time / bare_time <= 1.15);
}

void benchmark_mysql() {
    testing_servers::mysql_server_options options;
    options.more = {"max_connections=200"};
    const mysql_server server{options};
    const std::string user = mysql_server::user, password = mysql_server::password;
    auto store = locks::open("mysql://" + user + ":" + password + "@127.0.0.1:" +
                             std::to_string(server.port()) + "/" + mysql_server::database);
    // The tables must be there before the bare client's first statement.
    store.try_acquire("first", half_a_minute).value().release();
    one_caller(server.port(), store);
    many_callers(server.port(), store);
    renewals(server);
}

const benchmark registered{40, "mysql", benchmark_mysql};

}  // namespace
}  // namespace pawl::benchmarks
