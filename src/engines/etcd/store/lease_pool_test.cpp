#include "engines/etcd/store/lease_pool.hpp"

#include "test_support/faults/tcp_proxy.hpp"
#include "test_support/servers/etcd_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <thread>
#include <vector>

namespace pawl::etcd {
namespace {

using namespace std::chrono_literals;
using testing_faults::direction;
using testing_faults::tcp_proxy;
using testing_servers::etcd_server;

std::string as_etcdctl_writes(std::int64_t lease) {
    std::ostringstream text;
    text << std::hex << lease;
    return text.str();
}

// Goal: leases that are forgotten while one of them is being renewed are not handed out. Method:
// the answer about the first, which is gone, is held back until all are forgotten.
TEST(EtcdLeaseStock, WhatIsForgottenDuringARenewalIsNotTaken) {
    etcd_server server;
    tcp_proxy proxy{server.port()};
    auto settings = std::make_shared<etcd_settings>();
    settings->endpoints = {{"127.0.0.1", proxy.port()}};
    settings->common.timeout = 10s;
    net::loop where;
    const auto through = client::make(where, settings);
    const auto stream = std::make_shared<lease_stream>(through);
    const auto pool = std::make_shared<lease_pool>(through, stream);
    constexpr millis ttl{4000};
    std::vector<etcd_lease> known;
    for (int i = 0; i < 4; ++i) {
        const auto granted =
            where.wait_for(pool->take(ttl, lease_clock::now(), through->deadline()));
        ASSERT_TRUE(granted.has_value()) << granted.error().detail;
        known.push_back(*granted);
    }
    for (const auto& one : known) pool->give_back(one);
    server.ask({"lease", "revoke", as_etcdctl_writes(known.back().id)});
    const auto before = proxy.held_bytes(direction::to_client);
    proxy.stall(direction::to_client);
    std::jthread forgetting{[&] {
        EXPECT_TRUE(proxy.wait_for_held_bytes(direction::to_client, before + 1));
        through->attachment()->post([pool] { pool->forget(); });
        proxy.resume(direction::to_client);
    }};
    const auto taken = where.wait_for(pool->take(ttl, lease_clock::now(), through->deadline()));
    ASSERT_TRUE(taken.has_value()) << taken.error().detail;
    EXPECT_TRUE(std::none_of(known.begin(), known.end(),
                             [&](const etcd_lease& one) { return one.id == taken->id; }));
    stream->close_from_anywhere();
    through->close_from_anywhere();
}

}  // namespace
}  // namespace pawl::etcd
