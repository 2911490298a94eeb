// Many runs at once on a server that is hurt meanwhile: each occurrence has to have one run, whole.
#pragma once

#include "test_support/conformance/journal/journal_client.hpp"

#include <functional>

namespace pawl::conformance {

struct load_plan {
    int runners = 32;      // half of them race with the other half for every occurrence
    int occurrences = 40;  // of each pair
};

// Runs the load, and `trouble` beside it, whose end it does not wait for to go on. Then looks at
// what is written down.
void run_under_trouble(const journal_opener& open, const load_plan& plan,
                       const std::function<void()>& trouble);

// Sixteen callers at once begin, finish and prune 10,000 runs. Gives back how many are kept.
int run_ten_thousand(journal_client& mine);

// Every verb once, so that a missing privilege or a statement that does not fit is found.
void try_every_verb(journal_client& mine);

}  // namespace pawl::conformance
