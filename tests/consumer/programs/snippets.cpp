// Every block of C++ of the pages and of the headers, as it stands there: docs_test looks for each
// of them here. What needs no server is run.
#undef NDEBUG
#include <pawl/pawl.hpp>
#include <pawl/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

// Of libpq.
using PGconn = pg_conn;

namespace snippets {

// -- what the blocks call

std::atomic<int> charged = 0;
void charge(pawl::fence_token) { ++charged; }
void work(pawl::lease&) { ++charged; }
void train_on(std::uint32_t, pawl::fence_token) { ++charged; }
void transfer(pawl::fence_token, pawl::fence_token) { ++charged; }
void write_catalog(pawl::fence_token) { ++charged; }
template <class... Words>
void log(const Words&...) {}
void skip() {}
int read_catalog() { return 1; }
void use(int) {}

struct invoice {
    std::string id;
};
int sent = 0;
std::vector<invoice> pending() { return {{"1"}}; }
std::vector<invoice> pending_after(const std::string&) { return {{"1"}, {"2"}}; }
void send(const invoice&, pawl::fence_token) { ++sent; }

// Whoever leads, or has a partition, is told to stop then.
std::stop_source ending;
std::atomic<int> served = 0;
void serve(pawl::fence_token, const std::stop_token&) {
    ++served;
    ending.request_stop();
}
void reindex(std::uint32_t, std::uint32_t, const std::stop_token&) {
    ++served;
    ending.request_stop();
}

struct connection_pool {
    std::shared_ptr<PGconn> take() { return nullptr; }
};
PGconn* take_from_pool() { return nullptr; }
void give_back_to_pool(PGconn*) {}

// -- only compiled: there is no such server

void of_the_readme(pawl::occurrence due, std::stop_token shutdown) {
    auto locks = pawl::locks::open("redis://10.0.0.5:6379");

    if (auto lease = locks.try_acquire("invoices/nightly", {.ttl = 30s}))
        charge(lease->token());  // renewed meanwhile, released when it goes out of scope

    const pawl::job hourly{
        .name = "reports/hourly",
        .lease = {.ttl = 30s, .occurrence = due},  // this occurrence, at most once over all nodes
        .body =
            [](const pawl::run& run) {
                for (auto& report : pending()) {
                    if (run.stop.stop_requested())
                        return;  // shutting down, or the lease is about to end
                    send(report, run.token);
                }
            },
    };
    locks.run(hourly, shutdown);  // ran, skipped_busy, skipped_done or lost
}

void of_the_header() {
    pawl::locks locks = pawl::locks::open("redis://127.0.0.1:6379");
    if (auto lease = locks.try_acquire("invoices/nightly", {.ttl = 30s})) charge(lease->token());
}

void over_connections_of_a_pool(connection_pool& pool) {
    auto locks = pawl::locks::open("postgresql:?schema=jobs",
                                   {.connections = {.postgresql = [&] { return pool.take(); }}});
}

void over_connections_of_the_program() {
    auto locks =
        pawl::locks::open("postgresql:?schema=jobs", {.connections = {.postgresql = [&] {
                                                          return std::shared_ptr<PGconn>{
                                                              take_from_pool(), give_back_to_pool};
                                                      }}});
}

// -- run

void claim(pawl::locks& locks, pawl::occurrence due) {
    auto tried = locks.acquire_with_reason("invoices/nightly", {.ttl = 30s, .occurrence = due});
    if (auto* lease = std::get_if<pawl::lease>(&tried))
        work(*lease);
    else if (auto* other = std::get_if<pawl::busy>(&tried))
        log(other->owner, other->remaining, other->reason);
    else
        log("has run", number(std::get<pawl::already_done>(tried).last));
}

void claim_without_exceptions(pawl::locks& locks) {
    auto tried = locks.try_acquire("invoices/nightly", {.ttl = 30s}, std::nothrow);
    if (auto* lease = std::get_if<pawl::lease>(&tried))
        work(*lease);
    else if (auto* failed = std::get_if<pawl::failure>(&tried))
        log(name_of(failed->code), failed->detail);
    else
        skip();  // pawl::busy, pawl::already_done
}

void lock_a_mutex(pawl::locks& locks) {
    pawl::mutex door{locks, "invoices", {.ttl = 30s}};
    std::unique_lock hold{door, 5s};
    if (hold) charge(door.lease().token());
}

void take_a_slot(pawl::locks& locks) {
    if (auto slot = locks.acquire_slot("gpu", 4, {.ttl = 30s}, 1min))
        train_on(slot->index(), slot->token());  // at most 4 at a time, over all processes
}

void take_both(pawl::locks& locks) {
    if (auto both = locks.acquire_all({"account/7", "account/9"}, {.ttl = 30s}, 5s))
        transfer(both->token("account/7"), both->token("account/9"));
}

void lead(pawl::locks& locks, std::stop_token shutdown) {
    locks.lead("billing/leader", {.ttl = 15s}, shutdown, [](const pawl::term& term) {
        serve(term.token, term.stop);  // returns when term.stop is requested
    });
}

void share(pawl::locks& locks, std::stop_token shutdown) {
    locks.run_partitions("reindex", 16, shutdown, [](const pawl::partition& mine) {
        reindex(mine.index, mine.count, mine.stop);
    });
}

void schedule(pawl::locks& locks, const pawl::job& nightly) {
    pawl::scheduler cron{locks};
    cron.add(nightly, {.cron = "0 2 * * *", .zone = "Europe/Paris"});
    std::jthread ticking{[&](std::stop_token stop) { cron.run(stop); }};
}

void schedule_what_was_missed(pawl::locks& locks, const pawl::job& nightly) {
    pawl::scheduler cron{locks};
    cron.add(nightly,
             {.cron = "0 2 * * *", .zone = "Europe/Paris", .misfire = pawl::misfire::run_once});
    std::jthread ticking{[&](std::stop_token stop) { cron.run(stop); }};
}

void send_from_checkpoint(const pawl::run& run) {
    for (auto& invoice : pending_after(run.last_checkpoint)) {
        if (run.stop.stop_requested()) return;
        send(invoice, run.token);
        if (!run.checkpoint(invoice.id)) return;  // a newer run has replaced this one
    }
}

void in_a_world() {
    pawl::testing::world world;
    auto here = world.open(), there = world.open();
    auto lease = here.try_acquire("invoices", {.ttl = 30s});
    world.freeze(here);
    world.advance(31s);
    assert(!lease->valid());
    assert(there.try_acquire("invoices", {.ttl = 30s}).value().valid());
}

boost::asio::awaitable<void> nightly(pawl::locks& locks) {
    auto lease = co_await locks.async_acquire("invoices/nightly", {.ttl = 30s}, 1min);
    if (!lease) co_return;
    charge(lease->token());
    co_await lease->async_release();
}

void with_a_future(pawl::locks& locks) {
    auto soon = locks.async_acquire("invoices", {.ttl = 30s}, 1min, boost::asio::use_future);
    if (auto lease = soon.get()) charge(lease->token());
}

void with_completion_tokens(pawl::locks& locks, boost::asio::io_context& context) {
    auto soon =
        locks.async_acquire("invoices/nightly", {.ttl = 30s}, 1min, boost::asio::use_future);
    locks.async_try_acquire(
        "invoices/nightly", {.ttl = 30s},
        boost::asio::bind_executor(context,
                                   [](std::exception_ptr error, pawl::acquired<pawl::lease> lease) {
                                       if (!error && lease) charge(lease->token());
                                   }));
    // The other may have been first.
    const auto held = soon.get();
    if (held) charge(held->token());
}

void read_and_write(pawl::locks& locks) {
    constexpr std::uint32_t readers = 8;

    if (auto mine = locks.acquire_slot("catalog", readers, {.ttl = 30s}, 1min)) {
        const auto seen = read_catalog();
        if (mine->valid()) use(seen);  // no writer has begun meanwhile
    }

    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < readers; ++i) all.push_back("catalog/" + std::to_string(i));
    if (auto mine = locks.acquire_all(all, {.ttl = 30s}, 1min))
        write_catalog(mine->token("catalog/0"));
}

// library.md. Only compiled: there is no such server.
void in_an_io_context() {
    boost::asio::io_context io;
    auto locks = pawl::locks::open("redis://10.0.0.5:6379", {.executor = io.get_executor()});
    boost::asio::co_spawn(io, nightly(locks), boost::asio::detached);
    io.run();
}

}  // namespace snippets

int main() {
    using namespace snippets;
    auto locks = pawl::locks::open("memory:");
    const auto until_it_is_served = [] {
        ending = std::stop_source{};
        return ending.get_token();
    };
    claim(locks, pawl::occurrence{1'600'000'000'000});
    claim_without_exceptions(locks);
    lock_a_mutex(locks);
    take_a_slot(locks);
    take_both(locks);
    read_and_write(locks);
    with_a_future(locks);
    assert(charged == 7);
    lead(locks, until_it_is_served());
    share(locks, until_it_is_served());
    assert(served >= 2);
    const pawl::job empty{
        .name = "nightly", .lease = {.ttl = 30s}, .body = [](const pawl::run&) {}};
    schedule(locks, empty);
    schedule_what_was_missed(locks, empty);
    locks.run({.name = "resumed", .lease = {.ttl = 30s}, .body = send_from_checkpoint});
    assert(sent >= 1);
    in_a_world();
    boost::asio::io_context context;
    boost::asio::co_spawn(context, nightly(locks), [](const std::exception_ptr& thrown) {
        if (thrown) std::rethrow_exception(thrown);
    });
    context.run();
    assert(charged == 8);
    context.restart();
    with_completion_tokens(locks, context);
    context.run();
}
