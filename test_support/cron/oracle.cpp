#include "test_support/cron/oracle.hpp"

#include <date/tz.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace pawl::testing {
namespace {

using namespace std::chrono;

std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts;
    std::istringstream in{text};
    for (std::string part; std::getline(in, part, by);)
        if (!part.empty()) parts.push_back(part);
    return parts;
}

// Whether a value is one of those of an item such as 5, *, 5/2, 5-9 or 50-10/3.
bool item_fits(const std::string& item, int value, int low, int high) {
    const auto slash = item.find('/');
    const int step = slash == std::string::npos ? 1 : std::stoi(item.substr(slash + 1));
    const auto range = item.substr(0, slash);
    const auto dash = range.find('-');
    int first = low;
    int steps = high - low;
    if (range != "*" && range != "?") {
        first = std::stoi(range.substr(0, dash));
        if (dash != std::string::npos) {
            const int last = std::stoi(range.substr(dash + 1));
            steps = last >= first ? last - first : last - first + (high - low + 1);
        } else {
            // Sunday written as 7 begins the week.
            steps = slash == std::string::npos ? 0 : high - (first > high ? low : first);
        }
    }
    for (int gone = 0; gone <= steps; gone += step)
        if ((first + gone - low) % (high - low + 1) + low == value) return true;
    return false;
}

bool list_fits(const std::string& list, int value, int low, int high) {
    for (const auto& item : split(list, ','))
        if (item_fits(item, value, low, high)) return true;
    return false;
}

std::vector<bool> fitting(const std::string& list, int low, int high) {
    std::vector<bool> values(static_cast<std::size_t>(high) + 1, false);
    for (int value = low; value <= high; ++value)
        values[static_cast<std::size_t>(value)] = list_fits(list, value, low, high);
    return values;
}

int weekday_of(year_month_day date) {
    return static_cast<int>(weekday{sys_days{date}}.c_encoding());
}

int last_of(year_month_day date) {
    return static_cast<int>(static_cast<unsigned>((date.year() / date.month() / last).day()));
}

// The working day of this month that is the fewest days away; of a Saturday the day before, of a
// Sunday the day after, if they are of the month.
int nearest_working_day(year_month_day month, int wanted) {
    for (const int away : {0, -1, 1, 2, -2}) {
        const int tried = wanted + away;
        if (tried < 1 || tried > last_of(month)) continue;
        const int at = weekday_of(month.year() / month.month() / day{static_cast<unsigned>(tried)});
        if (at != 0 && at != 6) return tried;
    }
    throw std::logic_error{"there are no five days without a working day"};
}

bool month_day_fits(const std::string& item, year_month_day date) {
    const int today = static_cast<int>(static_cast<unsigned>(date.day()));
    const int last = last_of(date);
    const bool working = item.back() == 'W';
    const auto plain = working ? item.substr(0, item.size() - 1) : item;
    const auto from_end = [&] {
        return plain.size() > 1 ? last - std::stoi(plain.substr(2)) : last;
    };
    if (plain[0] == 'L' || working) {
        const int wanted = plain[0] == 'L' ? from_end() : std::stoi(plain);
        if (wanted < 1 || wanted > last) return false;
        return today == (working ? nearest_working_day(date, wanted) : wanted);
    }
    if (plain.size() > 2 && plain.substr(plain.size() - 2) == "-L")
        return today >= std::stoi(plain);
    return item_fits(item, today, 1, 31);
}

bool week_day_fits(const std::string& item, year_month_day date) {
    const int today = weekday_of(date);
    const int day = static_cast<int>(static_cast<unsigned>(date.day()));
    if (item.back() == 'L') return std::stoi(item) % 7 == today && day + 7 > last_of(date);
    if (const auto hash = item.find('#'); hash != std::string::npos) {
        const int count = std::stoi(item.substr(hash + 1));
        const int is = count > 0 ? (day + 6) / 7 : -((last_of(date) - day) / 7 + 1);
        return std::stoi(item) % 7 == today && is == count;
    }
    return item_fits(item, today, 0, 6);
}

}  // namespace

struct cron_oracle::reading {
    explicit reading(seconds clock) : date{floor<days>(sys_seconds{clock})} {
        const auto time = clock - sys_days{date}.time_since_epoch();
        hour = static_cast<std::size_t>(time / hours{1});
        minute = static_cast<std::size_t>(time % hours{1} / minutes{1});
        second = static_cast<std::size_t>(time % minutes{1} / seconds{1});
    }

    year_month_day date;
    std::size_t hour, minute, second;
};

struct cron_oracle::looked_at {
    year_month_day date{};
    bool fits = false;
};

cron_oracle::cron_oracle(const std::string& expression, const std::string& zone)
    : fields_{split(expression, ' ')}, zone_{zone}, tick_{fields_.size() == 6 ? 1 : 60} {
    if (fields_.size() == 5) fields_.insert(fields_.begin(), "0");
    for (std::size_t i = 0; i < 3; ++i)
        counts_ = counts_ || fields_[i].find_first_of("*-/") != std::string::npos;
    seconds_ = fitting(fields_[0], 0, 59);
    minutes_ = fitting(fields_[1], 0, 59);
    hours_ = fitting(fields_[2], 0, 23);
    months_ = fitting(fields_[4], 1, 12);
}

bool cron_oracle::day_fits(const reading& clock, looked_at& day) const {
    if (day.date == clock.date) return day.fits;
    day = {clock.date, false};
    if (!months_[static_cast<unsigned>(clock.date.month())]) return false;
    bool by_month = false;
    for (const auto& item : split(fields_[3], ','))
        by_month = by_month || month_day_fits(item, clock.date);
    bool by_week = false;
    for (const auto& item : split(fields_[5], ','))
        by_week = by_week || week_day_fits(item, clock.date);
    const auto open = [](const std::string& field) { return field[0] == '*' || field[0] == '?'; };
    const bool both = open(fields_[3]) || open(fields_[5]);
    day.fits = both ? by_month && by_week : by_month || by_week;
    return day.fits;
}

bool cron_oracle::fits(const reading& clock, looked_at& day) const {
    return seconds_[clock.second] && minutes_[clock.minute] && hours_[clock.hour] &&
           day_fits(clock, day);
}

seconds cron_oracle::dull(const reading& clock, looked_at& day) const {
    if (clock.minute != 0 || clock.second != 0) return seconds{0};
    if (clock.hour == 0 && !day_fits(clock, day)) return days{1};
    return hours_[clock.hour] ? seconds{0} : hours{1};
}

std::vector<sys_seconds> cron_oracle::occurrences(sys_seconds from, sys_seconds to,
                                                  oracle_policy policy) const {
    const auto* zone = date::locate_zone(zone_);
    // No clock has been set back by as much, so from here on it is known what it has shown.
    sys_seconds now = floor<hours>(from) - hours{4};
    looked_at day;
    auto info = zone->get_info(now);
    seconds highest = now.time_since_epoch() + info.offset;
    std::vector<sys_seconds> found;
    while (now <= to) {
        const auto clock = now.time_since_epoch() + info.offset;
        const reading shown{clock};
        bool fires = false;
        for (auto left_out = highest; policy.fires_after_gap && left_out < clock && !fires;
             left_out += tick_)
            fires = fits(reading{left_out}, day);
        const bool again = clock < highest;
        if (!fires && fits(shown, day)) fires = !again || counts_ || policy.fires_again;
        if (fires && now > from) found.push_back(now);

        auto step = dull(shown, day);
        if (step == seconds{0} || fires || now + step > info.end) step = tick_;
        now += step;
        if (clock + step > highest) highest = clock + step;
        if (now >= info.end) info = zone->get_info(now);
    }
    return found;
}

std::vector<sys_seconds> clock_changes(const std::string& zone, sys_seconds from, sys_seconds to) {
    const auto* where = date::locate_zone(zone);
    std::vector<sys_seconds> changes;
    for (auto info = where->get_info(from); info.end < to;) {
        const auto next = where->get_info(info.end);
        if (next.offset != info.offset) changes.push_back(next.begin);
        info = next;
    }
    return changes;
}

}  // namespace pawl::testing
