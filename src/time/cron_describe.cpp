// An expression in words. For people: nothing reads it back.
#include "time/cron_plan.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

namespace pawl::time {
namespace {

constexpr mask every_hour = bits(0, 23);
constexpr mask every_minute = bits(0, 59);
constexpr mask every_day = bits(1, 31);
constexpr mask every_month = bits(1, 12);
constexpr mask every_weekday = bits(0, 6);
// Up to so many times of day are listed one by one.
constexpr int listed_times = 6;

constexpr std::array<std::string_view, 7> weekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 13> months{
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += i + 1 < parts.size() ? ", " : " and ";
        text += parts[i];
    }
    return text;
}

// "1 to 5 and 9": three or more in a row are a range.
template <class Name>
std::string listed(mask values, Name name) {
    std::vector<std::string> parts;
    while (values != 0) {
        const int first = std::countr_zero(values);
        const int last = first + std::countr_one(values >> first) - 1;
        if (last - first >= 2)
            parts.push_back(name(first) + " to " + name(last));
        else
            for (int value = first; value <= last; ++value) parts.push_back(name(value));
        values &= ~bits(first, last);
    }
    return joined(parts);
}

std::string number(int value) { return std::to_string(value); }
std::string weekday_name(int day) { return std::string{weekdays[static_cast<std::size_t>(day)]}; }
std::string month_name(int month) { return std::string{months[static_cast<std::size_t>(month)]}; }

std::string ordinal(int n) {
    const bool teen = n % 100 >= 11 && n % 100 <= 13;
    const char* end = "th";
    if (!teen && n % 10 == 1) end = "st";
    if (!teen && n % 10 == 2) end = "nd";
    if (!teen && n % 10 == 3) end = "rd";
    return std::to_string(n) + end;
}

std::string counted(std::int64_t count, std::string_view unit) {
    if (count == 1) return "every " + std::string{unit};
    return "every " + std::to_string(count) + " " + std::string{unit} + "s";
}

std::string interval(std::chrono::microseconds every) {
    const std::int64_t millis = every / std::chrono::milliseconds{1};
    static constexpr std::pair<std::int64_t, std::string_view> units[] = {
        {86'400'000, "day"}, {3'600'000, "hour"}, {60'000, "minute"}, {1000, "second"}};
    for (const auto& [size, name] : units)
        if (millis % size == 0) return counted(millis / size, name);
    return counted(millis, "millisecond");
}

// How far apart the values are when they are spread evenly over 60, counted from 0.
std::optional<int> even_step(mask values) {
    for (const int step : {1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30}) {
        mask wanted = 0;
        for (int value = 0; value < 60; value += step) wanted |= bit(value);
        if (values == wanted) return step;
    }
    return std::nullopt;
}

std::string clock_text(int hour, int minute, int second) {
    std::array<char, 64> text{};
    if (second == 0)
        std::snprintf(text.data(), text.size(), "%02d:%02d", hour, minute);
    else
        std::snprintf(text.data(), text.size(), "%02d:%02d:%02d", hour, minute, second);
    return text.data();
}

std::string times_of_day(const time_plan& time) {
    std::vector<std::string> times;
    for (mask hours = time.hours; hours != 0; hours &= hours - 1)
        for (mask minutes = time.minutes; minutes != 0; minutes &= minutes - 1)
            times.push_back(clock_text(std::countr_zero(hours), std::countr_zero(minutes),
                                       std::countr_zero(time.seconds)));
    return "at " + joined(times);
}

std::string values_of(std::string_view unit, mask values) {
    return std::string{unit} + (std::popcount(values) > 1 ? "s " : " ") + listed(values, number);
}

std::string in_hours(mask hours) {
    return hours == every_hour ? std::string{} : " in " + values_of("hour", hours);
}

std::string time_text(const time_plan& time) {
    const bool one_second = std::popcount(time.seconds) == 1;
    const int times = std::popcount(time.hours) * std::popcount(time.minutes);
    if (one_second && times <= listed_times) return times_of_day(time);
    const auto minute_step = even_step(time.minutes);
    const auto second_step = even_step(time.seconds);
    std::string text;
    if (second_step)
        text = counted(*second_step, "second");
    else if (time.seconds != bit(0))
        text = "at " + values_of("second", time.seconds);
    const bool plain = text.empty();
    if (time.minutes == bit(0) && plain)
        return time.hours == every_hour ? "every hour" : "at the full hour" + in_hours(time.hours);
    if (minute_step && plain) return counted(*minute_step, "minute") + in_hours(time.hours);
    if (plain)
        return "at " + values_of("minute", time.minutes) + " of every hour" + in_hours(time.hours);
    if (time.minutes != every_minute) text += " in " + values_of("minute", time.minutes);
    return text + in_hours(time.hours);
}

std::string month_days_text(const month_days& days) {
    std::vector<std::string> parts;
    if (days.plain != 0) parts.push_back("the " + listed(days.plain, ordinal));
    for (mask rest = days.up_to_last; rest != 0; rest &= rest - 1)
        parts.push_back("the " + ordinal(std::countr_zero(rest)) + " to the last day of the month");
    for (mask rest = days.before_last; rest != 0; rest &= rest - 1) {
        const int before = std::countr_zero(rest);
        parts.push_back(before == 0 ? "the last day of the month"
                                    : "day " + number(before) + " before the last of the month");
    }
    for (mask rest = days.weekday_near; rest != 0; rest &= rest - 1)
        parts.push_back("the weekday nearest to the " + ordinal(std::countr_zero(rest)));
    for (mask rest = days.weekday_near_before_last; rest != 0; rest &= rest - 1) {
        const int before = std::countr_zero(rest);
        parts.push_back("the weekday nearest to " +
                        (before == 0 ? std::string{"the last day of the month"}
                                     : "day " + number(before) + " before the last of the month"));
    }
    return joined(parts);
}

std::string week_days_text(const week_days& days) {
    std::vector<std::string> parts;
    if (days.plain != 0) parts.push_back(listed(days.plain, weekday_name));
    for (int n = 1; n <= 5; ++n) {
        const auto index = static_cast<std::size_t>(n - 1);
        if (days.nth[index] != 0)
            parts.push_back("the " + ordinal(n) + " " + listed(days.nth[index], weekday_name) +
                            " of the month");
        if (days.nth_from_end[index] != 0)
            parts.push_back("the " + (n == 1 ? std::string{} : ordinal(n) + " to ") + "last " +
                            listed(days.nth_from_end[index], weekday_name) + " of the month");
    }
    return joined(parts);
}

std::string day_text(const day_plan& days) {
    const bool any_month_day = days.in_month == month_days{every_day};
    const bool any_weekday = days.in_week == week_days{every_weekday};
    std::string text;
    if (!any_month_day) text = "on " + month_days_text(days.in_month);
    if (!any_weekday) {
        if (!any_month_day) text += days.rule == day_rule::either ? " or " : " if that is ";
        if (any_month_day || days.rule == day_rule::either) text += "on ";
        text += week_days_text(days.in_week);
    }
    if (days.months != every_month)
        text += (text.empty() ? "in " : " in ") + listed(days.months, month_name);
    return text;
}

}  // namespace

std::string cron::describe() const {
    if (plan_->every > std::chrono::microseconds{0}) return interval(plan_->every);
    const auto time = time_text(plan_->time);
    const auto days = day_text(plan_->days);
    if (!days.empty()) return time + " " + days;
    return time.starts_with("every") ? time : time + " every day";
}

}  // namespace pawl::time
