#include "api/places.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

struct hall {
    std::shared_ptr<places> all = std::make_shared<places>(places::rules{4, 2});
    std::vector<places::place> taken{};

    std::string take(const std::string& user) {
        auto answer = places::take(all, user);
        if (const auto* why = std::get_if<places::full>(&answer))
            return *why == places::full::of_user ? "of user" : "of all";
        taken.push_back(std::get<places::place>(std::move(answer)));
        return "taken";
    }
};

TEST(Places, OneUserHasSoManyAndLeavesTheOthersToOthers) {
    hall one;
    EXPECT_EQ(one.take("alice"), "taken");
    EXPECT_EQ(one.take("alice"), "taken");
    EXPECT_EQ(one.take("alice"), "of user");
    EXPECT_EQ(one.take("bob"), "taken");
    EXPECT_EQ(one.take("carol"), "taken");
    EXPECT_EQ(one.take("dave"), "of all");
    EXPECT_EQ(one.all->taken(), 4U);
}

TEST(Places, APlaceThatIsGivenBackIsHadByTheNext) {
    hall one;
    one.take("alice");
    one.take("alice");
    one.taken.pop_back();
    EXPECT_EQ(one.take("alice"), "taken");
    one.taken.clear();
    EXPECT_EQ(one.all->taken(), 0U);
    EXPECT_EQ(one.take("alice"), "taken");
}

TEST(Places, APlaceOutlivesWhereItIsFrom) {
    hall one;
    one.take("alice");
    one.all.reset();
    one.taken.clear();
}

}  // namespace
}  // namespace pawl::api
