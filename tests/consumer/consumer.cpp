// What a user's first program looks like: takes a key on the store that it is given, and shows that
// nobody else gets it meanwhile. Ends with 0 if so.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>

int main(int count, char** words) {
    using namespace std::chrono_literals;
    if (count != 2) {
        std::cerr << "usage: consumer STORE-URL\n";
        return 64;
    }
    auto here = pawl::locks::open(words[1]);
    auto there = pawl::locks::open(words[1]);
    auto held = here.try_acquire("consumer", {.ttl = 30s});
    if (!held || there.try_acquire("consumer", {.ttl = 30s})) return 1;
    const auto first = held->token();
    if (held->release() != pawl::release_outcome::released) return 1;
    auto next = there.try_acquire("consumer", {.ttl = 30s});
    return next && next->token() > first ? 0 : 1;
}
