// Many readers or one writer, by a recipe of slots: a reader takes one slot, a writer all of them.
#include <pawl/pawl.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t readers = 4;
constexpr pawl::lease_options how{.ttl = 30s};

std::vector<std::string> all_slots() {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < readers; ++i) all.push_back("catalog/" + std::to_string(i));
    return all;
}

}  // namespace

int main() {
    auto here = pawl::locks::open("memory:");
    auto there = pawl::locks::open("memory:");

    // Readers do not exclude each other, and keep a writer out.
    auto first = here.acquire_slot("catalog", readers, how, 10s);
    auto second = there.acquire_slot("catalog", readers, how, 10s);
    if (!first || !second) return 1;
    if (auto writer = here.acquire_all(all_slots(), how)) return 1;

    // A writer waits for the last of them, and then no reader comes in.
    bool alone = false;
    std::uint64_t token = 0;
    std::jthread writing{[&] {
        auto writer = here.acquire_all(all_slots(), how, 1min);
        if (!writer) return;
        token = number(writer->token("catalog/0"));
        auto reader = there.try_acquire_slot("catalog", readers, how);
        alone = !reader;
    }};
    if (first->release() != pawl::release_outcome::released) return 1;
    if (second->release() != pawl::release_outcome::released) return 1;
    writing.join();
    std::cout << "the writer wrote under token " << token << '\n';

    // The next writer has a higher token, so that a late write of the first is rejected.
    auto next = there.acquire_all(all_slots(), how, 1min);
    return alone && next && number(next->token("catalog/0")) > token ? 0 : 1;
}
