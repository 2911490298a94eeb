#include "engines/cas/store/record_text.hpp"

#include "base/number.hpp"
#include "base/percent.hpp"

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

std::string word_of(std::string_view bytes) {
    if (bytes.empty()) return std::string{none};
    // One that is the sign of none is told apart from it.
    if (bytes == none) return "%2D";
    return base::percent_encode(bytes, is_plain);
}

// Writes the words of a line.
class writer {
public:
    explicit writer(std::string_view kind)
        : text_{std::to_string(layout_version) + " " + std::string{kind}} {}

    void nonce(const std::string& value) { word("nonce", value); }
    void token(std::string_view name, fence_token value) {
        word(name, std::to_string(number(value)));
    }
    void time(std::string_view name, micros value) { word(name, std::to_string(value.count())); }
    void term(std::string_view name, millis value) { word(name, std::to_string(value.count())); }
    void rounds(std::string_view name, int value) { word(name, std::to_string(value)); }
    void due(std::string_view name, const std::optional<occurrence>& value) {
        word(name, value ? std::to_string(number(*value)) : std::string{none});
    }
    void bytes(std::string_view name, const std::string& value) { word(name, word_of(value)); }
    std::string text() { return std::move(text_); }

private:
    void word(std::string_view name, std::string_view value) {
        text_.append(" ").append(name).append("=").append(value);
    }

    std::string text_;
};

// Reads the same words in the same order; after the first that is wrong nothing is right.
class reader {
public:
    reader(std::string_view kind, std::string_view text) : rest_{text} {
        if (word() != std::to_string(layout_version) || word() != kind) is_wrong_ = true;
    }

    void nonce(std::string& into) {
        into = value("nonce");
        if (into.empty() || into.size() > nonce_bytes_max) is_wrong_ = true;
    }
    void token(std::string_view name, fence_token& into) {
        into = fence_token{within(name, std::uint64_t{0}, token_max)};
    }
    void time(std::string_view name, micros& into) {
        into = micros{within(name, -micros_max, micros_max)};
    }
    void term(std::string_view name, millis& into) {
        into = millis{within(name, millis::rep{0}, term_max.count())};
    }
    void rounds(std::string_view name, int& into) { into = within(name, 0, rounds_max); }
    void due(std::string_view name, std::optional<occurrence>& into) {
        const auto found = value(name);
        if (found == none) return;
        const auto when = base::parse_number<std::int64_t>(found);
        if (!when) is_wrong_ = true;
        into = occurrence{when.value_or(0)};
    }
    void bytes(std::string_view name, std::string& into) {
        const auto found = value(name);
        if (found == none) return;
        auto decoded = base::percent_decode(found);
        if (decoded.has_value())
            into = std::move(*decoded);
        else
            is_wrong_ = true;
    }
    bool is_good() const { return !is_wrong_ && is_over_; }

private:
    std::string_view word() {
        if (is_over_) is_wrong_ = true;
        const auto end = rest_.find(' ');
        const auto found = rest_.substr(0, end);
        is_over_ = end == std::string_view::npos;
        rest_.remove_prefix(is_over_ ? rest_.size() : end + 1);
        return found;
    }
    std::string_view value(std::string_view name) {
        const auto found = word();
        if (found.size() > name.size() && found.starts_with(name) && found[name.size()] == '=')
            return found.substr(name.size() + 1);
        is_wrong_ = true;
        return {};
    }
    template <class Number>
    Number within(std::string_view name, Number least, Number most) {
        const auto found = base::parse_number_within(value(name), least, most);
        if (!found) is_wrong_ = true;
        return found.value_or(least);
    }

    std::string_view rest_;
    bool is_over_ = false;
    bool is_wrong_ = false;
};

// The words of each kind of record, in their order, for a writer and for a reader.
struct lease_line {
    using record = lease_record;
    static constexpr std::string_view kind = "lease";
    static void take(auto& words, auto& record) {
        words.nonce(record.nonce);
        words.token("holder", record.state.holder);
        words.token("last", record.state.last_token);
        words.time("until", record.state.until);
        words.term("term", record.term);
        words.time("acquired", record.state.acquired);
        words.time("wall", record.state.acquired_wall);
        words.time("used", record.used);
        words.due("done", record.state.last_done);
        words.bytes("id", record.state.claim_id);
        words.bytes("owner", record.state.owner);
    }
};

struct fence_line {
    using record = fence_record;
    static constexpr std::string_view kind = "fence";
    static void take(auto& words, auto& record) {
        words.nonce(record.nonce);
        words.token("newest", record.newest);
    }
};

struct marker_line {
    using record = marker_record;
    static constexpr std::string_view kind = "marker";
    static void take(auto& words, auto& record) {
        words.nonce(record.nonce);
        words.time("born", record.born);
        words.token("floor", record.floor);
        words.rounds("race", record.rounds);
        words.bytes("identity", record.identity);
    }
};

template <class Line>
std::string written(const typename Line::record& record) {
    writer words{Line::kind};
    Line::take(words, record);
    return words.text();
}

failure refusal(std::string_view text, std::string_view kind) {
    const auto layout = base::parse_number<int>(text.substr(0, text.find(' ')));
    if (layout && *layout > layout_version)
        return {errc::unsupported, "the record has layout " + std::to_string(*layout) +
                                       " of a newer pawl: update this one"};
    return {errc::rejected, "this is no " + std::string{kind} +
                                " record of pawl's: another program has written it"};
}

// There is one way to write each record, so what reads the same and is written otherwise is not
// pawl's.
template <class Line>
result<typename Line::record> parsed(std::string_view text) {
    reader words{Line::kind, text};
    typename Line::record read;
    Line::take(words, read);
    if (!words.is_good() || written<Line>(read) != text) return refusal(text, Line::kind);
    return read;
}

}  // namespace

std::string encode(const lease_record& record) { return written<lease_line>(record); }
std::string encode(const fence_record& record) { return written<fence_line>(record); }
std::string encode(const marker_record& record) { return written<marker_line>(record); }

result<lease_record> parse_lease(std::string_view text) {
    auto read = parsed<lease_line>(text);
    if (read.has_error()) return read;
    const auto& state = read->state;
    const bool is_held = number(state.holder) != 0;
    if (state.holder > state.last_token || (!is_held && !state.claim_id.empty()))
        return refusal(text, lease_line::kind);
    return read;
}
result<fence_record> parse_fence(std::string_view text) { return parsed<fence_line>(text); }
result<marker_record> parse_marker(std::string_view text) { return parsed<marker_line>(text); }

std::string_view nonce_of(std::string_view text) {
    constexpr std::string_view name = " nonce=";
    const auto begin = text.find(name);
    if (begin == std::string_view::npos) return {};
    const auto rest = text.substr(begin + name.size());
    return rest.substr(0, rest.find(' '));
}

}  // namespace pawl::cas
