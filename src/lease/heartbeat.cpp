#include "lease/heartbeat.hpp"

#include <algorithm>

namespace pawl::leasing {
namespace {

// A renewal without an answer is sent again, but a store that answers nothing is not flooded.
constexpr int unanswered_max = 8;

}  // namespace

heartbeat::heartbeat(const renewal_timing& how, instant claimed, instant first_claimed,
                     double uniform)
    : how_{how}, first_claimed_{first_claimed}, valid_until_{claimed + how.trust} {
    valid_until_ = std::min(valid_until_, lifetime_end());
    renew_at_ = jittered(claimed, how_.renew_after, uniform);
}

instant heartbeat::jittered(instant from, nanos after, double uniform) const {
    const double factor = 1.0 + how_.jitter * (2.0 * uniform - 1.0);
    return from + std::chrono::duration_cast<nanos>(after * factor);
}

instant heartbeat::lifetime_end() const {
    return how_.max_lifetime.count() > 0 ? first_claimed_ + how_.max_lifetime : instant::max();
}

loss heartbeat::why(instant now) const {
    if (taken_) return loss::taken;
    if (now < valid_until_) return loss::none;
    return valid_until_ >= lifetime_end() ? loss::lifetime_ended : loss::validity_ended;
}

// Once trust reaches to the end of the lifetime there is nothing left to win.
bool heartbeat::renewal_helps() const {
    if (how_.renew == renewal_mode::manual || unanswered_ >= unanswered_max) return false;
    return valid_until_ < lifetime_end();
}

heartbeat::step heartbeat::next(instant now) const {
    if (!valid(now)) return {act::lose, now};
    if (!stop_told_ && now >= stop_at()) return {act::stop, now};
    auto until = stop_told_ ? valid_until_ : std::min(stop_at(), valid_until_);
    // A job that has been told to stop still needs the key while it does: renewal goes on.
    if (renewal_helps()) {
        if (now >= renew_at_) return {act::renew, now};
        until = std::min(until, renew_at_);
    }
    return {act::wait, until};
}

void heartbeat::renewal_sent(instant now, double uniform) {
    ++unanswered_;
    renew_at_ = jittered(now, how_.retry_after, uniform);
}

void heartbeat::renewal_answered(instant sent, renewal answer, instant now, double uniform) {
    if (unanswered_ > 0) --unanswered_;
    switch (answer) {
        case renewal::lost:
            taken_ = true;
            return;
        case renewal::unknown:
            ++failures_;
            return;
        case renewal::renewed:
            break;
    }
    failures_ = 0;
    // Trust that has ended never comes back, however good the late news.
    if (now >= valid_until_) return;
    valid_until_ = std::max(valid_until_, std::min(sent + how_.trust, lifetime_end()));
    renew_at_ = jittered(sent, how_.renew_after, uniform);
}

}  // namespace pawl::leasing
