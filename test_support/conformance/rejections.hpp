// What any store says of a server that turns it away, or is not what it should be: one clear line,
// without a secret.
#pragma once

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pawl::conformance {

// A first claim fails so. Secrets of tests have "secret" in them.
inline void expect_rejection(const store_opener& open, errc code, const std::string& words) {
    client mine{open};
    const auto got = mine.acquire(fresh_claim("key"));
    expect_failure(got, code, words);
    EXPECT_THAT(failure_of(got).detail, ::testing::Not(::testing::HasSubstr("secret")));
}

}  // namespace pawl::conformance
