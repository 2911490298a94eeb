// A store in an io_context of the application's (open_options::executor): what it has there ends
// with it, and the context goes on, or has nothing left to do.
#pragma once

#include "net/timer.hpp"
#include "net/unattended.hpp"
#include "test_support/conformance/store_fixture.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::conformance {

// How long a context may take that has nothing left to do, on a slow machine.
constexpr auto guest_bound = 30s;

// One process that works in the context of its program.
struct guest_client {
    explicit guest_client(const store_opener& open) : loop{net::loop::guest_of(host)} {
        store = open(*loop);
    }
    ~guest_client() { leave(); }
    guest_client(const guest_client&) = delete;
    guest_client& operator=(const guest_client&) = delete;

    void leave() {
        store.reset();
        if (loop) net::loop::leave(std::move(loop));
    }
    // Whether the context runs out of work.
    bool runs_out() {
        host.restart();
        host.run_for(guest_bound);
        return host.stopped();
    }

    boost::asio::io_context host{1};
    std::shared_ptr<net::loop> loop;
    std::shared_ptr<lease_store> store;
};

// What a program does: it acquires, renews and releases, and leaves while it waits for another key.
inline boost::asio::awaitable<void> use_and_leave(guest_client& mine) {
    auto claiming = mine.store->acquire(fresh_claim("mine", 60s));
    const auto won = co_await std::move(claiming);
    EXPECT_TRUE(won.has_value() && std::holds_alternative<grant>(*won));
    auto looking = mine.store->inspect("mine");
    const auto seen = co_await std::move(looking);
    const bool found = seen.has_value() && seen->has_value();
    EXPECT_TRUE(found);
    if (found) {
        const std::vector<held_lease> all{lease_of("mine", (*seen)->holder, 60s)};
        auto renewing = mine.store->renew(all);
        const auto renewed = co_await std::move(renewing);
        EXPECT_TRUE(renewed.has_value() && renewed->at(0) == renewal::renewed);
        auto releasing = mine.store->release("mine", (*seen)->holder, {});
        const auto released = co_await std::move(releasing);
        EXPECT_TRUE(released.has_value() && *released);
    }
    auto asking = mine.store->inspect("theirs");
    const auto theirs = co_await std::move(asking);
    if (!theirs.has_value() || !theirs->has_value()) {
        ADD_FAILURE() << "the other's key is unknown";
        co_return mine.host.stop();
    }
    boost::asio::co_spawn(mine.loop->get_executor(),
                          mine.store->wait_change("theirs", (*theirs)->holder),
                          boost::asio::detached);
    // Where waiters are counted, until this one stands.
    for (int look = 0; look < 2'000; ++look) {
        auto counting = mine.store->inspect("theirs");
        const auto now = co_await std::move(counting);
        if (!now.has_value() || !now->has_value() || (*now)->waiters.value_or(1) > 0) break;
        auto pausing = net::sleep_for(1ms);
        co_await std::move(pausing);
    }
    boost::asio::post(mine.host, [&mine] { mine.leave(); });
}

TYPED_TEST_P(StoreLaws, AGuestThatLeavesLeavesNothingBehind) {
    auto other = this->open();
    const auto token = other.granted(fresh_claim("theirs", 60s));
    guest_client mine{this->opener()};
    boost::asio::co_spawn(mine.loop->get_executor(), use_and_leave(mine), net::unattended{});
    EXPECT_TRUE(mine.runs_out());
    EXPECT_EQ(mine.loop, nullptr);
    EXPECT_EQ(other.show("theirs").holder, token);
    EXPECT_TRUE(yes(other.release("theirs", token)));
}

// Goal: the same in whatever a store is about when it has to go: connecting, sending, waiting for
// an answer. Method: it goes after a few turns of the context, each time after more of them.
TYPED_TEST_P(StoreLaws, AGuestThatLeavesInTheMiddleLeavesNothingBehind) {
    for (int turns = 0; turns < 24; ++turns) {
        guest_client mine{this->opener()};
        const auto key = "key-" + std::to_string(turns);
        for (int i = 0; i < 3; ++i)
            boost::asio::co_spawn(mine.loop->get_executor(), mine.store->acquire(fresh_claim(key)),
                                  boost::asio::detached);
        for (int i = 0; i < turns; ++i) mine.host.run_one_for(5ms);
        mine.leave();
        EXPECT_TRUE(mine.runs_out()) << "after " << turns << " turns";
    }
}

}  // namespace pawl::conformance
