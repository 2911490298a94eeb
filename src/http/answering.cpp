#include "http/connection.hpp"

#include "base/text.hpp"

#include <array>
#include <charconv>
#include <exception>
#include <utility>

namespace pawl::http {
namespace {

constexpr std::string_view last_chunk = "0\r\n\r\n";
// Pieces of so much together are sent under TLS as one record.
constexpr std::size_t joined_bytes_max = std::size_t{16} * 1024;

std::string chunk_size_line(std::size_t bytes) {
    std::array<char, 20> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), bytes, 16).ptr;
    return std::string{text.data(), end} + "\r\n";
}

}  // namespace

// A body that counts into what the server holds, for as long as it is being sent.
class connection::held_body {
public:
    held_body(std::shared_ptr<connections> all, const std::string* shared, std::size_t bytes)
        : all_{std::move(all)},
          shared_{shared},
          bytes_{bytes},
          fits_{all_->hold_body(shared, bytes)} {}
    ~held_body() {
        if (fits_) all_->release_body(shared_, bytes_);
    }
    held_body(const held_body&) = delete;
    held_body& operator=(const held_body&) = delete;

    bool fits() const noexcept { return fits_; }

private:
    std::shared_ptr<connections> all_;
    const std::string* shared_;
    std::size_t bytes_;
    bool fits_;
};

// The request that has come, to the end of its response. True where another may follow.
boost::asio::awaitable<bool> connection::converse() {
    auto taken = reader_->take();
    exchange about;
    about.is_head = taken.made->method == "HEAD";
    about.keeps_alive = taken.keeps_alive;
    about.is_http_1_0 = taken.is_http_1_0;
    asked_bytes_ = taken.bytes_held;
    count_held();
    begin_answering(*taken.made);
    response answered;
    if (counted_) {
        auto asking = ask(std::move(taken.made));
        answered = co_await std::move(asking);
    } else {
        answered = all_->reject(503, "the server answers too many requests already: try again");
    }
    bool whole = false;
    if (answered.stream && !about.is_head && !has_no_body(answered.status)) {
        auto streaming = stream(answered, about);
        whole = co_await std::move(streaming);
        end_answering();
        asked_bytes_ = 0;
    } else {
        end_answering();
        // What the request has held makes room for the answer.
        asked_bytes_ = 0;
        count_held();
        auto answering = hand_over(answered, about);
        whole = co_await std::move(answering);
    }
    answered.place.reset();
    if (!whole) co_return false;
    ++all_->counts.requests;
    if (persistence_of(about) != persistence::close) co_return true;
    auto parting = part();
    co_await std::move(parting);
    co_return false;
}

boost::asio::awaitable<response> connection::ask(std::shared_ptr<const request> asked) {
    const auto what = asked->method + ' ' + asked->path;
    std::string why = "an exception of no known kind";
    try {
        auto answering = all_->answer()(std::move(asked));
        auto answered = co_await std::move(answering);
        co_return answered;
    } catch (const std::exception& error) {
        why = base::printable(error.what());
    } catch (...) {
    }
    all_->warn(what + " could not be answered: " + why);
    co_return all_->reject(500, "internal error: see the log of the server");
}

persistence connection::persistence_of(const exchange& about) const {
    if (!about.keeps_alive || all_->is_stopping()) return persistence::close;
    return about.is_http_1_0 ? persistence::keep_said : persistence::keep;
}

// The head of the response, or of the one that takes its place where it cannot be sent.
std::string connection::head_or_excuse(response& answered, head_facts facts) {
    facts.date = all_->date();
    if (auto head = head_of(answered, facts)) return std::move(*head);
    all_->warn("a response has a status or a field that HTTP cannot carry");
    answered = response{500, "text/plain; charset=utf-8", "internal error\n"};
    facts.body = framing::length;
    facts.length = answered.body.size();
    return *head_of(answered, facts);
}

// Sends an answer, or why there is no room for it.
boost::asio::awaitable<bool> connection::hand_over(response& answered, const exchange& about) {
    const bool has_body = !about.is_head && !has_no_body(answered.status);
    const auto* shared = answered.shared_body.get();
    const auto bytes = shared == nullptr ? answered.body.capacity() : shared->size();
    const held_body held{all_, shared, has_body ? bytes : 0};
    if (!held.fits()) {
        answered = all_->reject(503, "the server has no room for another answer: try again");
        ++all_->counts.rejected;
    }
    auto answering = answer(answered, about);
    co_return co_await std::move(answering);
}

boost::asio::awaitable<bool> connection::answer(response& answered, const exchange& about) {
    head_facts facts;
    facts.connection = persistence_of(about);
    facts.length = answered.shared_body ? answered.shared_body->size() : answered.body.size();
    // It is unknown how long the body of a stream would have been.
    if (!has_no_body(answered.status) && !answered.stream) facts.body = framing::length;
    const auto head = head_or_excuse(answered, facts);
    std::string_view body = answered.shared_body ? *answered.shared_body : answered.body;
    if (about.is_head || has_no_body(answered.status)) body = {};
    auto sending = send(head, body);
    co_return co_await std::move(sending);
}

// The request cannot be answered, and nothing after it can be understood.
boost::asio::awaitable<void> connection::turn_down(request_fault why) {
    enter(phase::leaving);
    auto rejection = all_->reject(why.status, why.detail);
    const exchange about;
    auto answering = answer(rejection, about);
    if (!co_await std::move(answering)) co_return;
    auto parting = part();
    co_await std::move(parting);
}

boost::asio::awaitable<void> connection::part() {
    enter(phase::leaving);
    if (cut_) co_return;
    transport_.end_sending();
    give_time(lingering_close_wait);
    std::size_t dropped = 0;
    while (dropped < lingering_close_bytes_max) {
        auto& scratch = all_->scratch();
        const auto got = transport_.discard(scratch.data(), scratch.size());
        dropped += got.bytes;
        if (got.what == transport::outcome::done) continue;
        if (got.what != transport::outcome::wants_read) break;
        auto waiting = ready(tcp::socket::wait_read);
        if (!co_await std::move(waiting)) break;
    }
    cut();
}

// False when the other side has not taken all of it in time.
boost::asio::awaitable<bool> connection::send(std::string_view first, std::string_view second,
                                              std::string_view third) {
    std::array<iovec, 3> pieces{};
    std::size_t count = 0, bytes = 0;
    for (const auto piece : {first, second, third}) {
        if (piece.empty()) continue;
        pieces[count++] = {const_cast<char*>(piece.data()), piece.size()};
        bytes += piece.size();
    }
    std::string joined;
    if (transport_.is_secure() && count > 1 && bytes <= joined_bytes_max) {
        joined.append(first).append(second).append(third);
        pieces[0] = {joined.data(), joined.size()};
        count = 1;
    }
    auto* next = pieces.data();
    std::size_t taken = 0;
    bool timed = false;
    while (count > 0) {
        if (cut_) co_return false;
        const auto step = transport_.send(next, count);
        if (step.what == transport::outcome::done) {
            auto left = step.bytes;
            for (; count > 0 && left >= next->iov_len; ++next, --count) left -= next->iov_len;
            if (count > 0)
                *next = {static_cast<char*>(next->iov_base) + left, next->iov_len - left};
            taken += step.bytes;
            if (timed && taken >= part_bytes) give_time(all_->bounds().write_wait);
            if (taken >= part_bytes) taken = 0;
            if (turn_is_over(step.bytes)) {
                auto turning = give_turn();
                co_await std::move(turning);
            }
            continue;
        }
        if (step.what == transport::outcome::ended || step.what == transport::outcome::failed)
            co_return false;
        if (!timed) give_time(all_->bounds().write_wait);
        timed = true;
        auto waiting = ready(step.what == transport::outcome::wants_read ? tcp::socket::wait_read
                                                                         : tcp::socket::wait_write);
        if (co_await std::move(waiting)) continue;
        if (late_) ++all_->counts.timed_out;
        cut();
        co_return false;
    }
    if (timed) deadline_.clear();
    co_return true;
}

// What the producer of a stream writes into.
class connection::stream_body final : public body_stream {
public:
    stream_body(std::shared_ptr<connection> of, framing how)
        : of_{std::move(of)}, how_{how}, gone_{of_->gone_} {}

    boost::asio::awaitable<bool> write(std::shared_ptr<const std::string> bytes) override {
        if (over_ || gone_.stop_requested()) co_return false;
        // An empty chunk would be the last.
        if (bytes->empty()) co_return true;
        const held_body held{of_->all_, bytes.get(), bytes->size()};
        if (held.fits()) {
            std::string size_line;
            if (how_ == framing::chunked) size_line = chunk_size_line(bytes->size());
            auto sending = of_->send(size_line, *bytes, size_line.empty() ? "" : "\r\n");
            if (co_await std::move(sending)) co_return true;
        }
        is_whole_ = false;
        over_ = true;
        gone_.request_stop();
        co_return false;
    }

    std::stop_token gone() const override { return gone_.get_token(); }
    void end() noexcept { over_ = true; }
    bool is_whole() const noexcept { return is_whole_; }  // so far all has been sent

private:
    std::shared_ptr<connection> of_;
    framing how_;
    std::stop_source gone_;
    bool over_ = false;
    bool is_whole_ = true;
};

boost::asio::awaitable<bool> connection::produce(const producer& body,
                                                 std::shared_ptr<stream_body> into) {
    std::string why = "an exception of no known kind";
    try {
        auto producing = body(into);
        co_await std::move(producing);
        co_return true;
    } catch (const std::exception& error) {
        why = base::printable(error.what());
    } catch (...) {
    }
    all_->warn("a stream ended too early: " + why);
    co_return false;
}

boost::asio::awaitable<bool> connection::stream(response& answered, exchange& about) {
    head_facts facts;
    facts.body = about.is_http_1_0 ? framing::by_close : framing::chunked;
    if (about.is_http_1_0) about.keeps_alive = false;
    facts.connection = persistence_of(about);
    const auto head = head_or_excuse(answered, facts);
    auto beginning = send(head, answered.stream ? std::string_view{} : answered.body);
    if (!co_await std::move(beginning)) co_return false;
    if (!answered.stream) co_return true;
    auto body = std::make_shared<stream_body>(shared_from_this(), facts.body);
    auto producing = produce(answered.stream, body);
    const bool complete = co_await std::move(producing);
    body->end();
    // Without its end the body shows that it is not whole.
    if (!complete || cut_ || !body->is_whole()) co_return false;
    if (facts.body != framing::chunked) co_return true;
    auto ending = send(last_chunk);
    co_return co_await std::move(ending);
}

}  // namespace pawl::http
