// Whoever waits for an answer: the handler of one asynchronous operation, in a form that a queue of
// requests can hold, and that is answered once or never.
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
class asker {
public:
    virtual ~asker() = default;
    // Answers; does nothing when it has been answered before.
    virtual void take(Answer got) = 0;
    // False once it has been answered: it may have been cancelled.
    virtual bool waits() const { return true; }
};

template <class Answer, class Handler>
class handler_asker final : public asker<Answer> {
public:
    explicit handler_asker(Handler&& handler) : handler_{std::move(handler)} {}

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

// When the handler is cancelled, give_up is called with a weak pointer to its asker: whoever holds
// its place in a queue keeps it, so that the answers behind it still find their askers.
template <class Answer, class Handler, class GiveUp>
std::shared_ptr<asker<Answer>> make_asker(Handler&& handler, GiveUp give_up) {
    using made_type = handler_asker<Answer, std::decay_t<Handler>>;
    auto who = std::make_shared<made_type>(std::forward<Handler>(handler));
    auto slot = boost::asio::get_associated_cancellation_slot(who->handler());
    if (slot.is_connected()) {
        std::weak_ptr<asker<Answer>> cancelled{who};
        slot.assign([give_up = std::move(give_up), cancelled](boost::asio::cancellation_type) {
            give_up(cancelled);
        });
    }
    return who;
}

}  // namespace pawl::net
