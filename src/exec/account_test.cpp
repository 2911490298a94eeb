#include "exec/account.hpp"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace pawl::exec {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A user comes from the system's directory, by name or by number, with all that a login would have.
TEST(Account, FindsUsersByNameAndByNumber) {
    for (const char* user : {"root", "0"}) {
        const auto root = find_account(user, "");
        ASSERT_TRUE(root.has_value()) << root.error().what;
        EXPECT_EQ(root->who.user, 0u);
        EXPECT_EQ(root->who.group, 0u);
        EXPECT_THAT(root->who.groups, Contains(0u));
        EXPECT_EQ(root->name, "root");
        EXPECT_EQ(root->home, "/root");
        EXPECT_THAT(root->shell, HasSubstr("/"));
    }
}

// Another group takes the place of the user's own, and the user's further groups stay.
TEST(Account, AGroupTakesThePlaceOfTheUsersOwn) {
    const group* daemons = getgrnam("daemon");
    ASSERT_NE(daemons, nullptr);
    const gid_t number = daemons->gr_gid;
    for (const std::string& name : {std::string{"daemon"}, std::to_string(number)}) {
        const auto found = find_account("nobody", name);
        ASSERT_TRUE(found.has_value()) << found.error().what;
        EXPECT_EQ(found->who.group, number);
        EXPECT_THAT(found->who.groups, Contains(number));
    }
}

// Without a name it is the user of this process.
TEST(Account, WithoutANameItIsOneself) {
    const auto own = find_account("", "");
    ASSERT_TRUE(own.has_value()) << own.error().what;
    EXPECT_EQ(own->who.user, geteuid());
}

// Who does not exist is named, with control characters made harmless.
TEST(Account, WhoDoesNotExistIsNamed) {
    EXPECT_EQ(find_account("nobody-of-this-name", "").error().what,
              "there is no user 'nobody-of-this-name' on this machine");
    EXPECT_EQ(find_account("3999999999", "").error().what,
              "there is no user '3999999999' on this machine");
    EXPECT_EQ(find_account("root", "no\nsuch").error().what,
              "there is no group 'no?such' on this machine");
}

}  // namespace
}  // namespace pawl::exec
