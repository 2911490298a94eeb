// What the tests of the journal in Redis share.
#pragma once

#include "journals/redis/redis_journal.hpp"
#include "testing/conformance/journal/journal_client.hpp"
#include "testing/servers/redis_server.hpp"

#include <pawl/clock.hpp>

#include <gtest/gtest.h>

#include <poll.h>

#include <functional>
#include <string>

namespace pawl::redis {

using namespace std::chrono_literals;
using conformance::fresh_firing_run;
using conformance::fresh_run;
using conformance::journal_client;
using conformance::mark_of;
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

inline void expect_failure(const failure& why, errc code, const std::string& words) {
    EXPECT_EQ(name_of(why.code), name_of(code)) << why.detail;
    EXPECT_NE(why.detail.find(words), std::string::npos) << why.detail;
}

inline void until(const std::function<bool()>& holds) {
    const auto give_up = lease_clock::now() + 15s;
    while (!holds() && lease_clock::now() < give_up) poll(nullptr, 0, 1);
    EXPECT_TRUE(holds());
}

// Asks until the outcome is known, as whoever keeps a journal does.
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
