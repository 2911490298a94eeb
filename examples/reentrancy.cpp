// A function that locks calls another one that locks the same key.
//
// By default the second claim is rejected: its caller may be a different task of this process.
// With reentrancy::instance it gets another handle on the same lease, under the same token; the key
// is released when the last handle has gone.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

namespace {

constexpr pawl::lease_options again{.ttl = 30s, .reentrancy = pawl::reentrancy::instance};

bool post_entry(pawl::locks& locks, pawl::fence_token expected) {
    const auto lease = locks.try_acquire("ledger", again);
    return lease && lease->token() == expected;
}

bool close_books(pawl::locks& locks, pawl::locks& others) {
    const auto lease = locks.try_acquire("ledger", again);
    if (!lease || !post_entry(locks, lease->token())) return false;
    // The inner handle has gone, the outer one holds on.
    const auto rejected = others.try_acquire("ledger", again);
    return !rejected;
}

}  // namespace

int main() {
    auto locks = pawl::locks::open("memory:");
    auto others = pawl::locks::open("memory:");
    if (!close_books(locks, others)) return 1;

    auto strict = locks.acquire("ledger", {.ttl = 30s}, 10s);
    const auto rejected = locks.acquire_with_reason("ledger", {.ttl = 30s});
    std::cout << "without reentrancy the same process is rejected: " << std::boolalpha
              << std::holds_alternative<pawl::busy>(rejected) << '\n';
    return strict && std::holds_alternative<pawl::busy>(rejected) ? 0 : 1;
}
