// What the tests of the journal in Redis share.
#pragma once

#include "engines/redis/journal/make_redis_journal.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/conformance/journal/journal_client.hpp"
#include "test_support/servers/redis_server.hpp"

#include <pawl/clock.hpp>

#include <gtest/gtest.h>

#include <poll.h>

#include <string>

namespace pawl::redis {

using namespace std::chrono_literals;
using conformance::expect_detail;
using conformance::fresh_occurrence_run;
using conformance::fresh_run;
using conformance::journal_client;
using conformance::mark_of;
using conformance::until;
using testing_servers::redis_options;
using testing_servers::redis_persistence;
using testing_servers::redis_server;

inline redis_settings on_port(std::uint16_t port, millis timeout = 5s) {
    redis_settings settings;
    settings.port = port;
    settings.common.timeout = timeout;
    return settings;
}

inline journal_client open(const redis_settings& settings) {
    return journal_client{[&](net::loop& where) { return make_redis_journal(where, settings); }};
}

// Asks until the outcome is known, as the owner of a journal does.
template <class Ask>
auto insist(const Ask& ask) {
    auto got = ask();
    const auto give_up = lease_clock::now() + 20s;
    while (got.has_error() && lease_clock::now() < give_up) {
        const auto code = got.error().code;
        if (code != errc::outcome_unknown && code != errc::unreachable) break;
        poll(nullptr, 0, 5);
        got = ask();
    }
    EXPECT_TRUE(got.has_value()) << got.error().detail;
    return got;
}

}  // namespace pawl::redis
