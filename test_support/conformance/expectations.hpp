// What the tests of an engine expect of a failure, and how they wait for what must come.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>

#include <gtest/gtest.h>

#include <poll.h>

#include <chrono>
#include <functional>
#include <string>

namespace pawl::conformance {

// The detail is one line, with these words in it.
inline void expect_detail(const failure& why, errc code, const std::string& words) {
    EXPECT_EQ(name_of(why.code), name_of(code)) << why.detail;
    EXPECT_NE(why.detail.find(words), std::string::npos) << why.detail;
    EXPECT_EQ(why.detail.find('\n'), std::string::npos) << why.detail;
}

// The failure, which must be there.
template <class T>
failure failure_of(const result<T>& got) {
    if (got.has_error()) return got.error();
    ADD_FAILURE() << "expected a failure";
    return {errc::protocol, ""};
}

template <class T>
void expect_failure(const result<T>& got, errc code, const std::string& words) {
    expect_detail(failure_of(got), code, words);
}

// Gives up, and fails the test, after `bound`.
inline void until(const std::function<bool()>& holds, millis bound = std::chrono::seconds{15}) {
    const auto give_up = lease_clock::now() + bound;
    bool held = holds();
    while (!held && lease_clock::now() < give_up) {
        poll(nullptr, 0, 2);
        held = holds();
    }
    EXPECT_TRUE(held);
}

}  // namespace pawl::conformance
