// Questions to the system that block and cannot be called off, such as getaddrinfo(), asked away
// from the loop, and once for all who want the answer at a time.
//
// Each has a thread of its own, which delays no other question and is not waited for when the loop
// ends. One that hangs is asked once, however many give up waiting for it and try again.
#pragma once

#include "net/attachment.hpp"
#include "net/detached_thread.hpp"
#include "net/event.hpp"
#include "net/loop.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace pawl::net {

// Of one loop, and used on it. It outlives the loop where a thread still asks.
template <class Question, class Answer>
class shared_questions final
    : public attached,
      public std::enable_shared_from_this<shared_questions<Question, Answer>> {
public:
    struct kind {
        // Blocks, on the question's thread. Must not throw, and touches nothing of the loop's.
        std::function<Answer(const Question&)> ask;
        // The answer where the machine has no thread left for it.
        std::function<Answer(const Question&, const std::error_code&)> no_thread;
        // On the loop, with each answer to a question that was asked, whether or not it is still
        // waited for. May be empty.
        std::function<void(const Question&, const Answer&)> heard;
        // Questions at a time; a further one waits for one of them.
        std::size_t threads_max = 16;
    };

    static std::shared_ptr<shared_questions> on(const loop::executor_type& executor, kind what) {
        const std::shared_ptr<shared_questions> made{new shared_questions{std::move(what)}};
        made->home_ = attach(executor, made);
        return made;
    }

    // Nothing: the deadline came before the answer, or `interrupted` was set or notified, which
    // outlives the call.
    static boost::asio::awaitable<std::optional<Answer>> answer_to(
        std::shared_ptr<shared_questions> self, Question what, instant deadline,
        event& interrupted) {
        struct waiter {
            std::shared_ptr<asked> with;
            event* who;
            ~waiter() { with->waiting.erase(who); }
        };
        const auto with = self->join(what);
        with->waiting.insert(&interrupted);
        const waiter until_the_end{with, &interrupted};
        if (!with->found) {
            auto waiting = interrupted.wait_until(deadline);
            co_await std::move(waiting);
        }
        co_return with->found;
    }

    void loop_ends() override { queued_.clear(), under_way_.clear(); }

private:
    struct asked {
        std::optional<Answer> found;
        std::set<event*> waiting;
    };

    explicit shared_questions(kind what) : kind_{std::move(what)} {}

    std::shared_ptr<asked> join(const Question& what) {
        auto& one = under_way_[what];
        if (one) return one;
        one = std::make_shared<asked>();
        const auto mine = one;
        begin(what);
        return mine;
    }

    void begin(const Question& what) {
        if (threads_ >= kind_.threads_max) return queued_.push_back(what);
        try {
            run_detached([self = this->shared_from_this(), what] {
                self->home_->post([self, what, found = self->kind_.ask(what)]() mutable {
                    --self->threads_;
                    if (self->kind_.heard) self->kind_.heard(what, found);
                    self->end(what, std::move(found));
                });
            });
            ++threads_;
        } catch (const std::system_error& error) {
            end(what, kind_.no_thread(what, error.code()));
        }
    }

    // One that is not waited for any more holds up no other.
    void begin_queued() {
        while (!queued_.empty() && threads_ < kind_.threads_max) {
            const auto next = std::move(queued_.front());
            queued_.pop_front();
            const auto wanted = under_way_.find(next);
            if (wanted == under_way_.end()) continue;
            if (wanted->second->waiting.empty())
                under_way_.erase(wanted);
            else
                begin(next);
        }
    }

    void end(const Question& what, Answer found) {
        const auto ended = under_way_.extract(what);
        begin_queued();
        if (ended.empty()) return;
        ended.mapped()->found = std::move(found);
        for (auto* each : ended.mapped()->waiting) each->notify_all();
    }

    const kind kind_;
    std::shared_ptr<attachment> home_;
    std::map<Question, std::shared_ptr<asked>> under_way_;
    std::deque<Question> queued_;
    std::size_t threads_ = 0;
};

}  // namespace pawl::net
