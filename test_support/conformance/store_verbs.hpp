// The verbs of a store as tests ask them, and what they expect of the answers: for whoever says how
// a verb comes to its end.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/spi/lease_store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pawl::conformance {

// The answer. A failure of the store fails the test, and is an empty answer.
template <class T>
T value_of(result<T> answer) {
    if (answer.has_value()) return std::move(*answer);
    ADD_FAILURE() << name_of(answer.error().code) << ": " << answer.error().detail;
    return T{};
}

// How a claim ended, which must be so.
template <class Answer>
Answer expect_answer(result<acquire_result<grant>> given, const char* wanted) {
    if (given.has_error()) return value_of(result<Answer>{given.error()});
    if (std::holds_alternative<Answer>(*given)) return std::get<Answer>(*std::move(given));
    ADD_FAILURE() << "expected " << wanted << ", got result " << given->index();
    return Answer{};
}

// Client has store(), a pointer, end_of(async<T>), which gives a result<T>, now() and pass().
template <class Client>
class store_verbs {
public:
    result<acquire_result<grant>> acquire(const claim& wanted) {
        return self().end_of(self().store()->acquire(wanted));
    }
    result<bool> withdraw(const withdrawal& given_up) {
        return self().end_of(self().store()->withdraw(given_up));
    }
    result<std::vector<renewal>> renew(const std::vector<held_lease>& leases) {
        return self().end_of(self().store()->renew(leases));
    }
    result<bool> release(const std::string& key, fence_token token, release_options how = {}) {
        return self().end_of(self().store()->release(key, token, how));
    }
    result<bool> force_release(const std::string& key, fence_token token, millis delay) {
        return self().end_of(self().store()->force_release(key, token, delay));
    }
    result<std::optional<record>> inspect(const std::string& key) {
        return self().end_of(self().store()->inspect(key));
    }
    result<std::vector<std::optional<record>>> inspect_many(const std::vector<std::string>& keys) {
        return self().end_of(self().store()->inspect_many(keys));
    }
    result<page> list(const std::string& prefix, const std::string& after, std::size_t limit) {
        return self().end_of(self().store()->list(prefix, after, limit));
    }
    result<fence_result> fence(const std::string& resource, fence_token token, fence_rule rule) {
        return self().end_of(self().store()->fence(resource, token, rule));
    }
    result<examination> examine() { return self().end_of(self().store()->examine()); }

    // The rest answer what a law expects, or fail the test and answer an empty value.
    fence_token granted(const claim& wanted) {
        return expect_answer<grant>(acquire(wanted), "a grant").token;
    }
    busy rejected(const claim& wanted) { return expect_answer<busy>(acquire(wanted), "busy"); }
    already_done done(const claim& wanted) {
        return expect_answer<already_done>(acquire(wanted), "already done");
    }
    renewal renew(const held_lease& lease) {
        const auto answers = value_of(renew(std::vector<held_lease>{lease}));
        EXPECT_EQ(answers.size(), 1u);
        return answers.size() == 1 ? answers.front() : renewal::unknown;
    }
    record show(const std::string& key) {
        const auto found = value_of(inspect(key));
        if (!found) ADD_FAILURE() << "there is no record of " << key;
        return found.value_or(record{});
    }

    // Claims until it is granted, asking again when the rejection says so, and not later than after
    // `pause_max`.
    fence_token granted_in_the_end(const claim& wanted, millis pause_max = millis{200},
                                   millis within = millis{10'000}) {
        const auto give_up = self().now() + within;
        for (;;) {
            const auto answer = value_of(acquire(wanted));
            if (const auto* won = std::get_if<grant>(&answer)) return won->token;
            const auto* held = std::get_if<busy>(&answer);
            if (held == nullptr || self().now() > give_up) break;
            self().pass(std::clamp(held->remaining, millis{1}, pause_max));
        }
        ADD_FAILURE() << wanted.key << " was not granted within " << within.count() << " ms";
        return {};
    }

private:
    Client& self() { return static_cast<Client&>(*this); }
};

}  // namespace pawl::conformance
