#include "tests/crash/contenders.hpp"

#include "base/identity.hpp"
#include "time/pause.hpp"

#include <gtest/gtest.h>

namespace pawl::crash {
namespace {

// To connect over a slow way takes several round trips, and a log-in some more.
constexpr millis long_timeout{2000};
// After a fault: the TTL of whoever died holding, a client's back-off, a server's start, and a busy
// machine.
constexpr millis progress_bound{30'000};

}  // namespace

void witness::enter(const lease& held) {
    const std::lock_guard lock{mutex_};
    if (inside_ != nullptr && inside_->valid() && held.valid()) ++overlaps_;
    inside_ = &held;
    ++grants_;
    changed_.notify_all();
}

void witness::write(const lease& held) {
    const std::lock_guard lock{mutex_};
    const auto token = number(held.token());
    // A holder that has lost its trust in the meantime is what fencing is for: it is rejected here.
    if (token < newest_ && held.valid()) ++tokens_fallen_;
    newest_ = std::max(newest_, token);
}

void witness::leave(const lease& held) {
    const std::lock_guard lock{mutex_};
    if (inside_ == &held) inside_ = nullptr;
}

bool witness::anybody_trusts() const {
    const std::lock_guard lock{mutex_};
    return inside_ != nullptr && inside_->valid();
}

std::uint64_t witness::grants() const {
    const std::lock_guard lock{mutex_};
    return grants_;
}

bool witness::wait_for_grants(std::uint64_t count, millis bound) const {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, bound, [&] { return grants_ >= count; });
}

std::uint64_t witness::overlaps() const {
    const std::lock_guard lock{mutex_};
    return overlaps_;
}

std::uint64_t witness::tokens_fallen() const {
    const std::lock_guard lock{mutex_};
    return tokens_fallen_;
}

struct contenders::contender {
    contender(const std::vector<std::uint16_t>& servers, url_maker url, bool slow)
        : is_slow{slow},
          there{servers},
          store{locks::open(url("127.0.0.1", there.ports(), slow ? long_timeout : short_timeout))} {
    }

    const bool is_slow;
    way there;
    locks store;
    std::mutex mutex;
    std::string last_failure;  // under mutex
    std::thread thread;
};

contenders::contenders(const std::vector<std::uint16_t>& servers, url_maker url, pace how,
                       int how_many)
    : pace_{how}, key_{"takeover/" + base::fresh_id()} {
    for (int i = 0; i < how_many; ++i) {
        const bool is_slow = how == pace::slow || (how == pace::mixed && i % 3 == 2);
        all_.push_back(std::make_unique<contender>(servers, url, is_slow));
    }
    for (auto& one : all_) one->thread = std::thread{[this, &one] { compete(*one); }};
}

contenders::~contenders() { stop(); }

void contenders::stop() {
    stopping_ = true;
    for (auto& one : all_)
        if (one->thread.joinable()) one->thread.join();
}

std::vector<way*> contenders::ways() const {
    std::vector<way*> all;
    for (const auto& one : all_) all.push_back(&one->there);
    return all;
}

void contenders::compete(contender& me) {
    lease_options options{.ttl = scenario_ttl, .on_store_down = store_down::retry};
    if (me.is_slow) options.ttl = scenario_ttl * 3;
    while (!stopping_) {
        try {
            auto held = me.store.acquire(key_, options, millis{500});
            if (!held) continue;
            seen_.enter(*held);
            seen_.write(*held);
            if (me.is_slow) {
                // Long enough for some renewals, unless the lease is lost.
                const auto until = lease_clock::now() + options.ttl / 2;
                eventually([&] { return !held->valid() || lease_clock::now() > until; });
                seen_.write(*held);
            }
            // Long enough that a fault usually finds somebody inside.
            if (!me.is_slow) time::pause_until(lease_clock::now() + millis{5});
            // Inside until the moment of the release: what another sees then is an overlap.
            seen_.leave(*held);
            held->release();
        } catch (const store_error& error) {
            const std::lock_guard lock{me.mutex};
            me.last_failure = error.what();
        }
    }
}

std::string contenders::last_failures() const {
    std::string all;
    for (const auto& one : all_) {
        const std::lock_guard lock{one->mutex};
        all += "\n  " + one->last_failure;
    }
    return all;
}

void contenders::wait_until_nobody_trusts() const {
    EXPECT_TRUE(eventually([&] { return !seen_.anybody_trusts(); }));
}

void contenders::expect_progress(const std::string& when) const {
    const std::uint64_t more = pace_ == pace::fast ? 50 : 2;
    EXPECT_TRUE(seen_.wait_for_grants(seen_.grants() + more, progress_bound))
        << "no progress " << when << "; the contenders' last failures:" << last_failures();
}

void contenders::expect_nothing_overlapped() const {
    EXPECT_EQ(seen_.overlaps(), 0u);
    EXPECT_EQ(seen_.tokens_fallen(), 0u);
}

}  // namespace pawl::crash
