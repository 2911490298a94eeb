// What the clock of a zone does after the last change that its file lists: the rule in the file's
// last line, such as CET-1CEST,M3.5.0,M10.5.0/3 (POSIX TZ with the extensions of RFC 8536).
#pragma once

#include "time/zone_calendar.hpp"

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace pawl::time {

class zone_rule {
public:
    // Nothing when it is no such rule.
    static std::optional<zone_rule> parse(std::string_view text);

    // The stretches that begin in that year, in rising order: two, or none where the clock is never
    // set.
    std::vector<stretch> in(std::chrono::year year) const;

private:
    enum class day_form { month_week_day, day_without_leap, day_of_year };

    // A day of the year, and a time of its clock, which may lie days before or after it.
    struct moment {
        day_form form = day_form::month_week_day;
        int month = 0;
        int week = 0;  // 5: the last
        int day = 0;
        std::chrono::seconds time{0};

        std::chrono::seconds clock(std::chrono::year year) const;
    };
    struct reader;

    std::chrono::seconds standard_{0};
    std::chrono::seconds summer_{0};
    bool changes_ = false;
    moment summer_begins_;
    moment summer_ends_;
};

}  // namespace pawl::time
