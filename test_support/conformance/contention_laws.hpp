// Mutual exclusion under real contention: threads and processes on one key.
#pragma once

#include "test_support/conformance/contender.hpp"
#include "test_support/conformance/store_fixture.hpp"

#include <string>

namespace pawl::conformance {

inline void expect_exclusion(const witness& seen, const contention_plan& what, millis ttl) {
    EXPECT_EQ(seen.overlaps, 0u);
    EXPECT_EQ(overlapping_turns(seen, ttl), 0u);
    EXPECT_EQ(seen.tokens_fallen, 0u);
    EXPECT_EQ(seen.failures, 0u);
    EXPECT_GE(seen.grants, what.grants_wanted);
}

// Eight threads of this process, and of four more where the engine reaches other processes.
template <class Engine>
void run_contention(client& here, const std::string& address, const store_settings& settings,
                    contention how, std::uint64_t grants) {
    contention_plan what;
    what.engine = std::string{Engine::name()};
    what.address = address;
    what.name_space = settings.name_space;
    what.key = "contended";
    what.how = how;
    what.grants_wanted = grants;
    const shared_witness seen;
    if constexpr (Engine::reach() == store_reach::many_processes)
        EXPECT_EQ(contend_in_children(4, what, seen), 0);
    else
        contend_here(here, what, *seen);
    expect_exclusion(*seen, what, expiring_ttl(here));
}

// How often the key changes hands, which an engine may say where a request is dear.
template <class Engine>
constexpr std::uint64_t contested_grants() {
    if constexpr (requires { Engine::contested_grants; })
        return Engine::contested_grants;
    else
        return 400;
}

// Goal: two holders are never inside at once, and tokens rise in the order of the grants. Method:
// holders enter and leave under a witness that counts them.
TYPED_TEST_P(StoreLaws, HoldersThatReleaseNeverOverlap) {
    auto here = this->open();
    run_contention<TypeParam>(here, this->engine().address(), this->settings(),
                              contention::by_release, contested_grants<TypeParam>());
}

// Goal: the end of a lease alone keeps holders apart. Method: nobody releases; each
// writes down when it asked and when it was granted, and nobody may have been granted the key while
// the one before could trust its lease.
TYPED_TEST_P(StoreLaws, HoldersThatNeverReleaseNeverHaveValidLeasesAtOnce) {
    auto here = this->open();
    // Of leases that last a second, six take as long as there is.
    const std::uint64_t grants = expiring_ttl(here) < 100ms ? 30 : 6;
    run_contention<TypeParam>(here, this->engine().address(), this->settings(),
                              contention::by_expiry, grants);
}

}  // namespace pawl::conformance
