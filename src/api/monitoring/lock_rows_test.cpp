#include "api/monitoring/lock_rows.hpp"

#include "api/bare_api_fixture.hpp"
#include "test_support/faults/hold_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl::api {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LockRows : public BareApi {
protected:
    lock_reach look(std::size_t most) {
        keys_.clear();
        const auto seen = std::make_shared<std::vector<std::string>>();
        lock_visitor note = [seen](record one) { seen->push_back(std::move(one.key)); };
        auto reach = core_.loop().wait_for(visit_locks(around_, most, std::move(note))).value();
        keys_ = *seen;
        return reach;
    }

    std::vector<std::string> keys_;
};

TEST_F(LockRows, EachIsMetOnce) {
    hold_keys(core_, {"a", "job/report", "z"});
    const auto reach = look(page_limit_max);
    EXPECT_THAT(keys_, ElementsAre("a", "job/report", "z"));
    EXPECT_TRUE(reach.is_whole());
    EXPECT_TRUE(reach.covers("zz"));
}

// Goal: a client who holds any number of keys hides no job's lock, and what was not met is not
// taken for free. Method: as many keys as are read, which come before all others.
TEST_F(LockRows, BehindTheBoundThoseOfJobsAreMetToo) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < page_limit_max; ++i)
        all.push_back("!/" + std::to_string(10'000 + i));
    const auto last = all.back();
    for (const auto* key : {"job/a", "job/b", "jobs", "z"}) all.emplace_back(key);
    hold_keys(core_, std::move(all));
    const auto reach = look(page_limit_max);
    ASSERT_THAT(keys_, SizeIs(page_limit_max + 2));
    keys_.erase(keys_.begin(), keys_.end() - 3);
    EXPECT_THAT(keys_, ElementsAre(last, "job/a", "job/b"));
    EXPECT_FALSE(reach.is_whole());
    EXPECT_TRUE(reach.covers("!/1"));
    EXPECT_TRUE(reach.covers(last));
    EXPECT_TRUE(reach.covers("job/c"));
    EXPECT_FALSE(reach.covers("jobs"));
    EXPECT_FALSE(reach.covers("z"));
}

TEST_F(LockRows, WhereTheBoundIsBehindThoseOfJobsNoneIsMetTwice) {
    std::vector<std::string> all{"job/a"};
    for (std::size_t i = 0; i < page_limit_max; ++i) all.push_back("z/" + std::to_string(i));
    hold_keys(core_, std::move(all));
    const auto reach = look(page_limit_max);
    EXPECT_THAT(keys_, SizeIs(page_limit_max));
    EXPECT_FALSE(reach.is_whole());
    EXPECT_TRUE(reach.covers("job/b"));
}

}  // namespace
}  // namespace pawl::api
