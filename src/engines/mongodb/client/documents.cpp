#include "engines/mongodb/client/documents.hpp"

namespace pawl::mongodb {
namespace {

int size_of(std::string_view text) { return static_cast<int>(text.size()); }

// Into a variable of the caller's: an iterator is aligned by its name, which a template forgets.
bool find(const bson_t* in, const char* path, bson_iter_t& found) {
    bson_iter_t at;
    return bson_iter_init(&at, in) && bson_iter_find_descendant(&at, path, &found);
}

}  // namespace

document& document::text(std::string_view name, std::string_view value) {
    bson_append_utf8(bytes_, name.data(), size_of(name), value.data(), size_of(value));
    return *this;
}

document& document::number(std::string_view name, std::int64_t value) {
    bson_append_int64(bytes_, name.data(), size_of(name), value);
    return *this;
}

document& document::small(std::string_view name, std::int32_t value) {
    bson_append_int32(bytes_, name.data(), size_of(name), value);
    return *this;
}

document& document::yes(std::string_view name) {
    bson_append_bool(bytes_, name.data(), size_of(name), true);
    return *this;
}

document& document::no(std::string_view name) {
    bson_append_bool(bytes_, name.data(), size_of(name), false);
    return *this;
}

document& document::nested(std::string_view name, const document& value) {
    bson_append_document(bytes_, name.data(), size_of(name), value.bytes_);
    return *this;
}

// An array is a document whose fields are named 0, 1, 2.
document& document::array(std::string_view name, const std::vector<document>& values) {
    document all;
    for (std::size_t i = 0; i < values.size(); ++i) all.nested(std::to_string(i), values[i]);
    bson_append_array(bytes_, name.data(), size_of(name), all.bytes_);
    return *this;
}

document& document::texts(std::string_view name, const std::vector<std::string>& values) {
    document all;
    for (std::size_t i = 0; i < values.size(); ++i) all.text(std::to_string(i), values[i]);
    bson_append_array(bytes_, name.data(), size_of(name), all.bytes_);
    return *this;
}

std::optional<std::string> document::find_text(const char* path) const {
    bson_iter_t found;
    if (!find(bytes_, path, found) || !BSON_ITER_HOLDS_UTF8(&found)) return std::nullopt;
    std::uint32_t size = 0;
    const auto* text = bson_iter_utf8(&found, &size);
    return std::string{text, size};
}

std::optional<std::int64_t> document::find_number(const char* path) const {
    bson_iter_t found;
    if (!find(bytes_, path, found)) return std::nullopt;
    if (BSON_ITER_HOLDS_DATE_TIME(&found)) return bson_iter_date_time(&found);
    if (!BSON_ITER_HOLDS_NUMBER(&found)) return std::nullopt;
    return bson_iter_as_int64(&found);
}

bool document::is_true(const char* path) const {
    bson_iter_t found;
    return find(bytes_, path, found) && bson_iter_as_bool(&found);
}

bool document::has(const char* path) const {
    bson_iter_t found;
    return find(bytes_, path, found);
}

std::optional<std::string> document::find_binary(const char* path) const {
    bson_iter_t found;
    if (!find(bytes_, path, found) || !BSON_ITER_HOLDS_BINARY(&found)) return std::nullopt;
    bson_subtype_t kind{};
    std::uint32_t size = 0;
    const std::uint8_t* data = nullptr;
    bson_iter_binary(&found, &kind, &size, &data);
    return std::string{data, data + size};
}

std::vector<document> document::find_all(const char* path) const {
    std::vector<document> all;
    bson_iter_t found;
    bson_iter_t each;
    if (!find(bytes_, path, found) || !BSON_ITER_HOLDS_ARRAY(&found) ||
        !bson_iter_recurse(&found, &each))
        return all;
    while (bson_iter_next(&each)) {
        if (!BSON_ITER_HOLDS_DOCUMENT(&each)) continue;
        std::uint32_t size = 0;
        const std::uint8_t* data = nullptr;
        bson_iter_document(&each, &size, &data);
        bson_t one;
        if (bson_init_static(&one, data, size)) all.emplace_back(&one);
    }
    return all;
}

}  // namespace pawl::mongodb
