#include "time/zone_rule.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace pawl::time {

using namespace std::chrono;

// Reads from left to right; after the first surprise it is not good any more.
struct zone_rule::reader {
    std::string_view text;
    std::size_t at = 0;
    bool good = true;

    bool ended() const { return at == text.size(); }
    char peek() const { return good && !ended() ? text[at] : '\0'; }
    bool accept(char letter) {
        if (peek() != letter) return false;
        ++at;
        return true;
    }
    void expect(char letter) { good = accept(letter) && good; }

    int number(int low, int high) {
        int value = 0;
        const auto begun = at;
        while (base::is_digit(peek()) && at - begun < 3) value = value * 10 + (text[at++] - '0');
        good = good && at > begun && value >= low && value <= high;
        return value;
    }

    // An abbreviation: letters, or anything in <>.
    void name() {
        const auto begun = at;
        if (accept('<')) {
            while (peek() != '\0' && peek() != '>') ++at;
            expect('>');
        } else {
            while (base::is_letter(peek())) ++at;
        }
        good = good && at - begun >= 3;
    }

    // [+-]hh[:mm[:ss]], up to a week.
    seconds signed_time() {
        const int sign = peek() == '-' ? -1 : 1;
        if (peek() == '-' || peek() == '+') ++at;
        seconds value = hours{number(0, 167)};
        if (accept(':')) value += minutes{number(0, 59)};
        if (accept(':')) value += seconds{number(0, 59)};
        return sign * value;
    }

    moment date() {
        moment read;
        if (accept('M')) {
            read.month = number(1, 12);
            expect('.');
            read.week = number(1, 5);
            expect('.');
            read.day = number(0, 6);
        } else if (accept('J')) {
            read.form = day_form::day_without_leap;
            read.day = number(1, 365);
        } else {
            read.form = day_form::day_of_year;
            read.day = number(0, 365);
        }
        read.time = accept('/') ? signed_time() : seconds{hours{2}};
        return read;
    }
};

seconds zone_rule::moment::clock(std::chrono::year year) const {
    sys_days day_is = sys_days{year / January / 1};
    switch (form) {
        case day_form::month_week_day: {
            const weekday wanted{static_cast<unsigned>(day)};
            const auto in = year / std::chrono::month{static_cast<unsigned>(month)};
            day_is = week == 5 ? sys_days{in / wanted[last]}
                               : sys_days{in / wanted[static_cast<unsigned>(week)]};
            break;
        }
        case day_form::day_without_leap: {
            const bool after_february = day > 31 + 28;
            day_is += days{day - 1 + (year.is_leap() && after_february ? 1 : 0)};
            break;
        }
        case day_form::day_of_year:
            day_is += days{day};
            break;
    }
    return day_is.time_since_epoch() + time;
}

std::optional<zone_rule> zone_rule::parse(std::string_view text) {
    reader in{text};
    zone_rule made;
    in.name();
    // West of Greenwich is positive here.
    made.standard_ = -in.signed_time();
    if (in.good && !in.ended()) {
        made.changes_ = true;
        in.name();
        made.summer_ = in.peek() == ',' ? made.standard_ + hours{1} : -in.signed_time();
        in.expect(',');
        made.summer_begins_ = in.date();
        in.expect(',');
        made.summer_ends_ = in.date();
    }
    if (!in.good || !in.ended()) return std::nullopt;
    return made;
}

std::vector<stretch> zone_rule::in(year year) const {
    if (!changes_ || summer_ == standard_) return {};
    std::vector<stretch> begun{{sys_seconds{summer_begins_.clock(year) - standard_}, summer_},
                               {sys_seconds{summer_ends_.clock(year) - summer_}, standard_}};
    std::sort(begun.begin(), begun.end(),
              [](const stretch& one, const stretch& other) { return one.begin < other.begin; });
    return begun;
}

}  // namespace pawl::time
