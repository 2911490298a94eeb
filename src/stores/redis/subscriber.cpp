#include "stores/redis/subscriber.hpp"

#include "base/duration.hpp"
#include "stores/redis/refusals.hpp"
#include "stores/redis/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>

namespace pawl::redis {
namespace {

constexpr millis backoff_min{10};
constexpr millis backoff_max{1000};

}  // namespace

std::shared_ptr<subscriber> subscriber::make(net::loop& where,
                                             std::shared_ptr<const redis_settings> settings,
                                             std::shared_ptr<locator> whereabouts) {
    auto made = std::make_shared<subscriber>(where, std::move(settings), std::move(whereabouts));
    made->attachment_ = net::attach(where.context(), made);
    return made;
}

subscriber::subscriber(net::loop& where, std::shared_ptr<const redis_settings> settings,
                       std::shared_ptr<locator> whereabouts)
    : settings_{std::move(settings)},
      whereabouts_{std::move(whereabouts)},
      executor_{where.get_executor()},
      place_{place_of(*settings_)},
      backoff_{executor_},
      random_{std::random_device{}()} {}

std::uint32_t subscriber::watchers_of(std::string_view channel) const {
    const auto found = channels_.find(channel);
    return found == channels_.end() ? 0 : static_cast<std::uint32_t>(found->second.watchers.size());
}

bool subscriber::is_subscribed(std::string_view channel) const {
    const auto found = channels_.find(channel);
    return found != channels_.end() && found->second.confirmed;
}

// ---- Who waits

void subscriber::join(watcher& who) {
    auto& place = channels_[who.channel_];
    place.watchers.push_back(&who);
    if (place.confirmed) who.become(watcher::state::confirmed);
    if (place.watchers.size() == 1 && connected_) {
        place.subscription = ++subscriptions_;
        ask(request_kind::subscribe, who.channel_, place.subscription);
        flush();
    }
    if (running_ || closed_) return;
    running_ = true;
    boost::asio::co_spawn(executor_, run(shared_from_this()), boost::asio::detached);
}

void subscriber::leave(watcher& who) {
    const auto place = channels_.find(who.channel_);
    if (place == channels_.end()) return;
    std::erase(place->second.watchers, &who);
    if (!place->second.watchers.empty()) return;
    const auto subscription = place->second.subscription;
    channels_.erase(place);
    if (!connected_ || closed_) return;
    ask(request_kind::unsubscribe, who.channel_, subscription);
    flush();
}

// ---- The connection

bool subscriber::has_work() const { return !closed_ && !channels_.empty(); }

boost::asio::awaitable<void> subscriber::run(std::shared_ptr<subscriber> self) {
    while (self->has_work()) {
        const auto opened = co_await open(self);
        if (self->closed_) break;
        if (opened.has_error()) {
            self->retire_attempt(opened.error());
            if (self->has_work()) co_await self->backoff_->wait();
            continue;
        }
        co_await listen(self);
        self->lose();
    }
    self->running_ = false;
}

boost::asio::awaitable<result<void>> subscriber::open(std::shared_ptr<subscriber> self) {
    auto to = self->settings_;
    if (self->whereabouts_) {
        auto found = co_await self->whereabouts_->locate(lease_clock::now() + to->common.timeout);
        if (found.has_error()) co_return found.error();
        to = *found;
        self->place_ = place_of(*to);
        if (self->closed_)
            co_return failure{errc::unreachable, self->place_ + ": the store is closed"};
    }
    auto stream = std::make_shared<net::byte_stream>(self->executor_);
    self->stream_ = stream;
    self->parser_ = std::make_shared<reply_parser>();
    boost::asio::steady_timer patience{self->executor_, self->settings_->common.timeout};
    patience.async_wait([stream](boost::system::error_code cancelled) {
        if (!cancelled) stream->close();
    });
    const auto facts = co_await dial(stream, self->parser_, to);
    patience.cancel();
    if (facts.has_error()) {
        stream->close();
        co_return facts.error();
    }
    self->connected_ = true;
    self->attempts_failed_ = 0;
    self->expected_.clear();
    self->out_.clear();
    self->sending_ = false;
    for (auto& [name, place] : self->channels_) {
        place.subscription = ++self->subscriptions_;
        place.confirmed = false;
        self->ask(request_kind::subscribe, name, place.subscription);
    }
    self->flush();
    co_return result<void>{};
}

// Until the connection is lost.
boost::asio::awaitable<void> subscriber::listen(std::shared_ptr<subscriber> self) {
    const auto stream = self->stream_;
    std::array<char, 4096> bytes;
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    while (!self->closed_) {
        const auto size = co_await stream->receive_some(boost::asio::buffer(bytes), token);
        if (error) co_return;
        self->parser_->feed({bytes.data(), size});
        for (;;) {
            auto got = self->parser_->next();
            if (got.has_error()) co_return;
            if (!got->has_value()) break;
            if (!self->take(**got)) co_return;
        }
    }
}

// Trying again may help or not: those who wait are told at once when it will not.
void subscriber::retire_attempt(const failure& why) {
    const auto step =
        std::min<millis>(backoff_max, backoff_min * (1 << std::min(attempts_failed_, 7u)));
    ++attempts_failed_;
    std::uniform_int_distribution<millis::rep> spread{step.count() / 2, step.count()};
    backoff_->set(lease_clock::now() + millis{spread(random_)});
    for (auto& [name, place] : channels_)
        for (auto* who : place.watchers) {
            who->why_ = why;
            if (why.code != errc::unreachable) who->become(watcher::state::failed);
        }
}

void subscriber::ask(request_kind kind, std::string_view name, std::uint64_t subscription) {
    command_writer{out_, 2}
        .add(kind == request_kind::subscribe ? "SUBSCRIBE" : "UNSUBSCRIBE")
        .add(name);
    expected_.push_back({kind, subscription});
}

void subscriber::flush() {
    if (sending_ || out_.empty()) return;
    sending_ = true;
    auto bytes = std::make_shared<std::string>(std::move(out_));
    out_.clear();
    stream_->send_all(boost::asio::buffer(*bytes),
                      [self = shared_from_this(), stream = stream_, bytes](
                          boost::system::error_code error, std::size_t) {
                          if (stream != self->stream_ || error) return;
                          self->sending_ = false;
                          self->flush();
                      });
}

// ---- What the server says

bool subscriber::take(const reply& push) {
    if (push.is_array() && push.elements.size() == 3 && push.elements[0].text == "message") {
        const auto place = channels_.find(push.elements[1].text);
        if (place == channels_.end()) return true;
        for (auto* who : place->second.watchers) who->become(watcher::state::rung);
        return true;
    }
    // Everything else answers a request, in order.
    if (expected_.empty()) return false;
    const auto asked = expected_.front();
    expected_.pop_front();
    if (push.is_error())
        refuse(asked.subscription, explain_refusal(place_, push.text));
    else if (!push.is_array())
        return false;
    else if (asked.kind == request_kind::subscribe)
        confirm(asked.subscription);
    return true;
}

void subscriber::confirm(std::uint64_t subscription) {
    for (auto& [name, place] : channels_) {
        if (place.subscription != subscription) continue;
        place.confirmed = true;
        for (auto* who : place.watchers) who->become(watcher::state::confirmed);
    }
}

void subscriber::refuse(std::uint64_t subscription, const failure& why) {
    for (auto& [name, place] : channels_) {
        if (place.subscription != subscription) continue;
        for (auto* who : place.watchers) {
            who->why_ = why;
            who->become(watcher::state::failed);
        }
    }
}

// The hint that everybody waited for may be among what was lost.
void subscriber::lose() {
    connected_ = false;
    stream_->close();
    for (auto& [name, place] : channels_) {
        if (place.confirmed)
            for (auto* who : place.watchers) who->become(watcher::state::rung);
        place.confirmed = false;
    }
}

void subscriber::drop() {
    if (stream_) stream_->close();
    if (backoff_) backoff_->wake();
}

void subscriber::close() {
    closed_ = true;
    if (stream_) stream_->close();
    backoff_->wake();
}

void subscriber::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void subscriber::loop_ends() {
    // A store may outlive its loop; what does I/O must not.
    closed_ = true;
    stream_.reset();
    backoff_.reset();
}

// ---- One who waits

watcher::watcher(std::shared_ptr<subscriber> on, std::string channel)
    : on_{std::move(on)}, channel_{std::move(channel)}, bell_{on_->executor_} {
    on_->join(*this);
}

watcher::~watcher() { on_->leave(*this); }

void watcher::become(state next) {
    // What is over stays over.
    if (state_ == state::rung || state_ == state::failed) return;
    state_ = next;
    bell_.cancel();
}

boost::asio::awaitable<result<void>> watcher::confirmed() {
    const auto timeout = on_->settings_->common.timeout;
    if (state_ == state::asked) {
        bell_.expires_after(timeout);
        boost::system::error_code ended;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ended);
        co_await bell_.async_wait(token);
        if (!ended && state_ == state::asked)
            co_return why_.value_or(failure{
                errc::unreachable,
                on_->place_ + ": no subscription within " + base::format_duration(timeout)});
    }
    if (state_ == state::failed) co_return *why_;
    co_return result<void>{};
}

boost::asio::awaitable<result<void>> watcher::rung() {
    if (state_ == state::confirmed) {
        bell_.expires_at(boost::asio::steady_timer::time_point::max());
        boost::system::error_code ended;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ended);
        co_await bell_.async_wait(token);
    }
    if (state_ == state::failed) co_return *why_;
    co_return result<void>{};
}

}  // namespace pawl::redis
