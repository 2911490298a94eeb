#include "time/rfc3339.hpp"

#include "base/ascii.hpp"

#include <cstdio>

namespace pawl::time {
namespace {

using namespace std::chrono;

constexpr std::string_view expected =
    "expected a time such as 2026-11-20T06:00:00Z or 2026-11-20T06:00:00+01:00";

base::text_fault fault(std::size_t column, std::string_view what) {
    return {column, std::string{what}};
}

// Reads fixed digits and separators from left to right; `at` is where it stands or failed.
struct reader {
    std::string_view text;
    std::size_t at = 0;
    bool good = true;

    int digits(std::size_t count) {
        int value = 0;
        for (std::size_t i = 0; good && i < count; ++i) {
            good = at < text.size() && base::is_digit(text[at]);
            if (good) value = value * 10 + (text[at++] - '0');
        }
        return value;
    }
    void one_of(std::string_view letters) {
        good = good && at < text.size() && letters.find(text[at]) != std::string_view::npos;
        if (good) ++at;
    }
    bool peek(char letter) const { return good && at < text.size() && text[at] == letter; }
};

microseconds read_fraction(reader& in) {
    if (!in.peek('.')) return microseconds{0};
    in.one_of(".");
    std::int64_t value = 0;
    int places = 0;
    do {
        const int digit = in.digits(1);
        if (places < 6) {
            value = value * 10 + digit;
            ++places;
        }
    } while (in.good && in.at < in.text.size() && base::is_digit(in.text[in.at]));
    for (; places < 6; ++places) value *= 10;
    return microseconds{value};
}

minutes read_offset(reader& in) {
    if (in.peek('Z') || in.peek('z')) {
        in.one_of("Zz");
        return minutes{0};
    }
    const int sign = in.peek('-') ? -1 : 1;
    in.one_of("+-");
    const int offset_hours = in.digits(2);
    in.one_of(":");
    const int offset_minutes = in.digits(2);
    if (offset_hours > 23 || offset_minutes > 59) in.good = false;
    return sign * (hours{offset_hours} + minutes{offset_minutes});
}

}  // namespace

std::string format_rfc3339(wall_instant when) {
    const auto day = floor<days>(when);
    const year_month_day date{day};
    const hh_mm_ss clock{floor<milliseconds>(when - day)};
    char text[64];
    std::snprintf(
        text, sizeof text, "%04d-%02u-%02uT%02ld:%02ld:%02ld.%03ldZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<long>(clock.hours().count()), static_cast<long>(clock.minutes().count()),
        static_cast<long>(clock.seconds().count()), static_cast<long>(clock.subseconds().count()));
    return text;
}

std::string format_rfc3339(wall_instant when, seconds offset) {
    const auto whole = duration_cast<minutes>(offset);
    const auto local = when + whole;
    const auto day = floor<days>(local);
    const year_month_day date{day};
    const hh_mm_ss clock{local - day};
    char text[64];
    const int length = std::snprintf(
        text, sizeof text, "%04d-%02u-%02uT%02ld:%02ld:%02ld", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<long>(clock.hours().count()), static_cast<long>(clock.minutes().count()),
        static_cast<long>(clock.seconds().count()));
    std::string written{text, static_cast<std::size_t>(length)};
    if (const auto fraction = duration_cast<milliseconds>(clock.subseconds()).count();
        fraction != 0) {
        std::snprintf(text, sizeof text, ".%03ld", static_cast<long>(fraction));
        written += text;
    }
    if (whole == minutes{0}) return written + "Z";
    const auto size = abs(whole);
    std::snprintf(text, sizeof text, "%c%02ld:%02ld", whole < minutes{0} ? '-' : '+',
                  static_cast<long>(size / hours{1}),
                  static_cast<long>(size % hours{1} / minutes{1}));
    return written + text;
}

base::parsed<wall_instant> parse_rfc3339(std::string_view text) {
    auto any = parse_rfc3339_of_any_year(text);
    if (any.has_value() && reader{text}.digits(4) < 1970)
        return fault(0, "there is no such day, or it lies before 1970");
    return any;
}

base::parsed<wall_instant> parse_rfc3339_of_any_year(std::string_view text) {
    reader in{text};
    const year years{in.digits(4)};
    in.one_of("-");
    const month months{static_cast<unsigned>(in.digits(2))};
    in.one_of("-");
    const day month_day{static_cast<unsigned>(in.digits(2))};
    in.one_of("Tt ");
    const int hour = in.digits(2);
    in.one_of(":");
    const int minute = in.digits(2);
    in.one_of(":");
    const int second = in.digits(2);
    const auto fraction = read_fraction(in);
    const auto offset = read_offset(in);
    if (!in.good) return fault(in.at, expected);
    if (in.at != text.size()) return fault(in.at, "nothing may follow the offset");
    const year_month_day date{years / months / month_day};
    if (!date.ok() || years < year{1})
        return fault(0, "there is no such day, or it lies before 1970");
    // 60 is a leap second, which Unix time counts as the first of the next minute.
    if (hour > 23 || minute > 59 || second > 60) return fault(11, "there is no such time of day");
    return wall_instant{sys_days{date}} + hours{hour} + minutes{minute} + seconds{second} +
           fraction - offset;
}

}  // namespace pawl::time
