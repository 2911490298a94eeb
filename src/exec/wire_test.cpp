#include "exec/wire.hpp"

#include <gtest/gtest.h>

namespace pawl::exec {
namespace {

// A renewal may cross the news that the command has ended: the guard then ends with an order
// unread, and what it said last must still be heard.
TEST(Wire, LastWordsAreHeardThoughAnOrderWasLeftUnread) {
    auto [ours, theirs] = socket_pair();
    ASSERT_TRUE(ours.is_open());
    report said{};
    said.kind = report_kind::ended;
    said.status = 7;
    ASSERT_EQ(send(theirs.get(), said), delivery_result::sent);
    ASSERT_EQ(send(ours.get(), order{}), delivery_result::sent);
    theirs.close();
    report heard{};
    ASSERT_EQ(receive(ours.get(), heard), arrival::message);
    EXPECT_EQ(heard.kind, report_kind::ended);
    EXPECT_EQ(heard.status, 7);
    EXPECT_EQ(receive(ours.get(), heard), arrival::closed);
}

// An empty socket is no end.
TEST(Wire, NothingIsToldFromTheEnd) {
    auto [ours, theirs] = socket_pair();
    report heard{};
    EXPECT_EQ(receive(ours.get(), heard), arrival::nothing);
    theirs.close();
    EXPECT_EQ(receive(ours.get(), heard), arrival::closed);
}

}  // namespace
}  // namespace pawl::exec
