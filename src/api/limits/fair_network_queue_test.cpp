#include "api/limits/fair_network_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl::api {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

struct line_of_four {
    fair_network_queue<std::string> line{4};

    std::optional<std::string> push(const std::string& address) {
        return line.push(address, networks_of(address));
    }
    std::vector<std::string> rest() {
        std::vector<std::string> all;
        while (!line.empty()) all.push_back(line.pop());
        return all;
    }
};

TEST(Networks, AnAddressIsCountedByTwo) {
    const auto v4 = networks_of("192.0.2.7");
    EXPECT_EQ(v4.wide, "192.0.0.0/16");
    EXPECT_EQ(v4.narrow, "192.0.2.0/24");
    const auto v6 = networks_of("2001:db8:1:2::3");
    EXPECT_EQ(v6.wide, "2001:db8:1::/48");
    EXPECT_EQ(v6.narrow, "2001:db8:1:2::/64");
    EXPECT_EQ(networks_of("2001:db8:1:2::/64").narrow, "2001:db8:1:2::/64");
    EXPECT_EQ(networks_of("::ffff:192.0.2.7").narrow, "192.0.2.0/24");
    EXPECT_EQ(networks_of("127.1.2.3").wide, networks_of("127.0.0.1").wide);
    EXPECT_EQ(networks_of("::1").narrow, networks_of("127.0.0.1").narrow);
    EXPECT_EQ(networks_of("unknown").wide, "unknown");
}

TEST(NetworkLine, IsFirstInFirstOut) {
    line_of_four one;
    for (const auto* from : {"192.0.2.1", "198.51.100.1", "192.0.2.2"})
        EXPECT_EQ(one.push(from), std::nullopt);
    EXPECT_THAT(one.rest(), ElementsAre("192.0.2.1", "198.51.100.1", "192.0.2.2"));
}

// One network may have all of an empty line, and gives way to another.
TEST(NetworkLine, TheLargestNetworkGivesItsLastPlaceToASmallerOne) {
    line_of_four one;
    for (const auto* from : {"127.0.0.1", "127.1.0.1", "127.2.0.1", "127.3.0.1"})
        EXPECT_EQ(one.push(from), std::nullopt);
    EXPECT_THAT(one.push("127.4.0.1"), Optional(std::string{"127.4.0.1"}));
    EXPECT_THAT(one.push("192.0.2.1"), Optional(std::string{"127.3.0.1"}));
    EXPECT_THAT(one.push("198.51.100.1"), Optional(std::string{"127.2.0.1"}));
    EXPECT_THAT(one.rest(), ElementsAre("127.0.0.1", "127.1.0.1", "192.0.2.1", "198.51.100.1"));
}

// An owner of a /48 has 65,536 networks of 64 bits, and one place more than nothing.
TEST(NetworkLine, ManyNarrowNetworksOfOneWideOneCountTogether) {
    line_of_four one;
    for (const auto* from :
         {"2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:1:3::1", "2001:db8:1:4::1"})
        one.push(from);
    EXPECT_THAT(one.push("2001:db8:2::1"), Optional(std::string{"2001:db8:1:4::1"}));
}

TEST(NetworkLine, WithinAWideNetworkANarrowOneDoesTheSame) {
    line_of_four one;
    for (const auto* from : {"10.1.1.1", "10.1.1.2", "10.1.2.1", "10.1.1.3"}) one.push(from);
    EXPECT_THAT(one.push("10.1.3.1"), Optional(std::string{"10.1.1.3"}));
    EXPECT_THAT(one.push("10.1.1.4"), Optional(std::string{"10.1.1.4"}));
    EXPECT_THAT(one.rest(), ElementsAre("10.1.1.1", "10.1.1.2", "10.1.2.1", "10.1.3.1"));
}

// Where all have the same none makes way: those who came first stay.
TEST(NetworkLine, WhereAllHaveTheSameTheNextIsRejected) {
    line_of_four one;
    for (const auto* from : {"10.1.0.1", "10.2.0.1", "10.3.0.1", "10.4.0.1"}) one.push(from);
    EXPECT_THAT(one.push("10.5.0.1"), Optional(std::string{"10.5.0.1"}));
}

}  // namespace
}  // namespace pawl::api
