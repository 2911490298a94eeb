// One question to several nodes, and whoever waits until enough of them have answered.
//
// The wait ends when the answers so far are enough, not when the slowest has come; what comes later
// is still handed over.
#pragma once

#include "stores/redlock/node.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace pawl::redlock {

class bell;

// All bells of a store that somebody waits for, so that the end of their loop frees the sleepers: a
// bell keeps its coroutine, which keeps the bell.
class belfry : public net::attached {
public:
    static std::shared_ptr<belfry> make(net::loop& where) {
        auto made = std::make_shared<belfry>(where);
        made->attachment_ = net::attach(where.context(), made);
        return made;
    }
    // Use make().
    explicit belfry(net::loop& where) : executor_{where.get_executor()} {}

    const net::byte_stream::executor_type& executor() const noexcept { return executor_; }

private:
    friend class bell;
    void loop_ends() override;

    const net::byte_stream::executor_type executor_;
    std::shared_ptr<net::attachment> attachment_;
    std::unordered_set<bell*> awaited_;  // on the loop only
};

// Wakes one coroutine, once, however the wait ends. Used on one loop only.
class bell : public std::enable_shared_from_this<bell> {
public:
    explicit bell(std::shared_ptr<belfry> where) : where_{std::move(where)} {}
    ~bell() { where_->awaited_.erase(this); }
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;

    void ring() {
        rung_ = true;
        if (!who_) return;
        where_->awaited_.erase(this);
        const auto who = std::move(who_);
        who->wake();
    }
    bool has_rung() const noexcept { return rung_; }
    // True once the wait was cancelled.
    bool was_cancelled() const noexcept { return cancelled_; }

    // Ends when it rings, at once if it has, and when cancelled. REQUIRES: nobody waits.
    boost::asio::awaitable<void> wait() {
        auto begin = [this](auto&& handler) {
            begin_wait(std::forward<decltype(handler)>(handler));
        };
        return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
            begin, boost::asio::use_awaitable);
    }

private:
    friend class belfry;
    struct sleeper {
        virtual ~sleeper() = default;
        virtual void wake() = 0;
    };
    template <class Handler>
    struct handler_sleeper final : sleeper {
        explicit handler_sleeper(Handler&& taken) : handler{std::move(taken)} {}
        void wake() override {
            auto slot = boost::asio::get_associated_cancellation_slot(*handler);
            if (slot.is_connected()) slot.clear();
            auto resume = *std::move(handler);
            handler.reset();
            std::move(resume)();
        }
        std::optional<Handler> handler;
    };

    template <class Handler>
    void begin_wait(Handler&& handler) {
        auto slot = boost::asio::get_associated_cancellation_slot(handler);
        if (rung_) {
            boost::asio::post(where_->executor(), std::forward<Handler>(handler));
            return;
        }
        if (slot.is_connected())
            slot.assign([self = weak_from_this()](boost::asio::cancellation_type) {
                if (const auto here = self.lock()) here->cancel();
            });
        using kept = std::decay_t<Handler>;
        who_ = std::make_unique<handler_sleeper<kept>>(std::forward<Handler>(handler));
        where_->awaited_.insert(this);
    }

    // Posted, because whoever cancels does not expect the cancelled to run before cancel() returns.
    void cancel() {
        cancelled_ = true;
        boost::asio::post(where_->executor(), [self = shared_from_this()] { self->ring(); });
    }

    const std::shared_ptr<belfry> where_;
    std::unique_ptr<sleeper> who_;
    bool rung_ = false;
    bool cancelled_ = false;
};

inline void belfry::loop_ends() {
    std::vector<std::unique_ptr<bell::sleeper>> sleepers;
    for (auto* one : awaited_) sleepers.push_back(std::move(one->who_));
    awaited_.clear();
}

class round : public std::enable_shared_from_this<round> {
public:
    using judge = std::function<bool(const round&)>;
    using late_taker = std::function<void(std::size_t node, const node_answer& got)>;

    round(const std::shared_ptr<belfry>& where, std::size_t questions)
        : answers_(questions), bell_{std::make_shared<bell>(where)} {}

    // Takes the answer to one question.
    answer_taker taker(std::size_t which) {
        return [self = shared_from_this(), which](node_answer got) {
            self->take(which, std::move(got));
        };
    }
    // Answers that come when the wait is over.
    void then(late_taker late) { late_ = std::move(late); }

    // Ends when `enough` says so, when all have answered, and when cancelled. Once.
    boost::asio::awaitable<void> until(const judge& enough) {
        enough_ = enough;
        consider();
        return bell_->wait();
    }
    bool was_cancelled() const noexcept { return bell_->was_cancelled(); }

    const std::vector<std::optional<node_answer>>& answers() const noexcept { return answers_; }
    std::size_t missing() const noexcept { return answers_.size() - taken_; }
    // How many answered something but a failure.
    std::size_t healthy() const noexcept { return healthy_; }
    std::vector<failure> failures() const {
        std::vector<failure> all;
        for (const auto& one : answers_)
            if (one && one->has_error()) all.push_back(one->error());
        return all;
    }

    // The answer to one question.
    void take(std::size_t which, node_answer got) {
        answers_[which] = std::move(got);
        ++taken_;
        if (answers_[which]->has_value()) ++healthy_;
        if (bell_->has_rung()) {
            if (late_) late_(which, *answers_[which]);
            return;
        }
        consider();
    }

private:
    void consider() {
        if (!enough_ || bell_->has_rung()) return;
        if (missing() == 0 || enough_(*this)) {
            enough_ = nullptr;
            bell_->ring();
        }
    }

    std::vector<std::optional<node_answer>> answers_;
    std::size_t taken_ = 0;
    std::size_t healthy_ = 0;
    judge enough_;
    late_taker late_;
    const std::shared_ptr<bell> bell_;
};

}  // namespace pawl::redlock
