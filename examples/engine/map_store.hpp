// A store of one's own: nine verbs over whatever remembers things.
//
// This one keeps its leases in a map. What it decides is in <pawl/spi/rules.hpp>, as for every
// engine that can read, decide and write in one atomic step; what is left is to remember, and to
// wake. Everything above it, renewal, waiting, trust, is pawl's.
#pragma once

#include <pawl/pawl.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/rules.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace example {

using pawl::async;
using pawl::fence_token;
using pawl::millis;
namespace rules = pawl::rules;

// The server, as far as a map is one: what all clients of this process see. A step is atomic by the
// mutex, as it is by a transaction elsewhere.
struct key_records {
    static rules::store_time now() {
        using namespace std::chrono;
        return {floor<microseconds>(pawl::lease_clock::now().time_since_epoch()),
                floor<microseconds>(system_clock::now().time_since_epoch())};
    }

    // One atomic step on one record. A key without a record is one whose fields are all empty, but
    // for the tokens that others had; what was not granted then leaves none.
    template <class Decide>
    auto step(const std::string& name, const Decide& decide) {
        const std::lock_guard lock{mutex};
        const auto [found, is_new] = leases.try_emplace(name);
        if (is_new) found->second.last_token = purged;
        auto answer = decide(found->second);
        if (found->second.until == rules::micros{0}) leases.erase(found);
        return answer;
    }

    // Forgets what has not been used for so long, but not how high its tokens were.
    void purge(millis retention) {
        const std::lock_guard lock{mutex};
        std::erase_if(leases, [&](const auto& one) {
            const bool over = one.second.until + retention <= now().elapsed;
            if (over) purged = std::max(purged, one.second.last_token);
            return over;
        });
    }

    const rules::store_time born = now();  // with nothing in it
    std::mutex mutex;
    std::map<std::string, rules::lease_record> leases;
    std::map<std::string, fence_token> fences;
    fence_token purged{};  // the highest of them all
};

class map_store : public pawl::lease_store {
public:
    map_store(std::shared_ptr<key_records> where, pawl::store_settings settings)
        : records_{std::move(where)}, settings_{std::move(settings)} {}

    pawl::store_traits traits() const noexcept override {
        return {.strict_fencing = true, .notifies = true};
    }

    async<pawl::acquire_result<pawl::grant>> acquire(pawl::claim wanted) override {
        if (auto rejected = rules::reject_long_ttl(settings_.quarantine, wanted.ttl))
            co_return std::move(*rejected);
        const auto now = key_records::now();
        if (auto rejected = rules::reject_in_quarantine(settings_.quarantine, records_->born,
                                                        wanted, now, settings_.max_skew))
            co_return std::move(*rejected);
        records_->purge(settings_.retention);
        co_return records_->step(own(wanted.key), [&](rules::lease_record& one) {
            return rules::acquire(one, wanted, now, settings_.max_skew);
        });
    }

    async<bool> withdraw(pawl::withdrawal given_up) override {
        co_return records_->step(own(given_up.key), [&](rules::lease_record& one) {
            return rules::withdraw(one, given_up, key_records::now()).was_holder;
        });
    }

    async<std::vector<pawl::renewal>> renew(std::span<const pawl::held_lease> leases) override {
        for (const auto& lease : leases)
            if (auto rejected = rules::reject_long_ttl(settings_.quarantine, lease.ttl))
                co_return std::move(*rejected);
        std::vector<pawl::renewal> answers;
        for (const auto& lease : leases)
            answers.push_back(records_->step(own(lease.key), [&](rules::lease_record& one) {
                return rules::renew(one, lease, key_records::now()) ? pawl::renewal::renewed
                                                                    : pawl::renewal::lost;
            }));
        co_return answers;
    }

    async<bool> release(std::string key, fence_token token, pawl::release_options how) override {
        co_return records_->step(own(key), [&](rules::lease_record& one) {
            return rules::release(one, token, how, key_records::now()).was_holder;
        });
    }

    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        co_return records_->step(own(key), [&](rules::lease_record& one) {
            return rules::force_release(one, token, delay, key_records::now());
        });
    }

    async<std::optional<pawl::record>> inspect(std::string key) override {
        const std::lock_guard lock{records_->mutex};
        const auto found = records_->leases.find(own(key));
        if (found == records_->leases.end()) co_return std::optional<pawl::record>{};
        co_return std::optional{rules::describe(key, found->second, key_records::now())};
    }

    async<pawl::page> list(std::string prefix, std::string after, std::size_t limit) override {
        const std::lock_guard lock{records_->mutex};
        const auto now = key_records::now();
        pawl::page one;
        for (auto at = records_->leases.lower_bound(own(prefix)); at != records_->leases.end();
             ++at) {
            if (!at->first.starts_with(own(prefix))) break;
            const auto key = at->first.substr(own("").size());
            if (key <= after) continue;
            if (one.records.size() == limit) {
                one.next = one.records.back().key;
                break;
            }
            one.records.push_back(rules::describe(key, at->second, now));
        }
        co_return one;
    }

    // A map wakes no waiter, so it is looked at. An engine whose store has no cheaper way than this
    // says `notifies = false` and answers errc::unsupported: pawl looks by itself then.
    async<void> wait_change(std::string key, fence_token seen) override {
        boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor};
        const auto asked = co_await boost::asio::this_coro::cancellation_state;
        const auto held = [&](rules::lease_record& one) {
            return one.live(key_records::now()) && one.holder == seen;
        };
        // Verbs do not throw, and to be cancelled ends the wait as any change does.
        while (asked.cancelled() == boost::asio::cancellation_type::none &&
               records_->step(own(key), held)) {
            timer.expires_after(millis{2});
            co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        }
        co_return pawl::result<void>{};
    }

    async<pawl::fence_result> fence(std::string resource, fence_token token,
                                    pawl::fence_rule rule) override {
        const auto issued = rules::issued_tokens(settings_.quarantine, records_->born.wall,
                                                 key_records::now().wall, settings_.max_skew);
        const std::lock_guard lock{records_->mutex};
        co_return rules::check_fence(records_->fences[own(resource)], token, rule, issued);
    }

private:
    // Namespaces have no '/' in them, so no key of one looks like a key of another.
    std::string own(const std::string& key) const { return settings_.name_space + "/" + key; }

    const std::shared_ptr<key_records> records_;
    const pawl::store_settings settings_;
};

}  // namespace example
