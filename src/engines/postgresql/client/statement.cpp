#include "engines/postgresql/client/statement.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pawl::postgresql {
namespace {

// Source: pg_type.dat; these numbers never change.
constexpr Oid boolean_type = 16, bytes_type = 17, long_type = 20, int_type = 23, text_type = 25,
              boolean_array = 1000, bytes_array = 1001, long_array = 1016;
constexpr int binary = 1;

void append_number(std::string& to, std::uint64_t value, int width) {
    for (int shift = (width - 1) * 8; shift >= 0; shift -= 8)
        to += static_cast<char>((value >> shift) & 0xff);
}

std::uint64_t number_at(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
    return value;
}

// One dimension, no nulls, from 1.
void append_array_head(std::string& to, Oid element, std::size_t count) {
    append_number(to, count == 0 ? 0 : 1, 4);
    append_number(to, 0, 4);
    append_number(to, element, 4);
    if (count == 0) return;
    append_number(to, count, 4);
    append_number(to, 1, 4);
}

// FNV-1a: names must differ where texts do, and no attacker picks the texts to make them meet.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    return hash;
}

}  // namespace

statement_text::statement_text(std::string text) : sql{std::move(text)} {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "pawl_%016llx",
                  static_cast<unsigned long long>(hash_of(sql)));
    name = digits.data();
}

void statement::begin(Oid type) { arguments_.push_back({type, bytes_.size(), 0}); }

void statement::end() {
    auto& last = arguments_.back();
    last.length = static_cast<int>(bytes_.size() - last.from);
}

statement& statement::add(std::int64_t value) {
    begin(long_type);
    append_number(bytes_, static_cast<std::uint64_t>(value), 8);
    end();
    return *this;
}

statement& statement::add_count(std::int32_t value) {
    begin(int_type);
    append_number(bytes_, static_cast<std::uint32_t>(value), 4);
    end();
    return *this;
}

statement& statement::add_or_null(std::optional<std::int64_t> value) {
    if (value) return add(*value);
    arguments_.push_back({long_type, bytes_.size(), -1});
    return *this;
}

statement& statement::add_flag(bool value) {
    begin(boolean_type);
    append_number(bytes_, value ? 1 : 0, 1);
    end();
    return *this;
}

statement& statement::add_text(std::string_view value) {
    begin(text_type);
    bytes_.append(value);
    end();
    return *this;
}

statement& statement::add_bytes(std::string_view value) {
    begin(bytes_type);
    bytes_.append(value);
    end();
    return *this;
}

statement& statement::add_bytes_or_null(const std::optional<std::string>& value) {
    if (value) return add_bytes(std::string_view{*value});
    arguments_.push_back({bytes_type, bytes_.size(), -1});
    return *this;
}

statement& statement::add(const std::vector<std::int64_t>& values) {
    begin(long_array);
    append_array_head(bytes_, long_type, values.size());
    for (const auto value : values) {
        append_number(bytes_, 8, 4);
        append_number(bytes_, static_cast<std::uint64_t>(value), 8);
    }
    end();
    return *this;
}

statement& statement::add(const std::vector<std::string_view>& values) {
    begin(bytes_array);
    append_array_head(bytes_, bytes_type, values.size());
    for (const auto value : values) {
        append_number(bytes_, value.size(), 4);
        bytes_.append(value);
    }
    end();
    return *this;
}

statement& statement::add_flags(const std::vector<bool>& values) {
    begin(boolean_array);
    append_array_head(bytes_, boolean_type, values.size());
    for (const auto value : values) {
        append_number(bytes_, 1, 4);
        append_number(bytes_, value ? 1 : 0, 1);
    }
    end();
    return *this;
}

// What libpq wants to see: parallel arrays of pointers.
struct statement::layout {
    explicit layout(const statement& of) : count{static_cast<int>(of.arguments_.size())} {
        for (std::size_t i = 0; i < of.arguments_.size(); ++i) {
            const auto& one = of.arguments_[i];
            types[i] = one.type;
            values[i] = one.length < 0 ? nullptr : of.bytes_.data() + one.from;
            lengths[i] = one.length < 0 ? 0 : one.length;
            formats[i] = binary;
        }
    }

    int count;
    std::array<Oid, arguments_max> types{};
    std::array<const char*, arguments_max> values{};
    std::array<int, arguments_max> lengths{};
    std::array<int, arguments_max> formats{};
};

bool statement::send_prepare(PGconn* on) const {
    const layout with{*this};
    return PQsendPrepare(on, text_->name.c_str(), text_->sql.c_str(), with.count,
                         with.types.data()) == 1;
}

bool statement::send_prepared(PGconn* on) const {
    const layout with{*this};
    return PQsendQueryPrepared(on, text_->name.c_str(), with.count, with.values.data(),
                               with.lengths.data(), with.formats.data(), binary) == 1;
}

bool statement::send_plain(PGconn* on) const {
    const layout with{*this};
    return PQsendQueryParams(on, text_->sql.c_str(), with.count, with.types.data(),
                             with.values.data(), with.lengths.data(), with.formats.data(),
                             binary) == 1;
}

std::string_view rows::bytes(int row, int column) const {
    const auto length = PQgetlength(got_.get(), row, column);
    return {PQgetvalue(got_.get(), row, column), static_cast<std::size_t>(length)};
}

std::int64_t integer_in(std::string_view bytes) {
    const auto value = number_at(bytes);
    if (bytes.size() == 4) return static_cast<std::int32_t>(value);
    return static_cast<std::int64_t>(value);
}

std::int64_t rows::integer(int row, int column) const { return integer_in(bytes(row, column)); }

std::vector<std::int64_t> rows::integers(int row, int column) const {
    constexpr std::size_t head = 20, element = 12;
    std::vector<std::int64_t> values;
    const auto raw = bytes(row, column);
    for (auto at = head; at + element <= raw.size(); at += element)
        values.push_back(static_cast<std::int64_t>(number_at(raw.substr(at + 4, 8))));
    return values;
}

std::vector<std::string_view> rows::fields(int row, int column) const {
    // How many, and before each its type and its length.
    constexpr std::size_t count_size = 4, head = 8;
    std::vector<std::string_view> all;
    auto raw = bytes(row, column);
    raw.remove_prefix(std::min(count_size, raw.size()));
    while (raw.size() >= head) {
        const auto length = integer_in(raw.substr(head - 4, 4));
        raw.remove_prefix(head);
        const auto size =
            std::min<std::size_t>(length < 0 ? 0 : static_cast<std::size_t>(length), raw.size());
        all.push_back(raw.substr(0, size));
        raw.remove_prefix(size);
    }
    return all;
}

}  // namespace pawl::postgresql
