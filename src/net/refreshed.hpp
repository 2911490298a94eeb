// Something that ends and is fetched anew before it does, such as keys and tokens.
#pragma once

#include "net/event.hpp"
#include "net/loop.hpp"
#include "net/unattended.hpp"
#include "time/clocks.hpp"

#include <pawl/clock.hpp>
#include <pawl/spi/async.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace pawl::net {

// It is fetched so long before it ends.
constexpr std::chrono::nanoseconds refresh_margin = std::chrono::minutes{5};
// A source that hands out what is about to end has nothing better for a while.
constexpr std::chrono::nanoseconds fetched_again_after = std::chrono::seconds{10};
constexpr std::chrono::nanoseconds fetch_failure_kept = std::chrono::seconds{1};
constexpr std::chrono::nanoseconds fetch_timeout = std::chrono::seconds{5};
// What does not end is looked at again, as files are replaced where keys are rotated.
constexpr std::chrono::nanoseconds lasting_kept = std::chrono::minutes{5};

template <class Value>
struct fetched {
    fetched(Value value, std::string source, std::optional<time::wall_instant> end = {})
        : value{std::move(value)}, source{std::move(source)}, end{end} {}

    Value value;
    std::string source;                     // for people
    std::optional<time::wall_instant> end;  // nothing: it lasts
};

// On its loop only. Those who ask at once are served by one fetch, and while what is there has not
// ended, no caller waits for the next.
template <class Value>
class refreshed : public std::enable_shared_from_this<refreshed<Value>> {
public:
    using fetcher = std::function<async<fetched<Value>>(instant until)>;

    // Use make_shared. `what` is named in messages, such as "credentials of AWS".
    refreshed(loop& where, std::string what, fetcher fetch)
        : where_{where}, what_{std::move(what)}, fetch_{std::move(fetch)} {}

    // `denied`: there is none, or it was rejected. `unreachable`: who gives it did not answer.
    async<Value> get(instant until);

    // The service has rejected it as old: the next get() fetches it anew.
    void forget() noexcept {
        fresh_until_ = {};
        ends_ = {};
    }

    // Where what is used is from, for people; empty: there was none yet.
    const std::string& source() const noexcept { return source_; }

private:
    struct fetching {
        event done;
    };
    static boost::asio::awaitable<void> refresh(std::shared_ptr<refreshed> self,
                                                std::shared_ptr<fetching> mine);

    // Constant after construction
    loop& where_;
    const std::string what_;
    const fetcher fetch_;
    // On the loop only
    std::optional<Value> value_;
    instant fresh_until_{};  // then it is fetched again, and used meanwhile
    instant ends_{};         // then it is not used any more
    std::string source_;
    std::optional<failure> why_not_;
    instant not_before_{};  // after a failure
    std::shared_ptr<fetching> fetching_;
};

template <class Value>
async<Value> refreshed<Value>::get(instant until) {
    const auto self = this->shared_from_this();
    const auto now = where_.now();
    if (value_ && now < fresh_until_) co_return *value_;
    if (why_not_ && now < not_before_ && !(value_ && now < ends_)) co_return *why_not_;
    if (!fetching_ && now >= not_before_) {
        fetching_ = std::make_shared<fetching>();
        boost::asio::co_spawn(where_.get_executor(), refresh(self, fetching_), unattended{});
    }
    if (value_ && now < ends_) co_return *value_;
    if (const auto mine = fetching_) {
        auto waiting = mine->done.wait_until(until);
        if (!co_await std::move(waiting))
            co_return failure{errc::unreachable, "no " + what_ + " in time"};
    }
    if (value_ && where_.now() < ends_) co_return *value_;
    co_return why_not_.value_or(failure{errc::denied, "no " + what_});
}

template <class Value>
boost::asio::awaitable<void> refreshed<Value>::refresh(std::shared_ptr<refreshed> self,
                                                       std::shared_ptr<fetching> mine) {
    auto finding = self->fetch_(self->where_.now() + fetch_timeout);
    const auto found = co_await std::move(finding);
    const auto now = self->where_.now();
    if (found.has_value()) {
        self->why_not_.reset();
        self->value_ = found->value;
        self->source_ = found->source;
        self->ends_ = instant::max();
        self->fresh_until_ = now + lasting_kept;
        if (found->end) {
            // Some say that theirs end in the year 9999.
            constexpr std::chrono::microseconds longest = std::chrono::years{10};
            const auto left = std::clamp<std::chrono::microseconds>(
                *found->end - self->where_.wall(), -longest, longest);
            self->ends_ = now + left;
            self->fresh_until_ = std::max(self->ends_ - refresh_margin,
                                          std::min(now + fetched_again_after, self->ends_));
        }
    } else {
        self->why_not_ = found.error();
        self->not_before_ = now + fetch_failure_kept;
    }
    self->fetching_.reset();
    mine->done.set();
}

}  // namespace pawl::net
