#include "engines/mysql/store/key_poller.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace pawl::mysql {
namespace {

using namespace std::chrono_literals;

class MysqlKeyPoller : public ::testing::Test {
protected:
    key_wait& add(const std::string& key, std::uint64_t seen) {
        auto& made = all_.emplace_back(key, fence_token{seen});
        poller_.add(&made);
        return made;
    }

    std::deque<key_wait> all_;
    key_poller poller_;
};

TEST_F(MysqlKeyPoller, LooksAreCloseTogetherAtFirstAndCalmDown) {
    EXPECT_EQ(look_pause(0ms), look_pause_min);
    EXPECT_LT(look_pause(400ms), 100ms);
    EXPECT_EQ(look_pause(1h), look_pause_max);
}

TEST_F(MysqlKeyPoller, ARoundAsksForEachKeyOnceAndInPieces) {
    for (const auto* key : {"b", "a", "b", "c"}) add(key, 1);
    EXPECT_EQ(poller_.round("", 2), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(poller_.round("b", 2), (std::vector<std::string>{"c"}));
    EXPECT_TRUE(poller_.round("c", 2).empty());
}

TEST_F(MysqlKeyPoller, AWaitEndsWhenItsKeyIsNotHeldUnderItsToken) {
    auto& same = add("a", 1);
    auto& other = add("a", 2);
    auto& gone = add("b", 1);
    auto& unasked = add("c", 1);
    poller_.seen({"a", "b"}, {{"a", fence_token{1}}});
    EXPECT_FALSE(same.over.is_set());
    EXPECT_TRUE(other.over.is_set());
    EXPECT_TRUE(gone.over.is_set());
    EXPECT_FALSE(unasked.over.is_set());
    poller_.failed({"a"}, failure{errc::unreachable, "gone"});
    EXPECT_TRUE(same.over.is_set());
    EXPECT_TRUE(same.fault);
    EXPECT_FALSE(gone.fault);
    EXPECT_EQ(poller_.round("", 9), (std::vector<std::string>{"c"}));
}

}  // namespace
}  // namespace pawl::mysql
