// Watches a simulation from outside, sees everything at once, and knows the laws.
#pragma once

#include "test_support/simulation/referee_base.hpp"

#include <pawl/types.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace pawl::simulation {

enum class law {
    one_holder,         // at most one node trusts its lease of a key
    trust_is_backed,    // a trusted lease is held at the store, unless force-released or lost with
                        // its data
    trust_stays_ended,  // trust that has ended never comes back
    tokens_rise,        // every grant's token is above all before it
    writes_rise,        // a guarded resource never accepts a token lower than one before
    holder_served,      // and never rejects the live holder
    runs_once,          // an at-most-once occurrence runs once at most
    done_is_completed,  // an at-least-once occurrence counts as done only when it was completed
    not_before_due,     // no occurrence counts as done long before it is due
    kept_min_hold,      // a key stays held for min_hold after its grant, or for as long as it was
    progress            // once faults stop, whoever waits is served
};
constexpr std::size_t laws = 11;
std::string_view name_of(law which);

enum class write_answer { accepted, rejected, rejected_live_holder };

// What must have happened in some seed, or it has not been tested.
enum class fact {
    grants,
    repeats,
    renewed,
    revived,
    lost_leases,
    busy,
    cooldown,
    early,
    quarantined,
    already_done,
    unknown,
    push,
    forced_releases,
    data_losses,
    given_back,
    crashes,
    pauses,
    writes,
    stale_writes,
    runs,
    completions
};
constexpr std::size_t facts = 21;
std::string_view name_of(fact which);

// Used by one thread.
class referee : public referee_base<law, laws, fact, facts> {
public:
    explicit referee(const timeline& time);

    void on_grant(const std::string& key, fence_token token);
    void on_write(const std::string& key, fence_token token, write_answer answer);
    void on_run(const std::string& key, pawl::occurrence occurrence, delivery mode);
    void on_completion(const std::string& key, pawl::occurrence occurrence);
    void on_done(const std::string& key, occurrence last, delivery mode, millis latest);

    // A release left the key to nobody until `until`; a loss of data forgets that.
    void on_linger(const std::string& key, nanos until) { keys_[key].kept_until = until; }
    void forget_cooldown();
    nanos last_grant(const std::string& key) { return keys_[key].granted_at; }

private:
    struct key_history {
        std::uint64_t granted = 0;  // the highest token
        nanos granted_at{0};
        nanos kept_until{0};
        std::uint64_t accepted = 0;  // the highest token, by the guarded resource
        std::map<occurrence, int> runs;
        std::set<occurrence> completed;
    };

    std::map<std::string, key_history> keys_;
};

}  // namespace pawl::simulation
