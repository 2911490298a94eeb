// Threads that compete for one key through the library, each with a client and a way to the server
// of its own, and a witness that sees what they do.
#pragma once

#include "tests/crash/network_link.hpp"
#include "tests/crash/way.hpp"

#include <pawl/locks.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pawl::crash {

// The resource that the key guards. Thread-safe.
class witness {
public:
    // A holder comes in. Whoever was inside and still trusts its lease makes it an overlap.
    void enter(const lease& held);
    // A holder that trusts its lease writes under its token, which must not be older than what has
    // been written.
    void write(const lease& held);
    void leave(const lease& held);

    bool anybody_trusts() const;

    std::uint64_t grants() const;
    // Returns when there have been so many grants; false when that takes too long.
    bool wait_for_grants(std::uint64_t count, millis bound) const;

    std::uint64_t overlaps() const;
    std::uint64_t tokens_fallen() const;

private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    // Under mutex_
    const lease* inside_ = nullptr;
    std::uint64_t newest_ = 0;
    std::uint64_t grants_ = 0, overlaps_ = 0, tokens_fallen_ = 0;
};

// Used by one thread.
class contenders {
public:
    enum class pace {
        fast,  // a lease of scenario_ttl; every holder is done in a moment
        slow,  // a lease of three times that, held across renewals
        mixed  // every third is slow
    };

    contenders(const std::vector<std::uint16_t>& servers, url_maker url, pace how = pace::fast,
               int how_many = 4);
    ~contenders();
    contenders(const contenders&) = delete;
    contenders& operator=(const contenders&) = delete;

    // One for each.
    std::vector<way*> ways() const;

    // While the server is away: until the last holder's trust has ended.
    void wait_until_nobody_trusts() const;

    // As gtest expectations.
    void expect_progress(const std::string& when) const;
    void expect_nothing_overlapped() const;

    std::uint64_t grants() const { return seen_.grants(); }

    void stop();

private:
    struct contender;
    void compete(contender& me);
    std::string last_failures() const;

    const pace pace_;
    const std::string key_;
    witness seen_;
    std::atomic<bool> stopping_{false};
    std::vector<std::unique_ptr<contender>> all_;
};

}  // namespace pawl::crash
