// A run's begin and finish in the journal on MariaDB, beside bare libmariadb that sends the same
// statements.
#include "base/identity.hpp"
#include "benchmarks/journal_runs.hpp"
#include "benchmarks/measure.hpp"
#include "journals/mysql/journal_statements.hpp"
#include "journals/mysql/mysql_journal.hpp"
#include "testing/servers/mysql_server.hpp"

#include <mysql.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace pawl::benchmarks {
namespace {

using mysql::journal_statements;
using mysql::literal;
using testing_servers::mysql_server;

const std::string space = literal("pawl");

std::string begin_text(const std::string& id) {
    return journal_statements::all().begin.with({{"space", space},
                                                 {"id", literal(id)},
                                                 {"job", literal("job")},
                                                 {"part", "0"},
                                                 {"due", "NULL"},
                                                 {"key", literal("job/job")},
                                                 {"owner", literal("bench:1:1:bare")},
                                                 {"node", literal("node")},
                                                 {"token", "1"},
                                                 {"again", "0"},
                                                 {"by", literal("schedule")},
                                                 {"silence", "60000"},
                                                 {"checkpoint", "''"},
                                                 {"told", ""}});
}

std::string finish_text(const std::string& id) {
    const auto which =
        "ROW_COUNT() = 1 AND r.name_space = " + space + " AND r.run_id = " + literal(id);
    const auto event =
        mysql::event_text(which, "completed", "", "COALESCE(r.completed_at, UTC_TIMESTAMP(3))");
    return journal_statements::all().finish.with({{"space", space},
                                                  {"id", literal(id)},
                                                  {"token", "1"},
                                                  {"how", "'completed'"},
                                                  {"why", literal("")},
                                                  {"code", "0"},
                                                  {"and", ""},
                                                  {"event", event}});
}

// libmariadb as it comes: one blocking connection.
class bare_mysql {
public:
    explicit bare_mysql(std::uint16_t port) : handle_{mysql_init(nullptr)} {
        if (mysql_real_connect(handle_.get(), "127.0.0.1", mysql_server::user,
                               mysql_server::password, mysql_server::database, port, nullptr,
                               CLIENT_MULTI_STATEMENTS) == nullptr)
            throw std::runtime_error{mysql_error(handle_.get())};
        ask(mysql::statements::all().session.with({{"lock_wait", "2"}}));
    }

    // How many rows the second statement changed or found.
    std::uint64_t ask(const std::string& sql) {
        auto* by = handle_.get();
        if (mysql_real_query(by, sql.data(), sql.size()) != 0)
            throw std::runtime_error{mysql_error(by)};
        std::uint64_t second = 0;
        for (int statement = 0;; ++statement) {
            auto count = mysql_affected_rows(by);
            if (auto* rows = mysql_store_result(by)) {
                for (count = 0; mysql_fetch_row(rows) != nullptr;) ++count;
                mysql_free_result(rows);
            }
            if (statement == 1) second = count;
            const int next = mysql_next_result(by);
            if (next > 0) throw std::runtime_error{mysql_error(by)};
            if (next < 0) return second;
        }
    }
    void run() {
        const auto id = base::fresh_uuid();
        if (ask(begin_text(id)) != 1 || ask(finish_text(id)) != 1)
            throw std::runtime_error{"a bare run was refused"};
    }

private:
    struct close {
        void operator()(MYSQL* handle) const { mysql_close(handle); }
    };
    std::unique_ptr<MYSQL, close> handle_;
};

// A thread and a connection each.
double bare_rate(std::vector<std::unique_ptr<bare_mysql>>& connections, std::size_t count,
                 int runs) {
    const auto micros = micros_of([&] {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                for (int j = 0; j < runs / static_cast<int>(count); ++j) connections[i]->run();
            });
    });
    return runs / micros * 1e6;
}

void many_runs(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr int runs = 3200;
    std::vector<std::unique_ptr<bare_mysql>> connections;
    for (int i = 0; i < 64; ++i) connections.push_back(std::make_unique<bare_mysql>(port));
    constexpr std::array<std::size_t, 5> counts{2, 4, 8, 16, 64};
    std::array<std::vector<double>, counts.size()> bare_rates;
    std::vector<double> our_rates;
    for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < counts.size(); ++i)
            bare_rates[i].push_back(bare_rate(connections, counts[i], runs));
        our_rates.push_back(runs_per_second(where, in, 64, runs / 64));
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
        return std::to_string(static_cast<long>(value)) + " runs/s";
    };
    print_row(
        "MariaDB journal, 64 concurrent runs, 2 writes each; bare: the best of 2 to 64 "
        "connections, " +
            std::to_string(with),
        text(best), text(rate), rate / best, "≥ 0.8", rate / best >= 0.8);
}

void beats(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr std::size_t count = 1000;
    std::vector<run_mark> marks;
    std::string ids, pairs;
    for (std::size_t i = 0; i < count; ++i) {
        auto start = fresh_start();
        auto& mark = marks.emplace_back();
        mark.id = start.id;
        mark.token = start.token;
        where.wait_for(in->begin(std::move(start))).value();
        const auto id = literal(mark.id);
        ids += (ids.empty() ? "" : ",") + id;
        pairs += (pairs.empty() ? "(" : ",(") + id + ",1)";
    }
    const auto text = journal_statements::all().heartbeat.with(
        {{"space", space}, {"ids", ids}, {"pairs", pairs}});
    bare_mysql bare{port};
    const auto times = compare(
        25,
        [&] {
            if (bare.ask(text) != count) throw std::runtime_error{"a bare beat was refused"};
        },
        [&] {
            const auto answers = where.wait_for(in->heartbeat(marks)).value();
            if (std::count(answers.begin(), answers.end(), beat::alive) != std::ptrdiff_t{count})
                throw std::runtime_error{"a beat was refused"};
        });
    print_row("MariaDB journal, heartbeat of 1,000 runs; bare: the same statements, made before",
              micros_text(times.bare), micros_text(times.ours), times.ours / times.bare, "≤ 1.25",
              times.ours / times.bare <= 1.25);
}

void benchmark_journal() {
    testing_servers::mysql_server_options options;
    options.more = {"max_connections=200"};
    const mysql_server server{options};
    net::loop where;
    mysql::mysql_settings settings;
    settings.common.timeout = millis{30'000};
    settings.port = server.port();
    settings.user = mysql_server::user;
    settings.password = mysql_server::password;
    settings.database = mysql_server::database;
    const auto in = mysql::make_mysql_journal(where, settings);
    // The first verb makes the tables, which the bare side needs as well.
    where.wait_for(run_once(in));
    bare_mysql bare{server.port()};
    const auto one = compare(2000, [&] { bare.run(); }, [&] { where.wait_for(run_once(in)); });
    print_row(
        "MariaDB journal, begin + finish of a run; bare: the same statements through libmariadb",
        micros_text(one.bare), micros_text(one.ours), one.ours / one.bare, "≤ 1.25",
        one.ours / one.bare <= 1.25);
    many_runs(server.port(), where, in);
    beats(server.port(), where, in);
}

const benchmark registered{112, "journal-mysql", benchmark_journal};

}  // namespace
}  // namespace pawl::benchmarks
