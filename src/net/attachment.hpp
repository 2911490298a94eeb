// What ties an object to its loop, so that neither outlives the other by mistake.
//
// An object that keeps the handlers of coroutines, which keep the object, would never be freed when
// its loop ends. And an object destroyed on another thread must not touch a loop that is gone.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pawl::net {

class attached {
public:
    virtual ~attached() = default;
    // The loop ends: let go of every handler. Called once, while nothing else runs on the loop.
    virtual void loop_ends() = 0;
};

// Thread-safe.
class attachment {
public:
    explicit attachment(boost::asio::io_context& where) : where_{&where} {}

    // Runs the handler on the loop; drops it when the loop has ended.
    template <class Handler>
    void post(Handler handler) {
        const std::lock_guard lock{mutex_};
        if (where_ != nullptr) boost::asio::post(*where_, std::move(handler));
    }

private:
    friend class attachments;
    void cut() {
        const std::lock_guard lock{mutex_};
        where_ = nullptr;
    }

    std::mutex mutex_;
    boost::asio::io_context* where_;  // under mutex_; null once the context shuts down
};

// All attachments of one context: an Asio service, because those are told first when it ends.
class attachments : public boost::asio::execution_context::service {
public:
    using key_type = attachments;
    static inline boost::asio::execution_context::id id;

    explicit attachments(boost::asio::execution_context& owner)
        : service{owner},
          where_{static_cast<boost::asio::io_context&>(owner)},
          own_{std::make_shared<attachment>(where_)} {}

    // Thread-safe.
    std::shared_ptr<attachment> attach(std::weak_ptr<attached> what);
    // For what keeps no handler of the loop's, and only wants to reach it. Thread-safe.
    const std::shared_ptr<attachment>& own() const { return own_; }

private:
    struct tie {
        std::shared_ptr<attachment> rope;
        std::weak_ptr<attached> what;
    };

    void shutdown() override;

    boost::asio::io_context& where_;
    const std::shared_ptr<attachment> own_;
    std::mutex mutex_;
    std::vector<tie> ties_;  // under mutex_
};

inline std::shared_ptr<attachment> attach(boost::asio::io_context& where,
                                          std::weak_ptr<attached> what) {
    return boost::asio::use_service<attachments>(where).attach(std::move(what));
}

inline std::shared_ptr<attachment> attach(boost::asio::io_context& where) {
    return boost::asio::use_service<attachments>(where).own();
}

// Deletes on the loop, on whatever thread the last holder lets go; with the loop, where it has
// ended.
struct deleted_on_loop {
    std::shared_ptr<attachment> where;

    template <class Object>
    void operator()(Object* object) const {
        where->post([last = std::shared_ptr<Object>{object}] {});
    }
};

}  // namespace pawl::net
