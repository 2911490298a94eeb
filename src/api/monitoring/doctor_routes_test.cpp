// The store's checks over HTTP.
#include "api/monitoring/doctor_routes.hpp"

#include "test_support/faults/api_world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

health::diagnosis found(severity level) {
    health::diagnosis made;
    made.version = "Memory 1";
    made.findings.push_back({severity::ok, "reachability", "it answers"});
    made.findings.push_back({level, "persistence", "all is lost with the process"});
    return made;
}

TEST(Doctor, WhatItFindsIsToldWithItsWorst) {
    api_world world{doctor_routes};
    world.diagnose = [] { return found(severity::warn); };
    const auto told = world.ask({"GET", "/api/v1/doctor"});
    ASSERT_EQ(told.status, 200u) << told.body;
    EXPECT_EQ(text_in(told, "level"), "WARN");
    EXPECT_EQ(text_in(told, "store"), "memory:");
    EXPECT_EQ(text_in(told, "engine"), "memory");
    EXPECT_EQ(text_in(told, "version"), "Memory 1");
    const auto all = json_in(told);
    const auto& checks = all.at("checks").as_array();
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_EQ(checks[1].at("check").as_string(), "persistence");
    EXPECT_EQ(checks[1].at("level").as_string(), "WARN");
    EXPECT_EQ(checks[1].at("runbook").as_string(), "docs/runbook.md#persistence");
}

// Goal: two hundred viewers cost the store one examination. Method: it goes on until all have
// asked.
TEST(Doctor, ThoseWhoAskAtTheSameTimeAreToldTheSame) {
    api_world world{doctor_routes};
    std::atomic<int> times{0};
    std::latch all_have_asked{1};
    world.diagnose = [&] {
        ++times;
        all_have_asked.wait();
        return found(severity::ok);
    };
    std::vector<std::future<http::response>> callers;
    for (int i = 0; i < 20; ++i) callers.push_back(world.begin({"GET", "/api/v1/doctor"}));
    all_have_asked.count_down();
    for (auto& one : callers) EXPECT_EQ(one.get().status, 200u);
    EXPECT_EQ(world.ask({"GET", "/api/v1/doctor"}).status, 200u);
    EXPECT_EQ(times, 1);
}

TEST(Doctor, AStoreThatCannotBeAskedIsAFinding) {
    api_world world{doctor_routes};
    world.diagnose = []() -> health::diagnosis {
        throw store_error{failure{errc::unreachable, "127.0.0.1:6379: connection refused"}};
    };
    const auto told = world.ask({"GET", "/api/v1/doctor"});
    ASSERT_EQ(told.status, 200u);
    EXPECT_EQ(text_in(told, "level"), "FAIL");
    EXPECT_NE(told.body.find("connection refused"), std::string::npos);
}

}  // namespace
}  // namespace pawl::api
