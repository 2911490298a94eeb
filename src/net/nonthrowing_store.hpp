// A store whose verbs never throw, also where their caller was cancelled.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <boost/asio/this_coro.hpp>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pawl::net {

// A verb never throws, but awaiting anything in a cancelled coroutine does, unless told not to.
template <class T>
async<T> without_throwing(async<T> verb) {
    const bool throws = co_await boost::asio::this_coro::throw_if_cancelled();
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    auto answer = co_await std::move(verb);
    co_await boost::asio::this_coro::throw_if_cancelled(throws);
    co_return answer;
}

class nonthrowing_store : public lease_store {
public:
    async<acquire_result<grant>> acquire(claim wanted) final {
        return without_throwing(do_acquire(std::move(wanted)));
    }
    async<bool> withdraw(withdrawal given_up) final {
        return without_throwing(do_withdraw(std::move(given_up)));
    }
    async<std::vector<renewal>> renew(std::span<const held_lease> leases) final {
        return without_throwing(do_renew(leases));
    }
    async<bool> release(std::string key, fence_token token, release_options how) final {
        return without_throwing(do_release(std::move(key), token, how));
    }
    async<bool> force_release(std::string key, fence_token token, millis delay) final {
        return without_throwing(do_force_release(std::move(key), token, delay));
    }
    async<std::optional<record>> inspect(std::string key) final {
        return without_throwing(do_inspect(std::move(key)));
    }
    async<page> list(std::string prefix, std::string after, std::size_t limit) final {
        return without_throwing(do_list(std::move(prefix), std::move(after), limit));
    }
    async<void> wait_change(std::string key, fence_token seen) final {
        return without_throwing(do_wait(std::move(key), seen));
    }
    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) final {
        return without_throwing(do_fence(std::move(resource), token, rule));
    }
    async<examination> examine() final { return without_throwing(do_examine()); }

private:
    virtual async<acquire_result<grant>> do_acquire(claim wanted) = 0;
    virtual async<bool> do_withdraw(withdrawal given_up) = 0;
    virtual async<std::vector<renewal>> do_renew(std::span<const held_lease> leases) = 0;
    virtual async<bool> do_release(std::string key, fence_token token, release_options how) = 0;
    virtual async<bool> do_force_release(std::string key, fence_token token, millis delay) = 0;
    virtual async<std::optional<record>> do_inspect(std::string key) = 0;
    virtual async<page> do_list(std::string prefix, std::string after, std::size_t limit) = 0;
    virtual async<void> do_wait(std::string key, fence_token seen) = 0;
    virtual async<fence_result> do_fence(std::string resource, fence_token token,
                                         fence_rule rule) = 0;
    virtual async<examination> do_examine() = 0;
};

}  // namespace pawl::net
