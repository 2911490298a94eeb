#include "engines/redis/client/subscriber.hpp"

#include "base/duration.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "engines/redis/client/session.hpp"
#include "net/callback_timer.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <utility>

namespace pawl::redis {

std::shared_ptr<subscriber> subscriber::make(net::loop& where,
                                             std::shared_ptr<const redis_settings> settings,
                                             std::shared_ptr<locator> whereabouts) {
    auto made = std::make_shared<subscriber>(where, std::move(settings), std::move(whereabouts));
    made->attach_to(where);
    return made;
}

subscriber::subscriber(net::loop& where, std::shared_ptr<const redis_settings> settings,
                       std::shared_ptr<locator> whereabouts)
    : change_listener{where},
      settings_{std::move(settings)},
      whereabouts_{std::move(whereabouts)},
      server_{place_of(*settings_)} {}

std::uint32_t subscriber::watchers_of(std::string_view channel) const {
    const auto found = places_.find(channel);
    return found == places_.end() ? 0 : static_cast<std::uint32_t>(found->second.watches.size());
}

bool subscriber::is_subscribed(std::string_view channel) const {
    const auto found = places_.find(channel);
    return found != places_.end() && found->second.confirmed;
}

failure subscriber::unconfirmed() const {
    return {errc::unreachable,
            server_ + ": no subscription within " + base::format_duration(confirmation_bound())};
}

// ---- The connection

async<void> subscriber::open() {
    auto to = settings_;
    if (whereabouts_) {
        auto found = co_await whereabouts_->locate(lease_clock::now() + to->common.timeout);
        if (found.has_error()) co_return found.error();
        to = *found;
        server_ = place_of(*to);
        if (is_closed()) co_return failure{errc::unreachable, server_ + ": the store is closed"};
    }
    auto stream = std::make_shared<net::byte_stream>(executor_);
    stream_ = stream;
    parser_ = std::make_shared<reply_parser>();
    net::callback_timer expiry{executor_};
    expiry.call_after(settings_->common.timeout, [stream] { stream->close(); });
    const auto facts = co_await dial(stream, parser_, to);
    expiry.cancel();
    if (to->lent_by) server_ = place_over(*stream, *to);
    if (facts.has_error()) {
        stream->close();
        co_return facts.error();
    }
    connected_ = true;
    expected_.clear();
    out_.clear();
    sending_ = false;
    for (const auto& [name, where] : places_) ask(request_kind::subscribe, name, where);
    flush();
    co_return result<void>{};
}

boost::asio::awaitable<void> subscriber::listen() {
    const auto stream = stream_;
    std::array<char, 4096> bytes;
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    while (!is_closed()) {
        const auto size = co_await stream->receive_some(boost::asio::buffer(bytes), token);
        if (error) co_return;
        parser_->feed({bytes.data(), size});
        for (;;) {
            auto got = parser_->next();
            if (got.has_error()) co_return;
            if (!got->has_value()) break;
            if (!take(**got)) co_return;
        }
    }
}

void subscriber::disconnect() {
    connected_ = false;
    if (stream_) stream_->close();
}

void subscriber::drop() {
    if (stream_) stream_->close();
    reconnect_now();
}

void subscriber::loop_ends() {
    change_listener::loop_ends();
    stream_.reset();
}

// ---- What the server is asked

void subscriber::name_came(const std::string& name, place& where) {
    if (!connected_) return;
    ask(request_kind::subscribe, name, where);
    flush();
}

void subscriber::name_left(const std::string& name, const place& where) {
    if (!connected_) return;
    ask(request_kind::unsubscribe, name, where);
    flush();
}

void subscriber::ask(request_kind kind, std::string_view name, const place& where) {
    command_writer{out_, 2}
        .add(kind == request_kind::subscribe ? "SUBSCRIBE" : "UNSUBSCRIBE")
        .add(name);
    expected_.push_back({kind, where.number});
}

void subscriber::flush() {
    if (sending_ || out_.empty()) return;
    sending_ = true;
    auto bytes = std::make_shared<std::string>(std::move(out_));
    out_.clear();
    stream_->send_all(boost::asio::buffer(*bytes),
                      [self = std::static_pointer_cast<subscriber>(shared_from_this()),
                       stream = stream_, bytes](boost::system::error_code error, std::size_t) {
                          if (stream != self->stream_ || error) return;
                          self->sending_ = false;
                          self->flush();
                      });
}

// ---- What the server says

bool subscriber::take(const reply& push) {
    if (push.is_array() && push.elements.size() == 3 && push.elements[0].text == "message") {
        const auto told = places_.find(push.elements[1].text);
        if (told != places_.end()) tell(told->second);
        return true;
    }
    // Everything else answers a request, in order.
    if (expected_.empty()) return false;
    const auto asked = expected_.front();
    expected_.pop_front();
    if (!push.is_error() && !push.is_array()) return false;
    if (!push.is_error() && asked.kind == request_kind::unsubscribe) return true;
    for (auto& [name, where] : places_) {
        if (where.number != asked.number) continue;
        if (push.is_error())
            reject(where, explain_rejection(server_, push.text));
        else
            confirm(where);
    }
    return true;
}

}  // namespace pawl::redis
