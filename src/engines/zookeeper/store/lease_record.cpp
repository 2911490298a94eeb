#include "engines/zookeeper/store/lease_record.hpp"

#include "base/number.hpp"
#include "engines/zookeeper/store/znode_names.hpp"

#include <algorithm>

namespace pawl::zookeeper {
namespace {

constexpr std::string_view layout_version = "2";
constexpr std::string_view layout_before = "1";
constexpr std::string_view nothing = "-";
constexpr std::string_view by_this_write = "=";

// Words of a line: claim ids may hold spaces, and the words may not.
std::string word_of(const std::string& text) {
    auto word = encode_name(text);
    for (std::size_t at = 0; (at = word.find(' ', at)) != std::string::npos;)
        word.replace(at, 1, "%20");
    return word == nothing ? "%2D" : word.empty() ? std::string{nothing} : word;
}

std::optional<std::string> text_of_word(std::string_view word) {
    if (word == nothing) return std::string{};
    if (word == "%2D") return std::string{nothing};
    std::string name{word};
    for (std::size_t at = 0; (at = name.find("%20", at)) != std::string::npos;)
        name.replace(at, 3, " ");
    return decode_name(name);
}

class line_reader {
public:
    explicit line_reader(std::string_view text) : rest_{text} {}

    std::string_view word() {
        const auto end = rest_.find(' ');
        if (end == std::string_view::npos) {
            good_ = false;
            return {};
        }
        const auto found = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return found;
    }
    std::int64_t number(std::int64_t implied) {
        const auto found = word();
        if (found == by_this_write) return implied;
        const auto value = base::parse_number<std::int64_t>(found);
        if (!value) good_ = false;
        return value.value_or(0);
    }
    std::string_view rest() const { return rest_; }
    bool good() const { return good_; }
    bool implies() const { return rest_.starts_with(by_this_write); }

private:
    std::string_view rest_;
    bool good_ = true;
};

std::string line(const lease_record& record, const std::string& token, const std::string& acquired,
                 const std::string& last_token) {
    std::string text{layout_version};
    const auto add = [&](std::string_view word) { text.append(" ").append(word); };
    add(record.lease.empty() ? nothing : std::string_view{record.lease});
    add(token);
    add(acquired);
    add(std::to_string(record.cooldown_until));
    add(last_token);
    add(record.last_done ? std::to_string(number(*record.last_done)) : std::string{nothing});
    add(word_of(record.claim_id));
    add(record.owner);
    return text;
}

}  // namespace

std::string text_of(const lease_record& record) {
    return line(record, std::to_string(number(record.token)), std::to_string(record.acquired),
                std::to_string(number(record.last_token)));
}

std::string text_of_grant(const lease_record& record) {
    const std::string own{by_this_write};
    return line(record, own, own, std::to_string(number(record.last_token)));
}

fence_token mint(fence_token last, std::int64_t millis) {
    const auto clock = static_cast<std::uint64_t>(std::max<std::int64_t>(millis, 0)) * 1000;
    return fence_token{std::max(number(last) + 1, clock)};
}

std::optional<lease_record> parse_record(std::string_view text, const write_stamp& written) {
    line_reader words{text};
    const auto version = words.word();
    if (version != layout_version && version != layout_before) return std::nullopt;
    const auto by_zxid = static_cast<std::int64_t>(number(written.by_zxid));
    const auto as_token = [](std::int64_t value) {
        return fence_token{static_cast<std::uint64_t>(value)};
    };
    lease_record record;
    record.lease = words.word();
    if (record.lease == nothing) record.lease.clear();
    const bool granted = words.implies();
    record.token = as_token(words.number(by_zxid));
    record.acquired = words.number(written.millis);
    record.cooldown_until = words.number(0);
    record.last_token = as_token(words.number(by_zxid));
    if (granted && version == layout_version)
        record.token = record.last_token = mint(record.last_token, written.millis);
    const auto before_done = words;
    if (words.word() != nothing) {
        words = before_done;
        record.last_done = occurrence{words.number(0)};
    }
    const auto id = text_of_word(words.word());
    if (!id || !words.good() || record.lease.find('/') != std::string::npos) return std::nullopt;
    record.claim_id = *id;
    record.owner = words.rest();
    return record;
}

}  // namespace pawl::zookeeper
