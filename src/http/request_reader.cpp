#include "http/request_reader.hpp"

#include "base/ascii.hpp"
#include "base/ensure.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace pawl::http {
namespace {

namespace beast = boost::beast::http;
using beast_text = boost::beast::string_view;
using boost::beast::error_code;

std::string_view text_of(beast_text text) { return {text.data(), text.size()}; }

bool is_visible(char letter) { return letter > 0x20 && letter < 0x7f; }

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), base::is_digit);
}

// A host and a port as Host has them: nothing that could be taken for another part of a URL.
bool is_authority(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char letter) {
        return is_visible(letter) &&
               std::string_view{"/?#@\\,;<>\"{}|^`"}.find(letter) == std::string_view::npos;
    });
}

std::string too_large(std::size_t most) {
    return "the body is larger than " + std::to_string(most) +
           " bytes, which is the most that is taken";
}

// A request line of three words, whose last is well formed.
bool names_other_version(std::string_view line) {
    const auto at = line.find(" HTTP/");
    if (std::count(line.begin(), line.end(), ' ') != 2 || at == std::string_view::npos)
        return false;
    const auto version = line.substr(at + 6);
    return version.size() == 3 && version[1] == '.' && is_number(version.substr(0, 1)) &&
           is_number(version.substr(2));
}

// What Beast's parser says, in words for the author of the request.
request_fault explain(const error_code& found, std::string_view head) {
    using beast::error;
    if (found == error::bad_version) {
        if (names_other_version(head.substr(0, head.find('\r'))))
            return {505, "the request is of a version of HTTP that is not spoken here: use 1.1"};
        return {400,
                "the request line is not a method, a target and HTTP/1.1 with a space between"};
    }
    if (found == error::bad_method)
        return {400, "the request line does not begin with a method such as GET"};
    if (found == error::bad_target)
        return {400, "the target of the request line is none: use a path such as /api/v1/locks"};
    if (found == error::bad_field)
        return {400, "a header line is not 'Name: value' with a name of letters, digits and '-'"};
    if (found == error::bad_value)
        return {400, "the value of a header field holds a character that it may not hold"};
    if (found == error::bad_content_length)
        return {400, "Content-Length has to be one number, and without Transfer-Encoding"};
    if (found == error::bad_transfer_encoding)
        return {400, "Transfer-Encoding has to be 'chunked', and without Content-Length"};
    return {400, "the request is malformed: " + found.message()};
}

std::size_t memory_of(const std::string& text) { return sizeof(std::string) + text.capacity(); }

// What the head of a request takes: a few bytes on the wire are a field of two strings.
std::size_t memory_of_head(const request& made) {
    auto bytes = sizeof made + memory_of(made.method) + memory_of(made.path) +
                 memory_of(made.query) +
                 (made.fields.capacity() - made.fields.size()) * sizeof(field);
    for (const auto& one : made.fields) bytes += memory_of(one.name) + memory_of(one.value);
    return bytes;
}

}  // namespace

// Beast reads; what it finds goes straight into the request.
class request_reader::parser final : public beast::basic_parser<true> {
public:
    explicit parser(const bounds& bounded)
        : made_{std::make_shared<request>()}, fields_max_{bounded.fields_max} {
        header_limit(static_cast<std::uint32_t>(bounded.head_bytes_max + 4));
        body_limit(bounded.body_bytes_max);
        eager(true);
    }

    const std::optional<request_fault>& fault() const noexcept { return fault_; }
    bool is_http_1_0() const noexcept { return version_ < 11; }
    request& made() noexcept { return *made_; }
    std::shared_ptr<request> take() { return std::move(made_); }
    bool awaits_continue() const noexcept { return awaits_continue_ && made_->body.empty(); }

    // What Beast does not ask of a head. REQUIRES: the head is complete.
    std::optional<request_fault> examine_head() {
        if (version_ >= 11 && hosts_ == 0)
            return request_fault{400, "the request has no Host: HTTP/1.1 wants one"};
        if (version_ < 11 && chunked())
            return request_fault{400, "Transfer-Encoding is none of HTTP/1.0: use 1.1"};
        if (authority_) name_host();
        awaits_continue_ = version_ >= 11 && base::lower(made_->find("expect")) == "100-continue";
        return std::nullopt;
    }

private:
    // Any error stops the parser; what is answered is the fault.
    void reject(std::string detail, error_code& error, unsigned status = 400) {
        fault_ = request_fault{status, std::move(detail)};
        error = beast::error::bad_value;
    }

    // RFC 9112, 3.2.2: an authority in the target counts, and Host does not.
    void name_host() {
        const auto old = std::find_if(made_->fields.begin(), made_->fields.end(),
                                      [](const field& one) { return one.name == "host"; });
        if (old != made_->fields.end())
            old->value = *authority_;
        else
            made_->fields.push_back({"host", *authority_});
    }

    void on_request_impl(beast::verb, beast_text method, beast_text target, int version,
                         error_code& error) override {
        version_ = version;
        made_->method = text_of(method);
        auto rest = text_of(target);
        if (!std::all_of(rest.begin(), rest.end(), is_visible) ||
            rest.find('#') != std::string_view::npos)
            return reject(
                "the target of the request holds a character that must be escaped, as "
                "%20 for a space",
                error);
        const auto scheme_end = std::min(rest.find("://"), rest.size());
        const auto scheme = base::lower(rest.substr(0, scheme_end));
        if (scheme_end < rest.size() && (scheme == "http" || scheme == "https")) {
            rest.remove_prefix(scheme_end + 3);
            const auto end = std::min(rest.find_first_of("/?"), rest.size());
            authority_ = std::string{rest.substr(0, end)};
            rest.remove_prefix(end);
            if (authority_->empty() || !is_authority(*authority_))
                return reject("the target of the request names no host", error);
        } else if (rest.front() != '/') {
            return reject("the target of the request is not a path; expected '/' first", error);
        }
        const auto question = std::min(rest.find('?'), rest.size());
        made_->path = question == 0 ? std::string{"/"} : std::string{rest.substr(0, question)};
        made_->query = rest.substr(std::min(question + 1, rest.size()));
    }

    void on_field_impl(beast::field name, beast_text text, beast_text value,
                       error_code& error) override {
        if (body_begun_) return;
        if (made_->fields.size() >= fields_max_)
            return reject(
                "the request has more than " + std::to_string(fields_max_) + " header fields",
                error, 431);
        if (name == beast::field::host) {
            if (++hosts_ > 1) return reject("the request has more than one Host", error);
            if (!is_authority(text_of(value)))
                return reject("Host is not a host with or without a port", error);
        }
        if (name == beast::field::content_length && (++lengths_ > 1 || !is_number(text_of(value))))
            return reject("Content-Length has to be one number, and to come once", error);
        if (name == beast::field::transfer_encoding &&
            (++codings_ > 1 || base::lower(text_of(value)) != "chunked"))
            return reject("Transfer-Encoding has to be 'chunked', and once", error);
        made_->fields.push_back({base::lower(text_of(text)), std::string{text_of(value)}});
    }

    void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
        body_begun_ = true;
        // Not for what is only announced, and may never come.
        if (length) made_->body.reserve(std::min<std::size_t>(*length, 4096));
    }

    std::size_t on_body_impl(beast_text bytes, error_code&) override {
        made_->body.append(bytes.data(), bytes.size());
        return bytes.size();
    }

    // Chunks are not put into this parser.
    std::size_t on_chunk_body_impl(std::uint64_t, beast_text, error_code&) override { return 0; }

    void on_response_impl(int, beast_text, int, error_code&) override {}
    void on_header_impl(error_code&) override { body_begun_ = true; }
    void on_chunk_header_impl(std::uint64_t, beast_text, error_code&) override {}
    void on_finish_impl(error_code&) override {}

    std::shared_ptr<request> made_;
    std::size_t fields_max_;
    std::optional<std::string> authority_;
    std::optional<request_fault> fault_;
    int version_ = 0;
    int hosts_ = 0;
    int lengths_ = 0;
    int codings_ = 0;
    bool body_begun_ = false;
    bool awaits_continue_ = false;
};

request_reader::request_reader(const bounds& bounded) : bounds_{bounded} {}

request_reader::~request_reader() = default;

bool request_reader::fail(unsigned status, std::string detail) {
    state_ = state::faulty;
    fault_ = {status, std::move(detail)};
    return false;
}

request_reader::state request_reader::feed(std::string_view bytes) {
    if (kept_.empty()) {
        const auto used = read(bytes);
        kept_.assign(bytes.substr(used));
    } else {
        kept_.append(bytes);
        kept_.erase(0, read(kept_));
    }
    return state_;
}

// Returns how many of the bytes are done with.
std::size_t request_reader::read(std::string_view bytes) {
    std::size_t used = 0;
    if (state_ == state::between) {
        // RFC 9112, 2.2: an empty line before a request is no harm.
        while (bytes.substr(used, 2) == "\r\n") used += 2;
        if (used == bytes.size() || bytes.substr(used) == "\r") return used;
        state_ = state::head;
        scanned_ = 0;
    }
    if (state_ == state::head) used += read_head(bytes.substr(used));
    if (state_ == state::body) used += read_body(bytes.substr(used));
    return used;
}

// Looks at what is new of the head. False where it cannot become one.
bool request_reader::scan_head(std::string_view bytes) {
    for (; scanned_ < bytes.size(); ++scanned_) {
        const auto letter = static_cast<unsigned char>(bytes[scanned_]);
        const bool line_begins = scanned_ > 0 && bytes[scanned_ - 1] == '\n';
        if (line_begins && (letter == ' ' || letter == '\t'))
            return fail(400, "a header line begins with a space: folded lines are not read");
        if (letter == '\n' ? scanned_ == 0 || bytes[scanned_ - 1] != '\r'
                           : scanned_ > 0 && bytes[scanned_ - 1] == '\r')
            return fail(400, "a line of the head does not end with CR LF");
        if (letter == 0x7f || (letter < 0x20 && letter != '\r' && letter != '\n' && letter != '\t'))
            return fail(400, "the head of the request holds a control character");
        if (letter == '\n' && scanned_ >= 3 && bytes[scanned_ - 2] == '\n') {
            ++scanned_;
            return true;
        }
    }
    return true;
}

std::size_t request_reader::read_head(std::string_view bytes) {
    if (!scan_head(bytes)) return 0;
    const auto head = bytes.substr(0, scanned_);
    const bool complete = head.size() >= 4 && head.substr(head.size() - 4) == "\r\n\r\n";
    if (head.size() > bounds_.head_bytes_max) {
        fail(431, "the head of the request is larger than " +
                      std::to_string(bounds_.head_bytes_max) + " bytes");
        return 0;
    }
    if (!complete) return 0;
    parser_ = std::make_unique<parser>(bounds_);
    error_code error;
    const auto used = parser_->put(boost::asio::const_buffer{head.data(), head.size()}, error);
    if (error == beast::error::need_more) error = {};
    // Beast hopes for more where a line is too short to be one, as in "GET / H": what comes next
    // would be read as the rest of the head.
    if (!error && (!parser_->is_header_done() || used != head.size()))
        error = beast::error::bad_version;
    if (error == beast::error::body_limit) {
        fail(413, too_large(bounds_.body_bytes_max));
        return 0;
    }
    if (error) {
        state_ = state::faulty;
        fault_ = parser_->fault() ? *parser_->fault() : explain(error, head);
        return 0;
    }
    if (const auto fault = parser_->examine_head()) {
        state_ = state::faulty;
        fault_ = *fault;
        return 0;
    }
    state_ = parser_->is_done() ? state::complete : state::body;
    head_bytes_ = sizeof(parser) + memory_of_head(parser_->made());
    chunks_.reset();
    if (parser_->chunked()) chunks_.emplace(bounds_.body_bytes_max, bounds_.head_bytes_max);
    return head.size();
}

std::size_t request_reader::read_body(std::string_view bytes) {
    if (bytes.empty()) return 0;
    if (chunks_) return read_chunks(bytes);
    error_code error;
    const auto used = parser_->put(boost::asio::const_buffer{bytes.data(), bytes.size()}, error);
    if (error && error != beast::error::need_more)
        fail(400, "the body of the request is malformed: " + error.message());
    else if (parser_->is_done())
        state_ = state::complete;
    return used;
}

std::size_t request_reader::read_chunks(std::string_view bytes) {
    const auto used = chunks_->read(bytes, parser_->made().body);
    switch (chunks_->where()) {
        case chunk_reader::state::more:
            break;
        case chunk_reader::state::complete:
            state_ = state::complete;
            break;
        case chunk_reader::state::too_large:
            fail(413, too_large(bounds_.body_bytes_max));
            break;
        case chunk_reader::state::faulty:
            fail(400,
                 "a chunk of the body is not its size in hexadecimal, CR LF, so many bytes and CR "
                 "LF");
            break;
    }
    return used;
}

bool request_reader::awaits_continue() const noexcept {
    return state_ == state::body && parser_->awaits_continue() && kept_.empty();
}

request_reader::taken request_reader::take() {
    base::ensure(state_ == state::complete);
    const auto bytes = bytes_of_request();
    taken result{parser_->take(), parser_->keep_alive(), parser_->is_http_1_0(), bytes};
    parser_.reset();
    state_ = state::between;
    return result;
}

std::size_t request_reader::bytes_held() const noexcept {
    return kept_.capacity() + bytes_of_request();
}

std::size_t request_reader::bytes_of_request() const noexcept {
    if (state_ != state::body && state_ != state::complete) return 0;
    return head_bytes_ + parser_->made().body.capacity();
}

}  // namespace pawl::http
