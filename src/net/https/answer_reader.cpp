#include "net/https/answer_reader.hpp"

#include "base/ascii.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace pawl::net {

namespace beast = boost::beast::http;

namespace {

// So many answers such as 100 Continue may come before the one that counts.
constexpr int interim_max = 8;

// Beast waits for the end of the first line, which another protocol may not have.
bool may_be_http(std::string_view begin) {
    constexpr std::string_view http = "HTTP/1.";
    const auto size = std::min(begin.size(), http.size());
    return begin.substr(0, size) == http.substr(0, size);
}

std::string in_words(const boost::system::error_code& error) {
    if (error == beast::error::header_limit)
        return "has a head of more than " + std::to_string(head_max) + " bytes";
    if (error == beast::error::body_limit || error == beast::error::buffer_overflow)
        return "has a larger body than is allowed";
    if (error == beast::error::partial_message) return "ends in its middle";
    return "is not HTTP: " + error.message();
}

}  // namespace

struct answer_reader::state {
    using parser_type = beast::response_parser<beast::string_body>;

    void begin() {
        parser.emplace();
        parser->header_limit(static_cast<std::uint32_t>(head_max));
        parser->eager(true);
        parser->skip(shape == answer_shape::headless);
        if (shape == answer_shape::endless)
            parser->body_limit(boost::none);
        else
            parser->body_limit(body_max);
    }
    bool is_interim() const {
        const auto status = parser->get().result_int();
        return status >= 100 && status < 200 && status != 101;
    }

    answer_shape shape = answer_shape::bounded;
    std::size_t body_max = 0;
    std::optional<parser_type> parser;
    std::string waiting;  // not parsed yet
    int interims = 0;
    bool begun = false;
};

answer_reader::answer_reader(answer_shape shape, std::size_t body_max)
    : state_{std::make_unique<state>()} {
    state_->shape = shape;
    state_->body_max = body_max;
    state_->begin();
}

answer_reader::~answer_reader() = default;

std::string answer_reader::take(std::string_view bytes) {
    auto& on = *state_;
    on.begun = on.begun || !bytes.empty();
    on.waiting.append(bytes);
    while (!on.waiting.empty()) {
        if (on.parser->is_done()) {
            if (!on.is_interim()) break;
            if (++on.interims > interim_max) return "has no end of interim answers";
            on.begin();
        }
        if (!on.parser->got_some() && !may_be_http(on.waiting)) return "is not HTTP";
        boost::system::error_code error;
        const auto taken = on.parser->put(boost::asio::buffer(on.waiting), error);
        on.waiting.erase(0, taken);
        if (error == beast::error::need_more) {
            // Beast looks for the limit where it finds the end of a line.
            if (!on.parser->is_header_done() && on.waiting.size() > head_max)
                return in_words(beast::error::header_limit);
            return {};
        }
        if (error) return in_words(error);
    }
    return {};
}

std::string answer_reader::take_end() {
    if (is_whole()) return {};
    boost::system::error_code error;
    if (!has_begun()) error = beast::error::partial_message;
    if (!error) state_->parser->put_eof(error);
    return error ? in_words(error) : std::string{};
}

answer_shape answer_reader::shape() const noexcept { return state_->shape; }

bool answer_reader::has_begun() const noexcept { return state_->begun; }

bool answer_reader::has_head() const noexcept {
    return state_->parser->is_header_done() && !state_->is_interim();
}

bool answer_reader::is_whole() const noexcept {
    return state_->parser->is_done() && !state_->is_interim();
}

bool answer_reader::keeps_connection() const {
    return state_->parser->keep_alive() && !state_->parser->need_eof() && state_->waiting.empty();
}

unsigned answer_reader::status() const { return state_->parser->get().result_int(); }

http_fields answer_reader::fields() const {
    http_fields made;
    for (const auto& field : state_->parser->get()) {
        const auto name = field.name_string();
        const auto value = field.value();
        made.emplace_back(base::lower({name.data(), name.size()}),
                          std::string{value.data(), value.size()});
    }
    return made;
}

std::string answer_reader::take_body() {
    return std::exchange(state_->parser->get().body(), std::string{});
}

}  // namespace pawl::net
