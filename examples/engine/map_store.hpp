// A store of one's own: nine verbs over whatever remembers things.
//
// This one keeps its leases in a map and does what rules 1 to 5 and 15 of docs/protocol.md ask for.
// It knows no occurrences and says so. Everything above it, renewal, waiting, trust, is pawl's. A
// real engine runs the suite in test_support/conformance, which tells what this one lacks.
#pragma once

#include <pawl/pawl.hpp>
#include <pawl/spi/lease_store.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace example {

using pawl::async;
using pawl::fence_token;
using pawl::instant;
using pawl::millis;
using pawl::result;

struct entry {
    fence_token holder{}, last{};
    std::string claim_id, owner;
    instant acquired{}, until{};
};

// What the server would hold. Verbs run one at a time on pawl's loop, so each is one atomic step.
struct shelf {
    std::map<std::string, entry> entries;
    std::map<std::string, fence_token> fences;
};

class map_store : public pawl::lease_store {
public:
    explicit map_store(std::shared_ptr<shelf> where) : shelf_{std::move(where)} {}

    pawl::store_traits traits() const noexcept override { return {.notifies = false}; }

    async<pawl::acquire_result<pawl::grant>> acquire(pawl::claim wanted) override {
        if (wanted.occurrence)
            co_return pawl::failure{pawl::errc::unsupported, "this store keeps no occurrences"};
        auto& one = shelf_->entries[wanted.key];
        const auto now = pawl::lease_clock::now();
        if (now < one.until && one.claim_id != wanted.id)
            co_return pawl::busy{one.holder, one.owner, left(one, now)};
        // Minted inside the grant; a repeated claim is answered with the grant that it was given.
        if (now >= one.until || number(one.holder) == 0) {
            one.last = fence_token{number(one.last) + 1};
            one.acquired = now;
        }
        one.holder = one.last;
        one.claim_id = wanted.id;
        one.owner = wanted.owner;
        one.until = std::max(one.until, now + wanted.ttl);
        co_return pawl::grant{wanted.key, one.holder, wanted.ttl};
    }

    async<bool> withdraw(pawl::withdrawal given_up) override {
        auto& one = shelf_->entries[given_up.key];
        const bool held = live(one) && one.claim_id == given_up.id;
        if (held) end(one, pawl::lease_clock::now());
        co_return held;
    }

    async<std::vector<pawl::renewal>> renew(std::span<const pawl::held> leases) override {
        std::vector<pawl::renewal> answers;
        const auto now = pawl::lease_clock::now();
        for (const auto& lease : leases) {
            auto& one = shelf_->entries[lease.key];
            const bool ours = live(one) && one.holder == lease.token;
            if (ours) one.until = std::max(one.until, now + lease.ttl);
            answers.push_back(ours ? pawl::renewal::renewed : pawl::renewal::lost);
        }
        co_return answers;
    }

    async<bool> release(std::string key, fence_token token, pawl::release_options how) override {
        auto& one = shelf_->entries[key];
        if (!live(one) || one.holder != token) co_return false;
        const auto now = pawl::lease_clock::now();
        end(one, how.at_least == pawl::release_options::until_expiry
                     ? one.until
                     : std::max<instant>(now, one.acquired + how.at_least));
        co_return true;
    }

    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        auto& one = shelf_->entries[key];
        if (!live(one) || one.holder != token) co_return false;
        one.last = fence_token{number(one.last) + 1};
        end(one, std::min<instant>(one.until, pawl::lease_clock::now() + delay));
        co_return true;
    }

    async<std::optional<pawl::record>> inspect(std::string key) override {
        const auto found = shelf_->entries.find(key);
        if (found == shelf_->entries.end()) co_return std::optional<pawl::record>{};
        co_return std::optional{describe(found->first, found->second)};
    }

    async<pawl::page> list(std::string prefix, std::string after, std::size_t limit) override {
        pawl::page one;
        for (const auto& [key, what] : shelf_->entries) {
            if (key <= after || !key.starts_with(prefix)) continue;
            if (one.records.size() == limit) {
                one.next = one.records.back().key;
                break;
            }
            one.records.push_back(describe(key, what));
        }
        co_return one;
    }

    // No push: pawl looks again by itself when the remaining time is over, and once a second.
    async<void> wait_change(std::string, fence_token) override {
        co_return pawl::failure{pawl::errc::unsupported, "this store has no push"};
    }

    async<pawl::fence_result> fence(std::string resource, fence_token token,
                                    pawl::fence_rule rule) override {
        auto& newest = shelf_->fences[resource];
        const bool accepted =
            rule == pawl::fence_rule::reject_older ? token >= newest : token > newest;
        if (accepted) newest = token;
        co_return pawl::fence_result{accepted, newest};
    }

private:
    static bool live(const entry& one) {
        return number(one.holder) != 0 && pawl::lease_clock::now() < one.until;
    }
    static void end(entry& one, instant until) {
        one.holder = fence_token{};
        one.claim_id.clear();
        one.until = until;
    }
    static millis left(const entry& one, instant now) {
        return std::max(std::chrono::ceil<millis>(one.until - now), millis{0});
    }
    static pawl::record describe(const std::string& key, const entry& one) {
        pawl::record seen;
        seen.key = key;
        seen.owner = one.owner;
        seen.holder = live(one) ? one.holder : fence_token{};
        seen.remaining = left(one, pawl::lease_clock::now());
        seen.last_token = one.last;
        return seen;
    }

    std::shared_ptr<shelf> shelf_;
};

}  // namespace example
