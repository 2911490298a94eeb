#include "metrics/sample_buffer.hpp"

#include <utility>

namespace pawl::metrics {
namespace {

sample difference(const totals& before, const totals& now) {
    const auto since = [](const auto& later, const auto& earlier, auto which) {
        const auto place = static_cast<std::size_t>(which);
        return later[place] - earlier[place];
    };
    sample one;
    one.granted = since(now.claims, before.claims, acquire_outcome::granted);
    one.busy = since(now.claims, before.claims, acquire_outcome::busy);
    one.already_done = since(now.claims, before.claims, acquire_outcome::already_done);
    one.errors = since(now.claims, before.claims, acquire_outcome::error);
    one.renewed = since(now.renewals, before.renewals, renewal::renewed);
    one.renew_failed = since(now.renewals, before.renewals, renewal::lost) +
                       since(now.renewals, before.renewals, renewal::unknown);
    one.lost = now.lost - before.lost;
    one.rejected = now.rejected - before.rejected;
    one.forced = now.forced - before.forced;
    one.retries = now.retries - before.retries;
    one.fail_open = now.fail_open - before.fail_open;
    one.runs_ended = now.runs_ended - before.runs_ended;
    one.runs_failed = now.runs_failed - before.runs_failed;
    const auto waits = now.wait.since(before.wait);
    const auto holds = now.hold.since(before.hold);
    one.wait_p50 = quantile(waits, 0.5);
    one.wait_p99 = quantile(waits, 0.99);
    one.hold_p50 = quantile(holds, 0.5);
    one.hold_p99 = quantile(holds, 0.99);
    one.store_p99 = quantile(now.store.since(before.store), 0.99);
    one.held = now.held;
    one.running = now.running;
    return one;
}

}  // namespace

void sample_buffer::take(totals now, std::int64_t at) {
    auto one = difference(last_, now);
    one.at = at;
    last_ = std::move(now);
    if (samples_.size() == samples_max) samples_.pop_front();
    samples_.push_back(one);
}

}  // namespace pawl::metrics
