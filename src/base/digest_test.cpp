#include "base/digest.hpp"

#include "base/hex.hpp"

#include <gtest/gtest.h>

namespace pawl::base {
namespace {

TEST(Digest, Sha256IsAsItsStandardSays) {
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// Test cases 2 and 6 of RFC 4231: a short key, and one that is longer than a block.
TEST(Digest, HmacIsAsItsStandardSays) {
    EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac_sha256(std::string(131, '\xaa'),
                                 "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace pawl::base
