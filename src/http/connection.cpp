#include "http/connection.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace pawl::http {
namespace {

constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

connection::connection(std::shared_ptr<connections> all, tcp::socket socket, const origin& from,
                       purpose what)
    : all_{std::move(all)},
      socket_{std::move(socket)},
      transport_{socket_.native_handle()},
      deadline_{all_->deadlines,
                [this] {
                    late_ = true;
                    boost::system::error_code ignored;
                    socket_.cancel(ignored);
                }},
      look_again_{all_->deadlines, [this] { look_at_peer(); }},
      peer_{from.peer.address()},
      to_loopback_{from.to_loopback},
      purpose_{what} {
    if (peer_.is_v6() && peer_.to_v6().is_v4_mapped())
        peer_ = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, peer_.to_v6());
    place_ = all_->enter(*this);
}

connection::~connection() {
    end_answering();
    cut();
    all_->hold(bytes_held_, 0);
    all_->leave(place_);
}

void connection::cut() noexcept {
    if (cut_) return;
    cut_ = true;
    enter(phase::leaving);
    all_->count_coming(*this, std::exchange(bytes_coming_, 0), 0);
    all_->closed(*this);
    boost::system::error_code ignored;
    socket_.close(ignored);
    gone_.request_stop();
}

void connection::wind_up() {
    if (phase_ == phase::answering)
        gone_.request_stop();
    else if (phase_ != phase::leaving)
        cut();
}

// True where it is a new one.
bool connection::enter(phase next) {
    if (phase_ == next || phase_ == phase::leaving) return false;
    if (next == phase::idle)
        all_->become_idle(place_);
    else if (next == phase::head)
        all_->become_coming(place_);
    else if (next != phase::body)
        all_->become_busy(place_);
    phase_ = next;
    if (next == phase::leaving) all_->begin_leaving();
    return true;
}

void connection::give_time(millis wait) {
    late_ = false;
    deadline_.set(lease_clock::now() + wait);
}

// False when the time given is up, or the connection is cut.
boost::asio::awaitable<bool> connection::ready(tcp::socket::wait_type what) {
    if (cut_ || late_) co_return false;
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    co_await socket_.async_wait(what, token);
    co_return !error && !cut_ && !late_;
}

bool connection::turn_is_over(std::size_t bytes) noexcept {
    moved_ += std::max(bytes, turn_bytes_of_a_step);
    if (moved_ < turn_bytes) return false;
    moved_ = 0;
    return true;
}

boost::asio::awaitable<void> connection::give_turn() {
    co_await boost::asio::post(all_->executor(), boost::asio::use_awaitable);
}

boost::asio::awaitable<void> connection::serve(std::shared_ptr<connection> self) {
    if (self->purpose_ == purpose::turn_away) {
        auto rejecting =
            self->turn_down({503, "the server has no room for another connection: try again"});
        co_await std::move(rejecting);
        co_return;
    }
    if (self->all_->identity) {
        auto greeting = self->greet();
        if (!co_await std::move(greeting)) co_return;
    }
    for (;;) {
        auto reading = self->read_request();
        const auto came = co_await std::move(reading);
        if (came == arrival::fault) {
            auto rejecting = self->turn_down(self->reader_->fault());
            co_await std::move(rejecting);
        }
        if (came != arrival::request) break;
        auto conversing = self->converse();
        if (!co_await std::move(conversing)) break;
    }
    // What waits for a word of the peer would keep it open.
    self->cut();
}

// The handshake of TLS.
boost::asio::awaitable<bool> connection::greet() {
    give_time(all_->bounds().handshake_wait);
    int first = transport_.peek();
    while (first == -1) {
        auto waiting = ready(tcp::socket::wait_read);
        if (!co_await std::move(waiting)) {
            if (late_) ++all_->counts.timed_out;
            co_return false;
        }
        first = transport_.peek();
    }
    if (first == -2) co_return false;
    if (first >= 'A' && first <= 'Z') {
        auto rejecting = turn_down({400, "this port speaks TLS: use https://"});
        co_await std::move(rejecting);
        co_return false;
    }
    const auto warn = [this](std::string_view line) { all_->warn(line); };
    if (!transport_.start_tls(all_->identity->current(lease_clock::now(), warn))) co_return false;
    for (;;) {
        const auto outcome = transport_.shake_hands();
        if (outcome == transport::outcome::done) break;
        if (outcome != transport::outcome::wants_read &&
            outcome != transport::outcome::wants_write) {
            ++all_->counts.malformed;
            co_return false;
        }
        auto waiting = ready(outcome == transport::outcome::wants_read ? tcp::socket::wait_read
                                                                       : tcp::socket::wait_write);
        if (!co_await std::move(waiting)) {
            if (late_) ++all_->counts.timed_out;
            co_return false;
        }
    }
    deadline_.clear();
    co_return true;
}

// False where the connections hold too much already.
bool connection::count_held() {
    const auto read = reader_ ? reader_->bytes_held() : 0;
    const auto coming = asked_bytes_ == 0 && !cut_ ? read : 0;
    all_->count_coming(*this, std::exchange(bytes_coming_, coming), coming);
    const auto now = asked_bytes_ + read;
    return all_->hold(std::exchange(bytes_held_, now), now);
}

boost::asio::awaitable<connection::arrival> connection::read_request() {
    const auto& bounds = all_->bounds();
    if (reader_) reader_->feed({});
    for (;;) {
        const auto state = reader_ ? reader_->where() : request_reader::state::between;
        switch (state) {
            case request_reader::state::complete:
                deadline_.clear();
                co_return arrival::request;
            case request_reader::state::faulty:
                ++all_->counts.malformed;
                co_return arrival::fault;
            case request_reader::state::between:
                if (all_->is_stopping()) co_return arrival::none;
                if (reader_ && reader_->is_empty()) reader_.reset();
                if (enter(phase::idle)) give_time(bounds.idle_wait);
                break;
            case request_reader::state::head:
                if (enter(phase::head)) give_time(bounds.header_wait);
                break;
            case request_reader::state::body:
                if (!enter(phase::body)) break;
                give_time(bounds.body_wait);
                if (reader_->awaits_continue()) {
                    auto sending = send(go_on);
                    if (!co_await std::move(sending)) co_return arrival::none;
                    give_time(bounds.body_wait);
                }
                break;
        }
        const bool room = count_held();
        if (!room) {
            auto rejecting =
                turn_down({503, "the server has no room for another request: try again"});
            co_await std::move(rejecting);
            co_return arrival::none;
        }
        auto receiving = receive();
        if (!co_await std::move(receiving)) co_return arrival::none;
    }
}

// Something more for the reader. False where nothing more comes in time.
boost::asio::awaitable<bool> connection::receive() {
    // Of an idle connection it is known that there is nothing yet.
    auto wanted = phase_ == phase::idle && !transport_.is_secure() ? transport::outcome::wants_read
                                                                   : transport::outcome::done;
    for (;;) {
        if (wanted != transport::outcome::done) {
            auto waiting =
                ready(wanted == transport::outcome::wants_read ? tcp::socket::wait_read
                                                               : tcp::socket::wait_write);
            if (!co_await std::move(waiting)) break;
        }
        auto& scratch = all_->scratch();
        const auto got = transport_.receive(scratch.data(), scratch.size());
        if (got.what == transport::outcome::done) {
            if (!reader_)
                reader_ = std::make_unique<request_reader>(request_reader::bounds{
                    all_->bounds().header_bytes_max, all_->bounds().body_bytes_max,
                    all_->bounds().header_fields_max});
            reader_->feed({scratch.data(), got.bytes});
            if (!turn_is_over(got.bytes)) co_return true;
            auto turning = give_turn();
            co_await std::move(turning);
            co_return !cut_;
        }
        if (got.what == transport::outcome::ended || got.what == transport::outcome::failed) {
            if (phase_ != phase::idle) ++all_->counts.malformed;
            co_return false;
        }
        wanted = got.what;
    }
    if (!late_ || phase_ == phase::idle) co_return false;
    ++all_->counts.timed_out;
    auto rejecting =
        turn_down({408, phase_ == phase::body ? "the body of the request did not come in time"
                                              : "the head of the request did not come in time"});
    co_await std::move(rejecting);
    co_return false;
}

void connection::begin_answering(request& asked) {
    enter(phase::answering);
    counted_ = all_->begin_request();
    if (!counted_) return;
    gone_ = std::stop_source{};
    asked.gone = gone_.get_token();
    asked.peer = peer_.to_string();
    asked.from_loopback = peer_.is_loopback();
    asked.to_loopback = to_loopback_;
    asked.secure = transport_.is_secure();
    // Most handlers have answered when this is run.
    boost::asio::post(all_->executor(), [self = shared_from_this(), serial = ++serial_] {
        if (self->counted_ && self->serial_ == serial) self->watch_peer();
    });
}

void connection::end_answering() noexcept {
    if (!std::exchange(counted_, false)) return;
    look_again_.clear();
    gone_ = std::stop_source{std::nostopstate};
    all_->end_request();
}

void connection::watch_peer() {
    if (watching_ || cut_) return;
    watching_ = true;
    socket_.async_wait(tcp::socket::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->watching_ = false;
                           if (!error) self->look_at_peer();
                       });
}

void connection::look_at_peer() {
    if (!counted_ || cut_) return;
    const auto first = transport_.peek();
    if (first == -1) return watch_peer();
    if (first == -2 || transport_.peer_has_ended())
        gone_.request_stop();
    else
        look_again_.set(lease_clock::now() + peer_looked_at_every);
}

}  // namespace pawl::http
