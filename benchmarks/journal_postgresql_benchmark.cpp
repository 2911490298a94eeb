// A run's begin and finish in the journal on PostgreSQL, beside bare libpq with the same statements
// on the same server.
#include "base/identity.hpp"
#include "benchmarks/bare_postgresql.hpp"
#include "benchmarks/journal_runs.hpp"
#include "benchmarks/measure.hpp"
#include "engines/postgresql/journal/journal_statements.hpp"
#include "engines/postgresql/journal/make_postgresql_journal.hpp"
#include "test_support/servers/postgresql_server.hpp"
#include "test_support/servers/postgresql_settings.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

using postgresql::journal_statements;
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

class bare_runs : public bare_postgresql {
public:
    explicit bare_runs(std::uint16_t port) : bare_postgresql{port} {
        prepare(begin_call("id"));
        prepare(finish_call("id"));
    }

    void run() {
        const auto id = base::fresh_uuid();
        if (ask(begin_call(id)).integer(0, 0) != 0 || !ask(finish_call(id)).flag(0, 0))
            throw std::runtime_error{"a bare run was rejected"};
    }
};

void expect(bool worked) {
    if (!worked) throw std::runtime_error{"a run was rejected"};
}

void many_runs(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr int runs = 3'200;
    std::vector<std::unique_ptr<bare_runs>> connections;
    for (int i = 0; i < 64; ++i) connections.push_back(std::make_unique<bare_runs>(port));
    const auto rates = compare_crowds(
        {4, 8, 16, 64}, runs, [&](std::size_t i) { connections[i]->run(); },
        [&] { return runs_per_second(where, in, 64, runs / 64); });
    print_row(
        "PostgreSQL journal, 64 concurrent runs, 2 writes each; bare: libpq at its best, with " +
            std::to_string(rates.connections) + " connections and threads",
        rate_text(rates.bare, "runs"), rate_text(rates.ours, "runs"), rates.ours / rates.bare,
        "≥ 0.8", rates.ours / rates.bare >= 0.8);
}

void beats(std::uint16_t port, net::loop& where, const std::shared_ptr<journal>& in) {
    constexpr std::size_t count = 1000;
    std::vector<run_ref> marks;
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
    bare_runs bare{port};
    bare.prepare(asked);
    const auto times = compare(
        25, [&] { expect(bare.ask(asked).integers(0, 0).size() == count); },
        [&] {
            auto beating = in->heartbeat(marks);
            const auto answers = where.wait_for(std::move(beating)).value();
            expect(std::count(answers.begin(), answers.end(), heartbeat_result::alive) ==
                   std::ptrdiff_t{count});
        });
    print_row("PostgreSQL journal, heartbeat of 1,000 runs; bare: the same statement, made before",
              micros_text(times.bare), micros_text(times.ours), times.ours / times.bare, "≤ 1.25",
              times.ours / times.bare <= 1.25);
}

void benchmark_journal() {
    testing_servers::postgresql_server server;
    net::loop where;
    const auto settings = postgresql::on_port(server.port(), millis{30'000});
    const auto in = postgresql::make_postgresql_journal(where, settings);
    // The first verb makes the tables, which the bare side needs as well.
    expect(where.wait_for(run_once(in)));
    bare_runs bare{server.port()};
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
