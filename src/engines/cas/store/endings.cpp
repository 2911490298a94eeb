// Release and forced release, the fence, and the end of records that are past their retention.
#include "engines/cas/store/cas_store.hpp"

#include "engines/rules/store/retention.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>

namespace pawl::cas {
namespace {

// One grant in so many looks for old records, on a page of so many from its own key on; a process
// does so once a minute at most, as some stores ask money for it.
constexpr int grants_per_purge = 32;
constexpr std::size_t purge_page_max = 100;
constexpr millis purge_pause_max{60'000};

}  // namespace

// A coroutine, so that what is remembered is read on the loop: a caller may make it elsewhere.
async<bool> cas_store::do_release(std::string key, fence_token token, release_options how) {
    lease_step step = [=, age = age_of(key, token)](lease_rules& lease, const clock_bounds& now) {
        return lease.release(token, how, age, now);
    };
    auto releasing = amend_lease(key, known(key), std::move(step));
    co_return co_await std::move(releasing);
}

async<bool> cas_store::do_force_release(std::string key, fence_token token, millis delay) {
    lease_step step = [=](lease_rules& lease, const clock_bounds& now) {
        const bool done = lease.force_release(token, delay, now);
        return rules::end_effect{done, done};
    };
    return amend_lease(key, std::nullopt, std::move(step));
}

async<fence_result> cas_store::do_fence(std::string resource, fence_token token, fence_rule rule) {
    const auto self = shared_from_this();
    const auto open = co_await space_->ready();
    if (open.has_error()) co_return open.error();
    record_name name{record_kind::fence, resource};
    decide_step<fence_result> decide = [&](const seen& stands,
                                           std::string nonce) -> async<decision<fence_result>> {
        // A resource that no caller has asked for may be one that was forgotten with all others.
        if (stands.at.empty() || space_->is_due()) {
            const auto looked = co_await space_->look(*open);
            if (looked.has_error()) co_return looked.error();
        }
        fence_record fence;
        if (!stands.at.empty()) {
            auto read = parse_fence(stands.text);
            if (read.has_error()) co_return records_->unreadable(resource, read.error());
            fence = std::move(*read);
        }
        const auto& common = settings_.common;
        const auto issued = rules::issued_tokens(common.quarantine, space_->marker().born,
                                                 records_->known_clock().high, common.max_skew);
        const auto before = fence.newest;
        decision<fence_result> made{rules::check_fence(fence.newest, token, rule, issued)};
        fence.nonce = std::move(nonce);
        // The same token again is remembered already.
        if (made.answer.accepted && (fence.newest != before || stands.at.empty()))
            made.text = encode(fence);
        co_return made;
    };
    auto amending = records_->amend(std::move(name), {}, *open, std::move(decide));
    co_return co_await std::move(amending);
}

void cas_store::purge_now_and_then(const std::string& after) {
    const auto now = records_->now();
    if (purging_ || now < purge_next_) return;
    if (records_->jitter(std::chrono::nanoseconds{grants_per_purge - 1}).count() != 0) return;
    purging_ = true;
    purge_next_ = now + std::min(purge_pause_max, settings_.common.retention);
    boost::asio::co_spawn(records_->where().get_executor(), purge(shared_from_this(), after),
                          net::unattended{});
}

// No caller waits for it: what goes wrong is tried again another time.
boost::asio::awaitable<void> cas_store::purge(std::shared_ptr<cas_store> self, std::string after) {
    auto purging = self->purge_page(std::move(after), purge_page_max, self->deadline());
    const auto looked = co_await std::move(purging);
    // That was the end, so that the rest of the page is at the beginning.
    if (looked.has_value() && *looked < purge_page_max) {
        auto beginning = self->purge_page({}, purge_page_max - *looked, self->deadline());
        static_cast<void>(co_await std::move(beginning));
    }
    self->purging_ = false;
}

// How many records it has looked at. The floor is raised before they go: a key that is found absent
// has its last token there.
async<std::size_t> cas_store::purge_page(std::string after, std::size_t limit, instant until) {
    auto asking = records_->list({record_kind::lease, {}, std::move(after), limit}, until);
    auto found = co_await std::move(asking);
    if (found.has_error()) co_return found.error();
    const auto bounds = records_->known_clock();
    const auto retention = rules::kept_for(settings_.common.retention);
    fence_token floor{};
    std::vector<std::pair<std::string, version>> old;
    for (auto& [key, stands] : found->records) {
        const auto lease = read_lease(key, stands);
        if (lease.has_error() || lease->live(bounds)) continue;
        const auto& record = lease->kept;
        if (std::max(record.used, record.state.until) + retention > bounds.low) continue;
        floor = std::max(floor, record.state.last_token);
        old.emplace_back(std::move(key), std::move(stands.at));
    }
    if (!old.empty()) {
        const auto raised = co_await space_->raise_floor(floor, until);
        if (raised.has_error()) co_return raised.error();
    }
    for (auto& [key, at] : old) {
        record_name name{record_kind::lease, std::move(key)};
        auto erasing = records_->erase(std::move(name), std::move(at), until);
        const auto erased = co_await std::move(erasing);
        if (erased.has_error()) co_return erased.error();
    }
    co_return found->records.size();
}

}  // namespace pawl::cas
