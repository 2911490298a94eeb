// What the tests with real servers share: a client of a server, and waiting for what must come.
#pragma once

#include "engines/postgresql/client/statement.hpp"
#include "engines/postgresql/store/postgresql_store.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/servers/postgresql_server.hpp"
#include "test_support/servers/postgresql_settings.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace pawl::postgresql {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using conformance::until;
using conformance::wait_end;
using conformance::yes;
using testing_servers::postgresql_options;
using testing_servers::postgresql_server;

inline client open(const postgresql_settings& settings) {
    return client{[&](net::loop& where) { return make_postgresql_store(where, settings); }};
}

template <class T>
void expect_failure(const result<T>& got, errc code, const std::string& words) {
    conformance::expect_failure(got, code, words);
    const auto detail = conformance::failure_of(got).detail;
    EXPECT_TRUE(detail.starts_with("127.0.0.1:")) << detail;
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
