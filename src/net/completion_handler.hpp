// A type-erased completion handler: that of one asynchronous operation, as a queue of requests can
// hold it. It is called once or never.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace pawl::net {

// Used on its loop only.
template <class Answer>
class completion_handler {
public:
    virtual ~completion_handler() = default;
    // Answers; does nothing when it has been answered before.
    virtual void take(Answer got) = 0;
    // False once it has been answered: it may have been cancelled.
    virtual bool waits() const { return true; }
};

template <class Answer, class Handler>
class typed_completion_handler final : public completion_handler<Answer> {
public:
    explicit typed_completion_handler(Handler&& handler) : handler_{std::move(handler)} {}

    void take(Answer got) override {
        if (!handler_) return;
        auto slot = boost::asio::get_associated_cancellation_slot(*handler_);
        if (slot.is_connected()) slot.clear();
        auto handler = std::move(*handler_);
        handler_.reset();
        std::move(handler)(std::move(got));
    }
    bool waits() const override { return handler_.has_value(); }

    Handler& handler() { return *handler_; }

private:
    std::optional<Handler> handler_;
};

// When the handler is cancelled, give_up is called with a weak pointer to it: the queue that holds
// its place keeps it, so that the answers behind it still find their handlers.
template <class Answer, class Handler, class GiveUp>
std::shared_ptr<completion_handler<Answer>> make_completion_handler(Handler&& handler,
                                                                    GiveUp give_up) {
    using made_type = typed_completion_handler<Answer, std::decay_t<Handler>>;
    auto who = std::make_shared<made_type>(std::forward<Handler>(handler));
    auto slot = boost::asio::get_associated_cancellation_slot(who->handler());
    if (slot.is_connected()) {
        std::weak_ptr<completion_handler<Answer>> cancelled{who};
        slot.assign([give_up = std::move(give_up), cancelled](boost::asio::cancellation_type) {
            give_up(cancelled);
        });
    }
    return who;
}

}  // namespace pawl::net
