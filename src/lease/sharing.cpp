#include "lease/sharing.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "base/number.hpp"
#include "base/scaled.hpp"
#include "lease/assignment.hpp"

#include <algorithm>
#include <tuple>

namespace pawl {

std::optional<std::string> partition_fault(const partition_options& options, std::uint32_t count) {
    using base::format_duration;
    if (count < 1 || count > partitions_max)
        return "the number of partitions is " + std::to_string(count) + ": give 1 to " +
               std::to_string(partitions_max);
    const auto& interval = options.interval;
    if (interval.count() < 0)
        return "interval " + format_duration(interval) + " is negative; expected 0 or more";
    if (interval > options.lease.ttl)
        return "interval " + format_duration(interval) + " is longer than the ttl of " +
               format_duration(options.lease.ttl) +
               ": members that look less often than leases end leave partitions lying";
    return std::nullopt;
}

namespace leasing {
namespace {

using std::chrono::milliseconds;

constexpr nanos interval_least = milliseconds{10};
// Members that began together do not all look in the same instant.
constexpr double look_jitter = 0.2;
// A newcomer is given something when it was seen twice: one that dies as it starts moves nothing.
constexpr int looks_to_believe = 2;
constexpr std::uint32_t looks_to_move_all = 16;
// Where many join at once, or nothing is granted at all, the next look shows which member numbers
// are free.
constexpr int numbers_tried_max = 8;

std::optional<std::uint32_t> parse_number(std::string_view text) {
    // One number, one text: "07" is not ours.
    if (text.size() > 1 && text.front() == '0') return std::nullopt;
    return base::parse_number<std::uint32_t>(text);
}

}  // namespace

sharing_plan sharing_plan_of(std::string_view name, std::uint32_t count,
                             const partition_options& options) {
    const nanos ttl = options.lease.ttl;
    const nanos interval = options.interval.count() > 0 ? nanos{options.interval}
                                                        : std::max<nanos>(ttl / 10, interval_least);
    return {std::string{name}, count, interval, renewal_timing_of(options.lease).renew_after,
            (count + looks_to_move_all - 1) / looks_to_move_all};
}

std::string member_text(std::uint32_t count, std::uint32_t member_number) {
    return std::to_string(count) + '-' + std::to_string(member_number);
}

std::optional<member> parse_member(std::string_view text) {
    const auto dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto count = parse_number(text.substr(0, dash));
    const auto member_number = parse_number(text.substr(dash + 1));
    if (!count || !member_number) return std::nullopt;
    return member{*count, *member_number, 0};
}

sharing::sharing(sharing_plan plan, instant now)
    : plan_{std::move(plan)}, parts_(plan_.count), look_at_{now} {
    for (auto& one : parts_) one.not_before = now;
}

sharing::step sharing::next(instant now) {
    if (called_off_) {
        if (const auto ending = next_of_ending()) return *ending;
        return {act::wait, 0, instant::max()};
    }
    if (standing_ == standing::wanting) {
        standing_ = standing::announcing;
        return {act::announce, *member_number_, now};
    }
    if (const auto begun = next_of_parts(now)) return *begun;
    if (!looking_ && standing_ != standing::announcing && now >= look_at_) {
        looking_ = true;
        return {act::look, 0, now};
    }
    auto until = looking_ || standing_ == standing::announcing ? instant::max() : look_at_;
    if (is_present())
        for (const auto& one : parts_)
            if (one.mine && one.status == part_status::away)
                until = std::min(until, one.not_before);
    return {act::wait, 0, until};
}

// The member number goes first: the others then wait for the partitions while their bodies still
// stop. It goes last where others cut the work otherwise: they wait for no partition of ours.
std::optional<sharing::step> sharing::next_of_ending() {
    // A member number that was chosen and not requested has no member.
    if (standing_ == standing::wanting) standing_ = standing::absent;
    const bool busy = std::any_of(parts_.begin(), parts_.end(),
                                  [](const part& one) { return one.status != part_status::away; });
    if (standing_ == standing::present && !(cut_otherwise_ && busy)) {
        standing_ = standing::leaving;
        return step{act::leave, *member_number_, {}};
    }
    bool quiet = (standing_ == standing::absent || standing_ == standing::gone) && !looking_;
    for (std::uint32_t i = 0; i < plan_.count; ++i) {
        auto& one = parts_[i];
        if (one.status == part_status::claiming) {
            one.status = part_status::calling_off;
            return step{act::call_off, i, {}};
        }
        if (one.status == part_status::held) {
            one.status = part_status::leaving;
            return step{act::give_up, i, {}};
        }
        quiet = quiet && one.status == part_status::away;
    }
    if (!quiet) return std::nullopt;
    return step{act::over, 0, {}};
}

// One that has no member number at this moment wants nothing new, and keeps what it has: its leases
// say so.
std::optional<sharing::step> sharing::next_of_parts(instant now) {
    for (std::uint32_t i = 0; i < plan_.count; ++i) {
        auto& one = parts_[i];
        if (one.status == part_status::away && one.mine && is_present() && now >= one.not_before) {
            one.status = part_status::claiming;
            return step{act::claim, i, now};
        }
        if (one.status == part_status::claiming && !one.mine) {
            one.status = part_status::calling_off;
            return step{act::call_off, i, now};
        }
        if (one.status == part_status::held && one.to_go) {
            one.status = part_status::leaving;
            one.to_go = false;
            return step{act::give_up, i, now};
        }
    }
    return std::nullopt;
}

void sharing::look_again(instant now, double uniform) {
    look_at_ = now + base::scaled(plan_.interval, 1.0 - look_jitter * uniform);
}

void sharing::looked(const std::vector<member>& present, instant now, double uniform) {
    looking_ = false;
    answered_ = true;
    failures_ = 0;
    look_again(now, uniform);
    if (called_off_) return;
    others_.clear();
    cut_otherwise_ = false;
    const member* oldest = nullptr;
    for (const member& one : present) {
        // Under two counts the same work would be in two partitions: those who came first go on.
        if (oldest == nullptr ||
            std::tie(one.since, one.count) < std::tie(oldest->since, oldest->count))
            oldest = &one;
        cut_otherwise_ = cut_otherwise_ || one.count != plan_.count;
        if (one.count == plan_.count && !(is_present() && one.member_number == member_number_))
            others_.push_back(one.member_number);
    }
    std::sort(others_.begin(), others_.end());
    held_back_ = oldest != nullptr && oldest->count != plan_.count;
    if (is_present()) {
        deliberate();
    } else if (take_number()) {
        numbers_tried_ = 0;
        standing_ = standing::wanting;
    }
}

// The member number that it had, or else the lowest that is free: a member that was restarted then
// gets the partitions of the one that it replaces. False when there is none.
bool sharing::take_number() {
    const auto is_free = [this](std::uint32_t member_number) {
        return !std::binary_search(others_.begin(), others_.end(), member_number);
    };
    if (member_number_ && is_free(*member_number_)) return true;
    for (std::uint32_t member_number = 0; member_number < members_max; ++member_number) {
        if (!is_free(member_number)) continue;
        member_number_ = member_number;
        return true;
    }
    return false;
}

void sharing::announced(instant now) {
    base::ensure(standing_ == standing::announcing);
    standing_ = standing::present;
    answered_ = true;
    failures_ = 0;
    // Under another member number than the last the same members mean another share.
    agreed_.clear();
    // Who else began in this moment is seen at the next look.
    look_at_ = std::max(look_at_, now);
    deliberate();
}

void sharing::number_taken(instant now) {
    base::ensure(standing_ == standing::announcing);
    others_.insert(std::lower_bound(others_.begin(), others_.end(), *member_number_),
                   *member_number_);
    const bool once_more = ++numbers_tried_ < numbers_tried_max && now < look_at_;
    standing_ = once_more && take_number() ? standing::wanting : standing::absent;
}

void sharing::announce_failed(const failure& why, instant now, double uniform) {
    base::ensure(standing_ == standing::announcing);
    // Of this member number alone, as others have answers: the next will do.
    if (answered_ && why.code == errc::rejected) return number_taken(now);
    standing_ = standing::absent;
    note(why);
    look_at_ = now + backoff(failures_, plan_.interval, uniform);
}

void sharing::look_failed(const failure& why, instant now, double uniform) {
    looking_ = false;
    note(why);
    look_at_ = now + backoff(failures_, plan_.interval, uniform);
}

void sharing::note(const failure& why) {
    ++failures_;
    if (!answered_ && needs_an_operator(why.code)) {
        fault_ = why;
        call_off();
    }
}

void sharing::forgotten(instant now) {
    if (standing_ != standing::present) return;
    standing_ = standing::absent;
    look_at_ = std::min(look_at_, now);
}

// What is ours, from who is there. What is no longer ours is given up little by little, but at once
// where others cut the work otherwise.
void sharing::deliberate() {
    auto members = others_;
    members.insert(std::lower_bound(members.begin(), members.end(), *member_number_),
                   *member_number_);
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (held_back_) {
        agreed_.clear();
        for (auto& one : parts_) {
            one.mine = false;
            one.to_go = one.status == part_status::held;
        }
        return;
    }
    if (members != agreed_) {
        const auto owners = assign(plan_.name, plan_.count, members);
        for (std::uint32_t i = 0; i < plan_.count; ++i)
            parts_[i].mine = owners[i] == *member_number_;
        agreed_ = std::move(members);
    }
    choose_moves();
}

void sharing::choose_moves() {
    std::uint32_t left = plan_.moves;
    for (auto& one : parts_) {
        one.to_go = false;
        one.looks_astray = one.mine ? 0 : one.looks_astray + 1;
        if (one.status != part_status::held || one.looks_astray < looks_to_believe || left == 0)
            continue;
        one.to_go = true;
        --left;
    }
}

void sharing::granted(std::uint32_t which) {
    auto& one = parts_[which];
    base::ensure(one.status == part_status::claiming || one.status == part_status::calling_off);
    one.status = part_status::held;
    failures_ = 0;
    // It came as it was called off: no member waits for it to be given up little by little.
    one.to_go = !one.mine;
}

void sharing::unclaimed(std::uint32_t which, const std::optional<failure>& why, instant now,
                        double uniform) {
    auto& one = parts_[which];
    base::ensure(one.status == part_status::claiming || one.status == part_status::calling_off);
    one.status = part_status::away;
    if (!why) return;
    note(*why);
    one.not_before = now + backoff(failures_, plan_.interval, uniform);
}

void sharing::ended(std::uint32_t which, term_end how, instant now, double uniform) {
    auto& one = parts_[which];
    base::ensure(one.status == part_status::held || one.status == part_status::leaving);
    one.status = part_status::away;
    one.to_go = false;
    one.not_before = how == term_end::given_up
                         ? now + base::scaled(plan_.rest, 1.0 + look_jitter * (uniform - 0.5))
                         : now;
}

void sharing::left() {
    base::ensure(standing_ == standing::leaving);
    standing_ = standing::gone;
}

void sharing::call_off() { called_off_ = true; }

}  // namespace leasing
}  // namespace pawl
