// Campaigns for leadership: when to ask for the key, when to serve, when to rest.
//
// A machine without I/O: it is handed instants of the lease clock and what became of claims and
// terms, and says what to do next. How one claim is asked for is `claiming`'s business, how a term
// is kept is `heartbeat`'s.
#pragma once

#include "lease/renewal_timing.hpp"

#include <pawl/errors.hpp>
#include <pawl/options.hpp>

#include <cstdint>
#include <optional>

namespace pawl::leasing {

// Whether only people can change what this failure says, so that asking again is pointless.
bool needs_an_operator(errc code) noexcept;

// How long to stay away from a store that does not answer: doubles with each failure in a row, up
// to `longest`, and at random between half of that and all of it.
nanos backoff(int failures, nanos longest, double uniform);

// Constant for one campaign.
struct election_plan {
    nanos rest{};         // after a term that ended by itself: one renewal interval
    double jitter = 0;    // of that, to both sides
    nanos backoff_max{};  // between two requests to a store that does not answer
};
// REQUIRES: validate() and leadership_fault() had nothing to say about the options.
election_plan election_plan_of(const lease_options& options);

// How a term ended.
enum class term_end {
    given_up,   // the body returned, or the lease had lived for its max_lifetime: others get a
                // chance
    taken_away  // it was told to stop: lost, or about to be
};

// Used by one thread at a time.
class election {
public:
    election(const election_plan& plan, instant now) : plan_{plan}, until_{now} {}

    enum class act {
        claim,  // the key, for as long as it takes; then elected(), rejected() or failed()
        serve,  // a term, and say so by ended()
        rest,   // until `until`
        over    // the campaign; fault() is why, if it was not called off
    };
    struct step {
        act what;
        instant until;
    };
    step next(instant now) const;

    void elected(instant now);
    // Still busy after a long wait.
    void rejected(instant now, double uniform);
    // A store that has never answered and needs an operator is a fault of the setting; one that has
    // is asked again for ever.
    void failed(const failure& why, instant now, double uniform);
    void ended(term_end how, instant now, double uniform);
    void call_off();

    std::uint64_t terms() const { return terms_; }
    const std::optional<failure>& fault() const { return fault_; }

private:
    enum class state { campaigning, serving, over };

    // Constant after construction
    election_plan plan_;
    // State
    state state_ = state::campaigning;
    instant until_;  // to rest
    std::uint64_t terms_ = 0;
    int failures_ = 0;
    bool answered_ = false;
    std::optional<failure> fault_;
};

}  // namespace pawl::leasing
