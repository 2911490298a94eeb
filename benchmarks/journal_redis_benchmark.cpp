// Runs written down in Redis, beside bare hiredis that sends the same scripts to the same server.
#include "benchmarks/bare_redis.hpp"
#include "benchmarks/measure.hpp"
#include "engines/redis/journal/journal_scripts.hpp"
#include "engines/redis/journal/make_redis_journal.hpp"
#include "test_support/servers/redis_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <cstdio>
#include <future>
#include <stdexcept>

namespace pawl::benchmarks {
namespace {

using boost::asio::awaitable;

// As long as a UUID.
std::string id_of(int number) {
    char text[40];
    std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012d", number);
    return text;
}

run_start run_of(int id, const std::string& job) {
    run_start start{id_of(id), job, "job/" + job + "/0"};
    start.owner = "node-a.example.com:4711:1795184283:9f0c41aa";
    start.node = "node-a";
    start.token = fence_token{1'795'184'283'285'672};
    start.occurrence = occurrence{1'795'184'280'000 + id};
    start.trigger = "schedule";
    return start;
}

run_ref mark_of(const run_start& start) { return {start.id, start.token}; }
const run_end done{run_status::completed, "", 0};

void require(bool fine) {
    if (!fine) throw std::runtime_error{"the journal rejected"};
}

// The words that the journal sends, through hiredis.
class bare_journal {
public:
    explicit bare_journal(std::uint16_t port) : server{port} {
        for (const auto* one : {&scripts.begin, &scripts.finish, &scripts.heartbeat})
            server.ask({"SCRIPT", "LOAD", std::string{one->whole().text}});
    }

    std::vector<std::string> begin(const run_start& start) const {
        return {"EVALSHA",
                scripts.begin.whole().digest,
                "1",
                index,
                start.id,
                start.job,
                "0",
                start.key,
                start.owner,
                start.node,
                std::to_string(number(start.token)),
                std::to_string(number(*start.occurrence)),
                "at_most_once",
                start.trigger,
                "",
                "none",
                "60000"};
    }
    std::vector<std::string> finish(const run_start& start) const {
        return {"EVALSHA",   scripts.finish.whole().digest,
                "1",         index,
                start.id,    std::to_string(number(start.token)),
                "completed", "",
                "0",         "finish"};
    }
    std::vector<std::string> heartbeat(std::span<const run_ref> runs) const {
        std::vector<std::string> words{"EVALSHA", scripts.heartbeat.whole().digest, "1", index};
        for (const auto& who : runs) {
            words.push_back(who.id);
            words.push_back(std::to_string(number(who.token)));
        }
        return words;
    }

    const redis::journal_scripts& scripts = redis::journal_scripts::all();
    const std::string index{"pawl:journal:runs"};
    bare_redis server;
};

struct our_journal {
    explicit our_journal(std::uint16_t port) {
        redis::redis_settings settings;
        settings.port = port;
        runs = redis::make_redis_journal(loop, settings);
    }

    net::loop loop;
    std::shared_ptr<journal> runs;
};

void one_caller(std::uint16_t port, int& next) {
    bare_journal bare{port};
    our_journal ours{port};
    const auto pair = compare(
        4000,
        [&] {
            const auto start = run_of(++next, "bare");
            require(bare.server.ask(bare.begin(start))->elements == 6);
            require(bare.server.ask(bare.finish(start))->integer == 1);
        },
        [&] {
            const auto start = run_of(++next, "ours");
            require(ours.loop.wait_for(ours.runs->begin(start)).has_value());
            require(*ours.loop.wait_for(ours.runs->finish(mark_of(start), done)));
        });
    print_row(
        "journal on Redis, begin + finish of a run, one caller that blocks; bare: the same "
        "scripts through hiredis",
        micros_text(pair.bare), micros_text(pair.ours), pair.ours / pair.bare, "≤ 1.25",
        pair.ours / pair.bare <= 1.25);
}

awaitable<bool> write_runs(std::shared_ptr<journal> runs, int from, int count) {
    for (int i = from; i < from + count; ++i) {
        const auto start = run_of(i, "many");
        auto beginning = runs->begin(start);
        const auto begun = co_await std::move(beginning);
        auto ending = runs->finish(mark_of(start), done);
        const auto ended = co_await std::move(ending);
        if (begun.has_error() || ended.has_error() || !*ended) co_return false;
    }
    co_return true;
}

constexpr int callers = 64;
constexpr int runs_each = 100;

double bare_rate(bare_journal& bare, int& next) {
    const auto micros = micros_of([&] {
        for (int round = 0; round < runs_each; ++round) {
            std::vector<run_start> starts;
            for (int i = 0; i < callers; ++i) starts.push_back(run_of(++next, "bare"));
            for (const auto& start : starts) bare.server.send(bare.begin(start));
            for (int i = 0; i < callers; ++i) require(bare.server.receive()->elements == 6);
            for (const auto& start : starts) bare.server.send(bare.finish(start));
            for (int i = 0; i < callers; ++i) require(bare.server.receive()->integer == 1);
        }
    });
    return callers * runs_each / micros * 1e6;
}

double our_rate(our_journal& ours, int& next) {
    const auto micros = micros_of([&] {
        std::vector<std::future<bool>> all;
        for (int i = 0; i < callers; ++i, next += runs_each)
            all.push_back(boost::asio::co_spawn(ours.loop.get_executor(),
                                                write_runs(ours.runs, next + 1, runs_each),
                                                boost::asio::use_future));
        for (auto& one : all) require(one.get());
    });
    return callers * runs_each / micros * 1e6;
}

void many_callers(std::uint16_t port, int& next) {
    bare_journal bare{port};
    our_journal ours{port};
    std::vector<double> bare_rates, our_rates;
    for (int round = 0; round < 7; ++round) {
        bare_rates.push_back(bare_rate(bare, next));
        our_rates.push_back(our_rate(ours, next));
    }
    const double bare_median = median(std::move(bare_rates)),
                 our_median = median(std::move(our_rates));
    print_row("the same, 64 concurrent runs; bare: hiredis, pipelined 64 deep",
              rate_text(bare_median, "runs"), rate_text(our_median, "runs"),
              our_median / bare_median, "≥ 0.7", our_median / bare_median >= 0.7);
}

// Of what is written for each run, beside the text of its row.
void memory(const testing_servers::redis_server& server, int& next) {
    our_journal ours{server.port()};
    server.ask({"FLUSHALL"});
    const auto used = [&] {
        const auto told = server.ask({"INFO", "memory"});
        return std::stod(told.substr(told.find("used_memory:") + 12));
    };
    constexpr int runs = 10'000;
    const auto before = used();
    require(ours.loop.wait_for(write_runs(ours.runs, next + 1, runs)));
    const auto each = (used() - before) / runs;
    const auto row =
        std::stod(server.ask({"MEMORY", "USAGE", "pawl:journal:run:" + id_of(next + 1)}));
    next += runs;
    const auto text = [](double value) {
        return std::to_string(static_cast<long>(value)) + " bytes";
    };
    print_row("memory of a run that is over, of 10,000; bare: its hash alone", text(row),
              text(each), each / row, "—", true);
}

void heartbeats(std::uint16_t port, int& next) {
    bare_journal bare{port};
    our_journal ours{port};
    std::vector<run_ref> all;
    for (int i = 0; i < 1000; ++i) {
        const auto start = run_of(++next, "beating");
        require(ours.loop.wait_for(ours.runs->begin(start)).has_value());
        all.push_back(mark_of(start));
    }
    constexpr std::size_t batch = 250;
    const auto pair = compare(
        400,
        [&] {
            for (std::size_t i = 0; i < all.size(); i += batch) {
                const auto asked = std::span<const run_ref>{all}.subspan(i, batch);
                require(bare.server.ask(bare.heartbeat(asked))->len == batch);
            }
        },
        [&] {
            const auto beats = ours.loop.wait_for(ours.runs->heartbeat(all));
            require(beats.has_value() &&
                    std::count(beats->begin(), beats->end(), heartbeat_result::alive) == 1000);
        });
    print_row("heartbeat of 1,000 runs at once; bare: the same batches of 250 through hiredis",
              micros_text(pair.bare), micros_text(pair.ours), pair.ours / pair.bare, "≤ 1.25",
              pair.ours / pair.bare <= 1.25);
}

void benchmark_journal() {
    testing_servers::redis_server server;
    int next = 0;
    one_caller(server.port(), next);
    many_callers(server.port(), next);
    heartbeats(server.port(), next);
    memory(server, next);
}

const benchmark registered{110, "journal-redis", benchmark_journal};

}  // namespace
}  // namespace pawl::benchmarks
