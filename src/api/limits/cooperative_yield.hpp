// Cooperative yielding: long work on the loop of the API is done in slices, so that a health check
// or a renewal waits for one slice and not for all of it.
#pragma once

#include "net/loop.hpp"

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pawl::api {

constexpr millis slice_max{1};

// On its loop only, which outlives it.
class cooperative_yield {
public:
    explicit cooperative_yield(net::loop& where) : loop_{&where}, began_{where.now()} {}

    // Asked between two steps, none of which takes long.
    bool is_due() const { return loop_->now() - began_ >= slice_max; }
    boost::asio::awaitable<void> give_turn() {
        co_await boost::asio::post(loop_->get_executor(), boost::asio::use_awaitable);
        began_ = loop_->now();
    }

private:
    net::loop* loop_;
    instant began_;
};

}  // namespace pawl::api
