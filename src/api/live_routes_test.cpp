// Who may look on.
#include "api/live_routes.hpp"

#include "test_support/faults/api_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::api {
namespace {

using ::testing::HasSubstr;

http::response look_on(api_world& world, const std::string& user) {
    asked what{"GET", "/api/v1/events"};
    what.caller = user;
    return world.ask(what);
}

TEST(LiveRoutes, OneUserLeavesStreamsToOthers) {
    api_world world{live_routes};
    std::vector<http::response> open;
    for (std::size_t i = 0; i < viewers_of_user_max; ++i) open.push_back(look_on(world, "alice"));
    const auto refused = look_on(world, "alice");
    EXPECT_EQ(refused.status, 429U);
    EXPECT_EQ(field_in(refused, "Retry-After"), "5");
    EXPECT_THAT(text_in(refused, "detail"),
                HasSubstr("user 'alice' has 250 event streams already"));
    EXPECT_EQ(look_on(world, "bob").status, 200U);
    open.pop_back();
    EXPECT_EQ(look_on(world, "alice").status, 200U);
}

// Counted when they are asked for, and not when they begin: many may come at once.
TEST(LiveRoutes, WhereAllStreamsAreTakenTheNextIsToldSo) {
    api_world world{live_routes};
    std::vector<http::response> open;
    for (std::size_t i = 0; i < viewers_max; ++i)
        open.push_back(look_on(world, "user-" + std::to_string(i % 5)));
    EXPECT_EQ(open.back().status, 200U);
    const auto refused = look_on(world, "user-0");
    EXPECT_EQ(refused.status, 503U);
    EXPECT_THAT(text_in(refused, "detail"), HasSubstr("there are 1000 viewers already"));
}

}  // namespace
}  // namespace pawl::api
