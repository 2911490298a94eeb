#include "time/cron.hpp"

#include "time/cron_plan.hpp"
#include "time/zone_calendar.hpp"

#include <algorithm>

namespace pawl::time {
namespace {

using namespace std::chrono;

// RFC 3339 ends with the year 9999.
constexpr sys_days end_of_calendar{year{10'000} / 1 / 1};
// Where nothing has been scheduled yet, and where the masks of the calendar still hold.
constexpr sys_days begin_of_calendar{year{1} / 1 / 1};
// Further than any clock is set forward or back, with the distance of two offsets.
constexpr seconds far{days{3}};
// What so many changes of the clock have skipped in a row, about a century of them, never fires.
constexpr int most_changes = 200;

std::optional<wall_instant> next_interval(wall_instant after, microseconds every) {
    const auto passed = after.time_since_epoch();
    auto count = passed / every;
    if (passed % every < microseconds{0}) --count;
    return wall_instant{(count + 1) * every};
}

// Goes along the stretches of a zone's offsets and finds the first occurrence in them.
class search {
public:
    search(const cron_plan& what, const calendar& where, transitions policy) noexcept
        : what_{what}, where_{where}, policy_{policy} {}

    std::optional<sys_seconds> after(sys_seconds instant) {
        index_ = where_.index_at(instant);
        lower_ = std::max(instant.time_since_epoch() + offset() + seconds{1}, first_to_look_at());
        wanted_ = what_.from(lower_);
        for (int changes = 0; wanted_ && changes < most_changes; ++changes) {
            if (*wanted_ < where_.clock_end(index_)) return sys_seconds{*wanted_ - offset()};
            skip_far_stretches();
            if (fires_at_the_end_of_a_gap()) return where_.end_of(index_);
            enter_next();
        }
        return std::nullopt;
    }

private:
    seconds offset() const noexcept { return where_.stretches[index_].offset; }

    // The first reading of the clock in this stretch that may fire: fixed times have had their turn
    // when the clock has shown them already.
    wall_clock first_to_look_at() const noexcept {
        const auto begin = where_.clock_begin(index_);
        if (index_ == 0 || what_.counts || policy_.repeat == repeated_time::twice) return begin;
        return std::max(begin, where_.clock_end(index_ - 1));
    }

    // What is wanted lies years ahead, and no clock that is set back can bring anything before it.
    void skip_far_stretches() noexcept {
        const auto target = where_.index_at(sys_seconds{*wanted_ - far});
        if (target > index_ + 1 && where_.clock_begin(index_ + 1) >= lower_) index_ = target - 1;
    }

    bool fires_at_the_end_of_a_gap() const noexcept {
        return policy_.gap == gap_time::end && *wanted_ >= where_.clock_end(index_) &&
               *wanted_ < where_.clock_begin(index_ + 1);
    }

    void enter_next() {
        const auto passed = where_.clock_end(index_);
        ++index_;
        lower_ = first_to_look_at();
        // Nothing lies between the old bound and what is wanted, so a new bound in there changes
        // nothing. One before it may find more, and one after it has left it behind.
        if (lower_ < passed || *wanted_ < lower_) wanted_ = what_.from(lower_);
    }

    const cron_plan& what_;
    const calendar& where_;
    const transitions policy_;
    std::size_t index_ = 0;
    wall_clock lower_{0};
    std::optional<wall_clock> wanted_;
};

}  // namespace

base::parsed<cron> cron::parse(std::string_view text) {
    auto read = parse_cron(text);
    if (read.has_error()) return read.error();
    const bool fires = read->every > microseconds{0} || read->days.from(sys_days{}).has_value();
    if (!fires)
        return base::text_fault{read->day_column,
                                "this never fires: no month that is named has such a day"};
    return cron{std::make_shared<const cron_plan>(std::move(*read))};
}

std::optional<wall_instant> cron::next(wall_instant after, const zone& where,
                                       transitions policy) const {
    after = std::max(after, wall_instant{begin_of_calendar});
    if (after >= end_of_calendar) return std::nullopt;
    const auto found = plan_->every > microseconds{0}
                           ? next_interval(after, plan_->every)
                           : search{*plan_, where.offsets(), policy}.after(floor<seconds>(after));
    if (!found || *found >= end_of_calendar) return std::nullopt;
    return found;
}

const std::string& cron::text() const noexcept { return plan_->text; }

}  // namespace pawl::time
