#include "api/limits/user_quota.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

struct quota_setup {
    std::shared_ptr<user_quota> all = std::make_shared<user_quota>(user_quota::rules{4, 2});
    std::vector<user_quota::permit> taken{};

    std::string take(const std::string& user) {
        auto answer = user_quota::take(all, user);
        if (const auto* why = std::get_if<user_quota::full>(&answer))
            return *why == user_quota::full::of_user ? "of user" : "of all";
        taken.push_back(std::get<user_quota::permit>(std::move(answer)));
        return "taken";
    }
};

TEST(UserQuota, OneUserHasSoManyAndLeavesTheOthersToOthers) {
    quota_setup one;
    EXPECT_EQ(one.take("alice"), "taken");
    EXPECT_EQ(one.take("alice"), "taken");
    EXPECT_EQ(one.take("alice"), "of user");
    EXPECT_EQ(one.take("bob"), "taken");
    EXPECT_EQ(one.take("carol"), "taken");
    EXPECT_EQ(one.take("dave"), "of all");
    EXPECT_EQ(one.all->taken(), 4U);
}

TEST(UserQuota, APlaceThatIsGivenBackIsHadByTheNext) {
    quota_setup one;
    one.take("alice");
    one.take("alice");
    one.taken.pop_back();
    EXPECT_EQ(one.take("alice"), "taken");
    one.taken.clear();
    EXPECT_EQ(one.all->taken(), 0U);
    EXPECT_EQ(one.take("alice"), "taken");
}

TEST(UserQuota, APlaceOutlivesWhereItIsFrom) {
    quota_setup one;
    one.take("alice");
    one.all.reset();
    one.taken.clear();
}

}  // namespace
}  // namespace pawl::api
