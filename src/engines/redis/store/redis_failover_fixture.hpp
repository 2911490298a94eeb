// Several clients that fight for a few keys while their servers fail over, and what they have seen.
#pragma once

#include "base/comma_list.hpp"
#include "engines/redis/store/make_redis_store.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/servers/redis_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace pawl::redis {

using namespace std::chrono_literals;
using conformance::client;
using conformance::fresh_claim;
using conformance::lease_of;
using conformance::until;
using conformance::wait_end;
using testing_servers::redis_server;

inline client open_client(const redis_settings& settings) {
    return client{[&](net::loop& where) { return make_redis_store(where, settings); }};
}

// One grant, as its holder saw it.
struct seen_turn {
    std::string key;
    fence_token token{};
    instant received;  // the grant was made before
    instant end;       // until then its holder trusted it
};

// Runs until stop(). Each client takes a key, renews it once, shows its token to a resource that
// keeps the highest, and lets it go; every fourth grant is left to expire.
class failover_load {
public:
    failover_load(const redis_settings& settings, std::vector<std::string> keys, millis ttl,
                  int clients)
        : keys_{std::move(keys)}, ttl_{ttl} {
        for (int i = 0; i < clients; ++i)
            threads_.emplace_back([this, settings, i] { work(open_client(settings), i); });
    }
    ~failover_load() { stop(); }

    void stop() {
        stopped_ = true;
        for (auto& thread : threads_) thread.join();
        threads_.clear();
    }
    std::size_t grants() const {
        const std::lock_guard lock{mutex_};
        return turns_.size();
    }
    // When the first grant came after that; waits for it.
    instant first_after(instant when) {
        auto first = instant::max();
        until(
            [&] {
                const std::lock_guard lock{mutex_};
                for (const auto& turn : turns_)
                    if (turn.received > when) first = std::min(first, turn.received);
                return first != instant::max();
            },
            60s);
        return first;
    }
    std::string failures() const {
        const std::lock_guard lock{mutex_};
        std::string all;
        for (const auto& [name, count] : failures_)
            base::add_to_list(all, name + " " + std::to_string(count));
        return all;
    }

    // After stop(): no client trusted a key while another did, and no token fell.
    void judge() {
        std::sort(turns_.begin(), turns_.end(), [](const auto& one, const auto& other) {
            return std::tie(one.key, one.token) < std::tie(other.key, other.token);
        });
        for (std::size_t i = 1; i < turns_.size(); ++i) {
            if (turns_[i].key != turns_[i - 1].key) continue;
            EXPECT_LT(turns_[i - 1].token, turns_[i].token) << turns_[i].key;
            EXPECT_GE(turns_[i].received, turns_[i - 1].end)
                << turns_[i].key << ": two trusted holders, tokens " << number(turns_[i - 1].token)
                << " and " << number(turns_[i].token);
        }
        EXPECT_EQ(stale_accepted_.load(), 0);
    }

private:
    void work(client mine, int number_of_mine) {
        for (int round = number_of_mine; !stopped_; ++round) {
            const auto& key = keys_[static_cast<std::size_t>(round) % keys_.size()];
            const auto wanted = fresh_claim(key, ttl_);
            const auto sent = lease_clock::now();
            const auto got = mine.acquire(wanted);
            const auto received = lease_clock::now();
            if (got.has_error()) {
                note(got.error());
                if (got.error().code == errc::outcome_unknown)
                    static_cast<void>(mine.withdraw({key, wanted.id}));
                mine.pass(5ms);
                continue;
            }
            if (const auto* won = std::get_if<grant>(&*got))
                hold(mine, *won, sent, received, round % 4 == 3);
            else
                mine.pass(2ms);
        }
    }

    void hold(client& mine, const grant& won, instant sent, instant received, bool lets_expire) {
        auto end = trust_from(sent);
        if (received >= end) return;
        show_to_resource(won, end);
        const auto again = lease_clock::now();
        const auto renewed =
            mine.renew(std::vector<held_lease>{lease_of(won.key, won.token, ttl_)});
        if (renewed.has_error())
            note(renewed.error());
        else if (renewed->front() == renewal::renewed && lease_clock::now() < end)
            end = trust_from(again);
        show_to_resource(won, end);
        if (!lets_expire) {
            end = std::min(end, lease_clock::now());
            const auto released = mine.release(won.key, won.token);
            if (released.has_error()) note(released.error());
        }
        const std::lock_guard lock{mutex_};
        turns_.push_back({won.key, won.token, received, end});
    }

    // Rule 8, with the default margins.
    instant trust_from(instant sent) const {
        return sent + ttl_ - ttl_ / 1000 - std::max(ttl_ / 50, millis{5});
    }

    // Rule 15: the resource itself rejects what is older; so a holder that trusts is never
    // rejected.
    void show_to_resource(const grant& won, instant end) {
        const std::lock_guard lock{mutex_};
        if (lease_clock::now() >= end) return;
        auto& newest = resources_[won.key];
        if (won.token < newest) ++stale_accepted_;
        newest = std::max(newest, won.token);
    }

    void note(const failure& why) {
        const std::lock_guard lock{mutex_};
        ++failures_[std::string{name_of(why.code)}];
        EXPECT_EQ(why.detail.find('\n'), std::string::npos) << why.detail;
    }

    const std::vector<std::string> keys_;
    const millis ttl_;
    std::atomic<bool> stopped_{false};
    std::atomic<int> stale_accepted_{0};
    mutable std::mutex mutex_;
    // Under mutex_
    std::vector<seen_turn> turns_;
    std::map<std::string, fence_token> resources_;
    std::map<std::string, int> failures_;
    std::vector<std::thread> threads_;
};

}  // namespace pawl::redis
