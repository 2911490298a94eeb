// Acquire and release on Redis, beside bare hiredis on the same server.
#include "benchmarks/bare_redis.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "test_support/servers/redis_server.hpp"

namespace pawl::benchmarks {
namespace {

void one_caller(std::uint16_t port, locks& store) {
    bare_redis bare{port};
    compare_one_caller(
        store, 4000,
        "Redis, acquire + release, one caller that blocks; bare: the same scripts through hiredis",
        [&] { bare.fenced_pair("one/bare"); });
    compare_one_coroutine(store, 40, 100, [&] { bare.fenced_pair("one/bare"); });

    const auto fence = compare(
        4000, [&] { bare.unfenced_pair("one/plain"); }, [&] { bare.fenced_pair("one/bare"); });
    print_row("the fenced scripts; bare: `SET NX PX` + compare-and-delete, both through hiredis",
              micros_text(fence.bare), micros_text(fence.ours), fence.ours / fence.bare, "≤ 1.4",
              fence.ours / fence.bare <= 1.4);
}

// Sixteen connections' worth of work in flight, on one connection.
double bare_pipeline_rate(bare_redis& bare, int pairs) {
    constexpr int depth = 16;
    const auto micros = micros_of([&] {
        for (int done = 0; done < pairs; done += depth) {
            std::vector<std::int64_t> tokens;
            for (int i = 0; i < depth; ++i)
                bare.send(bare.acquire_words("many/bare/" + std::to_string(i),
                                             "0123456789abcdef0123456789abcdef"));
            for (int i = 0; i < depth; ++i) tokens.push_back(bare.receive()->integer);
            for (int i = 0; i < depth; ++i)
                bare.send(bare.release_words("many/bare/" + std::to_string(i),
                                             tokens[static_cast<std::size_t>(i)]));
            for (int i = 0; i < depth; ++i) bare.receive();
        }
    });
    return pairs / micros * 1e6;
}

void many_callers(std::uint16_t port, locks& store) {
    bare_redis bare{port};
    std::vector<double> bare_rates, our_rates;
    for (int round = 0; round < 7; ++round) {
        bare_rates.push_back(bare_pipeline_rate(bare, 16'000));
        our_rates.push_back(pairs_per_second(store, 256, 64));
    }
    const double bare_rate = median(std::move(bare_rates)), rate = median(std::move(our_rates));
    print_row("Redis, 256 concurrent callers; bare: hiredis, pipelined 16 deep",
              rate_text(bare_rate, "pairs"), rate_text(rate, "pairs"), rate / bare_rate, "≥ 0.7",
              rate / bare_rate >= 0.7);
}

void benchmark_redis() {
    testing_servers::redis_server server;
    auto store = locks::open("redis://127.0.0.1:" + std::to_string(server.port()));
    one_caller(server.port(), store);
    many_callers(server.port(), store);
}

const benchmark registered{10, "redis", benchmark_redis};

}  // namespace
}  // namespace pawl::benchmarks
