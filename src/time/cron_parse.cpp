// The dialect, as docs/cron.md tells it.
#include "base/ascii.hpp"
#include "base/text.hpp"
#include "time/cron_plan.hpp"

#include <algorithm>
#include <vector>

namespace pawl::time {
namespace {

constexpr std::size_t longest_expression = 1000;
constexpr millis shortest_interval{100};

using names = std::vector<std::string_view>;

const names month_names{"january", "february", "march",     "april",   "may",      "june",
                        "july",    "august",   "september", "october", "november", "december"};
const names day_names{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
const names no_names;

enum class field_kind { second, minute, hour, month_day, month, week_day };

struct field {
    field_kind kind;
    std::string_view name;
    int low;
    int high;            // the last of a star and of a range that goes round
    int highest;         // what may be written: 7 is Sunday, too
    const names& words;  // stand for low, low + 1 …
    std::string_view expected;
};

const field& field_of(field_kind kind) {
    static const field all[] = {
        {field_kind::second, "second", 0, 59, 59, no_names, "0 to 59"},
        {field_kind::minute, "minute", 0, 59, 59, no_names, "0 to 59"},
        {field_kind::hour, "hour", 0, 23, 23, no_names, "0 to 23"},
        {field_kind::month_day, "day of the month", 1, 31, 31, no_names,
         "1 to 31, L, LW, L-3 or 15W"},
        {field_kind::month, "month", 1, 12, 12, month_names, "1 to 12 or JAN to DEC"},
        {field_kind::week_day, "day of the week", 0, 6, 7, day_names,
         "0 to 7, SUN to SAT, 5L or 5#2"}};
    return all[static_cast<std::size_t>(kind)];
}

bool is_space(char letter) { return letter == ' ' || letter == '\t'; }

// Reads one field from left to right; after the first fault nothing is read any more.
class field_reader {
public:
    field_reader(const field& what, std::string_view text, std::size_t from, std::size_t to)
        : what_{what}, text_{text.substr(0, to)}, at_{from}, begin_{from} {}

    void read() {
        do {
            read_item();
            ++items_;
        } while (good() && accept(','));
        if (good() && at_ != text_.size())
            fail(at_, "expected ',' or the end of the field" + found());
        if (good() && items_ > 1 && alone_at_)
            fail(*alone_at_, "a day with W, and a ?, stand alone, without a list");
    }

    const std::optional<base::text_fault>& fault() const { return fault_; }
    bool begins_with_star() const { return begins_with_star_; }
    bool counts() const { return counts_; }

    // Seconds, minutes, hours and months are all plain.
    mask plain = 0;
    month_days in_month;
    week_days in_week;

private:
    bool good() const { return !fault_; }
    bool is(field_kind kind) const { return what_.kind == kind; }
    char peek() const { return good() && at_ < text_.size() ? base::lower(text_[at_]) : '\0'; }
    bool accept(char letter) {
        if (peek() != letter) return false;
        ++at_;
        return true;
    }

    void fail(std::size_t column, std::string_view why) {
        if (fault_) return;
        fault_.emplace(column, std::string{what_.name} + ": " + std::string{why});
    }
    std::string found() const {
        if (at_ >= text_.size()) return ", but the field ends here";
        const char letter = text_[at_];
        const bool shown = letter > ' ' && letter < 0x7f;
        return shown ? ", not '" + std::string{letter} + "'" : ", not this character";
    }

    void read_item() {
        if (is(field_kind::month_day) && (peek() == 'l' || peek() == 'w')) return read_last_day();
        if (is(field_kind::week_day) && peek() == 'l') return read_last_weekday();
        const auto from = at_;
        if (accept('*')) {
            begins_with_star_ = begins_with_star_ || from == begin_;
            counts_ = true;
            return read_step(what_.low, what_.high);
        }
        if (peek() == '?') return read_question_mark();
        const int first = read_value();
        if (!good()) return;
        if (is(field_kind::month_day) && accept('w')) {
            alone_at_ = from;
            in_month.weekday_near |= bit(first);
            return;
        }
        if (is(field_kind::week_day) && accept('l')) {
            in_week.nth_from_end[0] |= bit(first % 7);
            return;
        }
        if (is(field_kind::week_day) && peek() == '#') return read_nth(first % 7);
        if (accept('-')) return read_range(first);
        if (peek() == '/') {
            counts_ = true;
            return read_step(first == 7 && is(field_kind::week_day) ? 0 : first, what_.high);
        }
        add(first);
    }

    void read_question_mark() {
        if (!is(field_kind::month_day) && !is(field_kind::week_day))
            return fail(
                at_, "a ? stands for any day only; write * for every " + std::string{what_.name});
        begins_with_star_ = begins_with_star_ || at_ == begin_;
        alone_at_ = at_++;
        for (int value = what_.low; value <= what_.high; ++value) add(value);
    }

    // L, LW, L-3, L-3W.
    void read_last_day() {
        if (peek() == 'w')
            return fail(at_,
                        "a W follows a day, as in 15W or LW, the nearest day from Monday to "
                        "Friday; for all of those write 1-5 as the day of the week");
        const auto from = at_++;
        int before = 0;
        if (accept('-')) {
            const auto column = at_;
            before = read_number();
            if (good() && before > 30) fail(column, "expected 0 to 30 days before the last one");
        }
        if (!good()) return;
        if (accept('w')) {
            alone_at_ = from;
            in_month.weekday_near_before_last |= bit(before);
        } else {
            in_month.before_last |= bit(before);
        }
    }

    // L5 is the same as 5L.
    void read_last_weekday() {
        const auto column = at_++;
        if (!base::is_digit(peek()) && !base::is_letter(peek()))
            return fail(column, "an L needs a day, as in 5L or FRIL, the last Friday of the month");
        const int day = read_value();
        if (good()) in_week.nth_from_end[0] |= bit(day % 7);
    }

    // MON#2, and from the end of the month MON#-1.
    void read_nth(int day) {
        const auto hash = at_++;
        if (nth_seen_)
            return fail(hash, "only one # in a field; a second schedule can have the other one");
        nth_seen_ = true;
        const bool from_end = accept('-');
        const auto column = at_;
        const int count = read_number();
        if (!good()) return;
        if (count < 1 || count > 5)
            return fail(column, "expected #1 to #5, or #-1 to #-5 from the end of the month");
        auto& days = from_end ? in_week.nth_from_end : in_week.nth;
        days[static_cast<std::size_t>(count - 1)] |= bit(day);
    }

    void read_range(int first) {
        counts_ = true;
        if (is(field_kind::month_day) && accept('l')) {
            if (peek() == '/' || peek() == '-' || peek() == 'w')
                return fail(at_, "nothing follows a range that goes to the last day, such as 29-L");
            in_month.up_to_last |= bit(first);
            return;
        }
        const int last = read_value();
        if (good()) read_step(first, last);
    }

    // The values from first to last, round the end of the field when last is the smaller, and of
    // those only every so many.
    void read_step(int first, int last) {
        int step = 1;
        if (accept('/')) {
            const auto column = at_;
            step = read_number();
            if (good() && (step < 1 || step > what_.highest))
                fail(column, "expected a step from 1 to " + std::to_string(what_.highest));
        }
        if (!good()) return;
        if (is(field_kind::week_day) && first == 7 && last != 7) first = 0;
        const int round = what_.high - what_.low + 1;
        if (last < first) last += round;
        for (int value = first; value <= last; value += step)
            add(value > what_.highest ? value - round : value);
    }

    void add(int value) {
        if (is(field_kind::week_day))
            in_week.plain |= bit(value % 7);
        else if (is(field_kind::month_day))
            in_month.plain |= bit(value);
        else
            plain |= bit(value);
    }

    int read_number() {
        if (!base::is_digit(peek())) {
            fail(at_, "expected a number" + found());
            return 0;
        }
        int value = 0;
        // What is larger than every bound may stay as it is.
        while (base::is_digit(peek())) value = std::min(value * 10 + (text_[at_++] - '0'), 100'000);
        return value;
    }

    int read_value() {
        const auto column = at_;
        if (base::is_letter(peek()) && !what_.words.empty()) return read_name();
        if (!base::is_digit(peek())) {
            fail(at_, "expected " + std::string{what_.expected} + found());
            return 0;
        }
        const int value = read_number();
        if (good() && (value < what_.low || value > what_.highest))
            fail(column, "expected " + std::string{what_.expected} + ", not " +
                             std::string{text_.substr(column, at_ - column)});
        return good() ? value : 0;
    }

    // Three letters or all of them; FRIL is FRI with an L behind.
    int read_name() {
        const auto column = at_;
        while (base::is_letter(peek())) ++at_;
        const auto word = base::lower(text_.substr(column, at_ - column));
        for (std::size_t i = 0; i < what_.words.size(); ++i) {
            const auto name = what_.words[i];
            for (const auto form : {name, name.substr(0, 3)}) {
                if (word == form) return what_.low + static_cast<int>(i);
                if (is(field_kind::week_day) && word == std::string{form} + 'l') {
                    --at_;
                    return what_.low + static_cast<int>(i);
                }
            }
        }
        fail(column, "expected " + std::string{what_.expected} + ", not '" +
                         std::string{text_.substr(column, at_ - column)} + "'");
        return 0;
    }

    const field& what_;
    std::string_view text_;
    std::size_t at_;
    const std::size_t begin_;
    int items_ = 0;
    bool begins_with_star_ = false;
    bool counts_ = false;
    bool nth_seen_ = false;
    std::optional<std::size_t> alone_at_;
    std::optional<base::text_fault> fault_;
};

struct macro {
    std::string_view name;
    std::string_view fields;
};

constexpr macro macros[] = {
    {"@yearly", "0 0 1 1 *"},         {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},         {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},         {"@always", "* * * * *"},   {"@every_minute", "* * * * *"},
    {"@every_second", "* * * * * *"},
};

struct word {
    std::size_t from;
    std::size_t to;
};

std::vector<word> words_of(std::string_view text) {
    std::vector<word> words;
    for (std::size_t at = 0; at < text.size();) {
        if (is_space(text[at])) {
            ++at;
            continue;
        }
        const auto from = at;
        while (at < text.size() && !is_space(text[at])) ++at;
        words.push_back({from, at});
    }
    return words;
}

base::text_fault wrong_count(std::string_view text, const std::vector<word>& words) {
    std::string what =
        "expected 5 fields (minute, hour, day of the month, month, day of the week) or 6 (a second "
        "in front)";
    if (words.empty()) return {0, what + ", or a macro such as @daily"};
    if (words.size() > 6) return {words[6].from, what + "; there is none for the year"};
    return {text.size(), what + ", found " + std::to_string(words.size())};
}

base::parsed<cron_plan> parse_fields(std::string_view text) {
    const auto words = words_of(text);
    if (words.size() != 5 && words.size() != 6) return wrong_count(text, words);
    cron_plan made;
    bool any_star = false;
    auto kind = words.size() == 6 ? field_kind::second : field_kind::minute;
    for (const auto& [from, to] : words) {
        field_reader reader{field_of(kind), text, from, to};
        reader.read();
        if (reader.fault()) return *reader.fault();
        switch (kind) {
            case field_kind::second:
                made.time.seconds = reader.plain;
                break;
            case field_kind::minute:
                made.time.minutes = reader.plain;
                break;
            case field_kind::hour:
                made.time.hours = reader.plain;
                break;
            case field_kind::month_day:
                made.days.in_month = reader.in_month;
                made.day_column = from;
                break;
            case field_kind::month:
                made.days.months = reader.plain;
                break;
            case field_kind::week_day:
                made.days.in_week = reader.in_week;
                break;
        }
        if (kind <= field_kind::hour) made.counts = made.counts || reader.counts();
        if (kind == field_kind::month_day || kind == field_kind::week_day)
            any_star = any_star || reader.begins_with_star();
        kind = static_cast<field_kind>(static_cast<int>(kind) + 1);
    }
    made.days.rule = any_star ? day_rule::both : day_rule::either;
    return made;
}

base::parsed<cron_plan> parse_every(std::string_view text, const std::vector<word>& words) {
    if (words.size() != 2)
        return base::text_fault{words.size() < 2 ? text.size() : words[2].from,
                                "expected one duration after @every, such as @every 90s"};
    const auto [from, to] = words[1];
    const auto duration = base::parse_duration(text.substr(from, to - from));
    if (duration.has_error())
        return base::text_fault{from + duration.error().column,
                                base::printable(duration.error().what)};
    if (*duration < shortest_interval)
        return base::text_fault{
            from, "expected an interval of at least " + base::format_duration(shortest_interval)};
    cron_plan made;
    made.every = *duration;
    made.counts = true;
    return made;
}

base::parsed<cron_plan> parse_macro(std::string_view text, const std::vector<word>& words) {
    const auto [from, to] = words.front();
    const auto name = base::lower(text.substr(from, to - from));
    if (name == "@every") return parse_every(text, words);
    std::vector<std::string_view> known{"@every"};
    for (const auto& one : macros) {
        known.push_back(one.name);
        if (one.name != name) continue;
        if (words.size() > 1)
            return base::text_fault{words[1].from, "nothing follows " + std::string{one.name}};
        return parse_fields(one.fields);
    }
    const auto shown = "there is no macro '" + base::printable(name) + "'; ";
    if (name == "@reboot")
        return base::text_fault{from, shown +
                                          "a schedule has no start; expected @daily, @hourly, "
                                          "@every 90s or fields"};
    const auto near = base::nearest(name, known);
    return base::text_fault{from,
                            shown + (near ? "did you mean '" + std::string{*near} + "'?"
                                          : std::string{"expected @yearly, @monthly, @weekly, "
                                                        "@daily, @hourly or @every 90s"})};
}

}  // namespace

base::parsed<cron_plan> parse_cron(std::string_view text) {
    if (text.size() > longest_expression)
        return base::text_fault{
            longest_expression,
            "expected at most " + std::to_string(longest_expression) + " characters"};
    const auto words = words_of(text);
    const bool is_macro = !words.empty() && text[words.front().from] == '@';
    auto made = is_macro ? parse_macro(text, words) : parse_fields(text);
    if (made.has_value()) made->text = text;
    return made;
}

}  // namespace pawl::time
