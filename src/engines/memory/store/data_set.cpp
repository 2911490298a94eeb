#include "engines/memory/store/data_set.hpp"

#include "net/fork_check.hpp"
#include "time/clocks.hpp"

#include <algorithm>

namespace pawl::memory {
namespace {

// One grant in so many looks for records past their retention, at so many records each time: every
// record is looked at while about as many grants happen as there are records.
constexpr std::uint32_t grants_per_sweep = 64;
constexpr std::uint32_t records_per_sweep = 128;

// A thread of the parent's may hold a mutex at a fork(): its child begins with none of this.
struct registry {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<data_set>> by_name;  // under the mutex
};
constinit net::one_per_process<registry> known_data;

}  // namespace

rules::store_time data_set::system_time() {
    return {std::chrono::floor<rules::micros>(lease_clock::now().time_since_epoch()),
            time::wall_now().time_since_epoch()};
}

std::shared_ptr<data_set> data_set::of(const std::string& name_space) {
    auto& all = known_data.get();
    const std::lock_guard lock{all.mutex};
    auto& found = all.by_name[name_space];
    if (!found) found = std::make_shared<data_set>();
    return found;
}

rules::lease_record* data_set::find(const std::string& key) {
    const auto place = leases_.find(key);
    return place == leases_.end() ? nullptr : &place->second;
}

acquire_result<grant> data_set::acquire(const claim& wanted, millis max_skew, millis retention) {
    const std::lock_guard lock{mutex_};
    const auto now = this->now();
    if (++grants_ % grants_per_sweep == 0) sweep(now, retention);
    if (auto* known = find(wanted.key)) return rules::acquire(*known, wanted, now, max_skew);
    rules::lease_record fresh;
    fresh.last_token = purged_;
    auto answer = rules::acquire(fresh, wanted, now, max_skew);
    if (std::holds_alternative<grant>(answer)) leases_.emplace(wanted.key, std::move(fresh));
    return answer;
}

bool data_set::withdraw(const withdrawal& given_up) {
    const std::lock_guard lock{mutex_};
    auto* known = find(given_up.key);
    if (known == nullptr) return false;
    const auto effect = rules::withdraw(*known, given_up, now());
    if (effect.was_holder) ring(given_up.key);
    return effect.was_holder;
}

renewal data_set::renew(const held_lease& lease) {
    const std::lock_guard lock{mutex_};
    auto* known = find(lease.key);
    const bool renewed = known != nullptr && rules::renew(*known, lease, now());
    return renewed ? renewal::renewed : renewal::lost;
}

bool data_set::release(const std::string& key, fence_token token, const release_options& how) {
    const std::lock_guard lock{mutex_};
    auto* known = find(key);
    if (known == nullptr) return false;
    const auto effect = rules::release(*known, token, how, now());
    if (effect.was_holder) ring(key);
    return effect.was_holder;
}

bool data_set::force_release(const std::string& key, fence_token token, millis delay) {
    const std::lock_guard lock{mutex_};
    auto* known = find(key);
    if (known == nullptr || !rules::force_release(*known, token, delay, now())) return false;
    ring(key);
    return true;
}

record data_set::describe(const std::string& key, const rules::lease_record& state,
                          const rules::store_time& now) const {
    auto seen = rules::describe(key, state, now);
    seen.waiters = static_cast<std::uint32_t>(waiters_.count(key));
    return seen;
}

std::optional<record> data_set::inspect(const std::string& key) {
    const std::lock_guard lock{mutex_};
    const auto* known = find(key);
    if (known == nullptr) return std::nullopt;
    return describe(key, *known, now());
}

page data_set::list(const std::string& prefix, const std::string& after, std::size_t limit) {
    const std::lock_guard lock{mutex_};
    const auto now = this->now();
    page found;
    auto place = after < prefix ? leases_.lower_bound(prefix) : leases_.upper_bound(after);
    for (; place != leases_.end() && place->first.starts_with(prefix); ++place) {
        if (found.records.size() == limit) {
            found.next = found.records.back().key;
            break;
        }
        found.records.push_back(describe(place->first, place->second, now));
    }
    return found;
}

fence_result data_set::fence(const std::string& resource, fence_token token, fence_rule rule,
                             const store_settings& settings) {
    const std::lock_guard lock{mutex_};
    const auto issued =
        rules::issued_tokens(settings.quarantine, born_.wall, now().wall, settings.max_skew);
    return rules::check_fence(fences_[resource], token, rule, issued);
}

void data_set::ring(const std::string& key) {
    const auto [first, last] = waiters_.equal_range(key);
    std::for_each(first, last, [](const auto& waiter) { waiter.second(); });
}

void data_set::sweep(const rules::store_time& now, millis retention) {
    auto place = leases_.lower_bound(sweep_from_);
    for (std::uint32_t i = 0; i < records_per_sweep && place != leases_.end(); ++i) {
        if (place->second.until + retention > now.elapsed) {
            ++place;
            continue;
        }
        purged_ = std::max(purged_, place->second.last_token);
        place = leases_.erase(place);
    }
    sweep_from_ = place == leases_.end() ? std::string{} : place->first;
}

data_set::waiting::waiting(std::shared_ptr<data_set> from, std::string key,
                           std::function<void()> ring)
    : from_{std::move(from)}, place_{from_->waiters_.emplace(std::move(key), std::move(ring))} {}

data_set::waiting::~waiting() {
    const std::lock_guard lock{from_->mutex_};
    from_->waiters_.erase(place_);
}

std::unique_ptr<data_set::waiting> data_set::wait(const std::string& key, fence_token seen,
                                                  std::function<void()> ring) {
    const std::lock_guard lock{mutex_};
    const auto* known = find(key);
    if (known == nullptr || !known->live(now()) || known->holder != seen) return nullptr;
    return std::make_unique<waiting>(shared_from_this(), key, std::move(ring));
}

}  // namespace pawl::memory
