#include "engines/cas/store/record_text.hpp"

#include "base/number.hpp"
#include "base/percent.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pawl::cas {
namespace {

// Tokens stay below 2^53, and times within 285 years of 1970: no sum of two of them overflows.
constexpr std::uint64_t token_max = (std::uint64_t{1} << 53) - 1;
constexpr std::int64_t micros_max = std::int64_t{1} << 53;
constexpr int rounds_max = 1000;
constexpr std::size_t nonce_bytes_max = 64;
constexpr std::string_view none = "-";

bool is_plain(char letter) { return letter > ' ' && letter <= '~' && letter != '%'; }

// The word of each type of value.
std::string word_of(int value) { return std::to_string(value); }
std::string word_of(fence_token value) { return std::to_string(number(value)); }
template <class Rep, class Unit>
std::string word_of(std::chrono::duration<Rep, Unit> value) {
    return std::to_string(value.count());
}
std::string word_of(const std::optional<occurrence>& value) {
    return value ? std::to_string(number(*value)) : std::string{none};
}
std::string word_of(const std::string& bytes) {
    if (bytes.empty()) return std::string{none};
    // One that is the sign of none is told apart from it.
    if (bytes == none) return "%2D";
    return base::percent_encode(bytes, is_plain);
}

template <class Number>
Number within(std::string_view word, Number least, Number most) {
    return base::parse_number_within(word, least, most).value_or(least);
}

// The value of a word; of one that has none, a value whose word is another.
void read_word(std::string_view word, int& into) { into = within(word, 0, rounds_max); }
void read_word(std::string_view word, fence_token& into) {
    into = fence_token{within(word, std::uint64_t{0}, token_max)};
}
void read_word(std::string_view word, micros& into) {
    into = micros{within(word, -micros_max, micros_max)};
}
void read_word(std::string_view word, millis& into) {
    into = millis{within(word, millis::rep{0}, term_max.count())};
}
void read_word(std::string_view word, std::optional<occurrence>& into) {
    if (word == none) return;
    into = occurrence{base::parse_number<std::int64_t>(word).value_or(0)};
}
void read_word(std::string_view word, std::string& into) {
    if (auto decoded = base::percent_decode(word); word != none && decoded.has_value())
        into = std::move(*decoded);
}

// The words of each kind of record, in their order, for who writes or reads them.
struct lease_line {
    static constexpr std::string_view kind = "lease";
    static void take(auto& record, auto word) {
        word("nonce", record.nonce);
        word("holder", record.state.holder);
        word("last", record.state.last_token);
        word("until", record.state.until);
        word("term", record.term);
        word("acquired", record.state.acquired);
        word("wall", record.state.acquired_wall);
        word("used", record.used);
        word("done", record.state.last_done);
        word("id", record.state.claim_id);
        word("owner", record.state.owner);
    }
};

struct fence_line {
    static constexpr std::string_view kind = "fence";
    static void take(auto& record, auto word) {
        word("nonce", record.nonce);
        word("newest", record.newest);
    }
};

struct marker_line {
    static constexpr std::string_view kind = "marker";
    static void take(auto& record, auto word) {
        word("nonce", record.nonce);
        word("born", record.born);
        word("floor", record.floor);
        word("race", record.rounds);
        word("identity", record.identity);
    }
};

template <class Line>
std::string written(const auto& record) {
    auto text = std::to_string(layout_version) + " " + std::string{Line::kind};
    Line::take(record, [&](std::string_view name, const auto& value) {
        text.append(" ").append(name).append("=").append(word_of(value));
    });
    return text;
}

failure rejection(std::string_view text, std::string_view kind) {
    return no_record(text, std::string{kind} + " record of pawl's");
}

// There is one way to write each record, so what reads the same and is written otherwise is not
// pawl's.
template <class Line, class Record>
result<Record> parsed(std::string_view text) {
    auto words = [rest = text]() mutable {
        const auto word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        return word;
    };
    words();  // the layout
    words();  // the kind
    Record read;
    Line::take(read, [&](std::string_view, auto&& into) {
        const auto word = words();
        read_word(word.substr(word.find('=') + 1), into);
    });
    if (read.nonce.empty() || read.nonce.size() > nonce_bytes_max || written<Line>(read) != text)
        return rejection(text, Line::kind);
    return read;
}

}  // namespace

std::string encode(const lease_record& record) { return written<lease_line>(record); }
std::string encode(const fence_record& record) { return written<fence_line>(record); }
std::string encode(const marker_record& record) { return written<marker_line>(record); }

result<lease_record> parse_lease(std::string_view text) {
    auto read = parsed<lease_line, lease_record>(text);
    if (read.has_error()) return read;
    const auto& state = read->state;
    const bool is_held = number(state.holder) != 0;
    if (state.holder > state.last_token || (!is_held && !state.claim_id.empty()))
        return rejection(text, lease_line::kind);
    return read;
}
result<fence_record> parse_fence(std::string_view text) {
    return parsed<fence_line, fence_record>(text);
}
result<marker_record> parse_marker(std::string_view text) {
    return parsed<marker_line, marker_record>(text);
}

failure no_record(std::string_view text, const std::string& what) {
    const auto layout = base::parse_number<int>(text.substr(0, text.find(' ')));
    if (layout && *layout > layout_version)
        return {errc::unsupported, "the record has layout " + std::to_string(*layout) +
                                       " of a newer pawl: update this one"};
    return {errc::rejected, "this is not a " + what + ": another program has written it"};
}

std::string_view nonce_of(std::string_view text) {
    constexpr std::string_view name = " nonce=";
    const auto begin = text.find(name);
    if (begin == std::string_view::npos) return {};
    const auto rest = text.substr(begin + name.size());
    return rest.substr(0, rest.find(' '));
}

}  // namespace pawl::cas
