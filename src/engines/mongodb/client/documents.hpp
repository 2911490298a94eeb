// Documents of MongoDB as values that free themselves: to build commands, and to read answers.
#pragma once

#include <bson/bson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::mongodb {

class document {
public:
    document() : bytes_{bson_new()} {}
    explicit document(const bson_t* other) : bytes_{bson_copy(other)} {}
    ~document() { bson_destroy(bytes_); }
    document(const document& other) : bytes_{bson_copy(other.bytes_)} {}
    document(document&& other) noexcept : bytes_{other.bytes_} { other.bytes_ = bson_new(); }
    document& operator=(document other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    // Appends a field, and gives back this document.
    document& text(std::string_view name, std::string_view value);
    document& number(std::string_view name, std::int64_t value);
    // For what servers want as a small number.
    document& small(std::string_view name, std::int32_t value);
    document& yes(std::string_view name);
    document& no(std::string_view name);
    document& nested(std::string_view name, const document& value);
    document& array(std::string_view name, const std::vector<document>& values);
    document& texts(std::string_view name, const std::vector<std::string>& values);

    // What stands under a path such as cursor.firstBatch; nothing where there is no such field, or
    // of another type.
    std::optional<std::string> find_text(const char* path) const;
    // Of any type of number, and a date as milliseconds.
    std::optional<std::int64_t> find_number(const char* path) const;
    bool is_true(const char* path) const;
    bool has(const char* path) const;
    // The bytes of a binary field.
    std::optional<std::string> find_binary(const char* path) const;
    // The documents of an array; empty where there is none.
    std::vector<document> find_all(const char* path) const;

    const bson_t* bytes() const noexcept { return bytes_; }

private:
    bson_t* bytes_;
};

}  // namespace pawl::mongodb
