// For the tests of programs that use pawl: a store in memory on virtual time, which fails and
// freezes when it is told to, and a referee that sees whether work overlaps.
//
//     pawl::testing::world world;
//     auto here = world.open(), there = world.open();
//     auto lease = here.try_acquire("invoices", {.ttl = 30s});
//     world.freeze(here);
//     world.advance(31s);  // at once
//     assert(!lease->valid());
//     assert(there.try_acquire("invoices", {.ttl = 30s}).value().valid());
//
// Everything that decides about leases is what runs in production: only the clock and the store are
// others.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/lease.hpp>
#include <pawl/locks.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::testing {

// One store, and a clock that only advance() moves, for all processes of one test. Two worlds know
// nothing of each other.
//
// Calls on `locks` block as they always do, but time does not pass meanwhile. So another thread has
// to advance it while a call waits for time: for a key, or for the next attempt where an answer was
// lost or the store is away and the call asks again (errc::outcome_unknown, store_down::retry).
// What other threads do in real time, such as the bodies of jobs, advance() does not wait for.
//
// Runs, pauses and checkpoints are kept in a journal in memory, on the same time.
//
// Thread-safe. advance(), lose() and thaw() must not run while a `locks` of this world is destroyed
// on another thread.
// The world outlives its `locks` and their leases.
class world {
public:
    // Wall time begins at `begins`: occurrences are due by it, and schedules fire by it. Throws
    // option_error before 1970 and after 2200.
    explicit world(std::chrono::system_clock::time_point begins = default_begin);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    // 2026-01-01T00:00:00Z
    static constexpr std::chrono::sys_seconds default_begin{std::chrono::seconds{1'767'225'600}};

    // A process of its own: no lease of one is known to another but through the store. Throws
    // option_error for `options.journal` other than "" (the journal of this world) and "none", and
    // for `executor` and `connections`: a world advances the time of pawl's own loops only.
    [[nodiscard]] locks open(open_options options = {});

    // The time of this world, on which lease::valid_until() stands.
    [[nodiscard]] instant now() const;
    // The same for people: what lease_options::occurrence and schedules are about.
    [[nodiscard]] std::chrono::system_clock::time_point wall() const;

    // Moves the time forward. What is due on the way happens in its order, each at its own time:
    // renewals, the end of leases, waits that end. It has happened when this returns. Throws
    // option_error below 0 and above ten years, and std::logic_error from a callback on pawl's own
    // loop, such as a stop callback or an observer.
    void advance(millis by);

    // From now on nothing happens by itself in this process, as while it is stopped by a signal or
    // by a collector of garbage: it renews no lease and fires no stop token, however far the time
    // advances. Calls on it still work. A second call changes nothing. Throws option_error for a
    // process of another world.
    void freeze(const locks& process);

    // It continues, and catches up at once with what is due. A second call changes nothing. Throws
    // as freeze() and advance() do.
    void thaw(const locks& process);

    // Takes the key from its holder, whose process hears of it at once unless it is frozen, also
    // while the store fails: the stop token fires, and lease::lost() is loss_reason::taken. False:
    // the key was not held, or is none. Uses up no failure that is planned. Throws std::logic_error
    // where advance() does.
    bool lose(std::string_view key);

    // The next `times` operations at the store fail, whichever process asks. One that fails with
    // outcome_unknown takes effect, and its answer is lost; others have no effect. Renewals count
    // as operations, waits for a change and the journal do not. Replaces what was planned before.
    // Throws option_error for `times` below 1.
    void fail_next(errc why, int times = 1);

    // All operations fail so, until recover(). Replaces what fail_next() planned, and the other way
    // round.
    void fail_all(errc why);

    // The store works again.
    void recover();

private:
    class state;
    std::unique_ptr<state> state_;
};

// Sees whether work under one key overlaps, and whether it begins under leases that are over. It
// goes by what it is told alone: where work begins, and where that ends. Thread-safe; it
// outlives the work.
class referee {
public:
    referee();
    ~referee();
    referee(const referee&) = delete;
    referee& operator=(const referee&) = delete;

    // Work that goes on until this is destroyed.
    class [[nodiscard]] work {
    public:
        ~work();
        work(work&&) noexcept;
        work& operator=(work&&) = delete;

    private:
        friend class referee;
        work(referee& at, std::string key);
        referee* at_;
        std::string key_;
    };

    // Work under this lease begins. A fault if other work under the same key is going on, if the
    // lease is not valid, or if its token is below that of work that has begun before. Throws
    // std::logic_error for an empty handle.
    work begin(const lease& under);
    // The same in a body, which has the key and the token alone (run::key, run::token). Whether its
    // lease is valid is not looked at.
    work begin(std::string_view key, fence_token under);

    // What was seen, one line each, in order; at most faults_max.
    [[nodiscard]] std::vector<std::string> faults() const;
    static constexpr std::size_t faults_max = 100;

    // Throws std::logic_error with the first fault, if there is one.
    void check() const;

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace pawl::testing
