#include "testing/failing_store.hpp"

#include <utility>

namespace pawl::testing {
namespace {

class failing_store final : public lease_store {
public:
    failing_store(std::shared_ptr<lease_store> inner, std::shared_ptr<failure_plan> plan)
        : inner_{std::move(inner)}, plan_{std::move(plan)} {}

    store_traits traits() const noexcept override { return inner_->traits(); }

    async<acquire_result<grant>> acquire(claim wanted) override {
        return unless_planned(inner_, plan_, [wanted = std::move(wanted)](lease_store& at) mutable {
            return at.acquire(std::move(wanted));
        });
    }
    async<bool> withdraw(withdrawal given_up) override {
        return unless_planned(inner_, plan_,
                              [given_up = std::move(given_up)](lease_store& at) mutable {
                                  return at.withdraw(std::move(given_up));
                              });
    }
    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        return unless_planned(inner_, plan_,
                              [leases](lease_store& at) { return at.renew(leases); });
    }
    async<bool> release(std::string key, fence_token token, release_options how) override {
        return unless_planned(inner_, plan_,
                              [key = std::move(key), token, how](lease_store& at) mutable {
                                  return at.release(std::move(key), token, how);
                              });
    }
    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        return unless_planned(inner_, plan_,
                              [key = std::move(key), token, delay](lease_store& at) mutable {
                                  return at.force_release(std::move(key), token, delay);
                              });
    }
    async<std::optional<record>> inspect(std::string key) override {
        return unless_planned(inner_, plan_, [key = std::move(key)](lease_store& at) mutable {
            return at.inspect(std::move(key));
        });
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        return unless_planned(
            inner_, plan_,
            [prefix = std::move(prefix), after = std::move(after), limit](lease_store& at) mutable {
                return at.list(std::move(prefix), std::move(after), limit);
            });
    }
    async<void> wait_change(std::string key, fence_token seen) override {
        return inner_->wait_change(std::move(key), seen);
    }
    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        return unless_planned(
            inner_, plan_, [resource = std::move(resource), token, rule](lease_store& at) mutable {
                return at.fence(std::move(resource), token, rule);
            });
    }

private:
    // An answer that is lost was given first.
    template <class Verb>
    static std::invoke_result_t<Verb&, lease_store&> unless_planned(
        std::shared_ptr<lease_store> inner, std::shared_ptr<failure_plan> plan, Verb verb) {
        const auto why = plan->take();
        if (why && *why != errc::outcome_unknown)
            co_return failure{*why, "the store fails, as the test has planned"};
        auto asking = verb(*inner);
        auto answer = co_await std::move(asking);
        if (why) co_return failure{*why, "the answer is lost, as the test has planned"};
        co_return answer;
    }

    const std::shared_ptr<lease_store> inner_;
    const std::shared_ptr<failure_plan> plan_;
};

}  // namespace

std::shared_ptr<lease_store> make_failing_store(std::shared_ptr<lease_store> inner,
                                                std::shared_ptr<failure_plan> plan) {
    return std::make_shared<failing_store>(std::move(inner), std::move(plan));
}

}  // namespace pawl::testing
