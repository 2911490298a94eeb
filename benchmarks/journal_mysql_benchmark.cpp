// A run's begin and finish in the journal on MariaDB, beside bare libmariadb that sends the same
// statements.
#include "base/identity.hpp"
#include "benchmarks/bare_mysql.hpp"
#include "benchmarks/journal_runs.hpp"
#include "benchmarks/measure.hpp"
#include "engines/mysql/journal/journal_statements.hpp"
#include "engines/mysql/journal/make_mysql_journal.hpp"
#include "test_support/servers/mysql_settings.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
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

class bare_runs : public bare_mysql {
public:
    using bare_mysql::bare_mysql;

    // How many rows the second statement changed or found.
    std::uint64_t ask_second(const std::string& sql) { return ask(sql).at(1).rows; }
    void run() {
        const auto id = base::fresh_uuid();
        if (ask_second(begin_text(id)) != 1 || ask_second(finish_text(id)) != 1)
            throw std::runtime_error{"a bare run was rejected"};
    }
};

void many_runs(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr int runs = 3200;
    std::vector<std::unique_ptr<bare_runs>> connections;
    for (int i = 0; i < 64; ++i) connections.push_back(std::make_unique<bare_runs>(port));
    const auto rates = compare_crowds(
        {2, 4, 8, 16, 64}, runs, [&](std::size_t i) { connections[i]->run(); },
        [&] { return runs_per_second(where, in, 64, runs / 64); });
    print_row(
        "MariaDB journal, 64 concurrent runs, 2 writes each; bare: the best of 2 to 64 "
        "connections, " +
            std::to_string(rates.connections),
        rate_text(rates.bare, "runs"), rate_text(rates.ours, "runs"), rates.ours / rates.bare,
        "≥ 0.8", rates.ours / rates.bare >= 0.8);
}

void beats(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr std::size_t count = 1000;
    std::vector<run_ref> marks;
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
    const auto& all = journal_statements::all();
    const auto alive = all.alive.with({{"space", space}, {"ids", ids}, {"pairs", pairs}});
    const auto text =
        all.heartbeat.with({{"space", space}, {"ids", ids}, {"pairs", pairs}, {"alive", alive}});
    bare_runs bare{port};
    const auto times = compare(
        25,
        [&] {
            if (bare.ask_second(text) != count)
                throw std::runtime_error{"a bare beat was rejected"};
        },
        [&] {
            const auto answers = where.wait_for(in->heartbeat(marks)).value();
            if (std::count(answers.begin(), answers.end(), heartbeat_result::alive) !=
                std::ptrdiff_t{count})
                throw std::runtime_error{"a beat was rejected"};
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
    const auto settings = mysql::on_port(server.port(), millis{30'000});
    const auto in = mysql::make_mysql_journal(where, settings);
    // The first verb makes the tables, which the bare side needs as well.
    where.wait_for(run_once(in));
    bare_runs bare{server.port()};
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
