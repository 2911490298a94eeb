// Request coalescing: one answer for all callers who ask at the same time, or shortly after.
//
// Two hundred viewers who look at the same thing cost one look.
#pragma once

#include "net/event.hpp"

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace pawl::api {

// On one loop only. The first who asks works it out; the others wait for that.
template <class Value>
class single_flight : public std::enable_shared_from_this<single_flight<Value>> {
public:
    using value_ptr = std::shared_ptr<const Value>;
    using maker = std::function<boost::asio::awaitable<value_ptr>()>;

    // `make` does not throw, and answers with a value.
    explicit single_flight(maker make) : make_{std::move(make)} {}

    // One that is no older than `age_max`, as it is now or as it has just been worked out.
    static boost::asio::awaitable<value_ptr> get(std::shared_ptr<single_flight> self,
                                                 millis age_max) {
        const auto& clocks = net::timers::of(co_await boost::asio::this_coro::executor);
        const auto asked = clocks.now();
        for (;;) {
            if (self->value_ && asked - self->made_ <= age_max) co_return self->value_;
            if (!self->working_) break;
            const auto turn = self->working_;
            auto waiting = turn->wait();
            co_await std::move(waiting);
        }
        auto working = work_out(self);
        auto made = co_await std::move(working);
        co_return made;
    }

    // One that is begun after it was asked for: whatever was done before is seen in it. Those who
    // ask while one is under way share the next.
    static boost::asio::awaitable<value_ptr> get_anew(std::shared_ptr<single_flight> self) {
        const auto wanted = self->begun_ + 1;
        while (self->working_) {
            const auto turn = self->working_;
            auto waiting = turn->wait();
            co_await std::move(waiting);
            if (self->number_ >= wanted) co_return self->value_;
        }
        auto working = work_out(self);
        auto made = co_await std::move(working);
        co_return made;
    }

private:
    static boost::asio::awaitable<value_ptr> work_out(std::shared_ptr<single_flight> self) {
        const auto& clocks = net::timers::of(co_await boost::asio::this_coro::executor);
        const auto turn = std::make_shared<net::event>();
        self->working_ = turn;
        const auto number = ++self->begun_;
        // A coroutine that dies with its loop leaves no event behind.
        std::shared_ptr<void> leaving{nullptr, [self](void*) { self->working_.reset(); }};
        auto making = self->make_();
        auto made = co_await std::move(making);
        self->value_ = made;
        self->made_ = clocks.now();
        self->number_ = number;
        // Those who are woken may work themselves.
        leaving.reset();
        turn->set();
        co_return made;
    }

    const maker make_;
    // State
    std::uint64_t begun_ = 0;
    std::uint64_t number_ = 0;  // of the one that made the value
    value_ptr value_;
    instant made_{};
    std::shared_ptr<net::event> working_;
};

}  // namespace pawl::api
