#include "engines/kubernetes/store/object_names.hpp"

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/percent.hpp"
#include "base/utf8.hpp"

namespace pawl::kubernetes {
namespace {

constexpr std::size_t slug_bytes_max = 40;
constexpr std::size_t digest_digits = 16;
constexpr std::size_t label_bytes_max = 63;

// Small letters and digits as they are, and one '-' for whatever stands between them.
std::string slug_of(std::string_view key) {
    std::string slug;
    bool between = false;
    for (const char letter : key) {
        if (!base::is_alphanumeric(letter)) {
            between = !slug.empty();
            continue;
        }
        if (slug.size() + (between ? 2 : 1) > slug_bytes_max) break;
        if (between) slug += '-';
        between = false;
        slug += base::lower(letter);
    }
    return slug;
}

std::string digest_of(std::string_view text) {
    return base::sha256_hex(text).substr(0, digest_digits);
}

bool is_label(std::string_view text) {
    return text.size() <= label_bytes_max && !text.empty() && base::is_alphanumeric(text.front()) &&
           base::is_alphanumeric(text.back());
}

bool is_readable(char letter) { return letter >= ' ' && letter <= '~' && letter != '%'; }
bool is_readable_or_utf8(char letter) {
    return is_readable(letter) || static_cast<unsigned char>(letter) >= 0x80;
}

}  // namespace

std::string object_name(std::string_view name_space, const cas::record_name& record) {
    const auto kind = label_of(record.kind);
    std::string whole{name_space};
    whole.append(1, '\0').append(kind).append(1, '\0').append(record.key);
    std::string name = "pawl-";
    if (record.kind != cas::record_kind::lease) name.append(kind).append(1, '-');
    if (const auto slug = slug_of(record.key); !slug.empty()) name.append(slug).append(1, '-');
    return name + digest_of(whole);
}

std::string label_of(std::string_view name_space) {
    return is_label(name_space) ? std::string{name_space} : digest_of(name_space);
}

std::string_view label_of(cas::record_kind kind) {
    switch (kind) {
        case cas::record_kind::lease:
            return "lease";
        case cas::record_kind::fence:
            return "fence";
        case cas::record_kind::marker:
            return "marker";
        case cas::record_kind::journal:  // it keeps none
            break;
    }
    return "lease";
}

std::string selector_of(std::string_view name_space, cas::record_kind kind) {
    return "pawl.dev/namespace=" + label_of(name_space) +
           ",pawl.dev/kind=" + std::string{label_of(kind)};
}

std::string annotation_of(std::string_view key) {
    return base::percent_encode(key, base::is_utf8(key) ? is_readable_or_utf8 : is_readable);
}

std::optional<std::string> key_of(std::string_view annotation) {
    auto key = base::percent_decode(annotation);
    if (!key) return std::nullopt;
    return *std::move(key);
}

}  // namespace pawl::kubernetes
