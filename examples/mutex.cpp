// A key as a standard mutex: the guards of the standard library hold it over all processes.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

int main() {
    auto here = pawl::locks::open("memory:");
    auto there = pawl::locks::open("memory:");
    pawl::mutex door{here, "invoices", {.ttl = 30s}};
    pawl::mutex other_door{there, "invoices", {.ttl = 30s}};
    {
        std::unique_lock hold{door, 5s};
        if (!hold) return 1;
        std::cout << "locked under token " << number(door.lease().token()) << '\n';

        // Another process is kept out, as another thread would be.
        if (std::unique_lock{other_door, 20ms}) return 1;

        // Before something that must not happen late.
        door.check();

        // An operator takes the key: the lock is lost, and the next check says so.
        there.force_release("invoices", door.lease().token(), 0ms);
        while (door.lease().valid()) (void)door.lease().share().renew();
        try {
            door.check();
            return 1;
        } catch (const pawl::lease_lost& lost) {
            std::cout << lost.what() << '\n';
        }
    }
    const std::lock_guard hold{other_door};
    return other_door.lease().valid() ? 0 : 1;
}
