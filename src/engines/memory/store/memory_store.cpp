#include "engines/memory/store/memory_store.hpp"

#include "engines/memory/store/data_set.hpp"
#include "net/attachment.hpp"
#include "net/event.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl::memory {
namespace {

// The verbs run on the loop; the data set's mutex is for the stores on other loops.
class memory_store : public lease_store,
                     public net::attached,
                     public std::enable_shared_from_this<memory_store> {
public:
    memory_store(store_settings settings, std::shared_ptr<data_set> data)
        : settings_{std::move(settings)}, data_{std::move(data)} {}

    static std::shared_ptr<memory_store> make(net::loop& where, store_settings settings,
                                              std::shared_ptr<data_set> data) {
        auto made = std::make_shared<memory_store>(std::move(settings), std::move(data));
        made->attachment_ = net::attach(where.get_executor(), made);
        return made;
    }

    // Waiters live in coroutines, which the loop ends itself.
    void loop_ends() override {}

    store_traits traits() const noexcept override {
        return {.strict_fencing = true, .notifies = true, .atomic_batch = false};
    }

    async<acquire_result<grant>> acquire(claim wanted) override {
        const auto self = shared_from_this();
        if (auto rejected = rules::reject_long_ttl(settings_.quarantine, wanted.ttl))
            co_return std::move(*rejected);
        if (auto early = rules::reject_in_quarantine(settings_.quarantine, data_->born(), wanted,
                                                     data_->now(), settings_.max_skew))
            co_return std::move(*early);
        co_return data_->acquire(wanted, settings_.max_skew, settings_.retention);
    }

    async<bool> withdraw(withdrawal given_up) override {
        const auto self = shared_from_this();
        co_return data_->withdraw(given_up);
    }

    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        const auto self = shared_from_this();
        for (const auto& lease : leases)
            if (auto rejected = rules::reject_long_ttl(settings_.quarantine, lease.ttl))
                co_return std::move(*rejected);
        std::vector<renewal> answers;
        answers.reserve(leases.size());
        for (const auto& lease : leases) answers.push_back(data_->renew(lease));
        co_return answers;
    }

    async<bool> release(std::string key, fence_token token, release_options how) override {
        const auto self = shared_from_this();
        // As other stores do, it takes a turn of the loop: what relies on less breaks here too.
        co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                                   boost::asio::use_awaitable);
        co_return data_->release(key, token, how);
    }

    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        const auto self = shared_from_this();
        co_return data_->force_release(key, token, delay);
    }

    async<std::optional<record>> inspect(std::string key) override {
        const auto self = shared_from_this();
        co_return data_->inspect(key);
    }

    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override {
        const auto self = shared_from_this();
        std::vector<std::optional<record>> all;
        all.reserve(keys.size());
        for (const auto& key : keys) all.push_back(data_->inspect(key));
        co_return all;
    }

    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        const auto self = shared_from_this();
        co_return data_->list(prefix, after, limit);
    }

    async<void> wait_change(std::string key, fence_token seen) override {
        const auto self = shared_from_this();
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none)
            co_return result<void>{};
        const auto changed = std::make_shared<net::event>();
        const auto waiting = data_->wait(key, seen, ringer(changed));
        if (waiting) {
            auto ringing = changed->wait();
            co_await std::move(ringing);
        }
        co_return result<void>{};
    }

    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        const auto self = shared_from_this();
        co_return data_->fence(resource, token, rule, settings_);
    }

private:
    std::function<void()> ringer(const std::weak_ptr<net::event>& changed) const {
        return [home = attachment_, changed] {
            home->post([changed] {
                if (const auto waited_for = changed.lock()) waited_for->set();
            });
        };
    }

    // Constant after construction
    const store_settings settings_;
    const std::shared_ptr<data_set> data_;
    std::shared_ptr<net::attachment> attachment_;  // rung by stores on other loops
};

}  // namespace

std::shared_ptr<lease_store> make_memory_store(net::loop& where, store_settings settings) {
    auto data = data_set::of(settings.name_space);
    return make_memory_store(where, std::move(settings), std::move(data));
}

std::shared_ptr<lease_store> make_memory_store(net::loop& where, store_settings settings,
                                               std::shared_ptr<data_set> data) {
    return memory_store::make(where, std::move(settings), std::move(data));
}

}  // namespace pawl::memory
