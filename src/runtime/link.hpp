// How calls, and lease handles, which may outlive everything, find their way to the loop.
#pragma once

#include "net/attachment.hpp"
#include "net/event.hpp"
#include "net/fork_check.hpp"
#include "net/loop.hpp"

#include <boost/asio/awaitable.hpp>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace pawl::runtime {

class engine;

// Thread-safe.
class link {
public:
    link(net::loop& where, std::shared_ptr<engine> what)
        : attachment_{net::attach(where.get_executor())}, where_{&where}, what_{std::move(what)} {}

    // In the child of a fork() nothing is there any more, and no mutex is touched.
    bool is_forked_child() const noexcept { return process_.is_forked_child(); }

    // Runs `use(loop, engine)` unless the end has come; `use` must not wait for the loop.
    template <class Use>
    bool with(Use use) {
        if (is_forked_child()) return false;
        const std::lock_guard lock{mutex_};
        if (where_ == nullptr || where_->has_ended()) return false;
        use(*where_, what_);
        return true;
    }

    // Neither goes while a visit lasts: for a call that blocks. Empty once the end has begun and no
    // other is there: what goes on under another may be what that one waits for.
    class visit {
    public:
        explicit visit(link& home) : home_{home} {
            if (home.is_forked_child()) return;
            const std::lock_guard lock{home.mutex_};
            if (home.where_ == nullptr || home.where_->has_ended()) return;
            if (home.closing_ && home.visits_ == 0) return;
            where_ = home.where_;
            what_ = home.what_;
            ++home.visits_;
        }
        ~visit() {
            if (where_ == nullptr) return;
            const std::lock_guard lock{home_.mutex_};
            if (--home_.visits_ > 0) return;
            home_.departed_.notify_all();
            if (home_.closing_) home_.tell_of_the_last();
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

        explicit operator bool() const noexcept { return where_ != nullptr; }
        net::loop& loop() const { return *where_; }
        const std::shared_ptr<engine>& running() const { return what_; }

    private:
        link& home_;
        net::loop* where_ = nullptr;
        std::shared_ptr<engine> what_;
    };

    // For a call that is awaited: a visit to be let go of as soon as the call is on its way to the
    // loop, as the thread that ends it waits for that. Empty after the end.
    std::shared_ptr<visit> enter() {
        auto made = std::make_shared<visit>(*this);
        return *made ? made : nullptr;
    }

    // The end begins, and waits until the last visit is over. On the loop.
    static boost::asio::awaitable<void> close(std::shared_ptr<link> self) {
        {
            const std::lock_guard lock{self->mutex_};
            self->closing_ = true;
            if (self->visits_ == 0) co_return;
        }
        auto waiting = self->deserted_->wait();
        co_await std::move(waiting);
    }
    // Where the loop has ended, and each caller that blocked in it is on its way out. Blocks.
    void await_departures() {
        std::unique_lock lock{mutex_};
        departed_.wait(lock, [this] { return visits_ == 0; });
    }
    // The end. REQUIRES: closed, or the loop has ended.
    void cut() {
        std::shared_ptr<engine> last;
        const std::lock_guard lock{mutex_};
        where_ = nullptr;
        last.swap(what_);
    }

private:
    void tell_of_the_last() {
        attachment_->post([told = deserted_] { told->set(); });
    }

    const net::fork_check process_;
    const std::shared_ptr<net::attachment> attachment_;
    const std::shared_ptr<net::event> deserted_ = std::make_shared<net::event>();
    std::mutex mutex_;
    std::condition_variable departed_;
    // Under mutex_
    std::size_t visits_ = 0;
    bool closing_ = false;
    net::loop* where_;
    std::shared_ptr<engine> what_;
};

}  // namespace pawl::runtime
