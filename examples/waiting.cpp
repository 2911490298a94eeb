// Waiting for a key until it is free, the time is up, or the program is told to stop; and stopping
// the work when the lease is about to end.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>
#include <latch>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;

namespace {

// What a job does between two pieces of work, here: nothing at all until it is told to stop.
void work_until(const std::stop_token& stop) {
    std::latch stopped{1};
    const std::stop_callback on_stop{stop, [&] { stopped.count_down(); }};
    stopped.wait();
}

}  // namespace

int main() {
    auto holder = pawl::locks::open("memory:");
    auto waiter = pawl::locks::open("memory:");

    // A wait ends by itself when the key is released: no polling.
    auto first = holder.try_acquire("leader", {.ttl = 10s});
    std::jthread second{[&] {
        auto mine = waiter.acquire("leader", {.ttl = 10s}, 1min);
        std::cout << "the waiter took over under token " << (mine ? number(mine->token()) : 0)
                  << '\n';
    }};
    if (first->release() != pawl::release_outcome::released) return 1;
    second.join();

    // A wait ends when the program shuts down: acquire() then returns nothing.
    auto again = holder.acquire("leader", {.ttl = 10s}, 1min);
    if (!again) return 1;
    std::stop_source shutdown;
    bool gave_up = false;
    std::jthread third{[&] {
        const auto none = waiter.acquire("leader", {.ttl = 10s}, 1h, shutdown.get_token());
        gave_up = !none;
    }};
    shutdown.request_stop();
    third.join();

    // The holder's own stop token: requested when the lease is lost, here because an operator took
    // it.
    waiter.force_release("leader", again->token(), 0ms);
    if (again->renew()) return 1;
    work_until(again->stop_token());
    std::cout << "told to stop: " << name_of(*again->lost()) << '\n';
    return gave_up && !again->valid() ? 0 : 1;
}
