// One request to several nodes, and the wait until enough of them have answered (scatter/gather).
//
// The wait ends when the answers so far are enough, not when the slowest has come; what comes later
// is still handed over.
#pragma once

#include "engines/redlock/store/node.hpp"
#include "net/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::redlock {

class round : public std::enable_shared_from_this<round> {
public:
    using judge = std::function<bool(const round&)>;
    using late_taker = std::function<void(std::size_t node, const node_answer& got)>;

    explicit round(std::size_t questions) : answers_(questions) {}

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
        return wait();
    }
    bool was_cancelled() const noexcept { return cancelled_; }

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
        if (over_.is_set()) {
            if (late_) late_(which, *answers_[which]);
            return;
        }
        consider();
    }

private:
    boost::asio::awaitable<void> wait() {
        auto waiting = over_.wait();
        cancelled_ = !co_await std::move(waiting);
        // What comes from now on is late.
        over_.set();
    }
    void consider() {
        if (!enough_ || over_.is_set()) return;
        if (missing() == 0 || enough_(*this)) {
            enough_ = nullptr;
            over_.set();
        }
    }

    std::vector<std::optional<node_answer>> answers_;
    std::size_t taken_ = 0;
    std::size_t healthy_ = 0;
    judge enough_;
    late_taker late_;
    net::event over_;
    bool cancelled_ = false;
};

}  // namespace pawl::redlock
