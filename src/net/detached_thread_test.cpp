#include "net/detached_thread.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <memory>

namespace pawl::net {
namespace {

using namespace std::chrono_literals;

TEST(DetachedThread, ItsCallerWaitsNoLongerThanItSaid) {
    std::promise<void> let_go;
    auto ended = std::make_shared<std::promise<void>>();
    auto end = ended->get_future();
    run_detached_for(10ms, [waiting = let_go.get_future().share(), ended] {
        waiting.wait();
        ended->set_value();
    });
    EXPECT_EQ(end.wait_for(0s), std::future_status::timeout);
    let_go.set_value();
    EXPECT_EQ(end.wait_for(10s), std::future_status::ready);
}

// Goal: what a caller hands over is gone when it returns in time. Method: the job owns something.
TEST(DetachedThread, WhatTheJobOwnedIsGoneWhenItHasEndedInTime) {
    auto owned = std::make_shared<int>(1);
    const std::weak_ptr<int> seen{owned};
    run_detached_for(10s, [mine = std::move(owned)] {});
    EXPECT_TRUE(seen.expired());
}

// Goal: a signal that the program's threads wait for reaches them. Method: the mask within.
TEST(DetachedThread, ItTakesNoSignals) {
    bool blocked = false;
    run_detached_for(10s, [&] {
        sigset_t mask;
        pthread_sigmask(SIG_BLOCK, nullptr, &mask);
        blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1;
    });
    EXPECT_TRUE(blocked);
    sigset_t mine;
    pthread_sigmask(SIG_BLOCK, nullptr, &mine);
    EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

}  // namespace
}  // namespace pawl::net
