// A program that links the C client's variant with threads itself.
#include "engines/zookeeper/client/client_handle.hpp"

#include <gtest/gtest.h>
#include <zookeeper/zookeeper.h>

namespace pawl::zookeeper {
namespace {

// Goal: such a program is told why it has no store, where otherwise threads that no caller knows of
// would use the handle as well. Method: this one calls what only that variant has.
TEST(ThreadedProgram, IsToldThatItsClientStandsBeforeOurs) {
    ASSERT_EQ(zoo_delete(nullptr, "/none", -1), ZBADARGUMENTS);
    const auto opened =
        client_handle::open(zookeeper_settings{}, {server{}}, std::chrono::seconds{10});
    ASSERT_TRUE(opened.has_error());
    EXPECT_EQ(opened.error().code, errc::unsupported);
    EXPECT_NE(opened.error().detail.find("libzookeeper_mt"), std::string::npos);
}

}  // namespace
}  // namespace pawl::zookeeper
