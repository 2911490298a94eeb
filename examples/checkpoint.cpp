// A job that can be picked up where it stopped: it saves how far it has come, is interrupted in the
// middle, and the next one goes on from there.
//
// The checkpoint carries the run's token. So when the first one is only believed to be dead, what
// it saves afterwards is rejected.
#include <pawl/pawl.hpp>

#include <chrono>
#include <functional>
#include <iostream>
#include <stop_token>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr int invoices = 5;

// Sends the invoices that have not been sent, until it is done or told to stop.
void send_from_where_it_stopped(const pawl::run& run, std::vector<int>& sent,
                                const std::function<void(int)>& after_each) {
    const int first = run.last_checkpoint.empty() ? 1 : std::stoi(run.last_checkpoint) + 1;
    std::cout << "attempt " << run.attempt << " begins with invoice " << first << '\n';
    for (int invoice = first; invoice <= invoices; ++invoice) {
        if (run.stop.stop_requested()) return;
        sent.push_back(invoice);
        if (!run.checkpoint(std::to_string(invoice))) return;  // a newer run has replaced it
        after_each(invoice);
    }
}

}  // namespace

int main() {
    std::vector<int> sent;
    std::stop_source shutdown;
    // At least once: what was interrupted is not done. The occurrence is what both attempts are at.
    pawl::job nightly{
        .name = "invoices/nightly",
        .lease = {.ttl = 30s,
                  .occurrence = pawl::occurrence{1'790'000'000'000},
                  .delivery = pawl::delivery::at_least_once},
        .body =
            [&](const pawl::run& run) {
                send_from_where_it_stopped(run, sent, [&](int invoice) {
                    if (invoice == 3) shutdown.request_stop();
                });
            },
    };
    {
        auto locks = pawl::locks::open("memory:", {.owner = "node-a"});
        locks.run(nightly, shutdown.get_token());
    }
    nightly.body = [&](const pawl::run& run) { send_from_where_it_stopped(run, sent, [](int) {}); };
    auto locks = pawl::locks::open("memory:", {.owner = "node-b"});
    if (locks.run(nightly) != pawl::run_outcome::ran) return 1;
    if (locks.run(nightly) != pawl::run_outcome::skipped_done) return 1;
    return sent == std::vector{1, 2, 3, 4, 5} ? 0 : 1;
}
