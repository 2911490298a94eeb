// This node's wall clock against the journal's, and against what it was a moment ago.
//
// A machine without I/O and without a clock: it is handed what the clocks show and says what the
// schedules go by. A clock that is off by more than is tolerated is corrected by the journal's, or
// where there is none by what the store has told; one that is put back is told as such, with since
// when it had been wrong.
#pragma once

#include "time/clocks.hpp"

#include <pawl/clock.hpp>
#include <pawl/types.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace pawl::schedule {

using time::wall_instant;

// A node whose wall clock is further from the journal's goes by the journal's.
constexpr millis clock_offset_tolerated{500};
// A step by less than this is what keeping a clock right looks like.
constexpr std::chrono::microseconds step_tolerated{200'000};

// Used by one thread at a time.
class node_clock {
public:
    // Whose clock tells that this one is off.
    enum class compared_with { journal, store };
    explicit node_clock(compared_with whom) : whom_{whom} {}

    // What the schedules go by, where this node's own clock shows `local`.
    wall_instant corrected(wall_instant local) const {
        return local - offset_.value_or(std::chrono::microseconds{0});
    }

    enum class finding { nothing_new, agrees_again, ahead, behind };
    struct comparison {
        finding what = finding::nothing_new;
        millis by{0};
    };
    // The journal's clock has shown `journals` at a moment between two of this one's.
    comparison compare(wall_instant journals, wall_instant sent, wall_instant answered);
    // Whether it has ever been told what this clock is worth.
    bool is_compared() const noexcept { return is_compared_; }
    // The store has told what time it is, as it found an occurrence to lie too far ahead.
    void follow_store(wall_instant local, wall_instant stores);

    struct put_back {
        std::chrono::microseconds by{};
        // When it was last known to be right, where most of a step forward is undone; the least
        // there is where it is the first time that it was told to be wrong: it may never have been.
        std::optional<wall_instant> last_right{};
    };
    // To be called often, with both clocks at about the same moment: a step shows between two
    // looks.
    std::optional<put_back> look(instant now, wall_instant local);

private:
    struct observation {
        instant at{};
        wall_instant local{};
        wall_instant corrected{};
    };
    // A machine that starts without a clock is set right by one or two.
    static constexpr std::size_t steps_forward_kept = 16;
    struct step_forward {
        wall_instant from{};
        std::chrono::microseconds by{};
    };

    compared_with whom_;
    bool is_compared_ = false;
    bool was_never_right_ = false;                     // since the last look
    std::optional<std::chrono::microseconds> offset_;  // how far this clock is ahead
    std::optional<observation> last_;
    std::deque<step_forward> steps_forward_;  // which nothing has undone, the last at the back
};

}  // namespace pawl::schedule
