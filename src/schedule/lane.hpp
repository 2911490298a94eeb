// What becomes of the firings of one key: the order in which a node asks for them, when it asks
// again, and when it lets go of one and why.
//
// A machine without I/O: it is handed instants and the store's answers, and says what to do next. A
// job has one lane for each of its partitions. Lanes of different nodes know nothing of each other;
// that a firing runs once is the store's doing, and what a lane adds is that none is forgotten.
#pragma once

#include "time/clocks.hpp"

#include <pawl/clock.hpp>
#include <pawl/policies.hpp>
#include <pawl/spi/lease_store.hpp>
#include <pawl/types.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::schedule {

constexpr std::size_t firings_queued_max = 100;
constexpr std::size_t triggers_queued_max = 100;
// Skips that nobody has asked about yet; of those beyond, the oldest are forgotten.
constexpr std::size_t skips_kept_max = 1'000;
// How often a lane asks a store again that failed: with full jitter, doubling in between.
constexpr millis store_retry_first{250};
constexpr millis store_retry_longest{5'000};
// A busy key is asked for again at the latest after this, whatever it told.
constexpr millis busy_retry_longest{60'000};

struct lane_rules {
    overlap when_running = overlap::skip;
    occurrence_mode mode = occurrence_mode::at_most_once;
    millis lateness_max{3'600'000};  // how late a firing may begin
    bool hold = false;  // leases are kept until they expire: a busy key is nothing to wait for
};

enum class wish_kind {
    firing,   // the schedule wants it
    trigger,  // somebody asked for it
    orphan    // a firing that somebody else began and left
};

struct wish {
    wish_kind kind = wish_kind::firing;
    std::optional<occurrence> firing{};  // of a firing and of an orphan
    std::string id{};                    // of a trigger; of an orphan's run
    instant not_before{};
    instant give_up{};    // no attempt is made after this
    bool passed = false;  // of an orphan: later firings have run since, so that the store would
                          // refuse it; it is claimed without its occurrence, and its row decides
    bool begun = false;   // it has been granted here before, and was not brought to its end
};

enum class skip_reason {
    overlap,     // the previous one was still running
    too_late,    // it could not begin within the misfire window
    superseded,  // a later one came due before it could begin
    too_many,    // more are waiting than a lane keeps
    answer_lost  // its claim was not answered, and the key was granted to another meanwhile
};
std::string_view text_of(skip_reason why) noexcept;

struct skipped_firing {
    occurrence firing{};
    skip_reason why = skip_reason::overlap;
    std::string holder{};  // who was in its way, in one line; empty where that is not known
};
// What its row says: an overlap is its holder, where that is known.
std::string text_of(const skipped_firing& one);

// How a run ended: its firing is over, somebody is to run it again, or no work of it began and the
// store has taken its firing back.
enum class ending { settled, unfinished, not_started };

// Used by one thread at a time.
class lane {
public:
    explicit lane(const lane_rules& rules) : rules_{rules} {}

    // The job has changed: what waits goes by the new rules, and what runs has begun by the old.
    void follow(const lane_rules& rules) { rules_ = rules; }

    // A firing has come due. `late` is how long ago; `hold_back` is how long to leave it to others.
    void offer_firing(occurrence firing, instant now, millis late, millis hold_back);
    // What is on the board is offered again and again, until it is gone from there. True if it is
    // new.
    bool offer_trigger(std::string id, instant now);
    bool offer_orphan(std::string id, occurrence firing, instant now);
    // Lets go of all firings that wait, as the job is paused or gone. Triggers stay.
    void forget_firings();
    // The wall clock was put back to `now`: lets go of firings that lie ahead of it, which would
    // keep others waiting until then. The timetable hands them out again in their time.
    void forget_ahead(occurrence now);

    enum class act {
        nothing,  // nobody wants anything
        pause,    // until `until`; an offer may come before
        claim,    // once the key has changed or `patience` is over; then say what came of it
        await,    // the end of what goes on
    };
    struct step {
        act what = act::nothing;
        instant until{};
        millis patience{0};
    };
    step next(instant now);
    // Firings that were let go of since the last call.
    std::vector<skipped_firing> take_skipped();
    bool has_skipped() const noexcept { return !skipped_.empty(); }
    // REQUIRES: a claim, or what came of it, goes on.
    const wish& wanted() const { return *current_; }

    // What came of a claim.
    void on_granted();
    // `marked`: the store remembers this firing, or a later one, as done or begun (last_done).
    // `holder`: who that is, in one line, for the row of a firing that gives way.
    void on_busy(const busy& why, bool marked, instant now, double chance, std::string holder = {});
    void on_done();
    // The store remembers a later firing than the one that was asked for: this one has run before,
    // or never will, and then a row has to say so.
    void on_passed();
    // Said before what came of it: a request was not answered, so its own claim may be what the
    // store remembers. Found done then, or marked, a row has to say so, unless another node has run
    // it; also under another id, after the first was withdrawn.
    void on_unanswered();
    void on_failure(instant now, double chance);
    // The claim was not made: this node has no room. It is tried again for as long as there is
    // time.
    void on_no_room(instant now);
    void on_called_off();
    // The run that was granted has ended. Left unfinished, as with a lost lease, an at-least-once
    // firing is asked for again, by this lane too: there may be no journal that offers it. One that
    // was not started is asked for again, whatever the mode, within its misfire window.
    void on_ended(ending how, instant now);

    // Whether this occurrence is asked for, or will be.
    bool wants_firing(occurrence firing) const;
    bool is_running() const noexcept { return state_ == state::running; }
    bool is_idle() const noexcept {
        return state_ == state::waiting && !current_ && queue_.empty();
    }
    std::size_t waiting() const noexcept { return queue_.size(); }

private:
    enum class state { waiting, claiming, running };

    bool wants(wish_kind kind, std::string_view id) const;
    void skip(const wish& which, skip_reason why);
    void skip_current(skip_reason why);
    void drop_late(instant now);
    void drop_overlapped();
    void make_way();
    void again(instant when);
    void resolved();
    bool tell_outrun();
    bool waits_in_line() const noexcept;

    lane_rules rules_;
    state state_ = state::waiting;
    std::deque<wish> queue_;  // orphans first, then firings in their order, then triggers
    std::optional<wish> current_;
    std::deque<skipped_firing> skipped_;
    bool ahead_ = false;      // the current one is let go of once its claim is answered
    bool listening_ = false;  // the current one was found busy: wait for the store's push
    millis busy_for_{0};      // by what the store told then
    std::string holder_{};    // who was in the way of the current one when it was last found busy
    int failures_ = 0;
    std::optional<occurrence> in_doubt_;  // claimed here, and not answered
};

}  // namespace pawl::schedule
