#include "time/cron.hpp"
#include "time/cron_plan.hpp"

#include <bit>

namespace pawl::time {
namespace {

using namespace std::chrono;

// Any day would do, as long as all nodes count from the same one.
constexpr year_month first_month{year{2020} / January};
// After which the calendar repeats, days of the week included.
constexpr months calendar_cycle{400 * 12};

std::int64_t count(mask what) noexcept { return std::popcount(what); }

std::int64_t days_between(const day_plan& days, year_month from, year_month until) noexcept {
    std::int64_t all = 0;
    for (auto at = from; at < until; at += months{1}) all += count(days.of(at.year(), at.month()));
    return all;
}

// The days that fit from the first month up to this one; below zero where it lies before.
std::int64_t days_until(const day_plan& days, year_month month, months distance) noexcept {
    if (distance < months{0}) return -days_between(days, month, first_month);
    const auto cycles = distance / calendar_cycle;
    const auto rest = days_between(days, first_month, first_month + distance % calendar_cycle);
    if (cycles == 0) return rest;
    return rest + cycles * days_between(days, first_month, first_month + calendar_cycle);
}

// The days that fit and come before this one.
std::int64_t days_before(const cron_plan& what, year_month_day date) noexcept {
    const year_month month{date.year() / date.month()};
    const auto below = bits(0, static_cast<int>(static_cast<unsigned>(date.day())) - 1);
    const auto in_month = count(what.days.of(date.year(), date.month()) & below);
    const auto distance = month - first_month;
    // Of clocks that are far behind nothing is kept: below zero a count would not fit.
    if (distance < months{0}) return days_until(what.days, month, distance) + in_month;
    const auto number = static_cast<std::int32_t>(distance.count());
    if (const auto known = what.counted.find(number)) return *known + in_month;
    const auto all = days_until(what.days, month, distance);
    what.counted.keep(number, static_cast<std::int32_t>(all));
    return all + in_month;
}

// The times of a day that fit, up to this one.
std::int64_t times_until(const time_plan& times, seconds time) noexcept {
    const hh_mm_ss clock{time};
    const auto hour = static_cast<int>(clock.hours().count());
    const auto minute = static_cast<int>(clock.minutes().count());
    const auto second = static_cast<int>(clock.seconds().count());
    const auto of_minute = count(times.seconds), of_hour = count(times.minutes) * of_minute;
    auto all = count(times.hours & bits(0, hour - 1)) * of_hour;
    if ((times.hours & bit(hour)) == 0) return all;
    all += count(times.minutes & bits(0, minute - 1)) * of_minute;
    if ((times.minutes & bit(minute)) == 0) return all;
    return all + count(times.seconds & bits(0, second));
}

}  // namespace

std::int64_t cron::ordinal(wall_instant at, const zone& where) const noexcept {
    if (plan_->every > microseconds{0}) {
        const auto passed = at.time_since_epoch();
        return passed / plan_->every - (passed % plan_->every < microseconds{0} ? 1 : 0);
    }
    const sys_seconds clock{floor<seconds>(at) + where.offset_at(at)};
    const auto today = floor<days>(clock);
    const auto& times = plan_->time;
    const auto each_day = times_until(times, days{1} - seconds{1});
    return days_before(*plan_, year_month_day{today}) * each_day +
           times_until(times, clock - today);
}

}  // namespace pawl::time
