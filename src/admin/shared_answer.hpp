// One answer for all who ask at the same time, or shortly after.
//
// Two hundred viewers who look at the same thing cost one look.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace pawl::admin {

// On one loop only. Whoever asks first works it out; the others wait for him.
template <class Value>
class shared_answer : public std::enable_shared_from_this<shared_answer<Value>> {
public:
    using value_ptr = std::shared_ptr<const Value>;
    using maker = std::function<boost::asio::awaitable<value_ptr>()>;

    // `make` does not throw, and answers with a value.
    shared_answer(boost::asio::any_io_executor executor, maker make)
        : executor_{std::move(executor)}, make_{std::move(make)} {}

    // One that is no older than `age_max`, as it is now or as it has just been worked out.
    static boost::asio::awaitable<value_ptr> get(std::shared_ptr<shared_answer> self,
                                                 millis age_max) {
        const auto asked = lease_clock::now();
        for (;;) {
            if (self->value_ && asked - self->made_ <= age_max) co_return self->value_;
            if (!self->working_) break;
            const auto turn = self->working_;
            boost::system::error_code woken;
            auto token = boost::asio::redirect_error(boost::asio::use_awaitable, woken);
            co_await turn->async_wait(token);
        }
        const auto turn = std::make_shared<boost::asio::steady_timer>(
            self->executor_, boost::asio::steady_timer::time_point::max());
        self->working_ = turn;
        // A coroutine that dies with its loop leaves no timer behind.
        const std::shared_ptr<void> leaving{nullptr, [self](void*) { self->working_.reset(); }};
        auto making = self->make_();
        auto made = co_await std::move(making);
        self->value_ = made;
        self->made_ = lease_clock::now();
        turn->cancel();
        co_return made;
    }

private:
    // Constant after construction
    boost::asio::any_io_executor executor_;
    maker make_;
    // State
    value_ptr value_;
    instant made_{};
    std::shared_ptr<boost::asio::steady_timer> working_;
};

}  // namespace pawl::admin
