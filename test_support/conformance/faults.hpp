// Faults that every server can have, as the tests of the engines bring them about.
#pragma once

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/faults/tcp_proxy.hpp"

#include <boost/asio/co_spawn.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::conformance {

// The client has a connection. On a busy machine the first answer may take longer than its timeout;
// the same claim is granted again.
inline void warm_up(client& mine) {
    const auto wanted = fresh_claim("warm");
    until([&] {
        const auto answer = mine.acquire(wanted);
        return answer.has_value() && std::holds_alternative<grant>(*answer);
    });
}

// A claim that the proxy holds back on its way, and of which its client no longer expects an
// answer.
inline claim held_back(testing_faults::tcp_proxy& proxy, client& mine) {
    warm_up(mine);
    proxy.stall(testing_faults::direction::to_server);
    auto wanted = fresh_claim("key", 60s);
    expect_failure(mine.acquire(wanted), errc::outcome_unknown, "no answer within ");
    return wanted;
}

// Goal: after an unknown outcome the same claim is answered with the same grant. Method: the answer
// is held back, and the server is killed before it arrives, once another client sees the grant:
// what is held back may be the answer to a purge. `open_on` opens a client on a port.
template <class Server, class Open>
void expect_the_same_grant_after_a_kill(Server& server, const Open& open_on) {
    testing_faults::tcp_proxy proxy{server.port()};
    client mine = open_on(proxy.port());
    warm_up(mine);
    proxy.stall(testing_faults::direction::to_client);
    const auto wanted = fresh_claim("key", 60s);
    auto answer = std::async(std::launch::async, [&] { return mine.acquire(wanted); });
    {
        client other = open_on(server.port());
        until([&] {
            const auto seen = other.inspect("key");
            return seen.has_value() && *seen && number((*seen)->holder) > 0;
        });
    }
    server.crash();
    proxy.cut();
    expect_failure(answer.get(), errc::outcome_unknown, std::to_string(proxy.port()));
    proxy.resume(testing_faults::direction::to_client);
    server.start();
    client direct = open_on(server.port());
    const auto held = direct.show("key").holder;
    EXPECT_GT(number(held), 0u);
    EXPECT_EQ(mine.granted(wanted), held);
}

// The same for a store that reads a record before it writes it, unless it has written it last: the
// key is one that the client which claims it knows, so that what is held back is the write.
template <class Server, class Open>
void expect_the_same_grant_of_a_known_key_after_a_kill(Server& server, const Open& open_on) {
    expect_the_same_grant_after_a_kill(server, [&](std::uint16_t port) {
        auto opened = open_on(port);
        if (port != server.port()) {
            EXPECT_TRUE(yes(opened.release("key", opened.granted(fresh_claim("key")))));
        }
        return opened;
    });
}

// Goal: while the server is frozen a request ends in time, and nothing is lost by it. Method: a
// release by a client with a timeout of 2 s, of a lease that another client holds.
template <class Server, class Open>
void expect_requests_to_end_while_frozen(const Server& server, const Open& open_on) {
    client patient = open_on(server.port());
    patient.granted(fresh_claim("other"));
    client mine = open_on(server.port(), millis{2'000});
    until([&] { return mine.inspect("key").has_value(); }, millis{60'000});
    const auto token = patient.granted(fresh_claim("key", 60s));
    server.freeze();
    const auto asked = lease_clock::now();
    EXPECT_TRUE(mine.release("key", token).has_error());
    EXPECT_LT(lease_clock::now() - asked, millis{10'000});
    server.thaw();
    EXPECT_EQ(patient.show("key").holder, token);
}

// Goal: a request ends within its timeout, and says whether it may have had an effect. Method: the
// server is frozen under a client. Gives back the claim, of which nothing is known, once the server
// thaws.
template <class Server>
claim unanswered_claim(const Server& server, client& mine, const std::string& timeout,
                       millis bound) {
    auto wanted = fresh_claim("key", 60s);
    warm_up(mine);
    server.freeze();
    const auto asked = lease_clock::now();
    expect_failure(mine.acquire(wanted), errc::outcome_unknown, "no answer within " + timeout);
    EXPECT_LT(lease_clock::now() - asked, bound);
    // A request that cannot even be sent, as the server takes no connection, had no effect.
    expect_failure(mine.release("key", fence_token{1}), errc::unreachable, "no answer");
    server.thaw();
    return wanted;
}

// Goal: a connection that is lost costs no more than a repeated request. Method: the proxy cuts
// after each of five claims.
inline void expect_connections_made_anew(testing_faults::tcp_proxy& proxy, client& mine) {
    for (int i = 0; i < 5; ++i) {
        const auto wanted = fresh_claim("key/" + std::to_string(i));
        auto answer = mine.acquire(wanted);
        if (answer.has_error()) answer = mine.acquire(wanted);
        EXPECT_TRUE(answer.has_value());
        proxy.cut();
    }
    EXPECT_GE(proxy.connections(), 4);
}

// Goal: the memory of the dead is bounded. Method: one withdrawal more than `remembered` pushes the
// first out.
inline void expect_withdrawals_remembered(client& mine, int remembered) {
    std::vector<claim> dead;
    for (int i = 0; i <= remembered; ++i) {
        dead.push_back(fresh_claim("key"));
        EXPECT_FALSE(yes(mine.withdraw({"key", dead.back().id})));
    }
    for (std::size_t i = 1; i < dead.size(); ++i) mine.rejected(dead[i]);
    EXPECT_GT(number(mine.granted(dead[0])), 0u);
}

// Goal: a withdrawn claim that comes late finds the trace of that, however old the record was that
// it is in. Method: `age` takes the last use of all records beyond the retention; others come and
// go until the old ones have been purged. After five seconds the trace may go, too, as no request
// is under way for longer: then once more, as a machine may stand still.
template <class Age>
void expect_the_trace_to_outlive_an_old_record(client& mine, const Age& age) {
    const auto come_and_go = [&](const std::string& key) {
        EXPECT_TRUE(yes(mine.release(key, mine.granted(fresh_claim(key)))));
    };
    bool in_time = false;
    for (int i = 0; i < 5 && !in_time; ++i) {
        const auto key = "key/" + std::to_string(i), old = "old/" + std::to_string(i);
        come_and_go(key);
        come_and_go(old);
        age();
        const auto late = fresh_claim(key);
        const auto before = lease_clock::now();
        EXPECT_FALSE(yes(mine.withdraw({key, late.id})));
        until([&] {
            come_and_go("other");
            const auto seen = mine.inspect(old);
            return seen.has_value() && !seen->has_value();
        });
        const auto answer = mine.acquire(late);
        in_time = lease_clock::now() - before < 5s;
        EXPECT_TRUE(!in_time || (answer.has_value() && std::holds_alternative<busy>(*answer)));
    }
    EXPECT_TRUE(in_time);
}

// Goal: many callers share a client. Method: each takes and releases a key of its own in turn.
inline void expect_callers_served(client& mine, int callers) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i)
        threads.emplace_back([&, i] {
            const auto key = "key/" + std::to_string(i);
            for (int j = 0; j < 50; ++j)
                EXPECT_TRUE(yes(mine.release(key, mine.granted(fresh_claim(key)))));
        });
}

// Goal: a loop may end under requests and waiters without a leak or a crash; LeakSanitizer sees it.
// Method: the server of the store answers nothing any more.
inline void end_under_requests(std::unique_ptr<net::loop> where,
                               std::shared_ptr<lease_store> store) {
    const auto ask = [&](const std::string& key) {
        boost::asio::co_spawn(where->get_executor(), store->inspect(key),
                              [](std::exception_ptr, result<std::optional<record>>) {});
        boost::asio::co_spawn(where->get_executor(), store->wait_change(key, fence_token{1}),
                              [](std::exception_ptr, result<void>) {});
    };
    for (int i = 0; i < 10; ++i) ask("key/" + std::to_string(i));
    auto brief = []() -> boost::asio::awaitable<int> { co_return 1; };
    EXPECT_EQ(where->wait_for(brief()), 1);
    where.reset();
    store.reset();
}

}  // namespace pawl::conformance
