// Stores over one medium in memory, on virtual time.
#pragma once

#include "engines/cas/store/cas_store.hpp"
#include "test_support/media/memory_stage.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace pawl::cas {

using namespace std::chrono_literals;
using testing_media::fate;
using testing_media::honesty;
using stage = testing_media::memory_stage;

// A process with a store, opened at its first verb, and what a test expects of it.
class actor {
public:
    explicit actor(stage& on) : on_{on} {}

    const std::shared_ptr<lease_store>& store() {
        if (!store_)
            store_ = make_cas_store(on_.where(), on_.settings,
                                    testing_media::make_memory_medium(on_.where(), on_.table));
        return store_;
    }
    result<acquire_result<grant>> acquire(claim wanted) {
        return on_.end_of(store()->acquire(std::move(wanted)));
    }
    fence_token granted(claim wanted) { return ended<grant>(std::move(wanted)).token; }
    busy refused(claim wanted) { return ended<busy>(std::move(wanted)); }
    failure failed(claim wanted) {
        const auto answer = acquire(std::move(wanted));
        EXPECT_TRUE(answer.has_error());
        return answer.has_error() ? answer.error() : failure{errc::protocol, ""};
    }
    result<bool> release(const std::string& key, fence_token token, release_options how = {}) {
        return on_.end_of(store()->release(key, token, how));
    }
    result<bool> withdraw(const withdrawal& given_up) {
        return on_.end_of(store()->withdraw(given_up));
    }
    result<bool> force_release(const std::string& key, fence_token token, millis delay) {
        return on_.end_of(store()->force_release(key, token, delay));
    }
    result<std::vector<renewal>> renew(const std::vector<held>& leases) {
        return on_.end_of(store()->renew(leases));
    }
    renewal renew(held lease) {
        const auto answer = renew(std::vector<held>{std::move(lease)});
        EXPECT_TRUE(answer.has_value());
        return answer.has_value() ? answer->front() : renewal::unknown;
    }
    result<std::optional<record>> show(const std::string& key) {
        return on_.end_of(store()->inspect(key));
    }

private:
    // A claim that ends so.
    template <class End>
    End ended(claim wanted) {
        const auto answer = acquire(std::move(wanted));
        EXPECT_TRUE(answer.has_value()) << answer.error().detail;
        const auto* end = answer.has_value() ? std::get_if<End>(&*answer) : nullptr;
        EXPECT_TRUE(end) << "it has ended otherwise";
        return end ? *end : End{};
    }

    stage& on_;
    std::shared_ptr<lease_store> store_;
};

}  // namespace pawl::cas
