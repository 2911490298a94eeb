#include "engines/azblob/store/names.hpp"

#include "base/percent.hpp"

#include <cstdint>

namespace pawl::azblob {
namespace {

constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuv";
constexpr unsigned bits_of_digit = 5;

std::string kind_folder(const place_of_blobs& where, cas::record_kind kind) {
    return where.folder + (kind == cas::record_kind::lease ? "l/" : "f/");
}

// What may stand in a field of a request as it is. Blanks in a row count as one where requests are
// signed, so all but single ones between words would not come back.
bool is_plain(char letter) { return letter >= ' ' && letter <= '~' && letter != '%'; }
bool is_plain_word(char letter) { return is_plain(letter) && letter != ' '; }

}  // namespace

std::string to_base32(std::string_view bytes) {
    std::string made;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char byte : bytes) {
        bits = (bits << 8 | static_cast<unsigned char>(byte)) & 0xfff;
        for (count += 8; count >= bits_of_digit; count -= bits_of_digit)
            made += digits[bits >> (count - bits_of_digit) & 31];
    }
    if (count > 0) made += digits[bits << (bits_of_digit - count) & 31];
    return made;
}

std::optional<std::string> from_base32(std::string_view text) {
    std::string made;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char letter : text) {
        const auto digit = digits.find(letter);
        if (digit == std::string_view::npos) return std::nullopt;
        bits = (bits << bits_of_digit | static_cast<std::uint32_t>(digit)) & 0xfff;
        count += bits_of_digit;
        if (count < 8) continue;
        count -= 8;
        made += static_cast<char>(bits >> count & 0xff);
    }
    // Only one text stands for these bytes.
    if (to_base32(made) != text) return std::nullopt;
    return made;
}

std::string blob_of(const place_of_blobs& where, const cas::record_name& name) {
    if (name.kind == cas::record_kind::marker) return where.folder + "m";
    return kind_folder(where, name.kind) + to_base32(name.key);
}

std::string blobs_from(const place_of_blobs& where, cas::record_kind kind,
                       std::string_view prefix) {
    // The last digit has bits of the byte that follows, unless it is full.
    auto begins = to_base32(prefix);
    if (prefix.size() * 8 % bits_of_digit != 0) begins.pop_back();
    return kind_folder(where, kind) + begins;
}

std::optional<std::string> key_of(const place_of_blobs& where, cas::record_kind kind,
                                  std::string_view blob) {
    const auto folder = kind_folder(where, kind);
    if (!blob.starts_with(folder)) return std::nullopt;
    auto key = from_base32(blob.substr(folder.size()));
    if (!key || key->empty()) return std::nullopt;
    return key;
}

net::http_fields metadata_of(const cas::record_name& name, std::string_view text) {
    net::http_fields fields;
    // For people: nothing reads it.
    if (!name.key.empty())
        fields.emplace_back("x-ms-meta-key", base::percent_encode(name.key, is_plain_word));
    const bool has_blanks_to_keep =
        text.starts_with(' ') || text.ends_with(' ') || text.find("  ") != std::string_view::npos;
    fields.emplace_back("x-ms-meta-record",
                        base::percent_encode(text, has_blanks_to_keep ? is_plain_word : is_plain));
    return fields;
}

std::optional<std::string> text_of(std::string_view metadata) {
    if (metadata.empty()) return std::nullopt;
    auto text = base::percent_decode(metadata);
    if (text.has_error()) return std::nullopt;
    return std::move(*text);
}

}  // namespace pawl::azblob
