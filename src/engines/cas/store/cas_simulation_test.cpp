// Six contenders on virtual time: they claim, renew, release and crash, while answers are lost,
// writes come late and the store's front ends differ. A seed says everything that happens.
#include "base/identity.hpp"
#include "test_support/media/actor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace pawl::cas {
namespace {

using namespace std::chrono_literals;
using testing_media::actor;
using testing_media::fate;
using testing_media::honesty;

constexpr int contenders = 6;
constexpr millis ttl{6'000};
constexpr instant::duration lasts = 5min;

// What has happened, in one world after the other.
struct events {
    int grants = 0, overlaps = 0, fallen = 0, late = 0, withdrawn = 0, renewed = 0, crashed = 0;
};

class world {
public:
    world(std::uint64_t seed, honesty how, events& all) : seen{all}, on{seed}, random{seed} {
        on.table->traits.skew = 1s;
        on.table->traits.batch_max = seed % 2 == 0 ? 25 : 1;
        on.settings.common.timeout = 1s;
        on.table->clock = [this] { return on.store_now() + micros{any(1'000'000)}; };
        on.table->delay = [this] { return std::chrono::milliseconds{any(40)}; };
        actor{on}.inspect("key");
        on.table->how = how;
        on.table->fates = [this](bool writes, const record_name&) { return fate_of(writes); };
        for (int i = 0; i < contenders; ++i) on.start(contend(i));
        on.start(deliver());
        on.pass(lasts);
    }

private:
    std::int64_t any(std::int64_t below) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
    }
    bool happens(int percent) { return any(100) < percent; }

    fate fate_of(bool writes) {
        if (writes && happens(15)) {
            ++seen.late;
            return fate::late;
        }
        if (writes && happens(5)) return fate::answer_lost;
        return happens(3) ? fate::request_lost : fate::answered;
    }

    boost::asio::awaitable<void> deliver() {
        for (;;) {
            co_await net::sleep_for(std::chrono::milliseconds{any(4'000)});
            on.table->deliver();
        }
    }

    // Trust counts from before the request left; the clock of this world runs evenly.
    void trusts(int who, fence_token token, instant sent) {
        const auto now = on.now();
        if (sent + ttl <= now) return;
        if (trusted_by != who && valid_until > now) ++seen.overlaps;
        if (token < newest || (token == newest && trusted_by != who)) ++seen.fallen;
        newest = token;
        trusted_by = who;
        valid_until = sent + ttl;
    }

    boost::asio::awaitable<void> hold(int who, std::shared_ptr<lease_store> store,
                                      fence_token token) {
        const std::vector<held_lease> mine{{"key", token, ttl}};
        for (auto beats = any(5); beats > 0 && valid_until > on.now(); --beats) {
            co_await net::sleep_for(ttl * 3 / 10);
            const auto sent = on.now();
            const auto renewed = co_await store->renew(mine);
            if (trusted_by != who || valid_until <= on.now()) co_return;
            if (renewed.has_error() || renewed->front() == renewal::unknown) continue;
            if (renewed->front() == renewal::lost) break;
            ++seen.renewed;
            trusts(who, token, sent);
        }
        if (trusted_by == who) valid_until = on.now();
        if (happens(25)) {  // a crash: its trust goes with it
            ++seen.crashed;
            co_return;
        }
        const release_options how;
        auto releasing = store->release("key", token, how);
        static_cast<void>(co_await std::move(releasing));
    }

    boost::asio::awaitable<void> contend(int who) {
        base::id_source ids{static_cast<std::uint64_t>(who) + 1};
        auto store = actor{on}.store();
        for (;;) {
            co_await net::sleep_for(std::chrono::milliseconds{any(1'500)});
            if (happens(10)) store = actor{on}.store();  // another process
            claim wanted{"key", ids.next(), "contender", ttl};
            withdrawal given_up{"key", wanted.id};
            const auto sent = on.now();
            auto claiming = store->acquire(wanted);
            const auto answer = co_await std::move(claiming);
            if (answer.has_error()) {
                auto withdrawing = store->withdraw(std::move(given_up));
                const auto gone = co_await std::move(withdrawing);
                if (gone.has_value()) ++seen.withdrawn;
                continue;
            }
            const auto* granted = std::get_if<grant>(&*answer);
            if (granted == nullptr) continue;
            ++seen.grants;
            const auto token = granted->token;
            trusts(who, token, sent);
            if (trusted_by != who) continue;
            auto working = hold(who, store, token);
            co_await std::move(working);
        }
    }

    // Who trusts a lease, and until when.
    instant valid_until{};
    int trusted_by = -1;
    fence_token newest{};

    events& seen;
    testing_media::memory_stage on;
    std::mt19937_64 random;
};

// Goal: no two contenders ever trust the key at once, and tokens rise in the order of the grants.
// Method: worlds of many seeds; and what must have happened in them, or they tested nothing.
TEST(CasSimulation, NoTwoHoldersHaveAValidLeaseAtOnce) {
    events all;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const world one{seed, honesty::keeps_conditions, all};
        ASSERT_EQ(all.overlaps, 0) << "seed " << seed;
        ASSERT_EQ(all.fallen, 0) << "seed " << seed;
    }
    EXPECT_GT(all.grants, 500);
    EXPECT_GT(all.late, 200);
    EXPECT_GT(all.withdrawn, 100);
    EXPECT_GT(all.renewed, 200);
    EXPECT_GT(all.crashed, 50);
}

// The same worlds over a server that keeps no conditions, had it not been rejected: they can tell.
TEST(CasSimulation, AServerThatIgnoresConditionsIsFoundOut) {
    events all;
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
        const world one{seed, honesty::ignores_conditions, all};
    EXPECT_GT(all.overlaps, 0);
}

}  // namespace
}  // namespace pawl::cas
