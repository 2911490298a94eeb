// A run's begin and finish in the journal on PostgreSQL, beside bare libpq with the same statements
// on the same server.
#include "base/identity.hpp"
#include "benchmarks/journal_runs.hpp"
#include "benchmarks/measure.hpp"
#include "journals/postgresql/journal_statements.hpp"
#include "journals/postgresql/postgresql_journal.hpp"
#include "testing/servers/postgresql_server.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <thread>

namespace pawl::benchmarks {
namespace {

using postgresql::journal_statements;
using postgresql::rows;
using postgresql::statement;
using postgresql::statement_text;

std::shared_ptr<const journal_statements> texts() {
    static const auto all = std::make_shared<const journal_statements>("pawl");
    return all;
}

statement call(const statement_text& text) {
    statement made{std::shared_ptr<const statement_text>{texts(), &text}};
    made.add_text("pawl");
    return made;
}

statement begin_call(const std::string& id) {
    auto made = call(texts()->begin);
    made.add_bytes(id).add_bytes("job").add(std::int64_t{0}).add_bytes("job/job");
    made.add_bytes("bench:1:1:bare").add_bytes("node").add(std::int64_t{1});
    made.add_or_null(std::nullopt).add_flag(false).add_bytes("schedule").add_flag(false);
    made.add_flag(false).add(std::int64_t{60'000});
    return made;
}

statement finish_call(const std::string& id) {
    auto made = call(texts()->finish);
    made.add_bytes(id).add(std::int64_t{1}).add_text("completed").add_bytes("");
    made.add_or_null(std::int64_t{0});
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
        prepare(begin_call("id"));
        prepare(finish_call("id"));
    }

    void prepare(const statement& what) {
        what.send_prepare(session_.get());
        finish();
    }
    rows ask(const statement& what) {
        what.send_prepared(session_.get());
        return finish();
    }
    void run() {
        const auto id = base::fresh_uuid();
        if (ask(begin_call(id)).integer(0, 0) != 0 || !ask(finish_call(id)).flag(0, 0))
            throw std::runtime_error{"a bare run was refused"};
    }

private:
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

void expect(bool worked) {
    if (!worked) throw std::runtime_error{"a run was refused"};
}

double bare_rate(std::uint16_t port, int connections, int runs_each) {
    std::vector<std::unique_ptr<bare_postgresql>> all;
    for (int i = 0; i < connections; ++i) all.push_back(std::make_unique<bare_postgresql>(port));
    const auto micros = micros_of([&] {
        std::vector<std::jthread> threads;
        for (int i = 0; i < connections; ++i)
            threads.emplace_back([&, i] {
                for (int j = 0; j < runs_each; ++j) all[static_cast<std::size_t>(i)]->run();
            });
    });
    return connections * runs_each / micros * 1e6;
}

void many_runs(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr std::array connections{4, 8, 16, 64};
    constexpr int runs = 3'200;
    std::array<std::vector<double>, connections.size()> bare_rates;
    std::vector<double> our_rates;
    for (int round = 0; round < 5; ++round) {
        for (std::size_t i = 0; i < connections.size(); ++i)
            bare_rates[i].push_back(bare_rate(port, connections[i], runs / connections[i]));
        our_rates.push_back(runs_per_second(where, in, 64, runs / 64));
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
        return std::to_string(static_cast<long>(value)) + " runs/s";
    };
    print_row(
        "PostgreSQL journal, 64 concurrent runs, 2 writes each; bare: libpq at its best, with " +
            std::to_string(best_with) + " connections and threads",
        text(best), text(rate), rate / best, "≥ 0.8", rate / best >= 0.8);
}

void beats(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr std::size_t count = 1000;
    std::vector<run_mark> marks;
    std::vector<std::string_view> ids;
    std::vector<std::int64_t> tokens;
    for (std::size_t i = 0; i < count; ++i) {
        auto start = fresh_start();
        marks.push_back({start.id, start.token});
        auto beginning = in->begin(std::move(start));
        expect(where.wait_for(std::move(beginning)).has_value());
    }
    for (const auto& each : marks) {
        ids.push_back(each.id);
        tokens.push_back(1);
    }
    auto asked = call(texts()->heartbeat);
    asked.add(ids).add(tokens);
    bare_postgresql bare{port};
    bare.prepare(asked);
    const auto times = compare(
        25, [&] { expect(bare.ask(asked).integers(0, 0).size() == count); },
        [&] {
            auto beating = in->heartbeat(marks);
            const auto answers = where.wait_for(std::move(beating)).value();
            expect(std::count(answers.begin(), answers.end(), beat::alive) ==
                   std::ptrdiff_t{count});
        });
    print_row("PostgreSQL journal, heartbeat of 1,000 runs; bare: the same statement, made before",
              micros_text(times.bare), micros_text(times.ours), times.ours / times.bare, "≤ 1.25",
              times.ours / times.bare <= 1.25);
}

void benchmark_journal() {
    testing_servers::postgresql_server server;
    net::loop where;
    postgresql::postgresql_settings settings;
    settings.common.timeout = millis{30'000};
    settings.servers.servers.push_back({"127.0.0.1", "", std::to_string(server.port())});
    settings.servers.keywords = {{"user", "postgres"}, {"dbname", "postgres"}};
    const auto in = postgresql::make_postgresql_journal(where, settings);
    // The first verb makes the tables, which the bare side needs as well.
    expect(where.wait_for(run_once(in)));
    bare_postgresql bare{server.port()};
    const auto one =
        compare(2000, [&] { bare.run(); }, [&] { expect(where.wait_for(run_once(in))); });
    print_row(
        "PostgreSQL journal, begin + finish of a run; bare: the same statements through libpq",
        micros_text(one.bare), micros_text(one.ours), one.ours / one.bare, "≤ 1.25",
        one.ours / one.bare <= 1.25);
    many_runs(server.port(), where, in);
    beats(server.port(), where, in);
}

const benchmark registered{111, "journal-postgresql", benchmark_journal};

}  // namespace
}  // namespace pawl::benchmarks
