#include "engines/etcd/store/lease_text.hpp"

#include "base/ascii.hpp"
#include "base/number.hpp"
#include "base/percent.hpp"
#include "base/prefix.hpp"

#include <algorithm>
#include <charconv>

namespace pawl::etcd {
namespace {

// Nineteen digits hold every 64-bit occurrence, sixteen every token below 2^53.
constexpr std::size_t done_digits = 19;
constexpr std::size_t token_digits = 16;

using base::padded;
using base::parse_number;

// Takes the text up to the next space, and the space.
std::optional<std::string_view> next_word(std::string_view& text) {
    const auto end = text.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    const auto word = text.substr(0, end);
    text.remove_prefix(end + 1);
    return word;
}

std::string version_word() { return std::to_string(layout_version) + " "; }

// Empty: none that this pawl can read.
std::optional<int> take_version(std::string_view& text) {
    const auto word = next_word(text);
    const auto version = word ? parse_number<int>(*word) : std::nullopt;
    if (!version || *version < 1 || *version > layout_version) return std::nullopt;
    return version;
}

constexpr std::string_view no_id = "%";

std::string id_word(const std::string& encoded) {
    return encoded.empty() ? std::string{no_id} : encoded;
}

std::optional<std::string> take_id(std::string_view& text) {
    const auto word = next_word(text);
    if (!word) return std::nullopt;
    return *word == no_id ? std::string{} : std::string{*word};
}

std::string token_word(fence_token token) {
    return number(token) == 0 ? "-" : std::to_string(number(token));
}

std::optional<fence_token> take_token(std::string_view& text) {
    const auto word = next_word(text);
    if (!word) return std::nullopt;
    if (*word == "-") return fence_token{};
    const auto value = parse_number<std::uint64_t>(*word);
    if (!value) return std::nullopt;
    return fence_token{*value};
}

std::optional<std::int64_t> take_millis(std::string_view& text) {
    const auto word = next_word(text);
    return word ? parse_number<std::int64_t>(*word) : std::nullopt;
}

constexpr std::string_view state_words[] = {"granted", "ended", "evicted"};

}  // namespace

std::string encode(const marker_text& value) {
    char cluster[17];
    const auto end = std::to_chars(cluster, cluster + 16, value.cluster, 16).ptr;
    const auto floor = value.floor ? std::to_string(number(*value.floor)) : "-";
    return version_word() + std::to_string(value.born) + " " + std::string{cluster, end} + " " +
           std::to_string(value.proved) + " " + floor;
}

std::optional<marker_text> parse_marker(std::string_view text, std::int64_t revision) {
    const auto version = take_version(text);
    const auto born = version ? take_millis(text) : std::nullopt;
    if (!born || *born <= 0) return std::nullopt;
    marker_text read;
    read.layout = *version;
    read.born = read.proved = *born;
    auto rest = text;
    const auto word = *version == 1 ? std::optional{text} : next_word(rest);
    const auto cluster = word ? parse_number<std::uint64_t>(*word, 16) : std::nullopt;
    if (!cluster) return std::nullopt;
    read.cluster = *cluster;
    if (*version == 1) return read;
    const auto proved = take_millis(rest);
    const auto floor = parse_number<std::uint64_t>(rest);
    if (!proved || (!floor && rest != "-")) return std::nullopt;
    read.proved = *proved;
    read.floor = floor ? fence_token{*floor} : read.token_of({}, revision);
    return read;
}

bool is_newer_layout(std::string_view text) {
    const auto word = next_word(text);
    const auto version = word ? parse_number<int>(*word) : std::nullopt;
    return version && *version > layout_version;
}

std::string encode(const lock_text& value) {
    return version_word() + id_word(value.id) + " " + token_word(value.token) + " " +
           std::to_string(value.acquired) + " " + value.owner;
}

std::optional<lock_text> parse_lock(std::string_view text) {
    if (!take_version(text)) return std::nullopt;
    const auto id = take_id(text);
    if (!id) return std::nullopt;
    const auto token = take_token(text);
    if (!token) return std::nullopt;
    const auto acquired = take_millis(text);
    if (!acquired) return std::nullopt;
    return lock_text{*id, *token, *acquired, std::string{text}};
}

std::string encode(const record_text& value) {
    return bound_of_records(value.token) + " " +
           std::string{state_words[static_cast<std::size_t>(value.how)]} + " " +
           std::to_string(value.acquired) + " " + id_word(value.id) + " " + value.owner;
}

std::string bound_of_records(fence_token token) {
    return version_word() + padded(number(token), token_digits);
}

std::optional<record_text> parse_record(std::string_view text) {
    const auto version = take_version(text);
    if (!version) return std::nullopt;
    const auto before = *version == 1 ? std::nullopt : take_token(text);
    if (*version > 1 && !before) return std::nullopt;
    const auto word = next_word(text);
    if (!word) return std::nullopt;
    const auto* const found = std::find(std::begin(state_words), std::end(state_words), *word);
    if (found == std::end(state_words)) return std::nullopt;
    const auto token = before ? before : take_token(text);
    if (!token) return std::nullopt;
    const auto acquired = take_millis(text);
    if (!acquired) return std::nullopt;
    const auto id = *version == 1 ? std::string{} : take_id(text);
    if (!id) return std::nullopt;
    return record_text{static_cast<record_text::state>(found - std::begin(state_words)), *token,
                       *acquired, std::string{text}, *id};
}

// A negative one counts up from the smallest, behind a letter that sorts first.
std::string encode_done(occurrence value) {
    const auto millis = number(value);
    if (millis >= 0) return "p" + padded(static_cast<std::uint64_t>(millis), done_digits);
    const auto from_smallest = static_cast<std::uint64_t>(millis) - (std::uint64_t{1} << 63);
    return "n" + padded(from_smallest, done_digits);
}

std::optional<occurrence> parse_done(std::string_view text) {
    if (text.size() != done_digits + 1) return std::nullopt;
    const auto value = parse_number<std::uint64_t>(text.substr(1));
    if (!value || *value >= std::uint64_t{1} << 63) return std::nullopt;
    if (text[0] == 'p') return occurrence{static_cast<std::int64_t>(*value)};
    if (text[0] == 'n')
        return occurrence{static_cast<std::int64_t>(*value + (std::uint64_t{1} << 63))};
    return std::nullopt;
}

std::string encode_fence(fence_token value) { return padded(number(value), token_digits); }

std::optional<fence_token> parse_fence(std::string_view text) {
    const auto value = parse_number<std::uint64_t>(text);
    if (!value) return std::nullopt;
    return fence_token{*value};
}

std::string encode_id(std::string_view id) {
    const auto keeps = [](char letter) {
        return base::is_alphanumeric(letter) || letter == '-' || letter == '_';
    };
    return id_word(base::percent_encode(id, keeps, base::hex_case::lower));
}

std::string end_of_prefix(std::string prefix) {
    return base::end_of_prefix(std::move(prefix)).value_or(std::string(1, '\0'));
}

}  // namespace pawl::etcd
