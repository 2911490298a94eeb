#include "test_support/faults/faulty_store.hpp"

#include "test_support/faults/take_one.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace pawl::testing_faults {
namespace {

class faulty_store final : public lease_store {
public:
    faulty_store(std::shared_ptr<lease_store> inner, std::shared_ptr<plan> faults)
        : inner_{std::move(inner)}, faults_{std::move(faults)} {}

    store_traits traits() const noexcept override {
        auto able = inner_->traits();
        able.notifies = able.notifies && !faults_->pushes_nothing;
        return able;
    }

    async<acquire_result<grant>> acquire(claim wanted) override {
        if (auto bad = planned()) co_return *bad;
        if (!wanted.key.empty() && wanted.key == faults_->out_of_reach)
            co_return failure{errc::unreachable, "out of reach"};
        if (faults_->is_gone) {
            const bool lost = take_one(faults_->answers_to_lose);
            co_return failure{lost ? errc::outcome_unknown : errc::unreachable,
                              "the server is gone, as planned"};
        }
        if (const auto longest = faults_->silence.load(); longest.count() > 0) {
            boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor, longest};
            co_await timer.async_wait(boost::asio::use_awaitable);
            co_return failure{errc::outcome_unknown, "no answer, as planned"};
        }
        wanted.ttl = std::min(wanted.ttl, faults_->ttl_granted.load());
        auto answer = co_await inner_->acquire(std::move(wanted));
        co_await wait_while(faults_->answers_held);
        if (take_one(faults_->answers_to_lose))
            co_return failure{errc::outcome_unknown, "the answer was lost, as planned"};
        if (answer.has_value()) spoil(*answer);
        co_return answer;
    }
    async<bool> withdraw(withdrawal given_up) override {
        if (!given_up.key.starts_with("pawl/")) ++faults_->withdrawals;
        if (auto bad = planned()) co_return *bad;
        if (take_one(faults_->withdrawals_to_fail))
            co_return failure{errc::outcome_unknown, "no answer, as planned"};
        co_await wait_while(faults_->is_gone);
        if (const auto code = faults_->fail_all.load())
            co_return failure{*code, "the store failed meanwhile, as planned"};
        co_return co_await inner_->withdraw(std::move(given_up));
    }
    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        if (auto bad = planned()) co_return *bad;
        if (take_one(faults_->renewals_to_fail))
            co_return failure{errc::outcome_unknown, "no answer, as planned"};
        co_await wait_while(faults_->renewals_held);
        co_return co_await inner_->renew(leases);
    }
    async<bool> release(std::string key, fence_token token, release_options how) override {
        if (auto bad = planned()) co_return *bad;
        if (const auto delay = faults_->release_delay.load(); delay.count() > 0) {
            boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor, delay};
            co_await timer.async_wait(boost::asio::use_awaitable);
        }
        co_await wait_while(faults_->is_gone);
        co_return co_await inner_->release(std::move(key), token, how);
    }
    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        if (auto bad = planned()) co_return *bad;
        co_return co_await inner_->force_release(std::move(key), token, delay);
    }
    async<std::optional<record>> inspect(std::string key) override {
        if (auto bad = planned()) co_return *bad;
        if (const auto& far = faults_->out_of_reach; !far.empty() && key.starts_with(far))
            co_return failure{errc::unreachable, "out of reach", true};
        co_return co_await inner_->inspect(std::move(key));
    }
    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override {
        if (auto bad = planned()) co_return *bad;
        auto asking = inner_->inspect_many(std::move(keys));
        co_return co_await std::move(asking);
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        if (auto bad = planned()) co_return *bad;
        co_return co_await inner_->list(std::move(prefix), std::move(after), limit);
    }
    async<void> wait_change(std::string key, fence_token seen) override {
        if (faults_->pushes_denied)
            co_return failure{errc::denied, "no right to listen, as planned"};
        if (faults_->pushes_nothing) {
            boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor,
                                            boost::asio::steady_timer::time_point::max()};
            co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return result<void>{};
        }
        auto waiting = inner_->wait_change(std::move(key), seen);
        co_return co_await std::move(waiting);
    }
    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        if (auto bad = planned()) co_return *bad;
        co_return co_await inner_->fence(std::move(resource), token, rule);
    }

private:
    static boost::asio::awaitable<void> wait_while(const std::atomic<bool>& so) {
        boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor};
        while (so) {
            timer.expires_after(millis{1});
            co_await timer.async_wait(boost::asio::use_awaitable);
        }
    }

    void spoil(acquire_result<grant>& answer) const {
        auto* won = std::get_if<grant>(&answer);
        if (won == nullptr) return;
        switch (faults_->grants.load()) {
            case spoilt::not_at_all:
                return;
            case spoilt::token_0:
                won->token = fence_token{};
                return;
            case spoilt::other_key:
                won->key += "-of-another";
                return;
            case spoilt::longer_ttl:
                won->ttl *= 2;
                return;
        }
    }

    std::optional<failure> planned() {
        ++faults_->operations;
        if (const auto code = faults_->fail_all.load())
            return failure{*code, "the store failed, as planned", faults_->failures_answered};
        return std::nullopt;
    }

    std::shared_ptr<lease_store> inner_;
    std::shared_ptr<plan> faults_;
};

}  // namespace

std::shared_ptr<lease_store> make_faulty_store(std::shared_ptr<lease_store> inner,
                                               std::shared_ptr<plan> faults) {
    return std::make_shared<faulty_store>(std::move(inner), std::move(faults));
}

}  // namespace pawl::testing_faults
