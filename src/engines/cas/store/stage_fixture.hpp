// Stores over one medium in memory, on virtual time: nothing waits, and what a test does not let
// happen does not happen.
#pragma once

#include "engines/cas/store/cas_store.hpp"
#include "test_support/media/memory_medium.hpp"

#include <boost/asio/co_spawn.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>

namespace pawl::cas {

using namespace std::chrono_literals;
using testing_media::fate;
using testing_media::honesty;
using testing_media::record_table;

// The clock of all who take part, and of the store, which starts an hour ahead of nothing.
class stage final : public net::simulated_node {
public:
    explicit stage(std::uint64_t seed = 1) : random_{seed} {
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

    std::shared_ptr<lease_store> open() {
        return make_cas_store(loop_, settings, testing_media::make_memory_medium(loop_, table));
    }

    // Runs what is ready, and lets time pass to the next timer, until the verb has its answer.
    template <class T>
    result<T> end_of(async<T> verb) {
        std::optional<result<T>> answer;
        boost::asio::co_spawn(loop_.get_executor(), std::move(verb),
                              [&](const std::exception_ptr& error, result<T> end) {
                                  ASSERT_FALSE(error);
                                  answer.emplace(std::move(end));
                              });
        loop_.turn();
        while (!answer && step()) {
        }
        EXPECT_TRUE(answer) << "the verb waits for nothing";
        if (!answer) return failure{errc::protocol, "no answer"};
        return std::move(*answer);
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
    cas_settings settings{};
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

// A store with what a test expects of it.
class actor {
public:
    explicit actor(stage& on) : on_{on}, store{on.open()} {}

    result<acquire_result<grant>> acquire(claim wanted) {
        return on_.end_of(store->acquire(std::move(wanted)));
    }
    fence_token granted(claim wanted) {
        const auto answer = acquire(std::move(wanted));
        EXPECT_TRUE(answer.has_value()) << answer.error().detail;
        if (answer.has_error() || !std::holds_alternative<grant>(*answer)) {
            ADD_FAILURE() << "not granted";
            return {};
        }
        return std::get<grant>(*answer).token;
    }
    busy refused(claim wanted) {
        const auto answer = acquire(std::move(wanted));
        EXPECT_TRUE(answer.has_value()) << answer.error().detail;
        if (answer.has_error() || !std::holds_alternative<busy>(*answer)) {
            ADD_FAILURE() << "not refused";
            return {};
        }
        return std::get<busy>(*answer);
    }
    failure failed(claim wanted) {
        const auto answer = acquire(std::move(wanted));
        EXPECT_TRUE(answer.has_error());
        return answer.has_error() ? answer.error() : failure{errc::protocol, ""};
    }
    result<bool> release(const std::string& key, fence_token token, release_options how = {}) {
        return on_.end_of(store->release(key, token, how));
    }
    result<bool> withdraw(const withdrawal& given_up) {
        return on_.end_of(store->withdraw(given_up));
    }
    result<bool> force_release(const std::string& key, fence_token token, millis delay) {
        return on_.end_of(store->force_release(key, token, delay));
    }
    renewal renew(held lease) {
        const auto answer = renew(std::vector<held>{std::move(lease)});
        EXPECT_TRUE(answer.has_value());
        return answer.has_value() ? answer->front() : renewal::unknown;
    }
    result<std::vector<renewal>> renew(const std::vector<held>& leases) {
        return on_.end_of(store->renew(leases));
    }
    std::optional<record> show(const std::string& key) {
        const auto answer = on_.end_of(store->inspect(key));
        EXPECT_TRUE(answer.has_value()) << answer.error().detail;
        return answer.has_value() ? *answer : std::nullopt;
    }

private:
    stage& on_;

public:
    std::shared_ptr<lease_store> store;
};

}  // namespace pawl::cas
