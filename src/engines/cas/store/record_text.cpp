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
constexpr char none = '-';

bool is_plain(char letter) { return letter > ' ' && letter <= '~' && letter != '%'; }

std::string word_of(std::string_view bytes) {
    if (bytes.empty()) return {none};
    // One that is the sign of none is told apart from it.
    if (bytes == std::string_view{&none, 1}) return "%2D";
    return base::percent_encode(bytes, is_plain);
}

class line {
public:
    explicit line(std::string_view kind)
        : text_{std::to_string(layout_version) + " " + std::string{kind}} {}

    line& add(std::string_view name, std::string_view value) {
        text_.append(" ").append(name).append("=").append(value);
        return *this;
    }
    line& add(std::string_view name, std::int64_t value) {
        return add(name, std::to_string(value));
    }
    line& add(std::string_view name, micros value) { return add(name, value.count()); }
    line& add(std::string_view name, fence_token value) {
        return add(name, std::to_string(number(value)));
    }
    std::string text() { return std::move(text_); }

private:
    std::string text_;
};

// Reads the words of a line in their order; after the first that is wrong nothing is right.
class reader {
public:
    explicit reader(std::string_view text) : rest_{text} {}

    std::optional<std::string_view> word() {
        if (is_wrong_ || is_over_) return wrong();
        const auto end = rest_.find(' ');
        const auto found = rest_.substr(0, end);
        is_over_ = end == std::string_view::npos;
        rest_.remove_prefix(is_over_ ? rest_.size() : end + 1);
        return found;
    }
    std::string_view value(std::string_view name) {
        const auto found = word();
        if (found && found->size() > name.size() && found->starts_with(name) &&
            (*found)[name.size()] == '=')
            return found->substr(name.size() + 1);
        wrong();
        return {};
    }
    std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most) {
        const auto found = base::parse_number_within(value(name), least, most);
        if (!found) wrong();
        return found.value_or(least);
    }
    micros time(std::string_view name) { return micros{integer(name, -micros_max, micros_max)}; }
    fence_token token(std::string_view name) {
        const auto found = base::parse_number_within(value(name), std::uint64_t{0}, token_max);
        if (!found) wrong();
        return fence_token{found.value_or(0)};
    }
    std::string bytes(std::string_view name) {
        const auto found = value(name);
        if (found == std::string_view{&none, 1}) return {};
        auto decoded = base::percent_decode(found);
        if (decoded.has_value()) return std::move(*decoded);
        wrong();
        return {};
    }
    std::string nonce() {
        const auto found = value("nonce");
        if (found.empty() || found.size() > nonce_bytes_max) wrong();
        return std::string{found};
    }
    bool is_good() const { return !is_wrong_ && is_over_; }

private:
    std::nullopt_t wrong() {
        is_wrong_ = true;
        return std::nullopt;
    }

    std::string_view rest_;
    bool is_over_ = false;
    bool is_wrong_ = false;
};

failure refusal(std::string_view text, std::string_view kind) {
    const auto layout = base::parse_number<int>(text.substr(0, text.find(' ')));
    if (layout && *layout > layout_version)
        return {errc::unsupported, "the record has layout " + std::to_string(*layout) +
                                       " of a newer pawl: update this one"};
    return {errc::rejected, "this is no " + std::string{kind} +
                                " record of pawl's: another program has written it"};
}

bool begins_right(reader& words, std::string_view kind) {
    const auto layout = words.word();
    const auto found = words.word();
    return layout == std::to_string(layout_version) && found == kind;
}

// There is one way to write each record, so what reads the same and is written otherwise is not
// pawl's.
template <class Record>
result<Record> checked(Record read, const reader& words, std::string_view text,
                       std::string_view kind) {
    if (!words.is_good() || encode(read) != text) return refusal(text, kind);
    return read;
}

constexpr std::string_view lease_kind = "lease";
constexpr std::string_view fence_kind = "fence";
constexpr std::string_view marker_kind = "marker";

}  // namespace

std::string encode(const lease_record& record) {
    const auto& state = record.state;
    line made{lease_kind};
    made.add("nonce", record.nonce)
        .add("holder", state.holder)
        .add("last", state.last_token)
        .add("until", state.until)
        .add("term", record.term.count())
        .add("acquired", state.acquired)
        .add("wall", state.acquired_wall)
        .add("used", record.used);
    if (state.last_done)
        made.add("done", number(*state.last_done));
    else
        made.add("done", std::string_view{&none, 1});
    return made.add("id", word_of(state.claim_id)).add("owner", word_of(state.owner)).text();
}

std::string encode(const fence_record& record) {
    return line{fence_kind}.add("nonce", record.nonce).add("newest", record.newest).text();
}

std::string encode(const marker_record& record) {
    return line{marker_kind}
        .add("nonce", record.nonce)
        .add("born", record.born)
        .add("floor", record.floor)
        .add("race", std::int64_t{record.rounds})
        .add("identity", word_of(record.identity))
        .text();
}

result<lease_record> parse_lease(std::string_view text) {
    reader words{text};
    if (!begins_right(words, lease_kind)) return refusal(text, lease_kind);
    lease_record read;
    auto& state = read.state;
    read.nonce = words.nonce();
    state.holder = words.token("holder");
    state.last_token = words.token("last");
    state.until = words.time("until");
    read.term = millis{words.integer("term", 0, term_max.count())};
    state.acquired = words.time("acquired");
    state.acquired_wall = words.time("wall");
    read.used = words.time("used");
    const auto done = words.value("done");
    if (done != std::string_view{&none, 1}) {
        const auto due = base::parse_number<std::int64_t>(done);
        if (!due) return refusal(text, lease_kind);
        state.last_done = occurrence{*due};
    }
    state.claim_id = words.bytes("id");
    state.owner = words.bytes("owner");
    const bool is_held = number(state.holder) != 0;
    if (state.holder > state.last_token || (!is_held && !state.claim_id.empty()))
        return refusal(text, lease_kind);
    return checked(std::move(read), words, text, lease_kind);
}

result<fence_record> parse_fence(std::string_view text) {
    reader words{text};
    if (!begins_right(words, fence_kind)) return refusal(text, fence_kind);
    fence_record read;
    read.nonce = words.nonce();
    read.newest = words.token("newest");
    return checked(std::move(read), words, text, fence_kind);
}

result<marker_record> parse_marker(std::string_view text) {
    reader words{text};
    if (!begins_right(words, marker_kind)) return refusal(text, marker_kind);
    marker_record read;
    read.nonce = words.nonce();
    read.born = words.time("born");
    read.floor = words.token("floor");
    read.rounds = static_cast<int>(words.integer("race", 0, rounds_max));
    read.identity = words.bytes("identity");
    return checked(std::move(read), words, text, marker_kind);
}

std::string_view nonce_of(std::string_view text) {
    constexpr std::string_view name = " nonce=";
    const auto begin = text.find(name);
    if (begin == std::string_view::npos) return {};
    const auto rest = text.substr(begin + name.size());
    return rest.substr(0, rest.find(' '));
}

}  // namespace pawl::cas
