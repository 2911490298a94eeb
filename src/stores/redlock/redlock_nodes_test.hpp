// What the tests of Redlock on real servers share.
#pragma once

#include "stores/redlock/redlock_store.hpp"

#include "testing/conformance/client.hpp"
#include "testing/servers/redlock_servers.hpp"

#include <gtest/gtest.h>

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

namespace pawl::redlock {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using testing_servers::redis_options;
using testing_servers::redlock_servers;

inline redlock_settings on_ports(const std::vector<std::uint16_t>& ports, millis timeout = 2s) {
    redlock_settings settings;
    settings.common.timeout = timeout;
    for (const auto port : ports) settings.nodes.emplace_back().port = port;
    return settings;
}

inline client open(const redlock_settings& settings) {
    return client{[&](net::loop& where) { return make_redlock_store(where, settings); }};
}

template <class T>
void expect_failure(const result<T>& got, errc code, const std::vector<std::string>& words) {
    ASSERT_TRUE(got.has_error());
    EXPECT_EQ(name_of(got.error().code), name_of(code)) << got.error().detail;
    for (const auto& word : words)
        EXPECT_NE(got.error().detail.find(word), std::string::npos) << got.error().detail;
    EXPECT_EQ(got.error().detail.find('\n'), std::string::npos) << got.error().detail;
}

inline void until(const std::function<bool()>& holds) {
    const auto give_up = lease_clock::now() + 10s;
    while (!holds() && lease_clock::now() < give_up) poll(nullptr, 0, 1);
    EXPECT_TRUE(holds());
}

}  // namespace pawl::redlock
