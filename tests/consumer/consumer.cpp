// What a user's first program looks like: takes a key on the store that it is given, and shows that
// nobody else gets it meanwhile. Ends with 0 if so, and says what is wrong with the store if not.
#include <pawl/pawl.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace {

using namespace std::chrono_literals;

int take_turns(const char* store) {
    auto here = pawl::locks::open(store);
    auto there = pawl::locks::open(store);
    auto held = here.try_acquire("consumer", {.ttl = 30s});
    const auto rejected = there.try_acquire("consumer", {.ttl = 30s});
    if (!held || rejected) return 1;
    const auto first = held->token();
    if (held->release() != pawl::release_outcome::released) return 1;
    auto next = there.try_acquire("consumer", {.ttl = 30s});
    return next && next->token() > first ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) {
        std::cerr << "usage: consumer STORE-URL\n";
        return 64;
    }
    try {
        return take_turns(words[1]);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
