// What the tests of the store on a real server share.
#pragma once

#include "engines/mysql/store/mysql_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/servers/mysql_settings.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::mysql {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using conformance::until;
using testing_servers::mysql_server;
using testing_servers::mysql_server_options;

inline client open(const mysql_settings& settings) {
    return client{[&](net::loop& where) { return make_mysql_store(where, settings); }};
}

template <class T>
void expect_failure(const result<T>& got, errc code, const std::string& words) {
    conformance::expect_failure(got, code, words);
    const auto detail = conformance::failure_of(got).detail;
    EXPECT_EQ(detail.find(mysql_server::password), std::string::npos) << detail;
}

}  // namespace pawl::mysql
