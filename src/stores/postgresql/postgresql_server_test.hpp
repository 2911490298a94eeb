// What the tests with real servers share: a client of a server, and waiting for what must come.
#pragma once

#include "stores/postgresql/postgresql_store.hpp"
#include "stores/postgresql/statement.hpp"
#include "testing/conformance/client.hpp"
#include "testing/servers/postgresql_server.hpp"

#include <gtest/gtest.h>

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace pawl::postgresql {

using namespace std::chrono_literals;

inline postgresql_settings on_port(std::uint16_t port, millis timeout = 2000ms) {
    postgresql_settings settings;
    settings.common.timeout = timeout;
    settings.servers.servers.push_back({"127.0.0.1", "", std::to_string(port)});
    settings.servers.keywords = {{"user", "postgres"}, {"dbname", "postgres"}};
    return settings;
}

inline void set_keyword(connection_target& target, const std::string& name,
                        const std::string& value) {
    std::erase_if(target.keywords, [&](const keyword& one) { return one.name == name; });
    target.keywords.push_back({name, value});
}

inline conformance::client open(const postgresql_settings& settings) {
    return conformance::client{
        [&](net::loop& where) { return make_postgresql_store(where, settings); }};
}

template <class T>
void expect_failure(const result<T>& got, errc code, const std::string& words) {
    ASSERT_TRUE(got.has_error());
    const auto& detail = got.error().detail;
    EXPECT_EQ(name_of(got.error().code), name_of(code)) << detail;
    EXPECT_NE(detail.find(words), std::string::npos) << detail;
    EXPECT_EQ(detail.find('\n'), std::string::npos) << detail;
    EXPECT_TRUE(detail.starts_with("127.0.0.1:")) << detail;
}

inline void until(const std::function<bool()>& holds) {
    const auto give_up = lease_clock::now() + 10s;
    while (!holds() && lease_clock::now() < give_up) poll(nullptr, 0, 2);
    EXPECT_TRUE(holds());
}

// How many sessions of pawl the server counts.
inline int sessions(const testing_servers::postgresql_server& server) {
    return std::stoi(
        server.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pawl'"));
}

// A transaction of another session, which has locked every lease until this goes.
inline std::shared_ptr<void> lock_rows(const testing_servers::postgresql_server& server) {
    return server.hold("BEGIN; SELECT * FROM pawl.lease FOR UPDATE");
}

}  // namespace pawl::postgresql
