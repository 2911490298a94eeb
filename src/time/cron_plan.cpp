#include "time/cron_plan.hpp"

#include <bit>

namespace pawl::time {
namespace {

using namespace std::chrono;

constexpr int months_until_repeat = 400 * 12;

constexpr int lowest(mask what) noexcept { return std::countr_zero(what); }
constexpr mask from_bit(mask what, int first) noexcept {
    return first > 63 ? 0 : what & (~mask{0} << first);
}

// A month: how many days it has, and the day of the week of the first (0 is Sunday).
struct month_shape {
    int last;
    int first_weekday;

    int weekday_of(int day) const noexcept { return (first_weekday + day - 1) % 7; }
    bool has(int day) const noexcept { return day >= 1 && day <= last; }
};

// The nearest day from Monday to Friday, which is never in another month.
int nearest_weekday(const month_shape& month, int day) noexcept {
    switch (month.weekday_of(day)) {
        case 6:
            return day > 1 ? day - 1 : day + 2;
        case 0:
            return day < month.last ? day + 1 : day - 2;
        default:
            return day;
    }
}

template <class Each>
void for_each(mask what, Each each) {
    for (; what != 0; what &= what - 1) each(lowest(what));
}

mask days_in_month(const month_days& wanted, const month_shape& month) noexcept {
    mask days = wanted.plain;
    for_each(wanted.before_last, [&](int n) {
        if (month.has(month.last - n)) days |= bit(month.last - n);
    });
    for_each(wanted.up_to_last, [&](int first) { days |= bits(first, month.last); });
    for_each(wanted.weekday_near, [&](int day) {
        if (month.has(day)) days |= bit(nearest_weekday(month, day));
    });
    for_each(wanted.weekday_near_before_last, [&](int n) {
        if (month.has(month.last - n)) days |= bit(nearest_weekday(month, month.last - n));
    });
    return days;
}

// The days of a month that fall on these days of the week.
mask on_weekdays(mask weekdays, const month_shape& month) noexcept {
    const mask turned =
        ((weekdays >> month.first_weekday) | (weekdays << (7 - month.first_weekday))) & 0x7f;
    constexpr mask five_weeks = bit(0) | bit(7) | bit(14) | bit(21) | bit(28);
    return (turned * five_weeks) << 1;
}

mask days_in_week(const week_days& wanted, const month_shape& month) noexcept {
    mask days = on_weekdays(wanted.plain, month);
    for (int n = 0; n < 5; ++n) {
        const auto index = static_cast<std::size_t>(n);
        if (wanted.nth[index] != 0)
            days |= on_weekdays(wanted.nth[index], month) & bits(1 + 7 * n, 7 + 7 * n);
        if (wanted.nth_from_end[index] != 0)
            days |= on_weekdays(wanted.nth_from_end[index], month) &
                    bits(std::max(1, month.last - 6 - 7 * n), month.last - 7 * n);
    }
    return days;
}

}  // namespace

mask day_plan::of(year year, month month) const noexcept {
    if ((months & bit(static_cast<int>(static_cast<unsigned>(month)))) == 0) return 0;
    const sys_days first{year / month / 1};
    const month_shape shape{
        static_cast<int>(static_cast<unsigned>((year / month / std::chrono::last).day())),
        static_cast<int>(weekday{first}.c_encoding())};
    const auto by_date = days_in_month(in_month, shape);
    const auto by_week = days_in_week(in_week, shape);
    const auto days = rule == day_rule::both ? by_date & by_week : by_date | by_week;
    return days & bits(1, shape.last);
}

std::optional<sys_days> day_plan::from(sys_days first) const noexcept {
    const year_month_day date{first};
    year_month at{date.year() / date.month()};
    int from_day = static_cast<int>(static_cast<unsigned>(date.day()));
    for (int i = 0; i <= months_until_repeat; ++i, at += std::chrono::months{1}, from_day = 1) {
        const auto days = from_bit(of(at.year(), at.month()), from_day);
        if (days != 0) return sys_days{at / day{static_cast<unsigned>(lowest(days))}};
    }
    return std::nullopt;
}

seconds time_plan::first() const noexcept {
    return std::chrono::hours{lowest(hours)} + std::chrono::minutes{lowest(minutes)} +
           std::chrono::seconds{lowest(seconds)};
}

std::optional<seconds> time_plan::from(std::chrono::seconds time) const noexcept {
    const int hour = static_cast<int>(time.count() / 3600);
    const int minute = static_cast<int>(time.count() / 60 % 60);
    const int second = static_cast<int>(time.count() % 60);
    const auto at = [](int h, int m, int s) {
        return std::chrono::hours{h} + std::chrono::minutes{m} + std::chrono::seconds{s};
    };
    if ((hours & bit(hour)) != 0) {
        if ((minutes & bit(minute)) != 0)
            if (const auto rest = from_bit(seconds, second); rest != 0)
                return at(hour, minute, lowest(rest));
        if (const auto rest = from_bit(minutes, minute + 1); rest != 0)
            return at(hour, lowest(rest), lowest(seconds));
    }
    if (const auto rest = from_bit(hours, hour + 1); rest != 0)
        return at(lowest(rest), lowest(minutes), lowest(seconds));
    return std::nullopt;
}

std::optional<wall_clock> cron_plan::from(wall_clock clock) const noexcept {
    const auto today = floor<std::chrono::days>(sys_seconds{clock});
    const auto day = days.from(today);
    if (!day) return std::nullopt;
    if (*day != today) return day->time_since_epoch() + time.first();
    if (const auto found = time.from(clock - today.time_since_epoch()))
        return today.time_since_epoch() + *found;
    const auto later = days.from(today + std::chrono::days{1});
    if (!later) return std::nullopt;
    return later->time_since_epoch() + time.first();
}

}  // namespace pawl::time
