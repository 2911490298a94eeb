#include "engines/etcd/store/watch_registry.hpp"

#include "base/duration.hpp"

#include <algorithm>

namespace pawl::etcd {

watch::watch(std::shared_ptr<watch_registry> on, std::string key, std::int64_t from_revision)
    : on_{std::move(on)}, id_{++on_->last_id_} {
    on_->watches_.emplace(id_, this);
    on_->place(id_, std::move(key), from_revision);
}

watch::~watch() {
    on_->watches_.erase(id_);
    if (!over_) on_->remove(id_);
}

async<std::int64_t> watch::placed(instant deadline) {
    auto waiting = rung_.wait_until(deadline);
    co_await std::move(waiting);
    if (why_) co_return std::move(*why_);
    if (placed_at_ == 0 && !over_) {
        const auto waited = base::format_duration(on_->through_->settings().common.timeout);
        co_return failure{errc::unreachable,
                          on_->through_->present_place() + ": no watch within " + waited};
    }
    co_return placed_at_;
}

async<bool> watch::deleted() {
    if (!over_ && !deleted_) {
        rung_.reset();
        auto waiting = rung_.wait();
        co_await std::move(waiting);
    }
    if (why_) co_return std::move(*why_);
    co_return deleted_;
}

void watch_registry::place(std::int64_t id, std::string key, std::int64_t from_revision) {
    if (!stream_) {
        stream_ =
            std::make_shared<duplex>(through_->channel(), through_->attachment(), weak_from_this());
        through_->dress(stream_->context(), true);
        stream_->start(method::watch);
    }
    wire::WatchRequest request;
    auto& wanted = *request.mutable_create_request();
    wanted.set_key(std::move(key));
    wanted.set_start_revision(from_revision);
    wanted.set_watch_id(id);
    std::vector<grpc::ByteBuffer> messages;
    messages.push_back(pack(request));
    stream_->send(std::move(messages));
}

void watch_registry::remove(std::int64_t id) {
    if (!stream_) return;
    wire::WatchRequest request;
    request.mutable_cancel_request()->set_watch_id(id);
    std::vector<grpc::ByteBuffer> messages;
    messages.push_back(pack(request));
    stream_->send(std::move(messages));
}

void watch_registry::received(const std::shared_ptr<duplex>& from,
                              const std::vector<grpc::ByteBuffer>& messages) {
    if (from != stream_) return;
    for (const auto& message : messages) {
        wire::WatchResponse answer;
        if (unpack(message, answer)) take(answer);
    }
}

void watch_registry::take(const wire::WatchResponse& answer) {
    const auto found = watches_.find(answer.watch_id());
    if (found == watches_.end()) return;
    auto& one = *found->second;
    if (answer.created()) one.placed_at_ = std::max<std::int64_t>(answer.header().revision(), 1);
    if (answer.canceled()) {
        one.over_ = true;
        // A compacted revision is looked at anew; a watch that never began was rejected.
        if (answer.compact_revision() == 0 && answer.created()) {
            const auto reason = answer.cancel_reason().empty() ? "permission denied to watch"
                                                               : answer.cancel_reason();
            const grpc::Status rejected{grpc::StatusCode::PERMISSION_DENIED, reason};
            one.why_ = explain_rejection(through_->present_place(), rejected, effect::none, "").why;
        }
    }
    const auto& events = answer.events();
    if (std::any_of(events.begin(), events.end(),
                    [](const auto& event) { return event.type() == wire::Event::DELETE; }))
        one.deleted_ = true;
    if (one.placed_at_ != 0 || one.over_ || one.deleted_) one.rung_.set();
}

// What everybody waited for may be among what was lost.
void watch_registry::ended(const std::shared_ptr<duplex>& from, const grpc::Status& status) {
    if (from != stream_) return;
    stream_.reset();
    const auto closed =
        status.ok() ? grpc::Status{grpc::StatusCode::UNAVAILABLE, "the stream was closed"} : status;
    const auto why = through_->note_stream_end(closed, effect::none);
    for (auto& [id, one] : watches_) {
        // Who may not watch would look again for ever.
        if (why.code == errc::denied || why.code == errc::unsupported) one->why_ = why;
        one->over_ = true;
        one->rung_.set();
    }
}

void watch_registry::close_from_anywhere() {
    through_->attachment()->post([self = shared_from_this()] {
        if (self->stream_) self->stream_->cancel();
    });
}

}  // namespace pawl::etcd
