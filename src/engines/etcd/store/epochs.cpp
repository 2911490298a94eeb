#include "engines/etcd/store/epochs.hpp"

#include "base/number.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <charconv>

namespace pawl::etcd {
namespace {

// Others may be making the same at the same time; each round one of them gets on.
constexpr int rounds_max = 8;
constexpr millis stretch_min{1000};
// A record lives for its retention and up to a quarter of it longer.
constexpr int stretches_in_retention = 8;
// No cluster makes more than one revision in so many microseconds, whatever its hardware.
constexpr std::int64_t micros_a_revision = 8;

std::int64_t lease_in(const std::string& text) {
    return base::leading_number<std::int64_t>(text, 16).value_or(0);
}

std::string text_of(std::int64_t lease) {
    char digits[17];
    return {digits, std::to_chars(digits, digits + sizeof digits, lease, 16).ptr};
}

// No token that was granted under this marker is above it. Those of layout 1 were born plus
// revision, and a cluster that has gone back had more revisions than it shows now.
fence_token highest_under(const marker_text& old, std::int64_t revision, micros now) {
    if (old.floor) return *old.floor;
    const auto lost = std::max<std::int64_t>(now.count() - old.born, 0) / micros_a_revision;
    return old.token_of({}, revision + lost);
}

}  // namespace

epochs::epochs(std::shared_ptr<client> through, std::shared_ptr<lease_pool> leases, key_names names)
    : through_{std::move(through)},
      leases_{std::move(leases)},
      names_{std::move(names)},
      stretch_{
          std::max(through_->settings().common.retention / stretches_in_retention, stretch_min)},
      keep_{names_.keep + std::to_string(seconds_for(through_->settings().common.retention))} {}

async<epoch> epochs::current(request_limits limits) {
    const auto self = shared_from_this();
    for (;;) {
        if (known_ && lease_clock::now() < known_until_) co_return *known_;
        if (!loading_) break;
        // One asks for all.
        auto waiting = loaded_.wait_until(limits.deadline);
        co_await std::move(waiting);
        const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != boost::asio::cancellation_type::none ||
            lease_clock::now() >= limits.deadline)
            co_return failure{errc::unreachable, through_->present_place() +
                                                     ": the namespace could not be read in time"};
    }
    struct under_way {
        epochs& who;
        explicit under_way(epochs& on) : who{on} { who.loading_ = true; }
        ~under_way() {
            who.loading_ = false;
            who.loaded_.notify_all();
        }
    };
    const under_way until_the_end{*this};
    co_return co_await load(limits);
}

async<epoch> epochs::load(request_limits limits) {
    for (int round = 0; round < rounds_max; ++round) {
        const auto asked = lease_clock::now();
        const auto seen = co_await look(limits);
        if (seen.has_error()) co_return seen.error();
        if (seen->whole) {
            known_ = seen->whole;
            known_until_ = asked + stretch_;
            co_return *known_;
        }
        auto making = !seen->marker || seen->marker->cluster != seen->cluster
                          ? make_marker(*seen, limits)
                      : seen->marker->layout < layout_version ? renew_layout(*seen, limits)
                                                              : make_keep(limits);
        const auto made = co_await std::move(making);
        if (made.has_error()) co_return made.error();
    }
    co_return failure{errc::unreachable, through_->present_place() +
                                             ": the marker of the namespace changes too often"};
}

async<epochs::found> epochs::look(request_limits limits) {
    transaction both;
    both.get(names_.marker).get(keep_);
    const auto got = co_await through_->ask<wire::TxnResponse>(method::txn, both.request(),
                                                               effect::none, limits);
    if (got.has_error()) co_return got.error();
    if (got->responses_size() != 2)
        co_return failure{errc::protocol, through_->present_place() + ": half an answer"};
    found seen;
    seen.cluster = got->header().cluster_id();
    seen.revision = got->header().revision();
    const auto& markers = got->responses(0).response_range();
    if (markers.kvs_size() > 0) {
        const auto& marker = markers.kvs(0);
        seen.marker_revision = marker.mod_revision();
        seen.marker = parse_marker(marker.value(), marker.mod_revision());
        if (is_newer_layout(marker.value()))
            co_return failure{errc::unsupported, through_->present_place() + ": " + names_.marker +
                                                     " was written by a newer pawl than this"};
        if (!seen.marker)
            co_return failure{errc::rejected,
                              through_->present_place() + ": " + names_.marker +
                                  " is not pawl's: another program uses this name, choose "
                                  "namespace="};
    }
    const auto& keeps = got->responses(1).response_range();
    if (keeps.kvs_size() > 0) seen.keep_lease = lease_in(keeps.kvs(0).value());
    const bool is_ours = seen.marker && seen.marker->cluster == seen.cluster;
    if (is_ours && seen.marker->layout == layout_version && seen.keep_lease != 0)
        seen.whole = epoch{seen.marker_revision, *seen.marker, seen.keep_lease};
    co_return seen;
}

// The birth is on the clock of a node, and later than that of any marker before it.
async<void> epochs::make_marker(const found& seen, request_limits limits) {
    const auto before = seen;
    const auto clock = co_await through_->clock(limits);
    if (clock.has_error()) co_return clock.error();
    const auto now = clock->likely(lease_clock::now());
    marker_text fresh;
    fresh.cluster = before.cluster;
    fresh.born = now.count();
    fresh.floor = before.seen;
    if (before.marker) {
        fresh.born = std::max(fresh.born, before.marker->born + 1);
        fresh.floor = std::max(*fresh.floor, highest_under(*before.marker, before.revision, now));
    }
    fresh.proved = fresh.born;
    co_return co_await put_marker(before.marker_revision, fresh, limits);
}

// A pawl that writes the layout before this finds its marker changed, and grants nothing any more:
// its tokens would fall behind ours.
async<void> epochs::renew_layout(const found& seen, request_limits limits) {
    auto same = *seen.marker;
    same.floor.reset();
    co_return co_await put_marker(seen.marker_revision, same, limits);
}

// Unless another was faster.
async<void> epochs::put_marker(std::int64_t before, marker_text what, request_limits limits) {
    transaction make;
    make.if_changed_at(names_.marker, before).put(names_.marker, encode(what));
    const auto made = co_await through_->ask<wire::TxnResponse>(method::txn, make.request(),
                                                                effect::none, limits);
    if (made.has_error()) co_return made.error();
    co_return result<void>{};
}

async<void> epochs::make_keep(request_limits limits) {
    const auto retention = through_->settings().common.retention;
    const auto keep = co_await leases_->grant(seconds_for(retention + 2 * stretch_), limits);
    if (keep.has_error()) co_return keep.error();
    const auto until_next = co_await leases_->grant(seconds_for(stretch_), limits);
    if (until_next.has_error()) co_return until_next.error();
    transaction make;
    make.if_created_at(keep_, 0).put(keep_, text_of(keep->id), until_next->id);
    const auto made = co_await through_->ask<wire::TxnResponse>(method::txn, make.request(),
                                                                effect::none, limits);
    if (made.has_error()) co_return made.error();
    if (!made->succeeded()) {
        leases_->revoke(keep->id);
        leases_->revoke(until_next->id);
    }
    co_return result<void>{};
}

async<void> epochs::begin_anew(epoch old, fence_token highest, request_limits limits) {
    const auto self = shared_from_this();
    forget();
    found seen;
    seen.marker_revision = old.marker_revision;
    seen.marker = old.marker;
    seen.cluster = old.marker.cluster;
    seen.seen = highest;
    co_return co_await make_marker(seen, limits);
}

async<void> epochs::prove(epoch in, micros at_least, request_limits limits) {
    const auto self = shared_from_this();
    forget();
    in.marker.proved = at_least.count();
    co_return co_await put_marker(in.marker_revision, in.marker, limits);
}

}  // namespace pawl::etcd
