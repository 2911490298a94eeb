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

double pairs_per_second(locks& store, int callers, int pairs_each) {
    const auto micros = micros_of([&] {
        std::vector<std::future<bool>> all;
        for (int i = 0; i < callers; ++i)
            all.push_back(boost::asio::co_spawn(
                store.get_executor(),
                async_pairs(store, "many/ours/" + std::to_string(i), pairs_each, nullptr),
                boost::asio::use_future));
        for (auto& one : all) one.get();
    });
    return callers * pairs_each / micros * 1e6;
}

}  // namespace pawl::benchmarks
