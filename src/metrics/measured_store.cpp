#include "metrics/measured_store.hpp"

#include <optional>
#include <string>
#include <utility>

namespace pawl::metrics {
namespace {

class measured_store final : public lease_store {
public:
    measured_store(std::shared_ptr<lease_store> inner, std::shared_ptr<metrics_registry> counted)
        : inner_{std::move(inner)}, counted_{std::move(counted)} {}

    store_traits traits() const noexcept override { return inner_->traits(); }

    async<acquire_result<grant>> acquire(claim wanted) override {
        return measured(verb::acquire, inner_->acquire(std::move(wanted)), counted_);
    }
    async<bool> withdraw(withdrawal given_up) override {
        return measured(verb::withdraw, inner_->withdraw(std::move(given_up)), counted_);
    }
    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        return measured(verb::renew, inner_->renew(leases), counted_);
    }
    async<bool> release(std::string key, fence_token token, release_options how) override {
        return measured(verb::release, inner_->release(std::move(key), token, how), counted_);
    }
    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        return measured(verb::force_release, inner_->force_release(std::move(key), token, delay),
                        counted_);
    }
    async<std::optional<record>> inspect(std::string key) override {
        return measured(verb::inspect, inner_->inspect(std::move(key)), counted_);
    }
    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override {
        return measured(verb::inspect_many, inner_->inspect_many(std::move(keys)), counted_);
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        return measured(verb::list, inner_->list(std::move(prefix), std::move(after), limit),
                        counted_);
    }
    async<void> wait_change(std::string key, fence_token seen) override {
        return measured(verb::wait_change, inner_->wait_change(std::move(key), seen), counted_);
    }
    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        return measured(verb::fence, inner_->fence(std::move(resource), token, rule), counted_);
    }
    async<examination> examine() override {
        return measured(verb::examine, inner_->examine(), counted_);
    }

private:
    // A verb does nothing before it is awaited, so the clock is read when this one is.
    template <class T>
    static async<T> measured(verb what, async<T> asking,
                             std::shared_ptr<metrics_registry> counted) {
        const auto began = lease_clock::now();
        auto answer = co_await std::move(asking);
        const auto took = lease_clock::now() - began;
        std::optional<failure> why;
        if (answer.has_error()) why = answer.error();
        counted->answered(what, took, why);
        co_return answer;
    }

    // Constant after construction
    std::shared_ptr<lease_store> inner_;
    std::shared_ptr<metrics_registry> counted_;
};

}  // namespace

std::shared_ptr<lease_store> make_measured_store(std::shared_ptr<lease_store> inner,
                                                 std::shared_ptr<metrics_registry> counted) {
    return std::make_shared<measured_store>(std::move(inner), std::move(counted));
}

}  // namespace pawl::metrics
