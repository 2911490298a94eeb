#include "client/address.hpp"

#include <gtest/gtest.h>

namespace pawl::client {
namespace {

address good(std::string_view text) {
    const auto made = parse_address(text);
    EXPECT_TRUE(made.has_value()) << text << ": " << (made.has_error() ? made.error().what : "");
    return made.has_value() ? *made : address{};
}

std::string fault_of(std::string_view text) {
    const auto made = parse_address(text);
    return made.has_error() ? made.error().what : "";
}

// Goal: what people write is what is dialled. Method: each part alone, and the defaults.
TEST(Address, EveryPartIsTakenAsItIsWritten) {
    const auto plain = good("http://127.0.0.1:7295");
    EXPECT_EQ(plain.how, scheme::http);
    EXPECT_EQ(plain.host, "127.0.0.1");
    EXPECT_EQ(plain.port, 7295);
    EXPECT_EQ(plain.prefix, "");
    EXPECT_EQ(plain.timeout, timeout_default);
    const auto full =
        good("https://[::1]/a%20b/pawl/?ca=%2Fetc%2Fca.pem&tls_server_name=node-a&timeout=2s");
    EXPECT_EQ(full.how, scheme::https);
    EXPECT_EQ(full.host, "::1");
    EXPECT_EQ(full.port, 443);
    EXPECT_EQ(full.prefix, "/a%20b/pawl");
    EXPECT_EQ(full.trust.ca, "/etc/ca.pem");
    EXPECT_EQ(full.trust.server_name, "node-a");
    EXPECT_EQ(full.timeout, millis{2'000});
    EXPECT_EQ(text_of(full), "https://[::1]:443");
    EXPECT_EQ(good("http://node-a/").port, 80);
}

// Goal: a mistake is told in one line that does not repeat a secret. Method: one of each kind.
TEST(Address, AMistakeIsNamedWithoutItsSecret) {
    EXPECT_NE(fault_of("node-a:7295").find("begins with http://"), std::string::npos);
    EXPECT_NE(fault_of("redis://node-a").find("begins with http://"), std::string::npos);
    EXPECT_NE(fault_of("http://a,b").find("only one host"), std::string::npos);
    EXPECT_NE(fault_of("http://").find("host is empty"), std::string::npos);
    EXPECT_NE(fault_of("http://a?ca=/x").find("https:// only"), std::string::npos);
    EXPECT_NE(fault_of("http://a?timeout=soon").find("such as 30s"), std::string::npos);
    EXPECT_NE(fault_of("https://a?tls_server_nam=x").find("'tls_server_name'"), std::string::npos);
    const auto secret = fault_of("http://alice:hunter2@a");
    EXPECT_NE(secret.find("PAWL_TOKEN"), std::string::npos);
    EXPECT_EQ(secret.find("hunter2"), std::string::npos);
}

// Goal: a token in the clear is warned about exactly where it leaves the machine.
TEST(Address, OnlyThisMachineIsLoopback) {
    for (const auto* text :
         {"http://127.0.0.1", "http://127.8.9.1", "http://[::1]", "http://localhost"})
        EXPECT_TRUE(is_loopback(good(text))) << text;
    for (const auto* text : {"http://10.0.0.1", "http://localhost.example", "http://127.0.0.1.nip",
                             "http://[fe80::1]"})
        EXPECT_FALSE(is_loopback(good(text))) << text;
}

}  // namespace
}  // namespace pawl::client
