// What a prune costs, and that it comes to its end, whatever has gathered: on virtual time.
#include "engines/cas/journal/cas_verbs_fixture.hpp"
#include "engines/cas/journal/journal_keys.hpp"
#include "engines/cas/journal/journal_text.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace pawl::cas {
namespace {

class Prunes : public ::testing::Test {
protected:
    // Runs that are over.
    void add_runs(int count) {
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(setup_.ask(mine_, skip_of(start_of("run " + std::to_string(i), 0, i))),
                      "yes");
    }
    // Without the runs that they name, as if these had gone by another hand.
    void add_entries(int count) {
        for (int i = 0; i < count; ++i) {
            index_entry entry;
            entry.number = 1000 + static_cast<std::uint64_t>(i);
            entry.id = "gone " + std::to_string(i);
            entry.key = keys::run(entry.id);
            entry.job = "report";
            setup_.on.table->put(
                {record_kind::journal, keys::newest_first(keys::runs_of("report"), entry.number)},
                encode(entry, "n"));
        }
    }
    void answer_after(std::chrono::nanoseconds time) {
        setup_.on.table->delay = [time] { return time; };
    }
    result<std::size_t> prune(std::size_t keep, millis keep_for = 0ms) {
        return setup_.on.end_of(mine_->prune("report", keep, keep_for, 64));
    }
    std::size_t runs_left() {
        setup_.on.table->delay = nullptr;
        return setup_.on.table->list(record_kind::journal, keys::runs_of("report"), "", 1'000'000)
            .records.size();
    }

    journal_setup setup_;
    std::shared_ptr<journal> mine_ = setup_.open();
};

// Goal: a journal is pruned however many runs are kept. Method: each request takes long enough for
// a look at all of them to take longer than the timeout.
TEST_F(Prunes, AsManyAsAreKeptAreNotLookedAt) {
    add_runs(12'000);
    answer_after(20ms);
    const auto before = setup_.on.table->count();
    const auto removed = prune(10'000);
    ASSERT_TRUE(removed.has_value()) << removed.error().detail;
    EXPECT_EQ(*removed, 64U);
    EXPECT_EQ(runs_left(), 11'936U);
    EXPECT_LT(setup_.on.table->count().lists - before.lists, 20 + 64 * 4);
}

// Goal: what gathered while nothing could be pruned goes in the end. Method: so many entries that
// their list alone takes longer than the timeout.
TEST_F(Prunes, AnIndexTooLongForATimeoutIsPruned) {
    add_entries(150'000);
    add_runs(1'100);
    answer_after(20ms);
    const auto removed = prune(1'000);
    ASSERT_TRUE(removed.has_value()) << removed.error().detail;
    EXPECT_LT(runs_left(), 151'100U);
}

// Goal: a prune costs what it removes. Method: how many records are read.
TEST_F(Prunes, ThePriceIsThatOfWhatGoes) {
    add_runs(1'064);
    const auto before = setup_.on.table->count();
    EXPECT_EQ(prune(1'000).value(), 64U);
    EXPECT_EQ(runs_left(), 1'000U);
    const auto after = setup_.on.table->count();
    EXPECT_LT(after.reads + after.batches - before.reads - before.batches, 64 * 10);
}

// Goal: by age go those that ended long ago, and no others, also among those that are kept for
// their number. Method: some runs are old, one of which ended only now.
TEST_F(Prunes, TheAgeOfTheKeptIsThatOfTheirEnds) {
    setup_.ask(mine_, begin_of(start_of("long", 7)));
    add_runs(10);
    setup_.on.pass(1h);
    setup_.ask(mine_, finish_of(mark("long", 7), run_status::completed));
    EXPECT_EQ(prune(100, 30min).value(), 10U);
    EXPECT_EQ(runs_left(), 1U);
    EXPECT_EQ(prune(100, 30min).value(), 0U);
}

}  // namespace
}  // namespace pawl::cas
