// Several keys at once, all or none: money moves between two accounts, in whatever order they are
// named, and no two wait in a circle.
#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <variant>

using namespace std::chrono_literals;

namespace {

// The balances are guarded by the keys, and by nothing else.
struct account {
    std::string key;
    int balance;
};

bool transfer(pawl::locks& locks, account& from, account& to, int amount) {
    auto both = locks.acquire_all({from.key, to.key}, {.ttl = 30s}, 1min);
    if (!both) return false;
    from.balance -= amount;
    to.balance += amount;
    // A write to a database would carry both->token(from.key) and both->token(to.key).
    return both->valid();
}

}  // namespace

int main() {
    auto here = pawl::locks::open("memory:");
    auto there = pawl::locks::open("memory:");
    account seven{"account/7", 100}, nine{"account/9", 100};
    bool went_well = true;
    {
        std::jthread forth{[&] {
            for (int i = 0; i < 20; ++i) went_well = transfer(here, seven, nine, 1) && went_well;
        }};
        for (int i = 0; i < 20; ++i)
            if (!transfer(there, nine, seven, 2)) return 1;
    }
    std::cout << seven.balance << " and " << nine.balance << '\n';

    // Without exceptions: the store's failure is one of the answers. The other side's last release
    // may still be under way, and is waited for.
    auto tried = here.acquire("account/7", {.ttl = 30s}, 1min, std::nothrow);
    if (const auto* failed = std::get_if<pawl::failure>(&tried)) {
        std::cerr << failed->detail << '\n';
        return 1;
    }
    return went_well && std::holds_alternative<pawl::lease>(tried) && seven.balance == 120 ? 0 : 1;
}
