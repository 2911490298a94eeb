// A store that fails when told to, around one that works: for tests of what drives stores.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <atomic>
#include <memory>
#include <optional>

namespace pawl::testing_faults {

// What a store, or what came between it and us, makes of a grant.
enum class spoilt { not_at_all, token_0, other_key, longer_ttl };

// Thread-safe; changed by the test while the store is in use.
struct plan {
    std::atomic<std::optional<errc>> fail_all{};  // every verb fails so, without having any effect
    std::atomic<bool> failures_answered{false};   // and is no outage
    std::atomic<int> renewals_to_fail{0};  // the next so many renewals have no answer and no effect
    std::atomic<bool> renewals_held{false};  // renewals have no answer until this is no longer so
    std::atomic<int> answers_to_lose{
        0};  // the next so many claims take effect, but say outcome_unknown
    // The server is gone: claims fail at once, and what ends a lease waits for it to come back. An
    // answer that is to be lost is lost now.
    std::atomic<bool> is_gone{false};
    std::atomic<bool> answers_held{false};     // claims take effect at once, and are answered when
                                               // this is no longer so
    std::atomic<int> withdrawals_to_fail{0};   // the next so many have no answer and no effect
    std::atomic<bool> pushes_denied{false};    // the store grants no right to listen
    std::atomic<bool> pushes_nothing{false};   // it is one that tells nobody of a change
    std::atomic<millis> ttl_granted{ttl_max};  // no claim is granted more
    std::atomic<spoilt> grants{spoilt::not_at_all};
    std::atomic<millis> silence{millis{0}};        // claims have no effect, and are answered with
                                                   // outcome_unknown after so long
    std::atomic<millis> release_delay{millis{0}};  // before a release takes effect
    // Looks at keys that begin so are rejected, which is no outage; claims of this very key have no
    // answer. Set before the store is used.
    std::string out_of_reach{};
    std::atomic<int> operations{0};   // how many verbs have been called, waits apart
    std::atomic<int> withdrawals{0};  // of keys that are not pawl's own
};

std::shared_ptr<lease_store> make_faulty_store(std::shared_ptr<lease_store> inner,
                                               std::shared_ptr<plan> faults);

}  // namespace pawl::testing_faults
