// A type-erased completion handler: that of one asynchronous operation, as a queue of requests can
// hold it. It is called once or never.
#pragma once

#include <pawl/errors.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <optional>
#include <string>
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

// What give_up does then: the caller is told, whose request may have been sent. Posted, because who
// cancels does not expect the cancelled to run before cancel() returns.
template <class Executor, class Answer>
void give_up(const Executor& executor, std::weak_ptr<completion_handler<Answer>> who,
             std::string place) {
    boost::asio::post(executor, [who = std::move(who), place = std::move(place)] {
        if (const auto waits = who.lock())
            waits->take(failure{errc::outcome_unknown, place + ": cancelled by the caller"});
    });
}

}  // namespace pawl::net
