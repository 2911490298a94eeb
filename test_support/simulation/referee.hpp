// Watches a simulation from outside, sees everything at once, and knows the laws.
#pragma once

#include "test_support/simulation/rng.hpp"

#include <pawl/types.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
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
    holder_served,      // and never refuses the live holder
    runs_once,          // an at-most-once occurrence runs once at most
    done_is_completed,  // an at-least-once occurrence counts as done only when it was completed
    not_before_due,     // no occurrence counts as done long before it is due
    kept_at_least,      // a key stays held for at_least after its grant, or for as long as it was
    progress            // once faults stop, whoever waits is served
};
constexpr std::size_t laws = 11;
std::string_view name_of(law which);

enum class write_answer { accepted, refused, refused_live_holder };

// What must have happened in some seed, or it has not been tested.
enum class fact {
    grants,
    repeats,
    renewed,
    revived,
    lost_leases,
    busy,
    lingering,
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
using fact_counts = std::array<std::uint64_t, facts>;

// Used by one thread.
class referee {
public:
    explicit referee(std::function<nanos()> clock) : clock_{std::move(clock)} {}

    void broken(law which, const std::string& what);
    bool broke(law which) const { return first_[static_cast<std::size_t>(which)].has_value(); }
    // The first breach of any law.
    const std::optional<std::string>& first_breach() const { return first_breach_; }

    void on_grant(const std::string& key, fence_token token);
    void on_write(const std::string& key, fence_token token, write_answer answer);
    void on_run(const std::string& key, pawl::occurrence occurrence, delivery mode);
    void on_completion(const std::string& key, pawl::occurrence occurrence);
    void on_done(const std::string& key, occurrence last, delivery mode, millis latest);

    // A release left the key to nobody until `until`; a loss of data forgets that.
    void on_linger(const std::string& key, nanos until) { keys_[key].kept_until = until; }
    void forget_lingering();
    nanos last_grant(const std::string& key) { return keys_[key].granted_at; }

    // Kept for the replay of a seed that fails.
    void trace_lines(std::size_t lines) { lines_ = lines; }
    bool traces() const { return lines_ > 0 && !first_breach_; }
    template <class... Parts>
    void note(const Parts&... parts) {
        if (traces()) write_line((std::ostringstream{} << ... << parts).str());
    }
    // Ends with the first breach.
    std::string trace() const;

    // Grows with everything noted: the same for two runs of a seed.
    std::uint64_t fingerprint() const { return fingerprint_; }
    void mix(std::uint64_t value) { fingerprint_ = (fingerprint_ ^ value) * 0x100000001b3U; }

    void happened(fact which) { ++counts_[static_cast<std::size_t>(which)]; }
    const fact_counts& counts() const { return counts_; }

private:
    struct key_history {
        std::uint64_t granted = 0;  // the highest token
        nanos granted_at{0};
        nanos kept_until{0};
        std::uint64_t accepted = 0;  // the highest token, by the guarded resource
        std::map<occurrence, int> runs;
        std::set<occurrence> completed;
    };

    void write_line(const std::string& what);

    // Constant after construction
    std::function<nanos()> clock_;
    // State
    std::map<std::string, key_history> keys_;
    std::array<std::optional<std::string>, laws> first_;
    std::optional<std::string> first_breach_;
    std::deque<std::string> trace_;
    std::size_t lines_ = 0;
    fact_counts counts_{};
    std::uint64_t fingerprint_ = 0xcbf29ce484222325U;
};

}  // namespace pawl::simulation
