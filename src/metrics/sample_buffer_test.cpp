#include "metrics/sample_buffer.hpp"

#include "net/loop.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace pawl::metrics {
namespace {

using namespace std::chrono_literals;

TEST(SampleBuffer, ASampleTellsWhatCameSinceTheLastOne) {
    metrics_registry counted{{}};
    sample_buffer buffer;
    counted.claimed(acquire_outcome::granted, 10s);
    buffer.begin(counted.read());
    for (int i = 0; i < 3; ++i) counted.claimed(acquire_outcome::granted, 0ms);
    counted.claimed(acquire_outcome::busy, 0ms);
    counted.claimed(acquire_outcome::already_done, 0ms);
    counted.claimed(acquire_outcome::error, 0ms);
    counted.renewed(renewal::renewed);
    counted.renewed(renewal::lost);
    counted.renewed(renewal::unknown);
    counted.lost(loss_reason::taken);
    counted.lost(loss_reason::validity_ended);
    counted.rejected("r");
    counted.forced_release();
    counted.failed_open("a");
    counted.retried("a");
    counted.run_begun("a", 0ms, fence_token{1});
    counted.run_begun("a", 0ms, fence_token{2});
    counted.run_begun("a", 0ms, fence_token{3});
    counted.run_ended("a", run_status::completed, 1s);
    counted.run_ended("a", run_status::timed_out, 1s);
    counted.holds_more();
    counted.holds_more();
    buffer.take(counted.read(), 5'000);
    buffer.take(counted.read(), 10'000);
    const auto samples = buffer.samples();
    ASSERT_EQ(samples.size(), 2u);
    const auto& one = samples[0];
    EXPECT_EQ(one.at, 5'000);
    EXPECT_EQ(one.granted, 3u);
    EXPECT_EQ(one.busy, 1u);
    EXPECT_EQ(one.already_done, 1u);
    EXPECT_EQ(one.errors, 1u);
    EXPECT_EQ(one.renewed, 1u);
    EXPECT_EQ(one.renew_failed, 2u);
    EXPECT_EQ(one.lost, 2u);
    EXPECT_EQ(one.rejected, 1u);
    EXPECT_EQ(one.forced, 1u);
    EXPECT_EQ(one.retries, 1u);
    EXPECT_EQ(one.fail_open, 1u);
    EXPECT_EQ(one.runs_ended, 2u);
    EXPECT_EQ(one.runs_failed, 1u);
    EXPECT_EQ(one.held, 2u);
    EXPECT_EQ(one.running, 1u);
    // The grant of ten seconds came before.
    EXPECT_GT(one.wait_p99, 0);
    EXPECT_LE(one.wait_p99, 0.001);
    // Nothing more has come, but what is held is still held.
    EXPECT_EQ(samples[1].granted, 0u);
    EXPECT_EQ(samples[1].wait_p99, 0);
    EXPECT_EQ(samples[1].held, 2u);
    EXPECT_EQ(samples[1].running, 1u);
}

TEST(SampleBuffer, TheQuantilesAreThoseOfTheInterval) {
    metrics_registry counted{{}};
    sample_buffer buffer;
    for (int i = 0; i < 1'000; ++i) counted.held_for(1h);
    buffer.begin(counted.read());
    for (int i = 0; i < 98; ++i) counted.held_for(40ms);
    counted.held_for(4s);
    counted.held_for(4s);
    counted.answered(verb::acquire, 200us, std::nullopt);
    counted.answered(verb::list, 200us, std::nullopt);
    buffer.take(counted.read(), 1);
    const auto one = buffer.samples().at(0);
    EXPECT_GT(one.hold_p50, 0.025);
    EXPECT_LE(one.hold_p50, 0.05);
    EXPECT_GT(one.hold_p99, 2.5);
    EXPECT_LE(one.hold_p99, 5);
    EXPECT_GT(one.store_p99, 0.0001);
    EXPECT_LE(one.store_p99, 0.00025);
}

TEST(SampleBuffer, AnHourIsKept) {
    metrics_registry counted{{}};
    sample_buffer buffer;
    for (std::size_t i = 0; i < samples_max + 7; ++i)
        buffer.take(counted.read(), static_cast<std::int64_t>(i));
    const auto samples = buffer.samples();
    ASSERT_EQ(samples.size(), samples_max);
    EXPECT_EQ(samples.front().at, 7);
    EXPECT_EQ(samples.back().at, static_cast<std::int64_t>(samples_max) + 6);
}

boost::asio::awaitable<bool> pass(net::loop& where, millis how_long) {
    boost::asio::steady_timer timer{where.get_executor(), how_long};
    auto token = boost::asio::use_awaitable;
    co_await timer.async_wait(token);
    co_return true;
}

// On real time, by another timer of the same loop.
TEST(Sampling, TakesASampleEveryInterval) {
    auto all = std::make_shared<instruments>(build_facts{});
    all->forced_release();
    net::loop where;
    all->start_sampling(where);
    all->forced_release();
    where.wait_for(pass(where, sample_interval - 500ms));
    EXPECT_TRUE(all->samples().empty());
    where.wait_for(pass(where, 1s));
    ASSERT_EQ(all->samples().size(), 1u);
    EXPECT_EQ(all->samples()[0].forced, 1u);
}

TEST(Sampling, DoesNotKeepAliveWhatItSamples) {
    net::loop where;
    std::weak_ptr<instruments> watched;
    {
        const auto all = std::make_shared<instruments>(build_facts{});
        all->start_sampling(where);
        watched = all;
    }
    EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace pawl::metrics
