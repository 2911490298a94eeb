// What ties an object to its loop, so that neither outlives the other by mistake.
//
// An object that keeps the handlers of coroutines, which keep the object, would never be freed when
// its loop ends. And an object destroyed on another thread must not touch a loop that is gone.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <mutex>
#include <optional>
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
    explicit attachment(boost::asio::any_io_executor where) : where_{std::move(where)} {}

    // Runs the handler on the loop; drops it when the loop has ended.
    template <class Handler>
    void post(Handler handler) {
        const std::lock_guard lock{mutex_};
        if (where_) boost::asio::post(*where_, std::move(handler));
    }

private:
    friend class attachments;
    void cut() {
        const std::lock_guard lock{mutex_};
        where_.reset();
    }

    std::mutex mutex_;
    std::optional<boost::asio::any_io_executor> where_;  // under mutex_; empty after the end
};

// All attachments of one context: an Asio service, because those are told first when it ends.
class attachments : public boost::asio::execution_context::service {
public:
    using key_type = attachments;
    static inline boost::asio::execution_context::id id;

    explicit attachments(boost::asio::execution_context& owner) : service{owner} {}
    static attachments& of(const boost::asio::any_io_executor& executor);

    // Thread-safe.
    std::shared_ptr<attachment> attach(const boost::asio::any_io_executor& where,
                                       std::weak_ptr<attached> what);
    // One for all that keep no handler of the loop's, and only want to reach it. Thread-safe.
    std::shared_ptr<attachment> own(const boost::asio::any_io_executor& where);

private:
    struct registration {
        std::shared_ptr<attachment> handle;
        std::weak_ptr<attached> what;
    };

    void shutdown() override;

    std::mutex mutex_;
    // Under mutex_
    std::shared_ptr<attachment> own_;
    std::vector<registration> registrations_;
};

inline std::shared_ptr<attachment> attach(const boost::asio::any_io_executor& where,
                                          std::weak_ptr<attached> what) {
    return attachments::of(where).attach(where, std::move(what));
}

inline std::shared_ptr<attachment> attach(const boost::asio::any_io_executor& where) {
    return attachments::of(where).own(where);
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
