// What the tests of the store on a real server share.
#pragma once

#include "stores/mysql/mysql_store.hpp"

#include "testing/conformance/client.hpp"
#include "testing/servers/mysql_server.hpp"

#include <gtest/gtest.h>

#include <poll.h>

#include <functional>
#include <string>

namespace pawl::mysql {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using testing_servers::mysql_server;
using testing_servers::mysql_server_options;

inline mysql_settings on_port(std::uint16_t port, millis timeout = 5s) {
    mysql_settings settings;
    settings.port = port;
    settings.user = mysql_server::user;
    settings.password = mysql_server::password;
    settings.database = mysql_server::database;
    settings.common.timeout = timeout;
    return settings;
}

inline client open(const mysql_settings& settings) {
    return client{[&](net::loop& where) { return make_mysql_store(where, settings); }};
}

template <class T>
void expect_failure(const result<T>& got, errc code, const std::string& words) {
    ASSERT_TRUE(got.has_error());
    const auto& detail = got.error().detail;
    EXPECT_EQ(name_of(got.error().code), name_of(code)) << detail;
    EXPECT_NE(detail.find(words), std::string::npos) << detail;
    EXPECT_EQ(detail.find('\n'), std::string::npos) << detail;
    EXPECT_EQ(detail.find(mysql_server::password), std::string::npos) << detail;
}

inline void until(const std::function<bool()>& holds) {
    const auto give_up = lease_clock::now() + 10s;
    while (!holds() && lease_clock::now() < give_up) poll(nullptr, 0, 2);
    EXPECT_TRUE(holds());
}

}  // namespace pawl::mysql
