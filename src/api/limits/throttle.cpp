#include "api/limits/throttle.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace pawl::api {
namespace {

// Beyond it a wait is the longest anyway, and a shift stays within a number.
constexpr int doublings_max = 30;
constexpr int failures_counted_max = 1'000'000;

}  // namespace

throttle::throttle(throttle_rules rules) : rules_{rules} {}

millis throttle::wait_of(std::string_view subject, instant now) const {
    const auto found = subjects_.find(subject);
    if (found == subjects_.end() || found->second.blocked_until <= now) return millis{0};
    return std::chrono::ceil<millis>(found->second.blocked_until - now);
}

void throttle::add_failure(std::string_view subject, instant now) {
    auto found = subjects_.find(subject);
    if (found == subjects_.end()) {
        make_room(now);
        found = subjects_.emplace(std::string{subject}, history{}).first;
    }
    history& one = found->second;
    one.failures = std::min(failures_of(one, now) + 1, failures_counted_max);
    one.last = now;
    one.blocked_until = now + wait_after(one.failures);
}

void throttle::forgive(std::string_view subject) {
    if (const auto found = subjects_.find(subject); found != subjects_.end())
        subjects_.erase(found);
}

int throttle::failures_of(const history& one, instant now) const {
    const auto halvings = (now - one.last) / instant::duration{rules_.half_life};
    return halvings >= doublings_max ? 0 : one.failures >> halvings;
}

millis throttle::wait_after(int failures) const {
    if (failures <= rules_.free_tries) return millis{0};
    const int doublings = failures - rules_.free_tries - 1;
    if (doublings >= doublings_max) return rules_.wait_max;
    return std::min(rules_.wait_max, rules_.first_wait * (std::int64_t{1} << doublings));
}

// A caller who comes from ever new addresses, or with ever new names, only pushes out those.
void throttle::make_room(instant now) {
    if (subjects_.size() < rules_.subjects_max) return;
    const auto goes = std::min_element(
        subjects_.begin(), subjects_.end(), [&](const auto& left, const auto& right) {
            return std::tuple{failures_of(left.second, now), left.second.last} <
                   std::tuple{failures_of(right.second, now), right.second.last};
        });
    subjects_.erase(goes);
}

}  // namespace pawl::api
