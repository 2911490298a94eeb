#include "api/auth/token.hpp"

#include "config/texts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace pawl::api {
namespace {

using testing::StartsWith;

constexpr hash_costs cheap{.memory_kib = 8, .passes = 1};

TEST(Token, CarriesTheNameOfItsUser) {
    const std::vector<std::string> names{"a",       "alice",   "build.server",
                                         "José  Ñ", "x/y?z=1", std::string(64, 'n')};
    for (const auto& name : names) {
        const auto token = fresh_token(name);
        EXPECT_THAT(token, StartsWith("pawl."));
        EXPECT_EQ(name_in_token(token), name);
        // It goes into a header and into a shell as it is.
        EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_."),
                  std::string::npos);
    }
}

TEST(Token, IsNewEachTime) {
    std::set<std::string> all;
    for (int i = 0; i < 1'000; ++i) all.insert(fresh_token("a"));
    EXPECT_EQ(all.size(), 1'000u);
}

// Only what fresh_token() writes is of its form: each token stands for one name, in one way.
TEST(Token, OtherTextsNameNoUser) {
    const std::string secret(43, 'A');
    ASSERT_EQ(name_in_token("pawl.YQ." + secret), "a");
    for (const std::string text :
         {"", "pawl.", "pawl..", "hunter2", "Pawl.YQ.", "pawl.YQ", "pawl.YQ."})
        EXPECT_EQ(name_in_token(text), std::nullopt) << text;
    const std::vector<std::string> broken{
        "", "YR", "YQ==", "Y", "Y Q", "AA", std::string(200, 'Y'), std::string(1'000, 'Y')};
    for (const auto& name : broken)
        EXPECT_EQ(name_in_token("pawl." + name + "." + secret), std::nullopt) << name;
    EXPECT_EQ(name_in_token("pawl.YQ." + secret + "A"), std::nullopt);
    EXPECT_EQ(name_in_token("pawl.YQ." + secret.substr(1)), std::nullopt);
    EXPECT_EQ(name_in_token("pawl.YQ." + secret.substr(1) + "B"), std::nullopt);
    EXPECT_EQ(name_in_token("pawl.YQ." + secret.substr(1) + "!"), std::nullopt);
}

TEST(Token, IsThatOfItsHashAndOfNoOther) {
    const auto token = fresh_token("alice");
    const auto hash = hash_of(token, cheap);
    EXPECT_EQ(compare(token, hash), comparison::equal);
    EXPECT_EQ(compare(fresh_token("alice"), hash), comparison::different);
    EXPECT_EQ(compare("", hash), comparison::different);
    EXPECT_EQ(compare(token + " ", hash), comparison::different);
    EXPECT_EQ(compare(token, hash_of(fresh_token("alice"), cheap)), comparison::different);
    EXPECT_NE(hash_of(token, cheap), hash) << "the salt is new each time";
}

TEST(Token, BytesAfterANulCount) {
    const std::string token{"a\0b", 3};
    const auto hash = hash_of(token, cheap);
    EXPECT_EQ(compare(token, hash), comparison::equal);
    EXPECT_EQ(compare("a", hash), comparison::different);
}

TEST(Token, AHashIsAsTheConfigurationWantsIt) {
    const auto hash = hash_of("x");
    EXPECT_THAT(hash, StartsWith("$argon2id$v=19$m=19456,t=2,p=1$"));
    EXPECT_FALSE(config::token_hash_fault(hash));
    EXPECT_TRUE(config::is_whole_token_hash(hash));
}

// Source: the test vectors of the reference implementation of argon2.
TEST(Token, HashesOfOtherToolsAreUnderstood) {
    for (const std::string hash : {"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$"
                                   "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
                                   "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$"
                                   "bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"}) {
        EXPECT_TRUE(config::is_whole_token_hash(hash)) << hash;
        EXPECT_EQ(compare("password", hash), comparison::equal) << hash;
        EXPECT_EQ(compare("Password", hash), comparison::different) << hash;
    }
}

TEST(Token, ABrokenHashHasNoUser) {
    const auto hash = hash_of("x", cheap);
    for (const std::string& broken :
         {std::string{}, std::string{"$argon2id$"}, hash.substr(0, hash.size() - 1), hash + "A",
          "$argon2i" + hash.substr(9), std::string{"$argon2id$v=19$m=8,t=0,p=1$c29tZXNhbHQ$AAAA"}})
        EXPECT_EQ(compare("x", broken), comparison::different) << broken;
}

TEST(Secrets, AreTheSameOnlyAsAWhole) {
    EXPECT_TRUE(is_same_secret("abc", "abc"));
    EXPECT_TRUE(is_same_secret("", ""));
    EXPECT_FALSE(is_same_secret("abc", "abd"));
    EXPECT_FALSE(is_same_secret("abc", "ab"));
    EXPECT_FALSE(is_same_secret("", "a"));
    EXPECT_EQ(fresh_secret().size(), 43u);
    EXPECT_NE(fresh_secret(), fresh_secret());
}

TEST(Secrets, DigestsTellSecretsApartAndProcessesToo) {
    const digester one, other;
    EXPECT_EQ(one.of("x"), one.of("x"));
    EXPECT_NE(one.of("x"), one.of("y"));
    EXPECT_NE(one.of("x"), other.of("x"));
    EXPECT_EQ(one.of("ab", "c"), one.of("ab", "c"));
    EXPECT_NE(one.of("ab", "c"), one.of("a", "bc"));
    EXPECT_NE(one.of("", "abc"), one.of("abc", ""));
}

}  // namespace
}  // namespace pawl::api
