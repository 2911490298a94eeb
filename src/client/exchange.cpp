#include "client/exchange.hpp"

#include "base/ascii.hpp"
#include "net/byte_stream.hpp"
#include "net/callback_timer.hpp"

#include <pawl/clock.hpp>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace pawl::client {
namespace {

namespace beast = boost::beast::http;

constexpr std::size_t piece_bytes = std::size_t{64} * 1024;
// Resolving a name cannot be called off, and connecting opens the socket anew.
constexpr millis close_again{50};

// Closes a stream on which too much time has passed, until its user has noticed.
class watch : public std::enable_shared_from_this<watch> {
public:
    watch(std::shared_ptr<net::byte_stream> what, const net::byte_stream::executor_type& executor)
        : what_{std::move(what)}, timer_{executor} {}

    void begin(millis bound) {
        timer_.call_after(bound, [self = shared_from_this()] {
            if (self->over_) return;
            self->expired_ = true;
            self->what_->close();
            self->begin(close_again);
        });
    }
    void end() {
        over_ = true;
        timer_.cancel();
    }
    bool expired() const noexcept { return expired_; }

private:
    std::shared_ptr<net::byte_stream> what_;
    net::callback_timer timer_;
    bool expired_ = false;
    bool over_ = false;
};

}  // namespace

std::string_view answer::find(std::string_view name) const {
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& one) { return one.first == name; });
    return found == fields.end() ? std::string_view{} : found->second;
}

// One connection, from connecting to the last byte. On the loop only.
class caller::talk {
public:
    talk(net::loop& loop, const address& where, std::shared_ptr<boost::asio::ssl::context> trust,
         length how)
        : executor_{loop.get_executor()},
          stream_{std::make_shared<net::byte_stream>(executor_)},
          where_{where},
          trust_{std::move(trust)},
          how_{how} {
        parser_.header_limit(head_bytes_max);
        parser_.eager(true);
        if (how == length::endless)
            parser_.body_limit(boost::none);
        else
            parser_.body_limit(body_bytes_max);
    }

    static async<answer> begin(std::shared_ptr<talk> self, std::string request, errc unanswered) {
        self->until_ = lease_clock::now() + self->where_.timeout;
        const auto guard = std::make_shared<watch>(self->stream_, self->executor_);
        guard->begin(self->where_.timeout);
        auto talking = talk_first(self, std::move(request), unanswered);
        auto done = co_await std::move(talking);
        guard->end();
        if (done.has_error()) {
            if (guard->expired())
                co_return failure{self->sent_ ? unanswered : errc::unreachable,
                                  self->place() + self->too_late()};
            co_return std::move(done).error();
        }
        co_return self->head();
    }

    static async<std::optional<std::string>> more(std::shared_ptr<talk> self) {
        while (self->parser_.get().body().empty()) {
            if (self->parser_.is_done()) co_return std::optional<std::string>{};
            const auto guard = std::make_shared<watch>(self->stream_, self->executor_);
            guard->begin(self->time_left());
            auto receiving = receive(self, errc::unreachable);
            auto done = co_await std::move(receiving);
            guard->end();
            if (guard->expired())
                co_return failure{errc::unreachable, self->place() + self->too_late()};
            if (done.has_error()) co_return std::move(done).error();
        }
        std::optional<std::string> piece{std::move(self->parser_.get().body())};
        self->parser_.get().body().clear();
        co_return piece;
    }

    static async<bool> close(std::shared_ptr<talk> self) {
        self->stream_->close();
        co_return true;
    }

private:
    // For the next piece: a stream may go on, while an answer has to come whole in its time.
    millis time_left() const {
        if (how_ == length::endless) return where_.timeout;
        return std::max(std::chrono::ceil<millis>(until_ - lease_clock::now()), millis{0});
    }
    std::string place() const { return text_of(where_) + ": "; }
    std::string too_late() const {
        return "no answer within " + base::format_duration(where_.timeout);
    }

    failure at_place(const failure& what) const { return {what.code, place() + what.detail}; }

    static async<void> talk_first(std::shared_ptr<talk> self, std::string request,
                                  errc unanswered) {
        auto connecting = self->stream_->connect_tcp(self->where_.host, self->where_.port);
        const auto connected = co_await std::move(connecting);
        if (connected.has_error()) co_return self->at_place(connected.error());
        if (self->trust_) {
            const auto& named = self->where_.trust.server_name;
            auto securing =
                self->stream_->start_tls(self->trust_, named.empty() ? self->where_.host : named);
            const auto secured = co_await std::move(securing);
            if (secured.has_error()) co_return self->at_place(secured.error());
        }
        self->sent_ = true;
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        co_await self->stream_->send_all(boost::asio::buffer(request), token);
        if (error) co_return self->broken(error, unanswered);
        while (!self->parser_.is_header_done()) {
            auto receiving = receive(self, unanswered);
            const auto received = co_await std::move(receiving);
            if (received.has_error()) co_return received.error();
        }
        co_return result<void>{};
    }

    failure broken(const boost::system::error_code& error, errc unanswered) {
        if (const auto alert = stream_->explain_alert(error)) {
            // What is answered so badly may have been done, but by who rejects our certificate.
            const bool may_be_done =
                unanswered == errc::outcome_unknown && alert->code != errc::denied;
            return at_place({may_be_done ? unanswered : alert->code, alert->detail});
        }
        return {unanswered, place() + "the connection broke: " + error.message()};
    }

    // Reads once, and parses what has come.
    static async<void> receive(std::shared_ptr<talk> self, errc unanswered) {
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        const auto size =
            co_await self->stream_->receive_some(boost::asio::buffer(self->piece_), token);
        if (error == boost::asio::error::eof ||
            error == boost::asio::ssl::error::stream_truncated) {
            if (!self->parser_.got_some())
                co_return failure{unanswered, self->place() +
                                                  "the connection was closed without "
                                                  "an answer"};
            boost::system::error_code early;
            self->parser_.put_eof(early);
            if (early)
                co_return failure{unanswered,
                                  self->place() + "the connection was closed within an answer"};
            co_return result<void>{};
        }
        if (error) co_return self->broken(error, unanswered);
        self->waiting_.append(self->piece_.data(), size);
        co_return self->parse(unanswered);
    }

    result<void> parse(errc unanswered) {
        while (!waiting_.empty() && !parser_.is_done()) {
            boost::system::error_code error;
            const auto taken = parser_.put(boost::asio::buffer(waiting_), error);
            waiting_.erase(0, taken);
            if (error == beast::error::need_more) return {};
            // What was sent may have been done all the same.
            const auto code = unanswered == errc::outcome_unknown ? unanswered : errc::protocol;
            if (error)
                return failure{code,
                               place() + "this is not an answer of an agent: " + error.message()};
        }
        return {};
    }

    answer head() const {
        answer made;
        made.status = parser_.get().result_int();
        for (const auto& field : parser_.get()) {
            const auto name = field.name_string();
            const auto value = field.value();
            made.fields.emplace_back(base::lower({name.data(), name.size()}),
                                     std::string{value.data(), value.size()});
        }
        return made;
    }

    // Constant after construction
    net::byte_stream::executor_type executor_;
    std::shared_ptr<net::byte_stream> stream_;
    address where_;
    std::shared_ptr<boost::asio::ssl::context> trust_;
    length how_;
    // State
    instant until_{};  // of an answer that has an end
    bool sent_ = false;
    std::string waiting_;
    std::array<char, piece_bytes> piece_{};
    beast::response_parser<beast::string_body> parser_;
};

caller::caller(address where, std::string token)
    : where_{std::move(where)}, token_{std::move(token)} {
    if (where_.how != scheme::https) return;
    auto made = net::make_tls_context(where_.trust);
    if (made.has_error())
        throw store_error{{made.error().code, text_of(where_) + ": " + made.error().detail}};
    trust_ = *made;
}

caller::~caller() = default;

std::string caller::text_of_request(const question& what) const {
    const bool is_v6 = where_.host.find(':') != std::string::npos;
    auto text = what.method + " " + where_.prefix + what.target +
                " HTTP/1.1\r\nHost: " + (is_v6 ? "[" + where_.host + "]" : where_.host) + ":" +
                std::to_string(where_.port) + "\r\nAccept: " + what.accept +
                "\r\nUser-Agent: pawl\r\nConnection: close\r\n";
    for (const auto& [name, value] : what.fields)
        text.append(name).append(": ").append(value).append("\r\n");
    if (!token_.empty()) text += "Authorization: Bearer " + token_ + "\r\n";
    if (!what.body.empty()) text += "Content-Type: application/json\r\n";
    if (what.method != "GET")
        text += "Content-Length: " + std::to_string(what.body.size()) + "\r\n";
    return text + "\r\n" + what.body;
}

result<answer> caller::begin(const question& what, length how) {
    current_ = std::make_shared<talk>(loop_, where_, trust_, how);
    const auto unanswered = what.method == "GET" ? errc::unreachable : errc::outcome_unknown;
    return loop_.wait_for(talk::begin(current_, text_of_request(what), unanswered));
}

result<std::optional<std::string>> caller::more() { return loop_.wait_for(talk::more(current_)); }

result<void> caller::read_rest(answer& head) {
    for (;;) {
        auto piece = more();
        if (piece.has_error()) return std::move(piece).error();
        if (!*piece) break;
        head.body += **piece;
        if (head.body.size() > body_bytes_max)
            return failure{errc::protocol, text_of(where_) + ": the answer has no end"};
    }
    loop_.wait_for(talk::close(current_)).value();
    return {};
}

result<answer> caller::ask(const question& what) {
    auto made = begin(what, length::bounded);
    if (made.has_error()) return made;
    const auto rest = read_rest(*made);
    if (rest.has_value()) return made;
    const auto code = what.method == "GET" ? rest.error().code : errc::outcome_unknown;
    return failure{code, rest.error().detail};
}

}  // namespace pawl::client
