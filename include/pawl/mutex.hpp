// A key as a standard mutex: std::unique_lock, std::scoped_lock and std::lock_guard work with it.
//
//     pawl::mutex door{locks, "invoices", {.ttl = 30s}};
//     std::unique_lock hold{door, 5s};
//     if (hold) charge(door.lease().token());
//
// It differs from std::timed_mutex in one way that no lock over a network can avoid: the lease of a
// thread that is frozen or cut off ends while the thread believes that it holds the lock. So send
// lease().token() with what you write, or call check() before what must not happen late.
#pragma once

#include <pawl/lease.hpp>
#include <pawl/observer.hpp>
#include <pawl/options.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

namespace pawl {

class locks;

// The lease of a locked mutex is not valid any more: another thread or process may hold the key.
class lease_lost : public std::runtime_error {
public:
    // what() is one line that names both.
    lease_lost(std::string_view key, loss_reason why);

    // Why it was lost.
    loss_reason reason() const noexcept { return reason_; }

private:
    loss_reason reason_;
};

// A TimedLockable over one key. All threads and processes that lock the same key of the same store
// exclude each other, whether or not they use the same object. Waiting threads of one process get
// the key in the order in which they came.
//
// Thread-safe. A thread unlocks what it has locked, as with std::mutex. Mistakes throw
// std::system_error with the code that the standard names: resource_deadlock_would_occur for a
// second lock() by the thread that holds it, operation_not_permitted for unlock(), lease(), renew()
// and check() by a thread that does not. Both are about one object: a thread that locks the same
// key by two of them waits for itself.
//
// The calls that lock throw store_error if the store failed, and hold nothing then. They must not
// be made from pawl's own loop. The `locks` object may be moved. After its end they throw
// store_error with errc::closed, and what was locked is lost (loss_reason::closed). In the child of
// a fork() it is lost as well: unlock() does nothing, unlock_and_wait() is `lost`, renew() is
// false, check() throws lease_lost, and lease() and what locks throw std::logic_error.
class mutex {
public:
    // Asks no store. Throws option_error for a key or options that locks::try_acquire() rejects,
    // for an occurrence, and for reentrancy::instance, by which two threads would hold it.
    [[nodiscard]] mutex(locks& at, std::string key, const lease_options& options);

    // Releases in the background what is still locked, as the destructor of a lease does.
    ~mutex();
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    // The key that it locks, as it was given.
    // Not of a temporary, which ends with the expression; nor lease().
    [[nodiscard]] const std::string& key() const& noexcept;
    const std::string& key() const&& = delete;

    // Waits for the key without a bound.
    void lock();

    // Waits for the key until `stop` is requested. False: it was, and nothing is locked.
    [[nodiscard]] bool lock(std::stop_token stop);

    // Asks once. False: another thread or process holds the key.
    [[nodiscard]] bool try_lock();

    // Waits for `wait` at most, rounded up to a millisecond; not above 0: asks once.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return wait_for_key(rounded(wait));
    }

    // The same until `deadline`. The clock is read once.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
        // A difference of integers could overflow: time_point::min() is a deadline as well.
        using seconds = std::chrono::duration<double>;
        const auto now = Clock::now();
        if (!(deadline > now)) return try_lock();
        return try_lock_for(seconds{deadline.time_since_epoch()} - seconds{now.time_since_epoch()});
    }

    // Releases the key in the background, and never waits for the store. It throws nothing for a
    // lease that was lost, nor for a store that fails: guards call it in their destructors. The TTL
    // ends the lease then.
    void unlock();

    // As unlock(), but waits for the store's answer, with one retry, and blocks and throws as
    // lease::release() does. `lost`: the lease had ended before, so others may have held the key
    // meanwhile.
    [[nodiscard]] release_outcome unlock_and_wait();

    // The lease of the calling thread, for its token, its stop token and valid(). Valid until
    // this thread unlocks.
    [[nodiscard]] const pawl::lease& lease() const&;
    const pawl::lease& lease() const&& = delete;

    // Renews the lease of the calling thread now; made for renewal_mode::manual. Answers, blocks
    // and throws as lease::renew() does.
    [[nodiscard]] bool renew();

    // Throws lease_lost unless the calling thread's lease is valid. Asks the clock, not the store.
    // What is written after it can still come late: only the token makes that safe.
    void check() const;

private:
    class state;

    // The longest wait that is told apart from no bound: ten years.
    static constexpr millis wait_max = std::chrono::hours{24 * 3650};

    template <class Rep, class Period>
    static millis rounded(const std::chrono::duration<Rep, Period>& wait) {
        const std::chrono::duration<double, std::milli> about{wait};
        if (!(about.count() > 0)) return millis{0};
        return about >= wait_max ? wait_max : std::chrono::ceil<millis>(wait);
    }
    bool wait_for_key(millis wait);

    std::unique_ptr<state> state_;
};

}  // namespace pawl
