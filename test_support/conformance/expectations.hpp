// What the tests of an engine expect of a failure, and how they wait for what must come.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/errors.hpp>
#include <pawl/examination.hpp>

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

// Of the first finding of this check.
inline severity level_of(const examination& found, const std::string& check) {
    for (const auto& one : found.findings)
        if (one.check == check) return one.level;
    ADD_FAILURE() << "nothing is said of " << check;
    return severity::fail;
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

// Whether it takes less than that. A machine that stands still makes it longer, but not each time.
inline bool takes_less(millis bound, const std::function<void()>& what) {
    for (int turn = 0; turn < 3; ++turn) {
        const auto begun = lease_clock::now();
        what();
        if (lease_clock::now() - begun < bound) return true;
    }
    return false;
}

// Goal: one record that cannot be read hides no other, or no job below this prefix would be known.
// Method: PREFIXa, b and c have records, and that of b has been overwritten.
template <class Client>
void expect_all_but_one_shown(Client& by, const std::string& prefix) {
    const auto all = by.list(prefix, "", 10);
    ASSERT_TRUE(all.has_value()) << all.error().detail;
    ASSERT_EQ(all->records.size(), 3U);
    EXPECT_EQ(all->records[0].key, prefix + "a");
    EXPECT_EQ(all->records[1].owner, "(unreadable)");
    EXPECT_EQ(all->records[2].key, prefix + "c");
    const auto many = by.inspect_many({prefix + "a", prefix + "b", prefix + "c"});
    ASSERT_TRUE(many.has_value()) << many.error().detail;
    EXPECT_TRUE((*many)[0].has_value());
    EXPECT_FALSE((*many)[1].has_value());
    EXPECT_TRUE((*many)[2].has_value());
    EXPECT_EQ(by.inspect(prefix + "b").error().code, errc::rejected);
}

}  // namespace pawl::conformance
