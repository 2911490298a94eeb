// What the tests of Redlock on real servers share.
#pragma once

#include "engines/redlock/store/redlock_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/servers/redlock_servers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::redlock {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using conformance::until;
using testing_servers::redis_options;
using testing_servers::redlock_servers;

inline redlock_settings on_ports(const std::vector<std::uint16_t>& ports, millis timeout = 10s) {
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
    const auto why = conformance::failure_of(got);
    for (const auto& word : words) conformance::expect_detail(why, code, word);
}

}  // namespace pawl::redlock
