#include "benchmarks/journal_runs.hpp"

#include "base/identity.hpp"
#include "benchmarks/measure.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <future>
#include <stdexcept>
#include <vector>

namespace pawl::benchmarks {
namespace {

boost::asio::awaitable<bool> run_many(std::shared_ptr<journal> in, int count) {
    for (int i = 0; i < count; ++i) {
        auto running = run_once(in);
        co_await std::move(running);
    }
    co_return true;
}

}  // namespace

run_start fresh_start() {
    run_start start{base::fresh_uuid(), "job", "job/job"};
    start.owner = "bench:1:1:ours";
    start.node = "node";
    start.token = fence_token{1};
    start.trigger = "schedule";
    return start;
}

boost::asio::awaitable<bool> run_once(std::shared_ptr<journal> in) {
    auto start = fresh_start();
    run_ref who;
    who.id = start.id;
    who.token = start.token;
    auto beginning = in->begin(std::move(start));
    const auto begun = co_await std::move(beginning);
    run_end how;
    how.exit_status = 0;
    auto ending = in->finish(std::move(who), std::move(how));
    const auto ended = co_await std::move(ending);
    if (begun.value().outcome != begin_outcome::begun || !ended.value())
        throw std::runtime_error{"a run was rejected"};
    co_return true;
}

double runs_per_second(net::loop& where, const std::shared_ptr<journal>& in, int callers,
                       int runs_each) {
    const auto micros = micros_of([&] {
        std::vector<std::future<bool>> all;
        for (int i = 0; i < callers; ++i)
            all.push_back(boost::asio::co_spawn(where.get_executor(), run_many(in, runs_each),
                                                boost::asio::use_future));
        for (auto& each : all) each.get();
    });
    return callers * runs_each / micros * 1e6;
}

}  // namespace pawl::benchmarks
