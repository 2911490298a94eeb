// Stores the completion handler of a suspended coroutine until it is resumed.
//
// The owner of one keeps the coroutine that it resumes, so it must be let go of when the context
// of the coroutine ends. Destroyed instead of resumed, it ends the coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>

namespace pawl::net {

// Move-only; empty when it has been resumed. Its context has work as long as it waits.
template <class... Results>
class parked_handler {
public:
    parked_handler() = default;

    template <class Handler>
    parked_handler(Handler what, const boost::asio::any_io_executor& executor)
        : kept_{std::make_unique<kept<Handler>>(std::move(what), executor)} {}

    explicit operator bool() const noexcept { return kept_ != nullptr; }
    void reset() noexcept { kept_.reset(); }

    // Never from within this call: the coroutine goes on in a turn of its own.
    void post(Results... results) {
        auto executor = kept_->work.get_executor();
        auto resume = [what = std::move(kept_), ... told = std::move(results)]() mutable {
            what->resume(std::move(told)...);
        };
        boost::asio::post(executor, std::move(resume));
    }

private:
    struct any {
        explicit any(const boost::asio::any_io_executor& executor) : work{executor} {}
        virtual ~any() = default;
        any(const any&) = delete;
        any& operator=(const any&) = delete;
        virtual void resume(Results... results) = 0;
        boost::asio::executor_work_guard<boost::asio::any_io_executor> work;
    };
    template <class Handler>
    struct kept final : any {
        kept(Handler&& what, const boost::asio::any_io_executor& executor)
            : any{executor}, handler{std::move(what)} {}
        void resume(Results... results) override {
            auto slot = boost::asio::get_associated_cancellation_slot(handler);
            if (slot.is_connected()) slot.clear();
            std::move(handler)(std::move(results)...);
        }
        Handler handler;
    };

    std::unique_ptr<any> kept_;
};

}  // namespace pawl::net
