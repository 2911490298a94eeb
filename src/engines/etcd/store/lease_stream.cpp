#include "engines/etcd/store/lease_stream.hpp"

#include "base/duration.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pawl::etcd {

beat::beat(std::shared_ptr<lease_stream> on) : on_{std::move(on)}, number_{++on_->beats_} {
    on_->under_way_.emplace(number_, this);
}

beat::~beat() { on_->under_way_.erase(number_); }

void beat::begin(const std::vector<std::int64_t>& leases) {
    seconds_.resize(leases.size());
    missing_ = leases.size();
    if (leases.empty())
        done_.set();
    else
        on_->send(leases, number_);
}

async<std::vector<std::int64_t>> beat::ended(instant deadline) {
    auto waiting = done_.wait_until(deadline);
    co_await std::move(waiting);
    if (why_) co_return std::move(*why_);
    if (missing_ == 0) co_return std::move(seconds_);
    auto& client = *on_->through_;
    const auto late = lease_clock::now() >= deadline;
    const auto waited = base::format_duration(client.settings().common.timeout);
    failure why{errc::outcome_unknown,
                client.present_place() +
                    (late ? ": no answer within " + waited : ": cancelled by the caller")};
    // Whatever it says later, no caller waits for it any more; the next beat begins anew.
    if (late) on_->give_up_stream(why);
    co_return why;
}

async<std::int64_t> lease_stream::keep_alive(std::int64_t lease, instant deadline) {
    const auto self = shared_from_this();
    const auto stands = co_await through_->ready(deadline);
    if (stands.has_error()) co_return stands.error();
    const auto cancelled = co_await boost::asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != boost::asio::cancellation_type::none)
        co_return failure{errc::outcome_unknown,
                          through_->present_place() + ": cancelled by the caller"};
    beat mine{self};
    const std::vector<std::int64_t> one{lease};
    mine.begin(one);
    const auto got = co_await mine.ended(deadline);
    if (got.has_error()) co_return got.error();
    co_return got->front();
}

void lease_stream::send(const std::vector<std::int64_t>& leases, std::uint64_t number) {
    if (!stream_) {
        stream_ =
            std::make_shared<duplex>(through_->channel(), through_->attachment(), weak_from_this());
        through_->dress(stream_->context(), true);
        stream_->start(method::lease_keep_alive);
    }
    std::vector<grpc::ByteBuffer> requests;
    requests.reserve(leases.size());
    wire::LeaseKeepAliveRequest request;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        expected_[leases[i]].push_back({number, i});
        request.set_id(leases[i]);
        requests.push_back(pack(request));
    }
    stream_->send(std::move(requests));
}

void lease_stream::received(const std::shared_ptr<duplex>& from,
                            const std::vector<grpc::ByteBuffer>& messages) {
    if (from != stream_) return;
    wire::LeaseKeepAliveResponse answer;
    for (const auto& message : messages)
        if (unpack(message, answer)) take(answer);
}

void lease_stream::take(const wire::LeaseKeepAliveResponse& answer) {
    const auto found = expected_.find(answer.id());
    if (found == expected_.end()) return;
    const auto where = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) expected_.erase(found);
    const auto asked = under_way_.find(where.beat);
    if (asked == under_way_.end()) return;
    auto& one = *asked->second;
    one.seconds_[where.index] = std::max<std::int64_t>(answer.ttl(), 0);
    if (--one.missing_ == 0) one.done_.set();
}

void lease_stream::ended(const std::shared_ptr<duplex>& from, const grpc::Status& status) {
    if (from != stream_) return;
    const auto closed =
        status.ok() ? grpc::Status{grpc::StatusCode::UNAVAILABLE, "the stream was closed"} : status;
    give_up_stream(through_->note_stream_end(closed, effect::possible));
}

void lease_stream::give_up_stream(const failure& why) {
    if (stream_) stream_->cancel();
    stream_.reset();
    expected_.clear();
    for (auto& [number, one] : under_way_) {
        if (one->done_.is_set()) continue;
        one->why_ = why;
        one->done_.set();
    }
}

void lease_stream::close_from_anywhere() {
    through_->attachment()->post([self = shared_from_this()] {
        if (self->stream_) self->stream_->cancel();
    });
}

}  // namespace pawl::etcd
