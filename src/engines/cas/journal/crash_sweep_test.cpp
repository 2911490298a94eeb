#include "engines/cas/journal/cas_crash_sweep_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pawl::cas {
namespace {

// Goal: a verb is one step, whatever becomes of its requests. Method: at each request in turn it,
// or its answer, is lost or late, and then all of them go on or the process is cut off. What is
// seen is all of the verb or nothing of it, and nothing if it says so; another process that repeats
// it gets the answer that was lost, and the same is seen as without any trouble. In the end, what
// lost processes have left can be removed.
void expect_no_violation(const std::vector<watched_verb>& all) {
    const auto found = crash_sweep{}.over(all);
    EXPECT_FALSE(found) << name_of(found->broken) << ": " << found->how;
}
TEST(CrashSweep, AVerbOfARunnerIsOneStepAndRepeatable) { expect_no_violation(verbs_of_runners()); }
TEST(CrashSweep, AVerbOfOthersIsOneStepAndRepeatable) { expect_no_violation(verbs_of_others()); }

// Goal: a write that comes late is not taken for another's. Method: an audit entry's first write is
// seen nowhere when it is looked for, and arrives before the second one.
TEST(CrashSweep, AnEntryWhoseFirstWriteIsLateIsAddedOnce) {
    journal_setup setup;
    setup.on.table->fates = [&, writes = 0](bool is_write, const record_name& name) mutable {
        if (!is_write || name.kind != record_kind::journal) return fate::answered;
        setup.on.table->deliver();
        return ++writes == 1 ? fate::late : fate::answered;
    };
    EXPECT_EQ(setup.ask(setup.open(), audit_of("ada")), "ada");
    EXPECT_EQ(setup.keys_there().size(), 1u);
}

// Goal: a failure after a write in doubt says so. Method: the second write never leaves, and then
// the first arrives.
TEST(CrashSweep, AnEntryInDoubtIsUnknown) {
    journal_setup setup;
    setup.on.table->fates = [writes = 0](bool is_write, const record_name& name) mutable {
        if (!is_write || name.kind != record_kind::journal) return fate::answered;
        return ++writes == 1 ? fate::late : fate::request_lost;
    };
    EXPECT_EQ(setup.ask(setup.open(), audit_of("ada")), "error outcome_unknown");
}

// Goal: a store that answers no write is not asked without end. Method: each kind of write that
// there is waits for its answer for the whole of a verb; what is read is answered at once.
TEST(CrashSweep, AStoreThatAnswersNoWriteIsAskedEverMoreSeldom) {
    for (const auto& verb : {audit_of("ada"), node_of("n", 2), leave_of("n")}) {
        journal_setup setup;
        const auto mine = setup.open();
        setup.ask(mine, node_of("n", 1));
        int asked = 0;
        setup.on.table->delay = [] { return 1ms; };
        setup.on.table->fates = [&](bool is_write, const record_name&) {
            ++asked;
            return is_write ? fate::unanswered : fate::answered;
        };
        EXPECT_EQ(setup.ask(mine, verb), "error outcome_unknown");
        EXPECT_GT(asked, 6);
        EXPECT_LT(asked, 60);
    }
}

}  // namespace
}  // namespace pawl::cas
