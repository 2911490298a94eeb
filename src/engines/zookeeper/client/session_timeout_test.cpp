// How long a lease a session can carry, and what the codes and words of the server mean.
#include "engines/zookeeper/client/error_mapping.hpp"
#include "engines/zookeeper/client/four_letters.hpp"
#include "engines/zookeeper/client/session.hpp"

#include <gtest/gtest.h>

namespace pawl::zookeeper {
namespace {

using namespace std::chrono_literals;

// The usual maxSessionTimeout, 20 ticks of 2 s, carries the usual TTL.
TEST(SessionTimeout, FortySecondsCarryALeaseOfThirty) {
    EXPECT_GE(longest_ttl(40s), 30s);
    EXPECT_LT(longest_ttl(40s), 32s);
    EXPECT_LE(least_timeout(30s), 40s);
}

// Goal: what is asked for suffices, and never much more is asked for than needed.
TEST(SessionTimeout, TheLeastTimeoutCarriesTheLease) {
    for (millis ttl{10}; ttl < millis{ttl_max}; ttl = ttl * 5 / 4 + 1ms) {
        const auto timeout = least_timeout(ttl);
        EXPECT_GE(longest_ttl(timeout), ttl) << ttl.count();
        EXPECT_LE(timeout, ttl * 2 + 10ms) << ttl.count();
        EXPECT_LT(longest_ttl(timeout), timeout);
    }
}

// Goal: a session outlives its lease though its leader hears of it late. Method: the share kept for
// that holds half a tick beside the heartbeat, which takes a third of the share, for the shortest
// sessions that a server grants by default.
TEST(SessionTimeout, ALongTickIsLeftOutOfTheLease) {
    for (const millis tick : {200ms, 2000ms, 6000ms, 20'000ms})
        for (millis timeout = 2 * tick; timeout <= 20 * tick; timeout += tick) {
            const auto share = timeout - longest_ttl(timeout, tick);
            EXPECT_GE(share * 2 / 3, tick / 2) << tick.count() << " " << timeout.count();
        }
}

TEST(Rejections, TellWhatTheCallerCanDo) {
    const struct {
        int code;
        errc read, written;
    } cases[] = {{-4, errc::unreachable, errc::outcome_unknown},    // connection loss
                 {-112, errc::unreachable, errc::outcome_unknown},  // session expired
                 {-102, errc::denied, errc::denied},                // no auth
                 {-115, errc::denied, errc::denied},                // auth failed
                 {-119, errc::rejected, errc::rejected},            // read-only
                 {-6, errc::unsupported, errc::unsupported},
                 {-127, errc::unreachable, errc::unreachable}};
    for (const auto& [code, read, written] : cases) {
        EXPECT_EQ(judge_code(code, false, "h:1", "/p").error().code, read) << code;
        const auto why = judge_code(code, true, "h:1", "/p").error();
        EXPECT_EQ(why.code, written) << code;
        EXPECT_EQ(why.detail.find("h:1: "), 0u);
        EXPECT_EQ(why.detail.find('\n'), std::string::npos);
    }
    EXPECT_EQ(*judge_code(-101, true, "h:1", "/p"), finding_code::no_node);
    EXPECT_EQ(*judge_code(0, true, "h:1", "/p"), finding_code::done);
}

TEST(FourLetters, SayWhatAServerIs) {
    const server whom{"h", 1};
    const auto serving = read_srvr(whom,
                                   "Zookeeper version: 3.8.0-1, built on x\nConnections: 3\n"
                                   "Outstanding: 7\nZxid: 0x1\nMode: follower\nNode count: 5\n");
    ASSERT_TRUE(serving.has_value());
    EXPECT_EQ(serving->version, "3.8.0");
    EXPECT_EQ(serving->mode, "follower");
    EXPECT_EQ(serving->outstanding, "7");
    EXPECT_EQ(serving->state, readiness::serving);
    EXPECT_EQ(read_srvr(whom, "This ZooKeeper instance is not currently serving requests\n")->state,
              readiness::not_serving);
    EXPECT_EQ(read_srvr(whom, "srvr is not executed because it is not in the whitelist.")->state,
              readiness::silent_word);
    EXPECT_EQ(read_srvr(whom, "Zookeeper version: 3.8.0\nMode: read-only\n")->state,
              readiness::read_only);
    EXPECT_EQ(read_srvr(whom, "HTTP/1.1 400 Bad Request").error().code, errc::protocol);
}

}  // namespace
}  // namespace pawl::zookeeper
