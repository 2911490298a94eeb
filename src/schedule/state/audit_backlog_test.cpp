#include "schedule/state/audit_backlog.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::schedule {
namespace {

untold_audit numbered(std::size_t number) {
    untold_audit one;
    one.what.target = std::to_string(number);
    return one;
}

// Goal: a journal that hangs lets the backlog grow to its bound and no further, and the newest are
// kept. Method: while each is being told another run is added, and it is put back.
TEST(AuditBacklog, IsBoundedWhileItsOldestIsBeingTold) {
    audit_backlog line;
    constexpr std::size_t added = audits_kept_max * 3;
    line.add(numbered(0));
    for (std::size_t i = 1; i < added; ++i) {
        auto one = line.take_oldest();
        line.add(numbered(i));
        line.add(numbered(++i));
        line.put_back(std::move(one));
    }
    std::size_t kept = 0;
    std::string last;
    while (!line.empty()) {
        last = line.take_oldest().what.target;
        ++kept;
    }
    EXPECT_EQ(kept, audits_kept_max);
    EXPECT_EQ(last, std::to_string(added));
}

// What was put back is told first, as long as there is room for it.
TEST(AuditBacklog, WhatIsPutBackIsTheOldest) {
    audit_backlog line;
    line.add(numbered(1));
    line.add(numbered(2));

    line.put_back(line.take_oldest());

    EXPECT_EQ(line.take_oldest().what.target, "1");
    EXPECT_EQ(line.take_oldest().what.target, "2");
    EXPECT_TRUE(line.empty());
}

}  // namespace
}  // namespace pawl::schedule
