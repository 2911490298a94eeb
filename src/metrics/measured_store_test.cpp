#include "metrics/measured_store.hpp"

#include "engines/memory/store/memory_store.hpp"
#include "net/loop.hpp"
#include "test_support/faults/faulty_store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::metrics {
namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

// Each verb once; true when it was answered.
using asking = std::function<awaitable<bool>(lease_store&)>;

awaitable<bool> acquire(lease_store& store) {
    claim wanted{"k", "id", "me", 10s};
    auto work = store.acquire(std::move(wanted));
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> withdraw(lease_store& store) {
    withdrawal given_up{"k", "other"};
    auto work = store.withdraw(std::move(given_up));
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> renew(lease_store& store) {
    const std::vector<held_lease> leases{{"k", fence_token{1}, 10s}};
    auto work = store.renew(leases);
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> release(lease_store& store) {
    auto work = store.release("k", fence_token{1}, {});
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> force_release(lease_store& store) {
    auto work = store.force_release("k", fence_token{1}, 0ms);
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> inspect(lease_store& store) {
    auto work = store.inspect("k");
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> inspect_many(lease_store& store) {
    auto work = store.inspect_many({"k", "other"});
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> list(lease_store& store) {
    auto work = store.list("", "", 10);
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> wait_change(lease_store& store) {
    auto work = store.wait_change("free", fence_token{1});
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> fence(lease_store& store) {
    auto work = store.fence("r", fence_token{1}, fence_rule::reject_older);
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
awaitable<bool> examine(lease_store& store) {
    auto work = store.examine();
    const auto answer = co_await std::move(work);
    co_return answer.has_value();
}
const std::array<std::pair<verb, asking>, verb_count> verbs{{{verb::acquire, acquire},
                                                             {verb::withdraw, withdraw},
                                                             {verb::renew, renew},
                                                             {verb::release, release},
                                                             {verb::force_release, force_release},
                                                             {verb::inspect, inspect},
                                                             {verb::inspect_many, inspect_many},
                                                             {verb::list, list},
                                                             {verb::wait_change, wait_change},
                                                             {verb::fence, fence},
                                                             {verb::examine, examine}}};

// What a page says of one verb.
struct seen {
    std::uint64_t timed = 0;
    double failed = 0;
};
seen of(metrics_registry& counted, verb what) {
    seen found;
    for (const auto& family : counted.collect(instant{})) {
        for (const auto& one : family.metric) {
            const bool ours = std::any_of(one.label.begin(), one.label.end(), [&](const auto& has) {
                return has.name == "operation" && has.value == name_of(what);
            });
            if (!ours) continue;
            if (family.name == "pawl_store_operation_seconds")
                found.timed += one.histogram.sample_count;
            if (family.name == "pawl_store_failures_total") found.failed += one.counter.value;
        }
    }
    return found;
}

struct measured {
    net::loop loop;
    std::shared_ptr<testing_faults::plan> faults = std::make_shared<testing_faults::plan>();
    std::shared_ptr<metrics_registry> counted = std::make_shared<metrics_registry>(build_facts{});
    std::shared_ptr<lease_store> store;

    explicit measured(const std::string& name_space) {
        store_settings settings;
        settings.name_space = name_space;
        store = make_measured_store(
            testing_faults::make_faulty_store(memory::make_memory_store(loop, settings), faults),
            counted);
    }
    bool ask(const asking& what) { return loop.wait_for(what(*store)); }
};

TEST(MeasuredStore, EveryVerbIsTimedOnceAndNoOther) {
    measured one{"measured-verbs"};
    for (const auto& [what, ask] : verbs) {
        EXPECT_TRUE(one.ask(ask)) << name_of(what);
        // How long a change is waited for says nothing of the store.
        EXPECT_EQ(of(*one.counted, what).timed, what == verb::wait_change ? 0u : 1u)
            << name_of(what);
        EXPECT_EQ(of(*one.counted, what).failed, 0) << name_of(what);
    }
}

TEST(MeasuredStore, AVerbWithoutAnAnswerMeansThatTheStoreIsDownUntilOneIsAnswered) {
    measured one{"measured-up"};
    EXPECT_TRUE(one.counted->store_is_up());
    for (const auto code : {errc::unreachable, errc::outcome_unknown}) {
        for (const auto& [what, ask] : verbs) {
            // Waits and examinations pass the faults by.
            if (what == verb::wait_change || what == verb::examine) continue;
            one.faults->fail_all = code;
            const auto before = of(*one.counted, what);
            EXPECT_FALSE(one.ask(ask)) << name_of(what);
            EXPECT_FALSE(one.counted->store_is_up()) << name_of(what);
            EXPECT_EQ(of(*one.counted, what).failed, before.failed + 1) << name_of(what);
            EXPECT_EQ(of(*one.counted, what).timed, before.timed + 1) << name_of(what);
            one.faults->fail_all = std::nullopt;
            EXPECT_TRUE(one.ask(ask)) << name_of(what);
            EXPECT_TRUE(one.counted->store_is_up()) << name_of(what);
        }
    }
}

TEST(MeasuredStore, ARejectionIsAnAnswer) {
    measured one{"measured-rejection"};
    for (const auto code : {errc::denied, errc::rejected, errc::protocol, errc::unsupported}) {
        one.faults->fail_all = code;
        EXPECT_FALSE(one.ask(inspect));
        EXPECT_TRUE(one.counted->store_is_up()) << name_of(code);
    }
    EXPECT_EQ(of(*one.counted, verb::inspect).failed, 4);
    // Also when too few copies of the store have what it wrote.
    one.faults->fail_all = errc::outcome_unknown;
    one.faults->failures_answered = true;
    EXPECT_FALSE(one.ask(inspect));
    EXPECT_TRUE(one.counted->store_is_up());
}

// Those that an engine need not implement would be forgotten in silence.
class particular_store final : public lease_store {
public:
    explicit particular_store(std::shared_ptr<lease_store> inner) : inner_{std::move(inner)} {}
    store_traits traits() const noexcept override { return {true, true, true, 7ms, 3ms}; }
    async<acquire_result<grant>> acquire(claim wanted) override {
        return inner_->acquire(std::move(wanted));
    }
    async<bool> withdraw(withdrawal given_up) override {
        return inner_->withdraw(std::move(given_up));
    }
    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        return inner_->renew(leases);
    }
    async<bool> release(std::string key, fence_token token, release_options how) override {
        return inner_->release(std::move(key), token, how);
    }
    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        return inner_->force_release(std::move(key), token, delay);
    }
    async<std::optional<record>> inspect(std::string key) override {
        return inner_->inspect(std::move(key));
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        return inner_->list(std::move(prefix), std::move(after), limit);
    }
    async<void> wait_change(std::string, fence_token) override {
        co_return failure{errc::unreachable, "no push, as planned"};
    }
    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        return inner_->fence(std::move(resource), token, rule);
    }
    async<examination> examine() override {
        examination found;
        found.version = "particular 1";
        co_return found;
    }

private:
    std::shared_ptr<lease_store> inner_;
};

TEST(MeasuredStore, PassesOnWhatTheStoreSaysOfItself) {
    net::loop loop;
    const auto counted = std::make_shared<metrics_registry>(build_facts{});
    const auto store = make_measured_store(
        std::make_shared<particular_store>(memory::make_memory_store(loop, {})), counted);
    EXPECT_TRUE(store->traits().strict_fencing);
    EXPECT_TRUE(store->traits().notifies);
    EXPECT_TRUE(store->traits().atomic_batch);
    EXPECT_EQ(store->traits().ttl_min, 7ms);
    EXPECT_EQ(store->traits().ttl_step, 3ms);
    const auto look = [](lease_store* which) -> awaitable<std::string> {
        auto work = which->examine();
        const auto found = co_await std::move(work);
        co_return found.has_value() ? found->version : std::string{};
    };
    EXPECT_EQ(loop.wait_for(look(store.get())), "particular 1");
}

// A claim will tell whether the store is there: its push is a hint.
TEST(MeasuredStore, APushThatFailsIsCountedAndNoMore) {
    net::loop loop;
    const auto counted = std::make_shared<metrics_registry>(build_facts{});
    const auto store = make_measured_store(
        std::make_shared<particular_store>(memory::make_memory_store(loop, {})), counted);
    EXPECT_FALSE(loop.wait_for(wait_change(*store)));
    EXPECT_TRUE(counted->store_is_up());
    EXPECT_EQ(of(*counted, verb::wait_change).failed, 1);
}

}  // namespace
}  // namespace pawl::metrics
