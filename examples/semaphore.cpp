// At most two at a time, over all processes: each holder has a slot with a number of its own.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>
#include <thread>

using namespace std::chrono_literals;

int main() {
    auto here = pawl::locks::open("memory:");
    auto there = pawl::locks::open("memory:");
    constexpr pawl::lease_options how{.ttl = 30s};

    auto first = here.try_acquire_slot("gpu", 2, how);
    auto second = there.try_acquire_slot("gpu", 2, how);
    if (!first || !second || first->index() == second->index()) return 1;
    std::cout << first->key() << " and " << second->key() << " are held\n";

    // All are held: a caller that does not wait gets none.
    if (auto third = here.try_acquire_slot("gpu", 2, how)) return 1;

    // Who waits gets the slot that is released first.
    const auto freed = second->index();
    std::uint32_t got = 2;
    std::jthread waiter{[&] {
        if (auto mine = here.acquire_slot("gpu", 2, how, 1min)) got = mine->index();
    }};
    if (second->release() != pawl::release_outcome::released) return 1;
    waiter.join();
    std::cout << "the waiter got slot " << got << '\n';
    return got == freed ? 0 : 1;
}
