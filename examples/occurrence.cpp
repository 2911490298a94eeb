// A scheduled job that fires on every node at the same time, and runs on one of them.
//
// The lease alone does not do it: a node whose clock is late would find the key free again, because
// the first one is done. The occurrence does: it names the occurrence, and the store remembers it.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

// When the job was due, by its schedule: the same instant on every node, whatever their clocks say.
pawl::occurrence latest_occurrence() {
    return pawl::occurrence_at(
        std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now()));
}

}  // namespace

int main() {
    const auto due = latest_occurrence();
    int sent = 0;
    for (const std::string node : {"node-a", "node-b", "node-c"}) {
        auto locks = pawl::locks::open("memory:", {.owner = node});
        const pawl::job hourly{
            .name = "reports/hourly",
            .lease = {.ttl = 30s, .occurrence = due},
            .body =
                [&](const pawl::run& run) {
                    ++sent;
                    std::cout << node << " sends the report, run " << run.id << '\n';
                },
        };
        if (locks.run(hourly) == pawl::run_outcome::skipped_done)
            std::cout << node << " skips it: it has run\n";
    }
    return sent == 1 ? 0 : 1;
}
