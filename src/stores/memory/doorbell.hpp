// Rings a waiter on another loop, and stays safe to use while that loop ends.
//
// Two stores of one process may run on two loops. Posting to a loop that another thread is just
// destroying would race; a doorbell is disconnected first thing when its loop's context shuts down.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace pawl::memory {

// Thread-safe.
class doorbell {
public:
    explicit doorbell(boost::asio::io_context& where) : where_{&where} {}

    template <class Handler>
    void post(Handler handler) {
        const std::lock_guard lock{mutex_};
        if (where_ != nullptr) boost::asio::post(*where_, std::move(handler));
    }

    void disconnect() {
        const std::lock_guard lock{mutex_};
        where_ = nullptr;
    }

private:
    std::mutex mutex_;
    boost::asio::io_context* where_;  // under mutex_; null once the context shuts down
};

// The doorbell of one context: an Asio service, because those are shut down before what they ring.
class doorbell_service : public boost::asio::execution_context::service {
public:
    using key_type = doorbell_service;
    static inline boost::asio::execution_context::id id;

    explicit doorbell_service(boost::asio::execution_context& owner)
        : service{owner},
          bell_{std::make_shared<doorbell>(static_cast<boost::asio::io_context&>(owner))} {}

    std::shared_ptr<doorbell> bell() const { return bell_; }

private:
    void shutdown() override { bell_->disconnect(); }

    std::shared_ptr<doorbell> bell_;
};

}  // namespace pawl::memory
