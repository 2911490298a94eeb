#include "time/http_date.hpp"

#include "base/number.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace pawl::time {
namespace {

int number_in(std::string_view text) { return base::parse_number<int>(text).value_or(-1); }

}  // namespace

std::optional<std::chrono::seconds> parse_http_date(std::string_view text) {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (text.size() != 29 || text.substr(25) != " GMT") return std::nullopt;
    const auto at = months.find(text.substr(8, 3));
    if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
    const auto day_of_month = number_in(text.substr(5, 2));
    if (day_of_month < 0) return std::nullopt;
    const std::chrono::year_month_day day{std::chrono::year{number_in(text.substr(12, 4))},
                                          std::chrono::month{static_cast<unsigned>(at / 3 + 1)},
                                          std::chrono::day{static_cast<unsigned>(day_of_month)}};
    const auto hour = number_in(text.substr(17, 2)), minute = number_in(text.substr(20, 2)),
               second = number_in(text.substr(23, 2));
    // 60: a leap second.
    if (!day.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 60)
        return std::nullopt;
    return std::chrono::sys_days{day}.time_since_epoch() + std::chrono::hours{hour} +
           std::chrono::minutes{minute} + std::chrono::seconds{second};
}

std::string format_http_date(wall_instant when) {
    constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto seconds = std::chrono::floor<std::chrono::seconds>(when).time_since_epoch().count();
    const std::time_t since_epoch = seconds;
    std::tm parts{};
    ::gmtime_r(&since_epoch, &parts);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                  days[parts.tm_wday], parts.tm_mday, months[parts.tm_mon], parts.tm_year + 1900,
                  parts.tm_hour, parts.tm_min, parts.tm_sec);
    return text.data();
}

}  // namespace pawl::time
