// What a cron expression means, as masks: bit n stands for the value n.
#pragma once

#include "time/cron.hpp"
#include "time/zone_calendar.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace pawl::time {

using mask = std::uint64_t;

constexpr mask bit(int value) noexcept { return mask{1} << value; }
// Bits from first to last; none when last lies before first.
constexpr mask bits(int first, int last) noexcept {
    return last < first ? 0 : (~mask{0} >> (63 - (last - first))) << first;
}

// Days counted from the end of the month: bit 0 is the last day, bit 1 the one before.
struct month_days {
    mask plain = 0;
    mask before_last = 0;
    mask up_to_last = 0;    // bit 29: every day from the 29th on
    mask weekday_near = 0;  // bit 15: the weekday nearest to the 15th
    mask weekday_near_before_last = 0;

    bool operator==(const month_days&) const = default;
};

// Bit 0 is Sunday, bit 6 Saturday.
struct week_days {
    mask plain = 0;
    std::array<mask, 5> nth{};           // [1]: the second of the month
    std::array<mask, 5> nth_from_end{};  // [0]: the last of the month

    bool operator==(const week_days&) const = default;
};

// Vixie's rule: a day must fit both fields, but either is enough when neither begins with a star.
enum class day_rule { both, either };

struct day_plan {
    mask months = 0;
    month_days in_month;
    week_days in_week;
    day_rule rule = day_rule::both;

    // The days of that month that fit, as a mask; none when the month does not.
    mask of(std::chrono::year year, std::chrono::month month) const noexcept;
    // The first day that fits from this one on, within the 400 years after which the calendar
    // repeats.
    std::optional<std::chrono::sys_days> from(std::chrono::sys_days first) const noexcept;
};

struct time_plan {
    mask seconds = bit(0);
    mask minutes = 0;
    mask hours = 0;

    std::chrono::seconds first() const noexcept;
    // The first time of day that fits from this one on.
    std::optional<std::chrono::seconds> from(std::chrono::seconds time) const noexcept;
};

// How many days fit before a month, counted from the first one that is counted from: what was
// worked out last, in one word, so that threads may share it. A copy begins empty.
class counted_month {
public:
    counted_month() = default;
    counted_month(const counted_month&) noexcept {}
    counted_month& operator=(const counted_month&) noexcept { return *this; }

    // `months` is how far the month lies from the first.
    std::optional<std::int32_t> find(std::int32_t months) const noexcept {
        const auto known = known_.load(std::memory_order_relaxed);
        const bool is_it = (known & known_bit) != 0 && month_in(known) == months;
        return is_it ? std::optional{static_cast<std::int32_t>(known & days_mask)} : std::nullopt;
    }
    void keep(std::int32_t months, std::int32_t days) noexcept {
        const auto month = static_cast<std::uint64_t>(static_cast<std::uint32_t>(months));
        known_.store(month << 32U | known_bit | static_cast<std::uint64_t>(days),
                     std::memory_order_relaxed);
    }

private:
    // Ten thousand years have fewer days.
    static constexpr std::uint64_t known_bit = 1U << 31U, days_mask = known_bit - 1;
    static std::int32_t month_in(std::uint64_t known) noexcept {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(known >> 32U));
    }

    std::atomic<std::uint64_t> known_{0};
};

struct cron_plan {
    std::string text;
    // An interval such as @every 90s, counted from the Unix epoch. Zero: the fields are meant.
    std::chrono::microseconds every{0};
    time_plan time;
    day_plan days;
    // Hours, minutes or seconds that are given as *, by a range or with a step: such a schedule
    // counts what passes, so it goes on in the second pass of an hour that is repeated.
    bool counts = false;
    // Where the day of the month is written, for a fault.
    std::size_t day_column = 0;
    mutable counted_month counted{};  // for cron::ordinal

    // The first reading of the clock on the wall that fits from this one on.
    std::optional<wall_clock> from(wall_clock time) const noexcept;
};

// Reads an expression. Whether it ever fires is not looked at.
base::parsed<cron_plan> parse_cron(std::string_view text);

}  // namespace pawl::time
