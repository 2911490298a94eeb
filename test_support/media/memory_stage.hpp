// What processes over one medium in memory have in common, on virtual time: nothing waits, and what
// a test does not let happen does not happen.
#pragma once

#include "engines/cas/store/make_cas_store.hpp"
#include "test_support/media/memory_medium.hpp"

#include <boost/asio/co_spawn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <utility>

namespace pawl::testing_media {

using namespace std::chrono_literals;

// The clock of all who take part, and of the store, which starts an hour ahead of nothing.
class memory_stage final : public net::simulated_node {
public:
    explicit memory_stage(std::uint64_t seed = 1) : random_{seed} {
        table->clock = [this] { return store_now(); };
        table->traits.clock_step = 1s;
        table->traits.ttl_min = 2s;
        settings.common.timeout = 2s;
    }

    instant now() const override { return now_; }
    time::wall_instant wall() const override { return time::wall_instant{store_now()}; }
    std::uint64_t random() override { return random_(); }

    micros store_now() const {
        return 1'700'000'000s + store_ahead + std::chrono::floor<micros>(now_.time_since_epoch());
    }

    // Lets a verb run by itself, as start() does. Its answer stands there once it has ended.
    template <class T>
    std::shared_ptr<std::optional<result<T>>> begin(async<T> verb) {
        auto answer = std::make_shared<std::optional<result<T>>>();
        boost::asio::co_spawn(loop_.get_executor(), std::move(verb),
                              [answer](const std::exception_ptr& error, result<T> end) {
                                  ASSERT_FALSE(error);
                                  answer->emplace(std::move(end));
                              });
        return answer;
    }
    // Runs what is ready, and lets time pass to the next timer, until the verb has its answer.
    template <class T>
    result<T> end_of(async<T> verb) {
        const auto answer = begin(std::move(verb));
        loop_.turn();
        while (!*answer && step()) {
        }
        EXPECT_TRUE(*answer) << "the verb waits for nothing";
        if (!*answer) return failure{errc::protocol, "no answer"};
        return std::move(**answer);
    }
    // Lets something run by itself; keeps it going by pass() or end_of().
    void start(boost::asio::awaitable<void> what) {
        boost::asio::co_spawn(loop_.get_executor(), std::move(what),
                              [](const std::exception_ptr& error) { EXPECT_FALSE(error); });
    }
    void pass(instant::duration duration) {
        const auto end = now_ + duration;
        loop_.turn();
        while (loop_.clocks().next() <= end && step()) {
        }
        now_ = end;
        loop_.turn();
    }
    net::loop& where() { return loop_; }

    // Before the first store is opened
    std::shared_ptr<record_table> table = std::make_shared<record_table>();
    cas::cas_settings settings{};
    // What the store's clock is ahead of its start, beside the time that has passed.
    micros store_ahead{0};

private:
    bool step() {
        const auto next = loop_.clocks().next();
        if (next == instant::max()) return false;
        now_ = std::max(now_, next);
        loop_.clocks().fire();
        loop_.turn();
        return true;
    }

    instant now_{1h};
    std::mt19937_64 random_;
    net::loop loop_{*this};
};

}  // namespace pawl::testing_media
