// Brings the writes of one journal to its file, those that wait together in one transaction.
#pragma once

#include "engines/sqlite/journal/journal_file.hpp"
#include "net/loop.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace pawl::sqlite {

// Used on the loop only. What is queued is as long as there are coroutines that wait for it.
class write_queue : public std::enable_shared_from_this<write_queue> {
public:
    write_queue(net::loop& where, std::shared_ptr<journal_file> file)
        : loop_{where}, file_{std::move(file)} {}

    // Step: result<T>(journal_tables&, std::int64_t now). It decides and writes, and has written
    // nothing when it fails.
    template <class T, class Step>
    async<T> add(synchronous durability, Step step) {
        const auto self = shared_from_this();
        const auto mine = std::make_shared<typed_write<T, Step>>(std::move(step));
        mine->deadline = lease_clock::now() + file_->settings().timeout;
        mine->durability = durability;
        auto start = [self, mine](auto handler) {
            // A handler is move-only, and std::function wants copies.
            auto resume = std::make_shared<decltype(handler)>(std::move(handler));
            self->enter(mine, [resume] { std::move (*resume)(); });
        };
        co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
            start, boost::asio::use_awaitable);
        if (mine->fault) co_return std::move(*mine->fault);
        co_return std::move(*mine->answer);
    }

private:
    template <class T, class Step>
    struct typed_write : waiting_write {
        explicit typed_write(Step todo) : step{std::move(todo)} {}
        void run(journal_tables& on, std::int64_t now) override { answer.emplace(step(on, now)); }
        Step step;
        std::optional<result<T>> answer;
    };
    struct queue_waiter {
        std::shared_ptr<waiting_write> write;
        std::function<void()> resume;
    };

    void enter(std::shared_ptr<waiting_write> write, std::function<void()> resume);
    static boost::asio::awaitable<void> work(std::shared_ptr<write_queue> self);

    // Constant after construction
    net::loop& loop_;
    const std::shared_ptr<journal_file> file_;

    // On the loop only
    std::deque<queue_waiter> line_;
    bool working_ = false;
};

}  // namespace pawl::sqlite
