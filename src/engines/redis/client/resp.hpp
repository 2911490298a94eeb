// RESP2, the protocol of Redis: commands out, replies in. No I/O.
#pragma once

#include <pawl/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;
struct redisReadTask;

namespace pawl::redis {

// Builds one command at the end of a buffer, which must outlive the writer.
// REQUIRES: exactly `parts` parts are added.
class command_writer {
public:
    command_writer(std::string& out, std::size_t parts);

    command_writer& add(std::string_view part);
    command_writer& add(std::int64_t number);
    // One part in two pieces, such as a prefix and a key.
    command_writer& add(std::string_view head, std::string_view tail);

private:
    std::string& out_;
};

// Each appends "<marker><number>\r\n", as RESP begins arrays ('*') and strings ('$').
void append_header(std::string& out, char marker, std::size_t number);

enum class reply_kind { nil, integer, text, status, error, array };

struct reply {
    reply_kind kind = reply_kind::nil;
    std::int64_t number = 0;
    std::string text;
    std::vector<reply> elements;

    bool is_integer() const noexcept { return kind == reply_kind::integer; }
    bool is_text() const noexcept { return kind == reply_kind::text; }
    bool is_error() const noexcept { return kind == reply_kind::error; }
    bool is_array() const noexcept { return kind == reply_kind::array; }
};

struct reply_bounds {
    std::size_t bytes_max = std::size_t{16} << 20;      // of one reply that is not yet complete
    std::size_t elements_max = std::size_t{64} * 1024;  // of one reply, over all its arrays
};

// Cuts a stream of bytes into replies. Wraps the reader of hiredis with functions of our own, so
// that a reply is built in place and a peer cannot make us allocate more than it sent.
class reply_parser {
public:
    explicit reply_parser(reply_bounds bounds = {});
    ~reply_parser();
    reply_parser(const reply_parser&) = delete;
    reply_parser& operator=(const reply_parser&) = delete;

    void feed(std::string_view bytes);
    // The next complete reply, or nothing yet; `protocol` when the bytes are no RESP, and for ever
    // after.
    result<std::optional<reply>> next();

private:
    friend struct reply_builder;

    reply* slot(const redisReadTask* task) noexcept;

    const reply_bounds bounds_;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
    reply root_;
    std::size_t elements_ = 0;  // of the reply being built
    std::size_t unread_ = 0;    // bytes fed since the last complete reply
    std::optional<std::string> fault_;
};

}  // namespace pawl::redis
