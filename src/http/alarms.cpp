#include "http/alarms.hpp"

namespace pawl::http {

void alarms::set(alarm& one, instant when) {
    one.due_ = when;
    if (when >= one.queued_) return;
    forget(one);
    queue_.emplace(when, &one);
    one.queued_ = when;
    if (queue_.begin()->second == &one) timer_.set(when);
}

void alarms::forget(alarm& one) noexcept {
    if (one.queued_ == instant::max()) return;
    queue_.erase({one.queued_, &one});
    one.queued_ = instant::max();
}

void alarms::ring_what_is_due(instant now) {
    while (!queue_.empty() && queue_.begin()->first <= now) {
        auto& one = *queue_.begin()->second;
        forget(one);
        if (one.due_ <= now) {
            one.clear();
            one.ring_();
        } else if (one.is_set()) {
            set(one, one.due_);
        }
    }
}

boost::asio::awaitable<void> alarms::run() {
    while (!stopped_) {
        ring_what_is_due(lease_clock::now());
        timer_.set(queue_.empty() ? instant::max() : queue_.begin()->first);
        if (stopped_) break;
        co_await timer_.wait();
    }
}

void alarms::stop() {
    stopped_ = true;
    timer_.wake();
}

}  // namespace pawl::http
