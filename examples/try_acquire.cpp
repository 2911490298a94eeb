// The smallest use: take a key if it is free, do the work, release.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

int main() {
    // Two `locks` objects stand for two processes. In a service there is one, opened at the start,
    // on a store that all its machines reach: "redis://10.0.0.5:6379".
    auto here = pawl::locks::open("memory:");
    auto there = pawl::locks::open("memory:");

    auto lease = here.try_acquire("invoices/nightly", {.ttl = 30s});
    if (!lease) {
        std::cout << "another process holds it\n";
        return 1;
    }
    std::cout << "held under token " << number(lease->token()) << '\n';

    // The same with the reason for a rejection.
    const auto second = there.acquire_with_reason("invoices/nightly", {.ttl = 30s});
    if (const auto* other = std::get_if<pawl::busy>(&second))
        std::cout << "the other one is told: held by " << other->owner << '\n';
    else
        return 1;

    // The destructor would release in the background; release() waits for the store's answer.
    if (lease->release() != pawl::release_outcome::released) return 1;
    const auto next = there.try_acquire("invoices/nightly", {.ttl = 30s});
    return next ? 0 : 1;
}
