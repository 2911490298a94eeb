// A store that lets a test step in at the very moment when a verb has been answered.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::testing_faults {

// Called on the store's loop, with what the store has answered and before anybody else hears of it.
// Set before the store is used, or on its loop.
struct hooks {
    std::function<void(result<acquire_result<grant>>&)> after_acquire{};
    std::function<void(result<bool>&)> after_release{};
    std::function<void(result<bool>&)> after_force_release{};
    std::function<void(result<std::vector<renewal>>&)> after_renew{};
    std::function<void(result<std::optional<record>>&)> after_inspect{};
};

class hooked_store final : public lease_store {
public:
    hooked_store(std::shared_ptr<lease_store> inner, std::shared_ptr<hooks> called)
        : inner_{std::move(inner)}, hooks_{std::move(called)} {}

    store_traits traits() const noexcept override { return inner_->traits(); }
    async<acquire_result<grant>> acquire(claim wanted) override {
        auto asking = inner_->acquire(std::move(wanted));
        auto answer = co_await std::move(asking);
        if (hooks_->after_acquire) hooks_->after_acquire(answer);
        co_return answer;
    }
    async<bool> release(std::string key, fence_token token, release_options how) override {
        auto asking = inner_->release(std::move(key), token, how);
        auto answer = co_await std::move(asking);
        if (hooks_->after_release) hooks_->after_release(answer);
        co_return answer;
    }
    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        auto asking = inner_->force_release(std::move(key), token, delay);
        auto answer = co_await std::move(asking);
        if (hooks_->after_force_release) hooks_->after_force_release(answer);
        co_return answer;
    }
    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        auto asking = inner_->renew(leases);
        auto answer = co_await std::move(asking);
        if (hooks_->after_renew) hooks_->after_renew(answer);
        co_return answer;
    }
    async<bool> withdraw(withdrawal given_up) override {
        return inner_->withdraw(std::move(given_up));
    }
    async<std::optional<record>> inspect(std::string key) override {
        auto asking = inner_->inspect(std::move(key));
        auto answer = co_await std::move(asking);
        if (hooks_->after_inspect) hooks_->after_inspect(answer);
        co_return answer;
    }
    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override {
        return inner_->inspect_many(std::move(keys));
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        return inner_->list(std::move(prefix), std::move(after), limit);
    }
    async<void> wait_change(std::string key, fence_token seen) override {
        return inner_->wait_change(std::move(key), seen);
    }
    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        return inner_->fence(std::move(resource), token, rule);
    }

private:
    std::shared_ptr<lease_store> inner_;
    std::shared_ptr<hooks> hooks_;
};

}  // namespace pawl::testing_faults
