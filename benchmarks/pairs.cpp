#include "benchmarks/pairs.hpp"

#include "benchmarks/measure.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

namespace pawl::benchmarks {
namespace {

using boost::asio::awaitable;

awaitable<bool> async_pairs(locks& store, std::string key, int count,
                            std::vector<double>* samples) {
    for (int i = 0; i < count; ++i) {
        const auto begun = lease_clock::now();
        auto asking = store.async_try_acquire(key, half_a_minute);
        auto held = co_await std::move(asking);
        auto ending = held->async_release();
        co_await std::move(ending);
        if (samples != nullptr)
            samples->push_back(
                std::chrono::duration<double, std::micro>(lease_clock::now() - begun).count());
    }
    co_return true;
}

}  // namespace

void time_async_pairs(locks& store, const std::string& key, int count,
                      std::vector<double>& samples) {
    boost::asio::co_spawn(store.get_executor(), async_pairs(store, key, count, &samples),
                          boost::asio::use_future)
        .get();
}

void compare_one_caller(locks& store, int rounds, const std::string& what,
                        const std::function<void()>& bare_pair) {
    const auto times = compare(
        rounds, bare_pair, [&] { store.try_acquire("one/ours", half_a_minute).value().release(); });
    print_row(what, micros_text(times.bare), micros_text(times.ours), times.ours / times.bare,
              "≤ 1.15", times.ours / times.bare <= 1.15);
}

void compare_one_coroutine(locks& store, int turns, int pairs_a_turn,
                           const std::function<void()>& bare_pair) {
    std::vector<double> bare_samples, our_samples;
    for (int turn = 0; turn < turns; ++turn) {
        for (int i = 0; i < pairs_a_turn; ++i) bare_samples.push_back(micros_of(bare_pair));
        time_async_pairs(store, "one/async", pairs_a_turn, our_samples);
    }
    const double bare = median(std::move(bare_samples)), ours = median(std::move(our_samples));
    print_row("the same, one coroutine", micros_text(bare), micros_text(ours), ours / bare,
              "≤ 1.15", ours / bare <= 1.15);
}

double pairs_per_second(locks& store, int callers, int pairs_each, const std::string& prefix) {
    const auto micros = micros_of([&] {
        std::vector<std::future<bool>> all;
        for (int i = 0; i < callers; ++i)
            all.push_back(boost::asio::co_spawn(
                store.get_executor(),
                async_pairs(store, prefix + std::to_string(i), pairs_each, nullptr),
                boost::asio::use_future));
        for (auto& one : all) one.get();
    });
    return callers * pairs_each / micros * 1e6;
}

}  // namespace pawl::benchmarks
