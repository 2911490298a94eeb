// The occurrences of one key that this node has left to others, until it has seen that they are
// done or it is its turn to ask for them.
//
// A machine without I/O: it is handed instants and what a look at the key's record has shown, and
// says what to do about each. A look is cheaper than an acquire, as one request looks at all keys;
// what no node has run is asked for in the end by every node that is there.
#pragma once

#include "schedule/queue/queue_rules.hpp"

#include <pawl/clock.hpp>
#include <pawl/results.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace pawl::schedule {

constexpr std::size_t deferred_max = 100;
// While the key is held the node looks again at least so often.
constexpr millis held_look_interval{1'000};
constexpr millis held_look_far{5'000};  // the last in line
// And shortly before the next occurrence: once that one is done, the key's record says nothing of
// this one any more, and its row would have to be read.
constexpr millis look_before_next{250};
// Where the store does not answer, it is not asked again sooner.
constexpr millis hold_back_unread{250};

// Used by one thread at a time.
class deferral {
public:
    struct timing {
        std::size_t place = 0;  // how many nodes ask before this one
        instant first_asks{};   // when the first of them does
        instant first_look{};
        millis hold_back{0};  // of this one, behind the first or behind the end of a lease
        instant give_up{};    // when it is too late to begin
        instant next_asks =
            instant::max();  // when the next occurrence is asked for, if it is known
    };
    // REQUIRES: it is not among them.
    void add(occurrence which, const timing& where);
    // When it is too late to begin; nothing: it was not among them.
    std::optional<instant> take(occurrence which);
    bool has(occurrence which) const;
    bool empty() const noexcept { return entries_.empty(); }
    std::optional<occurrence> latest() const {
        return entries_.empty() ? std::nullopt : std::optional{entries_.back().which};
    }
    std::vector<occurrence> all() const;
    // When to look at the record of the key; nothing: there is nothing to look for.
    std::optional<instant> next_look() const;

    void forget_all() { entries_.clear(); }
    void forget_ahead(occurrence now);

    enum class act {
        ask,       // of the store: it is to be taken from here, and offered to the queue of the key
        consult,   // its row first: settles() says whether there is nothing to ask for
        find_row,  // a later one is done, so it will not run: ask only where it has no row
    };
    struct finding {
        occurrence which{};
        act what = act::ask;
    };
    // What to do, in the order of the occurrences; those that are done are not here any more.
    // `seen`: the record of the key as it was just now; nothing: there is none. `max_skew`: how far
    // ahead of the store's clock an occurrence may be claimed.
    std::vector<finding> on_look(const queue_rules& rules, const std::optional<record>& seen,
                                 instant now, millis max_skew);
    // The store has not answered. What has its turn is asked for, and that is answered or not.
    std::vector<finding> on_no_answer(const queue_rules& rules, instant now);

private:
    struct entry {
        occurrence which{};
        timing where;
        instant free_since{};  // when the first in line may have asked with success
        instant look_at{};
        bool was_held = false;    // since it came due
        bool consulting = false;  // its row is being read
    };
    enum class conclusion { done, ask, consult, find_row, wait };

    static instant turn_of(const entry& one) { return one.free_since + one.where.hold_back; }
    static conclusion judge(const queue_rules& rules, const std::optional<record>& seen, entry& one,
                            instant now, millis max_skew);
    static conclusion judge_held(const queue_rules& rules, const record& seen, entry& one,
                                 instant now, millis max_skew);
    std::vector<finding> conclude(const queue_rules& rules, std::vector<conclusion> conclusions,
                                  instant now);

    std::vector<entry> entries_;  // in the order of their occurrences
};

// Whether an occurrence that is to be skipped where the previous run is active, and which the store
// does not mark when it is granted, finds the key held by another one's run. A key that has been
// held since so long before it came due was not acquired for it.
bool is_overlapped(const queue_rules& rules, const record& seen, occurrence which,
                   millis max_skew) noexcept;

// Whether the row of an occurrence that is not done at the store says that there is nothing to ask
// for. REQUIRES: the row is no skip from before it came due.
bool settles(const queue_rules& rules, const run_record& row) noexcept;

}  // namespace pawl::schedule
