#include "engines/s3/store/object_names.hpp"

#include "base/ascii.hpp"
#include "base/hex.hpp"

#include <algorithm>

namespace pawl::s3 {
namespace {

constexpr std::size_t part_max = 200;
constexpr std::size_t prefix_max = 128;
constexpr char end_of_key = '!';

std::string_view folder_of_kind(cas::record_kind kind) {
    return kind == cas::record_kind::lease ? "leases/" : "fences/";
}

// Texts that differ first in one byte are in the same order as what is made of them: what a byte
// becomes depends on what is before it alone.
std::string escaped(std::string_view key) {
    std::string made;
    std::size_t part = 0;
    for (const char letter : key) {
        const auto byte = static_cast<unsigned char>(letter);
        if (part >= part_max || (byte == '/' && part > 0)) {
            const bool is_of_key = part < part_max;
            made += '/';
            part = 0;
            if (is_of_key) continue;
        }
        const auto before = made.size();
        const bool begins = part == 0 && (byte == '.' || byte == '/');
        if (byte < '-' || byte >= '~' || begins) {
            made += begins ? '.' : byte < '-' ? '!' : '~';
            base::add_hex(made, byte);
        } else {
            made += letter;
        }
        part += made.size() - before;
    }
    return made;
}

// Of what escaped() made, and anything at all of other texts.
std::string unescaped(std::string_view text) {
    std::string made;
    std::size_t part = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char letter = text[at];
        if (letter == '/') {
            if (part < part_max) made += letter;
            part = 0;
        } else if (letter == '!' || letter == '~' || (letter == '.' && part == 0)) {
            const auto digits = text.substr(at + 1, 2);
            const auto byte = base::from_hex(digits);
            made += byte.value_or("");
            at += digits.size();
            part += 3;
        } else {
            made += letter;
            ++part;
        }
    }
    return made;
}

bool is_plain(char letter) {
    return base::is_alphanumeric(letter) || letter == '-' || letter == '_' || letter == '.';
}

}  // namespace

std::string folder_of(std::string_view prefix, std::string_view name_space) {
    std::string made{prefix};
    if (!made.empty()) made += '/';
    return made + escaped(name_space) + "/";
}

std::string names_begin(const std::string& folder, cas::record_kind kind, std::string_view prefix) {
    return folder + std::string{folder_of_kind(kind)} + escaped(prefix);
}

std::string name_of(const std::string& folder, const cas::record_name& name) {
    if (name.kind == cas::record_kind::marker) return folder + "marker";
    return names_begin(folder, name.kind, name.key) + end_of_key;
}

std::optional<std::string> key_of(const std::string& folder, cas::record_kind kind,
                                  std::string_view name) {
    const auto begin = names_begin(folder, kind, {});
    if (!name.starts_with(begin) || !name.ends_with(end_of_key)) return std::nullopt;
    name.remove_prefix(begin.size());
    name.remove_suffix(name.empty() ? 0 : 1);
    auto key = unescaped(name);
    if (key.empty() || escaped(key) != name) return std::nullopt;
    return key;
}

std::optional<std::string> prefix_fault(std::string_view prefix) {
    bool well = prefix.size() <= prefix_max && !prefix.ends_with('/');
    for (std::size_t at = 0; at < prefix.size() && well; ++at) {
        const bool begins = at == 0 || prefix[at - 1] == '/';
        well = begins ? is_plain(prefix[at]) && prefix[at] != '.'
                      : is_plain(prefix[at]) || prefix[at] == '/';
    }
    if (well) return std::nullopt;
    return "expected at most 128 letters, digits, '_', '-', '.' or '/', and no '.' or '/' where a "
           "part of the path begins";
}

std::optional<std::string> bucket_fault(std::string_view bucket) {
    // They are asked in another way, and list in no order.
    if (bucket.ends_with("--x-s3")) return "expected a general purpose bucket, no directory bucket";
    const bool plain = std::all_of(bucket.begin(), bucket.end(), [](char letter) {
        return base::is_digit(letter) || (letter >= 'a' && letter <= 'z') || letter == '-' ||
               letter == '.';
    });
    if (plain && bucket.size() >= 3 && bucket.size() <= 63) return std::nullopt;
    return "expected 3 to 63 lower-case letters, digits, '-' or '.'";
}

}  // namespace pawl::s3
