// The timelines of the first source document, to the minute, on virtual time: whole processes with
// their renewers on one store.
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// TTL 10 min, renewed every 3: without jitter, as the document counts in whole minutes.
lease_options document_job() {
    auto options = profile::batch_job();
    options.renew_jitter = 0;
    return options;
}

// When leases were renewed, in the world's time.
class renewals final : public observer {
public:
    explicit renewals(const world& where) : where_{where}, began_{where.now()} {}

    void on_renew(std::string_view, bool renewed, int) override {
        if (!renewed) return;
        const std::lock_guard hold{mutex_};
        seen_.push_back(std::chrono::floor<std::chrono::minutes>(where_.now() - began_));
    }
    std::vector<std::chrono::minutes> seen() const {
        const std::lock_guard hold{mutex_};
        return seen_;
    }

private:
    const world& where_;
    const instant began_;
    mutable std::mutex mutex_;
    std::vector<std::chrono::minutes> seen_;  // under mutex_
};

struct Timeline : ::testing::Test {
    world here;
    std::shared_ptr<renewals> beats = std::make_shared<renewals>(here);
    locks a = here.open({.observer = beats});
    locks b = here.open();

    bool b_acquires() {
        const auto lease = b.try_acquire("job", document_job());
        return bool{lease};
    }
};

// 0:00 acquired, 0:03 renewed, 0:05 done and released: the heartbeat ends with the lease.
TEST_F(Timeline, OfAJobOfFiveMinutes) {
    auto lease = a.try_acquire("job", document_job());
    ASSERT_TRUE(lease);
    here.advance(5min);
    EXPECT_THAT(beats->seen(), ElementsAre(3min));
    EXPECT_FALSE(b_acquires());
    EXPECT_EQ(lease->release(), release_outcome::released);
    EXPECT_TRUE(b_acquires());
    here.advance(10min);
    EXPECT_THAT(beats->seen(), ElementsAre(3min));
}

// 0:00 acquired, 0:03 and 0:06 renewed, 0:08 done and released.
TEST_F(Timeline, OfAJobOfEightMinutes) {
    auto lease = a.try_acquire("job", document_job());
    ASSERT_TRUE(lease);
    here.advance(8min);
    EXPECT_THAT(beats->seen(), ElementsAre(3min, 6min));
    EXPECT_TRUE(lease->valid());
    EXPECT_EQ(lease->release(), release_outcome::released);
    EXPECT_TRUE(b_acquires());
}

// 0:00 acquired, a crash just before the heartbeat of 0:03, 0:10 the lease is over and B acquires.
TEST_F(Timeline, OfAHolderThatCrashes) {
    const auto lease = a.try_acquire("job", document_job());
    ASSERT_TRUE(lease);
    here.advance(3min - 1ms);
    here.freeze(a);
    here.advance(7min);
    EXPECT_FALSE(b_acquires()) << "a millisecond before ten minutes";
    EXPECT_THAT(beats->seen(), IsEmpty());
    here.advance(1ms);
    EXPECT_TRUE(b_acquires());
    EXPECT_FALSE(lease->valid());
}

}  // namespace
}  // namespace pawl::testing
