// Acquire, release and renewal on MariaDB, beside bare libmariadb that sends the same statements.
#include "base/hex.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "stores/mysql/mysql_store.hpp"
#include "stores/mysql/statement.hpp"
#include "testing/servers/mysql_server.hpp"

#include <mysql.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>

namespace pawl::benchmarks {
namespace {

using mysql::literal;
using mysql::statements;
using testing_servers::mysql_server;

const std::string space = literal("pawl");

// libmariadb as it comes: one blocking connection.
class bare_mysql {
public:
    explicit bare_mysql(std::uint16_t port) : handle_{mysql_init(nullptr)} {
        if (mysql_real_connect(handle_.get(), "127.0.0.1", mysql_server::user,
                               mysql_server::password, mysql_server::database, port, nullptr,
                               CLIENT_MULTI_STATEMENTS) == nullptr)
            throw std::runtime_error{mysql_error(handle_.get())};
        ask(statements::all().session.with({{"lock_wait", "2"}}));
    }

    // The insert id of the first statement, or how many rows it changed.
    struct told {
        std::uint64_t insert_id = 0, affected = 0;
    };
    told ask(const std::string& sql) {
        auto* by = handle_.get();
        if (mysql_real_query(by, sql.data(), sql.size()) != 0)
            throw std::runtime_error{mysql_error(by)};
        told first;
        for (bool is_first = true;; is_first = false) {
            if (is_first) first = {mysql_insert_id(by), mysql_affected_rows(by)};
            if (auto* rows = mysql_store_result(by)) {
                while (mysql_fetch_row(rows) != nullptr) {
                }
                mysql_free_result(rows);
            }
            const int next = mysql_next_result(by);
            if (next > 0) throw std::runtime_error{mysql_error(by)};
            if (next < 0) return first;
        }
    }

    std::uint64_t acquire(const std::string& key) {
        const auto won = ask(statements::all().acquire.with(
            {{"space", space},
             {"key", literal(key)},
             {"id", literal("0123456789abcdef0123456789abcdef")},
             {"owner", literal("bench:1:1:bare")},
             {"ttl_us", "30000000"},
             {"mark", "'," + base::to_hex("0123456789abcdef0123456789abcdef") + ",'"}}));
        if (won.affected == 0) throw std::runtime_error{"the bare acquire was refused"};
        return won.insert_id;
    }
    void pair(const std::string& key) {
        const auto token = acquire(key);
        const auto released = ask(statements::all().release.with({{"space", space},
                                                                  {"key", literal(key)},
                                                                  {"token", std::to_string(token)},
                                                                  {"until", mysql::server_clock}}));
        if (released.affected != 1) throw std::runtime_error{"the bare release was refused"};
    }

private:
    struct close {
        void operator()(MYSQL* handle) const { mysql_close(handle); }
    };
    std::unique_ptr<MYSQL, close> handle_;
};

void one_caller(std::uint16_t port, locks& store) {
    bare_mysql bare{port};
    const auto blocking = compare(
        3000, [&] { bare.pair("one/bare"); },
        [&] { store.try_acquire("one/ours", half_a_minute)->release(); });
    print_row(
        "MariaDB, acquire + release, one caller that blocks; bare: the same statements through "
        "libmariadb",
        micros_text(blocking.bare), micros_text(blocking.ours), blocking.ours / blocking.bare,
        "≤ 1.15", blocking.ours / blocking.bare <= 1.15);

    std::vector<double> bare_samples, our_samples;
    for (int round = 0; round < 30; ++round) {
        for (int i = 0; i < 100; ++i)
            bare_samples.push_back(micros_of([&] { bare.pair("one/bare"); }));
        time_async_pairs(store, "one/async", 100, our_samples);
    }
    const double bare_median = median(std::move(bare_samples)),
                 our_median = median(std::move(our_samples));
    print_row("the same, one coroutine", micros_text(bare_median), micros_text(our_median),
              our_median / bare_median, "≤ 1.15", our_median / bare_median <= 1.15);
}

// A thread and a connection each.
double bare_rate(std::vector<std::unique_ptr<bare_mysql>>& connections, std::size_t count,
                 int pairs) {
    const auto micros = micros_of([&] {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                const auto key = "many/bare/" + std::to_string(i);
                for (int j = 0; j < pairs / static_cast<int>(count); ++j) connections[i]->pair(key);
            });
    });
    return pairs / micros * 1e6;
}

void many_callers(std::uint16_t port, locks& store) {
    constexpr int pairs = 6400;
    std::vector<std::unique_ptr<bare_mysql>> connections;
    for (int i = 0; i < 64; ++i) connections.push_back(std::make_unique<bare_mysql>(port));
    const std::vector<std::size_t> counts{2, 4, 8, 16, 64};
    std::vector<std::vector<double>> bare_rates(counts.size());
    std::vector<double> our_rates;
    for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < counts.size(); ++i)
            bare_rates[i].push_back(bare_rate(connections, counts[i], pairs));
        our_rates.push_back(pairs_per_second(store, 64, pairs / 64));
    }
    double best = 0;
    std::size_t with = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (const double rate = median(bare_rates[i]); rate > best) {
            best = rate;
            with = counts[i];
        }
    const double rate = median(std::move(our_rates));
    const auto text = [](double value) {
        return std::to_string(static_cast<long>(value)) + " pairs/s";
    };
    print_row("MariaDB, 64 concurrent callers; bare: the best of 2 to 64 connections, " +
                  std::to_string(with),
              text(best), text(rate), rate / best, "≥ 0.8", rate / best >= 0.8);
}

std::vector<std::string> renewal_texts(const std::vector<held>& leases) {
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
    bare_mysql bare{server.port()};
    std::vector<held> leases(count);
    for (std::size_t i = 0; i < count; ++i) {
        leases[i].key = "renewed/" + std::to_string(i);
        leases[i].ttl = millis{30'000};
        leases[i].token = fence_token{bare.acquire(leases[i].key)};
    }
    mysql::mysql_settings to;
    to.port = server.port();
    to.user = mysql_server::user;
    to.password = mysql_server::password;
    to.database = mysql_server::database;
    to.common.timeout = millis{10'000};
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
    store.try_acquire("first", half_a_minute)->release();
    one_caller(server.port(), store);
    many_callers(server.port(), store);
    renewals(server);
}

const benchmark registered{40, "mysql", benchmark_mysql};

}  // namespace
}  // namespace pawl::benchmarks
