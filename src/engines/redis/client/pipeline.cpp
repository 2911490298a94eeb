#include "engines/redis/client/pipeline.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "base/identity.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <vector>

namespace pawl::redis {
namespace {

// Who waits for less by no more than this share of the timeout is in no hurry.
constexpr int hurry_share = 64;

}  // namespace

std::shared_ptr<pipeline> pipeline::make(net::loop& where,
                                         std::shared_ptr<const redis_settings> settings,
                                         pipeline_bounds bounds,
                                         std::shared_ptr<locator> whereabouts) {
    auto made =
        std::make_shared<pipeline>(where, std::move(settings), bounds, std::move(whereabouts));
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

pipeline::pipeline(net::loop& where, std::shared_ptr<const redis_settings> settings,
                   pipeline_bounds bounds, std::shared_ptr<locator> whereabouts)
    : settings_{std::move(settings)},
      bounds_{bounds},
      whereabouts_{std::move(whereabouts)},
      executor_{where.get_executor()},
      place_{place_of(*settings_)},
      deadlines_{executor_},
      backoff_{executor_},
      retries_{base::fresh_seed()} {}

// ---- Asking

// No coroutine of its own: each frame costs every request.
boost::asio::awaitable<answer> pipeline::ask(std::string_view commands, std::size_t count,
                                             instant deadline, store_down unconnected) {
    auto begin = [this, commands, count, deadline, unconnected](auto&& handler) {
        submit(commands, count, deadline, unconnected, std::forward<decltype(handler)>(handler));
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(answer)>(
        begin, boost::asio::use_awaitable);
}

std::optional<failure> pipeline::reject(std::string_view commands, store_down unconnected) const {
    if (state_ == state::closed)
        return failure{errc::unreachable, place_ + ": the store is closed"};
    if (requests_.size() >= bounds_.requests_max ||
        out_.size() + commands.size() > bounds_.unsent_max)
        return failure{errc::unreachable, place_ + ": too many requests wait for an answer"};
    // A wrong password does not become right within the back-off.
    const bool tell = last_failure_ &&
                      (bounds_.unconnected == store_down::fail || !may_pass(last_failure_->code));
    if (state_ == state::idle && tell && lease_clock::now() < not_before_) return last_failure_;
    // The last attempt to connect has failed, and the next one has not begun.
    if (unconnected == store_down::fail && state_ != state::connected && last_failure_ &&
        lease_clock::now() < not_before_)
        return failure{errc::unreachable, last_failure_->detail};
    return std::nullopt;
}

void pipeline::enqueue(std::string_view commands, std::size_t count, instant deadline,
                       store_down unconnected, std::shared_ptr<completion_handler> who) {
    if (auto rejected = reject(commands, unconnected)) {
        // Posted: an answer must not come before the question has been asked.
        boost::asio::post(executor_, [who = std::move(who), rejected = std::move(*rejected)] {
            who->take(rejected);
        });
        return;
    }
    const bool quiet = requests_.empty();
    const auto begin = handed_over_ + out_.size();
    out_.append(commands);
    auto& added = requests_.emplace_back();
    added.who = std::move(who);
    added.begin = begin;
    added.end = begin + commands.size();
    const auto timeout = settings_->common.timeout;
    added.overdue = lease_clock::now() + timeout;
    added.deadline = std::min(deadline, added.overdue);
    // About as long as the timeout is as long: who asks several servers sets one deadline for all.
    if (deadline >= added.overdue - timeout / hurry_share) added.overdue = added.deadline;
    if (added.deadline < added.overdue) {
        hasty_ = true;
        deadlines_.bring_forward(deadline);
    }
    added.unconnected = unconnected;
    added.replies_left = count;
    if (count > 1) added.collected.emplace();
    if (deadlines_.when() == instant::max()) arm();
    if (state_ == state::idle) start_connecting();
    if (state_ != state::connected || corked_) return;
    if (quiet)
        flush();
    else
        flush_soon();
}

// ---- Connecting

void pipeline::start_connecting() {
    state_ = state::connecting;
    boost::asio::co_spawn(executor_, connect(shared_from_this()), boost::asio::detached);
}

boost::asio::awaitable<void> pipeline::connect(std::shared_ptr<pipeline> self) {
    while (self->state_ == state::connecting) {
        if (lease_clock::now() < self->not_before_) {
            self->backoff_->set(self->not_before_);
            co_await self->backoff_->wait();
            continue;
        }
        self->given_up_.reset();
        self->attempt_deadline_ = lease_clock::now() + self->settings_->common.timeout;
        self->arm();
        const auto opened = co_await open(self);
        self->attempt_deadline_ = instant::max();
        if (self->state_ != state::connecting) break;
        if (opened.has_value()) {
            self->stand();
            co_return;
        }
        if (self->stream_) self->stream_->close();
        // What ended it is told, and not that it was ended.
        const auto given_up = std::exchange(self->given_up_, std::nullopt);
        if (!self->retire_attempt(given_up ? *given_up : opened.error())) co_return;
    }
}

async<void> pipeline::open(std::shared_ptr<pipeline> self) {
    auto to = self->settings_;
    if (self->whereabouts_) {
        auto found = co_await self->whereabouts_->locate(self->attempt_deadline_);
        if (found.has_error()) co_return found.error();
        if (self->state_ != state::connecting)
            co_return failure{errc::unreachable, self->place_ + ": the store is closed"};
        // No deadline is left for a connection to it.
        if (self->given_up_) co_return *self->given_up_;
        to = *found;
        self->place_ = place_of(*to);
    }
    auto stream = std::make_shared<net::byte_stream>(self->executor_);
    auto parser = std::make_shared<reply_parser>();
    self->stream_ = stream;
    self->parser_ = parser;
    auto facts = co_await dial(stream, parser, to);
    if (to->lent_by) self->place_ = place_over(*stream, *to);
    if (facts.has_error()) co_return facts.error();
    self->facts_ = std::move(*facts);
    co_return result<void>{};
}

void pipeline::stand() {
    state_ = state::connected;
    retries_.succeeded();
    not_before_ = instant{};
    last_failure_.reset();
    sending_ = false;
    receive();
    flush();
}

// True when another attempt is to be made.
bool pipeline::retire_attempt(failure why) {
    not_before_ = lease_clock::now() + retries_.failed();
    last_failure_ = std::move(why);
    if (may_pass(last_failure_->code) && bounds_.unconnected == store_down::retry) {
        drop_impatient();
        expire_unsent(lease_clock::now());
        if (!requests_.empty()) return true;
        state_ = state::idle;
        return false;
    }
    state_ = state::idle;
    drop_unsent();
    return false;
}

// ---- Sending

// How much of out_ may go without more than in_flight_max requests being in flight.
std::size_t pipeline::sendable() const {
    if (leaves_for_) return static_cast<std::size_t>(leaves_at_ - handed_over_);
    if (requests_.size() <= bounds_.in_flight_max) return out_.size();
    const auto end = requests_[bounds_.in_flight_max - 1].end;
    return end > handed_over_ ? static_cast<std::size_t>(end - handed_over_) : 0;
}

void pipeline::flush() {
    if (state_ != state::connected || sending_) return;
    const auto size = sendable();
    if (size == 0) return;
    if (stream_->is_secure()) return flush_secure(size);
    boost::system::error_code error;
    const auto sent = stream_->send_now(std::string_view{out_}.substr(0, size), error);
    out_.erase(0, sent);
    handed_over_ += sent;
    // The reader will see the same and tells the callers.
    if (error || sent == size) return;
    sending_ = true;
    stream_->when_writable([self = shared_from_this(), stream = stream_](auto) {
        if (stream != self->stream_) return;
        self->sending_ = false;
        self->flush();
    });
}

void pipeline::flush_secure(std::size_t size) {
    in_transit_.assign(out_, 0, size);
    out_.erase(0, size);
    handed_over_ += size;
    sending_ = true;
    // The bytes are kept alive by the handler, as another stream may need in_transit_ before that.
    auto bytes = std::make_shared<std::string>(std::move(in_transit_));
    stream_->send_all(boost::asio::buffer(*bytes),
                      [self = shared_from_this(), stream = stream_, bytes](auto, std::size_t) {
                          if (stream != self->stream_) return;
                          self->sending_ = false;
                          self->flush();
                      });
}

// Behind what else is about to run on the loop: other callers may add to the same write.
void pipeline::flush_soon() {
    if (flush_posted_) return;
    flush_posted_ = true;
    boost::asio::post(executor_, [self = shared_from_this()] {
        self->flush_posted_ = false;
        self->flush();
    });
}

// ---- Receiving

void pipeline::receive() {
    stream_->receive_some(boost::asio::buffer(bytes_),
                          [self = shared_from_this(), stream = stream_](
                              boost::system::error_code error, std::size_t size) {
                              self->received(stream, error, size);
                          });
}

void pipeline::received(const std::shared_ptr<net::byte_stream>& stream,
                        boost::system::error_code error, std::size_t size) {
    if (stream != stream_ || state_ != state::connected) return;
    if (error) {
        const auto why = error == boost::asio::error::eof ? std::string{"the connection was closed"}
                                                          : error.message();
        return break_off(failure{errc::outcome_unknown, place_ + ": " + why});
    }
    parser_->feed({bytes_.data(), size});
    corked_ = true;
    const bool stands = deal_out(stream);
    corked_ = false;
    if (!stands) return;
    if (leaves_for_ && is_heard_out()) return end_leaving();
    flush();
    receive();
}

// False when the connection no longer stands.
bool pipeline::deal_out(const std::shared_ptr<net::byte_stream>& stream) {
    const auto parser = parser_;
    for (;;) {
        auto got = parser->next();
        if (got.has_error()) {
            break_off(
                failure{errc::protocol, place_ + " does not speak RESP: " + got.error().detail});
            return false;
        }
        if (!got->has_value()) return true;
        if (requests_.empty() || requests_.front().begin >= handed_over_) {
            break_off(failure{errc::protocol, place_ + " does not speak RESP: a reply to nothing"});
            return false;
        }
        deal(std::move(**got));
        if (stream != stream_ || state_ != state::connected) return false;
    }
}

void pipeline::deal(reply got) {
    auto& first = requests_.front();
    --first.replies_left;
    if (first.collected) {
        first.collected->push_back(std::move(got));
        if (first.replies_left > 0) return;
        got = reply{};
        got.kind = reply_kind::array;
        got.elements = std::move(*first.collected);
    }
    const auto who = std::move(first.who);
    requests_.pop_front();
    who->take(std::move(got));
}

// The connection is over. What was sent may have been executed; the rest was not.
void pipeline::break_off(const failure& why) {
    stream_->close();
    stream_.reset();
    state_ = state::idle;
    sending_ = false;
    leaves_for_.reset();
    last_failure_ = failure{errc::unreachable, why.detail, why.answered};
    requests gone;
    while (!requests_.empty() && requests_.front().begin < handed_over_) {
        gone.push_back(std::move(requests_.front()));
        requests_.pop_front();
    }
    if (!gone.empty()) forget_bytes_until(gone.back().end);
    // Under quarantine a claim names the life of the server that it was meant for.
    if (settings_->common.quarantine)
        drop_unsent();
    else
        expire_unsent(lease_clock::now());
    if (!requests_.empty() && state_ == state::idle) start_connecting();
    fail_all(gone, why);
}

// Bytes of requests that are gone are not sent any more.
void pipeline::forget_bytes_until(std::uint64_t offset) {
    if (offset <= handed_over_) return;
    out_.erase(0, static_cast<std::size_t>(offset - handed_over_));
    handed_over_ = offset;
}

void pipeline::fail_all(const requests& gone, const failure& why) {
    const auto self = shared_from_this();
    for (const auto& one : gone) one.who->take(why);
}

// ---- Deadlines

void pipeline::arm() {
    auto next = attempt_deadline_;
    if (!requests_.empty()) {
        const bool connected = state_ == state::connected;
        const auto& first = requests_.front();
        next = std::min(next, connected ? first.overdue : first.deadline);
    }
    deadlines_.arm(next, shared_from_this(), &pipeline::check_deadlines);
}

failure pipeline::unanswered() const {
    const auto* hint = settings_->lent_by ? " from connections.redis, or over what it gave"
                       : settings_->tls   ? " (a plain port wants redis://)"
                                          : "";
    return {errc::unreachable, place_ + ": no answer within " +
                                   base::format_duration(settings_->common.timeout) + hint};
}

void pipeline::check_deadlines() {
    const auto now = lease_clock::now();
    const auto waited = base::format_duration(settings_->common.timeout);
    if (state_ == state::connecting && attempt_deadline_ <= now) {
        given_up_ = unanswered();
        if (!last_failure_) last_failure_ = given_up_;
        attempt_deadline_ = instant::max();
        if (stream_) stream_->close();
    }
    if (hasty_) expire_hasty(now);
    const bool connected = state_ == state::connected;
    if (!connected)
        expire_unsent(now);
    else if (!requests_.empty() && requests_.front().overdue <= now)
        break_off(failure{errc::outcome_unknown, place_ + ": no answer within " + waited});
    if (state_ != state::closed && (!requests_.empty() || attempt_deadline_ != instant::max()))
        arm();
}

// Those that wait for less than the timeout are told, and keep their place in the queue: that one
// is in a hurry says nothing of the connection, which others share.
void pipeline::expire_hasty(instant now) {
    instant next = instant::max();
    std::vector<std::shared_ptr<completion_handler>> late;
    // The first of those that were not sent are for expire_unsent().
    const std::size_t from = state_ == state::connected ? 0 : 1;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        auto& one = requests_[i];
        if (one.deadline == one.overdue) continue;  // no caller in a hurry, or told
        if (one.deadline > now) {
            next = std::min(next, one.deadline);
        } else if (i >= from) {
            late.push_back(one.who);
            one.deadline = one.overdue;
        }
    }
    hasty_ = next != instant::max();
    deadlines_.bring_forward(next);
    for (const auto& who : late)
        who->take(failure{errc::outcome_unknown, place_ + ": no answer in time"});
}

// REQUIRES, as expire_unsent: nothing of what is asked was sent on a connection that stands.
void pipeline::drop_unsent() {
    requests gone;
    gone.swap(requests_);
    forget_bytes_until(handed_over_ + out_.size());
    fail_all(gone, failure{*last_failure_});
}

// REQUIRES: nothing of what is asked was sent on a connection that stands, and the last attempt to
// get one has failed.
void pipeline::drop_impatient() {
    requests gone, kept;
    std::string left;
    for (auto& one : requests_) {
        if (one.unconnected == store_down::fail) {
            gone.push_back(std::move(one));
            continue;
        }
        const auto bytes =
            std::string_view{out_}.substr(static_cast<std::size_t>(one.begin - handed_over_),
                                          static_cast<std::size_t>(one.end - one.begin));
        one.begin = handed_over_ + left.size();
        left += bytes;
        one.end = handed_over_ + left.size();
        kept.push_back(std::move(one));
    }
    requests_ = std::move(kept);
    if (gone.empty()) return;
    out_ = std::move(left);
    fail_all(gone, failure{errc::unreachable, last_failure_->detail});
}

void pipeline::expire_unsent(instant now) {
    requests gone;
    while (!requests_.empty() && requests_.front().deadline <= now) {
        gone.push_back(std::move(requests_.front()));
        requests_.pop_front();
    }
    if (gone.empty()) return;
    forget_bytes_until(gone.back().end);
    // The first attempt may have begun a moment after the first of those who wait for it.
    const auto why = last_failure_.value_or(unanswered());
    fail_all(gone, failure{errc::unreachable, why.detail});
}

// ---- Letting go

void pipeline::drop(const std::string& why) {
    not_before_ = instant{};
    if (state_ == state::connected)
        break_off(failure{errc::outcome_unknown, place_ + ": " + why});
    else if (state_ == state::connecting) {
        if (stream_) stream_->close();
        backoff_->wake();
    }
}

void pipeline::leave(std::string why) {
    if (state_ != state::connected || leaves_for_) return;
    // Its server is there.
    leaves_for_ = failure{errc::outcome_unknown, place_ + ": " + std::move(why), true};
    // A request that has gone in part has to go as a whole.
    leaves_at_ = handed_over_;
    for (const auto& one : requests_)
        if (one.begin < handed_over_) leaves_at_ = std::max(leaves_at_, one.end);
    if (!corked_ && is_heard_out()) end_leaving();
}

bool pipeline::is_heard_out() const {
    return handed_over_ == leaves_at_ &&
           (requests_.empty() || requests_.front().begin >= handed_over_);
}

void pipeline::end_leaving() {
    not_before_ = instant{};
    break_off(failure{*leaves_for_});
}

void pipeline::retire(const std::string& why) {
    if (state_ == state::closed) return;
    if (state_ == state::connected) break_off(failure{errc::outcome_unknown, place_ + ": " + why});
    last_failure_ = failure{errc::unreachable, place_ + ": " + why};
    close();
    drop_unsent();
}

std::optional<finding> pipeline::examine_tls() {
    if (state_ != state::connected || !stream_->is_secure()) return std::nullopt;
    return stream_->examine_tls();
}

// ---- Ending

void pipeline::close() {
    state_ = state::closed;
    if (stream_) stream_->close();
    deadlines_.end();
    backoff_->wake();
}

void pipeline::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void pipeline::loop_ends() {
    // A store may outlive its loop; what does I/O must not.
    state_ = state::closed;
    stream_.reset();
    deadlines_.drop();
    backoff_.reset();
    const requests gone = std::move(requests_);
    requests_.clear();
}

}  // namespace pawl::redis
