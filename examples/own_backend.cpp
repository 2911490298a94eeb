// A store of one's own (engine/map_store.hpp), handed to locks::open() by a program that has it.
#include "engine/map_store.hpp"

#include <pawl/pawl.hpp>

#include <chrono>
#include <iostream>
#include <memory>

using namespace std::chrono_literals;

int main() {
    const auto server = std::make_shared<example::key_records>();
    auto locks = pawl::locks::open(
        [server](boost::asio::any_io_executor) {
            return std::make_shared<example::map_store>(server, pawl::store_settings{});
        },
        pawl::store_settings{});

    auto first = locks.try_acquire("k", {.ttl = 6s});
    const auto rejected = locks.try_acquire("k", {.ttl = 6s});
    if (!first || rejected) return 1;
    const auto token = first->token();
    // pawl's heartbeat keeps it alive beyond its TTL, through the verbs above.
    const auto still_rejected = locks.acquire("k", {.ttl = 6s}, 8s);
    if (still_rejected || !first->valid()) return 1;
    first->release();
    const auto second = locks.try_acquire("k", {.ttl = 6s});
    if (!second || second->token() <= token) return 1;
    std::cout << "first under token " << number(token) << ", then under " << number(second->token())
              << '\n';
    return locks.check_fence("ledger", second->token()).accepted &&
                   !locks.check_fence("ledger", token).accepted
               ? 0
               : 1;
}
