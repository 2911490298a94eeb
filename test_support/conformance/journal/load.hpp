// Many runs at once on a server that is hurt meanwhile: each occurrence has to have one run, whole.
#pragma once

#include "test_support/conformance/journal/journal_client.hpp"

#include <pawl/clock.hpp>

#include <poll.h>

#include <cstddef>
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

// The same on a server of one process, which is killed twice and frozen once, each time when
// another quarter of the runs is whole.
template <class Server>
void run_under_kills(Server& server, const journal_opener& open, const load_plan& plan) {
    journal_client looker{open};
    run_filter whole;
    whole.status = run_status::completed;
    // Emulators break where two clients make a table, or a collection, at once.
    EXPECT_TRUE(looker.all(whole, page_limit_max).empty());
    const auto quarters_done = [&](std::size_t quarters) {
        const auto runs = static_cast<std::size_t>(plan.runners / 2 * plan.occurrences);
        const auto give_up = lease_clock::now() + 60s;
        while (looker.all(whole, page_limit_max).size() < runs * quarters / 4 &&
               lease_clock::now() < give_up)
            ::poll(nullptr, 0, 20);
    };
    run_under_trouble(open, plan, [&] {
        quarters_done(1);
        server.crash();
        server.start();
        quarters_done(2);
        server.freeze();
        ::poll(nullptr, 0, 1'000);  // how long it stands still is what is tried out
        server.thaw();
        quarters_done(3);
        server.crash();
        server.start();
    });
}

// Sixteen callers at once begin, finish and prune 10,000 runs. Gives back how many are kept.
int run_ten_thousand(journal_client& mine);

// Every verb once, so that a missing privilege or a statement that does not fit is found.
void try_every_verb(journal_client& mine);

}  // namespace pawl::conformance
