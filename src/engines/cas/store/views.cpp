// What is only looked at: one record, a page of them, a change, and the health of the store.
#include "engines/cas/store/cas_store.hpp"
#include "engines/cas/store/self_race.hpp"

#include "base/duration.hpp"
#include "net/cancelled.hpp"
#include "time/check_clock.hpp"

#include <algorithm>

namespace pawl::cas {
namespace {

// Where the store wakes no waiter: how often a waiter looks, give or take a fifth.
constexpr millis poll_pause{1'000};

// After a wake-up that was none.
constexpr millis idle_wake_pause{100};

// A withdrawal leaves a record of a key that was never granted: it is for the medium alone.
bool is_trace(const lease_rules& lease) {
    const auto& state = lease.kept.state;
    return number(state.last_token) == 0 && !state.last_done;
}

}  // namespace

async<std::optional<record>> cas_store::do_inspect(std::string key) {
    std::optional<record> shown;
    lease_step look = [&](lease_rules& lease, const clock_bounds& now) {
        if (!is_trace(lease)) shown = lease.describe(key, now);
        return rules::end_effect{};
    };
    auto looking = amend_lease(key, std::nullopt, std::move(look));
    const auto looked = co_await std::move(looking);
    if (looked.has_error()) co_return looked.error();
    co_return shown;
}

async<page> cas_store::do_list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    const auto until = co_await space_->ready();
    if (until.has_error()) co_return until.error();
    page shown;
    shown.next = std::move(after);
    // Traces are passed over, so a page may take several looks.
    do {
        list_order rest{record_kind::lease, prefix, shown.next, limit - shown.records.size()};
        auto asking = records_->list(std::move(rest), *until);
        const auto found = co_await std::move(asking);
        if (found.has_error()) co_return found.error();
        const auto bounds = records_->known_clock();
        for (const auto& [key, stands] : found->records) {
            const auto lease = read_lease(key, stands);
            if (lease.has_value() && is_trace(*lease)) continue;
            shown.records.push_back(lease.has_value() ? lease->describe(key, bounds)
                                                      : rules::unreadable(key));
        }
        const bool is_last = !found->more || found->records.empty();
        shown.next = is_last ? std::string{} : found->records.back().first;
    } while (!shown.next.empty() && shown.records.size() < limit && records_->now() < *until);
    co_return shown;
}

// Without a push every look is a request, and a waiter has just been told that the key is
// held: so the first look is after a pause as well.
async<void> cas_store::do_wait(std::string key, fence_token seen_holder) {
    const auto self = shared_from_this();
    const bool polls = !records_->traits().watches;
    version last;
    for (bool idle = polls;;) {
        if (idle) {
            const auto pause = polls ? poll_pause : idle_wake_pause;
            co_await net::sleep_for(pause * 4 / 5 + records_->jitter(pause * 2 / 5));
            last.clear();
        }
        if (co_await net::is_cancelled()) co_return result<void>{};
        const auto open = co_await space_->ready();
        if (open.has_error()) co_return open.error();
        const record_name name{record_kind::lease, key};
        auto reading = records_->read(name, *open);
        const auto stands = co_await std::move(reading);
        // What an operation under way says of a caller that is gone is no news.
        if (stands.has_error() && co_await net::is_cancelled()) co_return result<void>{};
        if (stands.has_error()) co_return stands.error();
        const auto lease = read_lease(key, *stands);
        if (lease.has_error()) co_return lease.error();
        if (!lease->live(records_->known_clock()) || lease->kept.state.holder != seen_holder)
            co_return result<void>{};
        // Woken for nothing.
        idle = polls || stands->at == last;
        if (idle) continue;
        last = stands->at;
        auto watching = records_->on().watch(name, stands->at);
        const auto woken = co_await std::move(watching);
        if (woken.has_error() && !co_await net::is_cancelled()) co_return woken.error();
    }
}

async<examination> cas_store::do_examine() {
    const auto self = shared_from_this();
    auto found = co_await records_->on().examine(deadline());
    if (found.has_error()) co_return found.error();
    const auto open = co_await space_->ready();
    const auto say = [&](severity level, const char* check, std::string text) {
        found->findings.push_back({level, check, std::move(text)});
    };
    if (open.has_error() && open.error().code != errc::unsupported) {
        say(severity::fail, "schema", open.error().detail);
        co_return std::move(*found);
    }
    const auto raced = co_await race(records_, deadline());
    if (raced.has_error())
        say(raced.error().code == errc::unsupported ? severity::fail : severity::warn, "atomicity",
            raced.error().detail);
    else
        say(severity::ok, "atomicity",
            "of " + std::to_string(racers) + " writers that raced for one record, one won, in " +
                std::to_string(*raced) + " rounds");
    if (const auto bounds = records_->clock(); bounds.has_value()) {
        const auto width = std::chrono::ceil<millis>(bounds->high - bounds->low);
        found->findings.push_back(time::check_clock(
            "the store's clock", bounds->low, bounds->high,
            "agrees with ours, as far as its answers show: to " + base::format_duration(width)));
        if (!found->clock) found->clock = bounds->low.count();
    }
    if (open.has_value())
        say(severity::ok, "schema", "the layout has version " + std::to_string(layout_version));
    if (!settings_.common.quarantine)
        say(severity::ok, "quarantine",
            "off: what was acknowledged is not forgotten; to restore a backup, stop all "
            "processes, delete the marker that comes back with it, and set quarantine=");
    co_return std::move(*found);
}

}  // namespace pawl::cas
