// The claim of `pawl exec` that is called off as it is granted.
#include "cli/exec/exec_claim.hpp"

#include "engines/memory/store/memory_store.hpp"
#include "runtime/core.hpp"
#include "test_support/faults/hooked_store.hpp"
#include "test_support/faults/world.hpp"
#include "time/clocks.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <variant>

namespace pawl::cli {
namespace {

using namespace std::chrono_literals;

using claim_answer = result<acquire_result<grant>>;

struct claiming_world : world {
    std::shared_ptr<testing_faults::hooks> hooks = std::make_shared<testing_faults::hooks>();
    runtime::core home{[this](net::loop& on) {
                           return std::make_shared<testing_faults::hooked_store>(
                               memory::make_memory_store(on, settings), hooks);
                       },
                       settings,
                       {}};
    std::stop_source stop;
    const lease_options once{
        .ttl = 10min,
        .occurrence = occurrence{
            std::chrono::floor<millis>(time::local_now() - 5s).time_since_epoch().count()}};

    // Asks, and is told to stop by `meanwhile`, before the answer is heard.
    acquire_result<lease> ask(std::function<void(claim_answer&)> meanwhile) {
        hooks->after_acquire = std::move(meanwhile);
        exec_claim claim{home, "k", once};
        auto answer = claim.ask({}, stop.get_token());
        claim.withdraw();
        auto drained = runtime::claimer::drain(home.running()->claims(), 60s, {});
        EXPECT_TRUE(home.loop().wait_for(std::move(drained)));
        return answer;
    }
    void expect_given_back() {
        auto other = open();
        const auto left = other.inspect("k");
        ASSERT_TRUE(left);
        EXPECT_EQ(left->remaining.count(), 0);
        EXPECT_TRUE(!left->last_done || *left->last_done < *once.occurrence);
        EXPECT_TRUE(other.try_acquire("k", once));
    }
};

// Goal: told to stop just as its grant arrives, nothing stays held, and the occurrence can run.
TEST(ExecClaim, AGrantThatComesWithASignalIsGivenBackWithItsOccurrence) {
    claiming_world one;
    bool was_granted = false;
    const auto answer = one.ask([&](const claim_answer& told) {
        was_granted = told.has_value() && std::holds_alternative<grant>(*told);
        one.stop.request_stop();
    });
    EXPECT_TRUE(was_granted);
    EXPECT_TRUE(std::holds_alternative<busy>(answer));
    one.expect_given_back();
}

// Goal: the same where the grant is not told. Method: its answer is lost, and it is not asked
// again.
TEST(ExecClaim, AGrantThatIsNotToldIsGivenBackAfterASignal) {
    claiming_world one;
    const auto answer = one.ask([&](claim_answer& told) {
        EXPECT_TRUE(told.has_value() && std::holds_alternative<grant>(*told));
        told = failure{errc::outcome_unknown, "the answer was lost, as planned"};
        one.stop.request_stop();
    });
    EXPECT_TRUE(std::holds_alternative<busy>(answer));
    one.expect_given_back();
}

}  // namespace
}  // namespace pawl::cli
