// One statement with its arguments, and the rows that answer it, in PostgreSQL's binary format.
#pragma once

#include <pawl/errors.hpp>

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::postgresql {

// What is sent, and the name under which it may be prepared. The name is made of the text, so that
// behind a pooler a statement of that name is this statement, whichever client prepared it.
struct statement_text {
    explicit statement_text(std::string sql);

    std::string sql;
    std::string name;
};

class statement {
public:
    explicit statement(std::shared_ptr<const statement_text> text) : text_{std::move(text)} {
        bytes_.reserve(bytes_usual);
        arguments_.reserve(arguments_max);
    }

    statement& add(std::int64_t value);
    statement& add_count(std::int32_t value);
    statement& add_or_null(std::optional<std::int64_t> value);
    statement& add_flag(bool value);
    statement& add_text(std::string_view value);
    statement& add_bytes(std::string_view value);
    statement& add_bytes_or_null(const std::optional<std::string>& value);
    // One-dimensional arrays.
    statement& add(const std::vector<std::int64_t>& values);
    statement& add(const std::vector<std::string_view>& values);
    statement& add_flags(const std::vector<bool>& values);

    const statement_text& text() const noexcept { return *text_; }

    // Each queues the statement on a connection in pipeline mode; false when libpq cannot.
    bool send_prepare(PGconn* on) const;
    bool send_prepared(PGconn* on) const;
    bool send_plain(PGconn* on) const;

private:
    struct argument {
        Oid type;
        std::size_t from;
        int length;  // -1: null
    };
    struct layout;

    static constexpr std::size_t arguments_max = 16;
    // Of a claim with a key of usual length.
    static constexpr std::size_t bytes_usual = 256;

    void begin(Oid type);
    void end();

    std::shared_ptr<const statement_text> text_;  // shared: a store may go before its answers
    std::string bytes_;
    std::vector<argument> arguments_;
};

// In network order, of 4 or 8 bytes.
std::int64_t integer_in(std::string_view bytes);

struct clear_result {
    void operator()(PGresult* result) const { PQclear(result); }
};

// The rows of an answer. The caller knows the columns, because it asked for them.
class rows {
public:
    rows() = default;
    explicit rows(PGresult* owned) : got_{owned, clear_result{}} {}

    PGresult* handle() const noexcept { return got_.get(); }
    int count() const noexcept { return got_ ? PQntuples(got_.get()) : 0; }
    int columns() const noexcept { return got_ ? PQnfields(got_.get()) : 0; }

    bool is_null(int row, int column) const { return PQgetisnull(got_.get(), row, column) != 0; }
    std::int64_t integer(int row, int column) const;  // of any width
    bool flag(int row, int column) const { return integer(row, column) != 0; }
    std::string_view bytes(int row, int column) const;
    std::vector<std::int64_t> integers(int row, int column) const;  // a bigint[] without nulls
    // Of a composite value; a null is empty.
    std::vector<std::string_view> fields(int row, int column) const;

private:
    std::shared_ptr<PGresult> got_;  // shared: answers are copied on their way through handlers
};

using answer = result<rows>;

}  // namespace pawl::postgresql
