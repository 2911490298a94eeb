#include "engines/redis/store/lease_text.hpp"

#include "base/number.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace pawl::redis {

std::string_view take_word(std::string_view& text) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

bool take_number(std::string_view& text, std::int64_t& number) {
    const auto read = base::parse_number<std::int64_t>(take_word(text));
    number = read.value_or(-1);
    return number >= 0;
}

std::string encode_id(std::string_view id) {
    if (id == "-") return "%2D";
    if (id.empty()) return "%";
    return base::percent_encode(id, [](char letter) {
        return letter > 0x20 && letter < 0x7f && letter != ',' && letter != '%';
    });
}

result<std::optional<record>> parse_record(std::string_view key, std::string_view text,
                                           std::int64_t now) {
    const failure wrong{errc::rejected, "cannot read the record of '" + base::printable(key) + "'"};
    std::int64_t version = 0, holder = 0, until = 0, last = 0, acquired = 0;
    if (!take_number(text, version) || version != 1) return wrong;
    if (!take_number(text, holder) || !take_number(text, until) || !take_number(text, last) ||
        !take_number(text, acquired))
        return wrong;
    if (last == 0) return std::optional<record>{};
    take_word(text);  // whether a client waits
    const auto done = take_word(text);
    take_word(text);  // withdrawn ids
    take_word(text);  // the claim's id
    record seen;
    seen.key = key;
    seen.owner = text;
    const bool live = now < until;
    seen.holder = fence_token{live ? static_cast<std::uint64_t>(holder) : 0};
    // Rounded up, so that a waiter does not ask a moment too early.
    seen.remaining = millis{live ? (until - now + 999) / 1000 : 0};
    seen.acquired_at = acquired / 1000;
    seen.last_token = fence_token{static_cast<std::uint64_t>(last)};
    if (const auto last_done = base::leading_number<std::int64_t>(done))
        seen.last_done = occurrence{*last_done};
    return std::optional{std::move(seen)};
}

}  // namespace pawl::redis
