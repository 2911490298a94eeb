#include "lease/election.hpp"

#include "base/ensure.hpp"
#include "base/scaled.hpp"

#include <pawl/leader.hpp>

#include <algorithm>

namespace pawl {

std::optional<std::string> leadership_fault(const lease_options& options) {
    if (options.occurrence)
        return "occurrence names one occurrence, and a lease that is held again and again has "
               "none: "
               "leave it out, or take locks::run for a job that runs once";
    if (options.renew == renewal_mode::manual)
        return "renewal_mode::manual renews nothing while the body works: leave it at automatic";
    if (options.reentrancy == reentrancy::instance)
        return "reentrancy::instance would let two bodies of this process share one lease: leave "
               "it at none";
    return std::nullopt;
}

namespace leasing {
namespace {

using std::chrono::milliseconds;

constexpr nanos backoff_first = milliseconds{50};
constexpr nanos backoff_longest = milliseconds{5000};

}  // namespace

bool needs_an_operator(errc code) noexcept {
    return code == errc::denied || code == errc::protocol || code == errc::unsupported;
}

nanos backoff(int failures, nanos longest, double uniform) {
    const auto grown = backoff_first * (1 << std::clamp(failures - 1, 0, 10));
    return base::scaled(std::min<nanos>(grown, longest), 0.5 + 0.5 * uniform);
}

election_plan election_plan_of(const lease_options& options) {
    const auto how = renewal_timing_of(options);
    return {how.renew_after, how.jitter,
            std::clamp(how.renew_after, backoff_first, backoff_longest)};
}

election::step election::next(instant now) const {
    switch (state_) {
        case state::campaigning:
            return now < until_ ? step{act::rest, until_} : step{act::claim, now};
        case state::serving:
            return {act::serve, now};
        case state::over:
            break;
    }
    return {act::over, now};
}

void election::elected(instant) {
    base::ensure(state_ == state::campaigning);
    answered_ = true;
    failures_ = 0;
    ++terms_;
    state_ = state::serving;
}

void election::rejected(instant now, double uniform) {
    answered_ = true;
    failures_ = 0;
    // The wait was long, and should it ever not have been, this keeps the store from being flooded.
    until_ = now + backoff(1, plan_.backoff_max, uniform);
}

void election::failed(const failure& why, instant now, double uniform) {
    if (!answered_ && needs_an_operator(why.code)) {
        fault_ = why;
        state_ = state::over;
        return;
    }
    answered_ = answered_ || why.code == errc::rejected || why.answered;
    until_ = now + backoff(++failures_, plan_.backoff_max, uniform);
}

void election::ended(term_end how, instant now, double uniform) {
    base::ensure(state_ == state::serving);
    state_ = state::campaigning;
    // A former leader would win again every time: it is awake, and the others are not yet.
    if (how == term_end::given_up)
        until_ = now + base::scaled(plan_.rest, 1.0 + plan_.jitter * (2.0 * uniform - 1.0));
}

void election::call_off() { state_ = state::over; }

}  // namespace leasing
}  // namespace pawl
