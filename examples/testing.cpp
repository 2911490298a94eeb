// How a program that uses pawl is tested: hours pass at once, a process freezes, the store fails,
// and a referee sees whether work overlaps.
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

int main() {
    pawl::testing::world world;
    pawl::testing::referee referee;
    auto here = world.open();
    auto there = world.open();
    constexpr pawl::lease_options how{.ttl = 30s};

    // A lease is renewed for as long as its process lives.
    auto first = here.try_acquire("invoices", how);
    if (!first) return 1;
    world.advance(1h);
    if (!first->valid()) return 1;

    // A process that stands still loses it, and another takes over.
    {
        const auto work = referee.begin(*first);
        world.freeze(here);
        world.advance(31s);
        if (first->valid()) return 1;
        // The work of the first has not ended: the referee sees that the second overlaps.
        auto second = there.try_acquire("invoices", how);
        if (!second) return 1;
        const auto overlapping = referee.begin(*second);
    }
    for (const auto& fault : referee.faults()) std::cout << fault << '\n';
    if (referee.faults().size() != 1) return 1;

    // What the program does when the store is away.
    world.fail_all(pawl::errc::unreachable);
    try {
        const auto none = there.try_acquire("invoices", how);
        return 1;
    } catch (const pawl::store_error& error) {
        std::cout << error.what() << '\n';
    }
    // Whatever was released meanwhile ends with its TTL.
    world.recover();
    world.advance(31s);
    const auto third = there.try_acquire("invoices", how);
    return third ? 0 : 1;
}
