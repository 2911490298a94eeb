#include "schedule/job/begun_occurrences.hpp"

#include <gtest/gtest.h>

namespace pawl::schedule {
namespace {

// A later beginning says nothing of an earlier occurrence, nor one key of another.
TEST(BegunOccurrences, KnowsExactlyTheNewestOfEachKey) {
    begun_occurrences begun;
    begun.add("a", occurrence{1});
    begun.add("a", occurrence{3});
    EXPECT_TRUE(begun.has("a", occurrence{1}));
    EXPECT_FALSE(begun.has("a", occurrence{2}));
    EXPECT_TRUE(begun.has("a", occurrence{3}));
    EXPECT_FALSE(begun.has("b", occurrence{3}));

    for (std::size_t i = 1; i < begun_kept_max; ++i)
        begun.add("a", occurrence{static_cast<std::int64_t>(i) + 3});

    EXPECT_FALSE(begun.has("a", occurrence{1}));
    EXPECT_TRUE(begun.has("a", occurrence{3}));
}

// One that is asked for again, as it could not be started, takes no other's place.
TEST(BegunOccurrences, CountsOneThatBeginsAgainOnce) {
    begun_occurrences begun;
    begun.add("a", occurrence{1});
    for (std::size_t i = 0; i < begun_kept_max; ++i) begun.add("a", occurrence{2});
    EXPECT_TRUE(begun.has("a", occurrence{1}));
}

}  // namespace
}  // namespace pawl::schedule
