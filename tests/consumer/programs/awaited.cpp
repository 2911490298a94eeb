// What Asio programs naturally write, with all its temporaries: built with ASan, because g++ 12
// destroys some temporaries of a co_await expression twice. Ends with 0 if all came true.
#include <pawl/pawl.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>

namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;

// Too long for the buffer that a string has in itself, and short enough for it.
awaitable<int> acquire(pawl::locks& locks, std::string tenant) {
    int held = 0;
    {
        auto lease = co_await locks.async_acquire("invoices/nightly/of/all/tenants/of/the/year",
                                                  {.ttl = 30s}, 1min);
        held += lease ? 1 : 0;
        co_await lease->async_release();
    }
    if (auto lease = co_await locks.async_try_acquire("k", {.ttl = 30s})) ++held;
    std::stop_source stop;
    if (auto lease =
            co_await locks.async_acquire("tenant/" + tenant + "/export/of/everything",
                                         {.ttl = 30s, .grace = 1s}, 1min, stop.get_token()))
        ++held;
    const auto claimed = co_await locks.async_acquire_with_reason(
        std::string{"a/key/that/is/a/temporary/string/of/its/own"}, {.ttl = 30s}, {.wait = 1min});
    if (std::holds_alternative<pawl::lease>(claimed)) ++held;
    for (int i = 0; i < 3; ++i)
        if (auto lease =
                co_await locks.async_try_acquire("shard/" + std::to_string(i), {.ttl = 30s}))
            if (co_await lease->async_renew()) ++held;
    const auto seen = co_await locks.async_inspect("a/key/that/is/a/temporary/" + tenant);
    if (!seen) ++held;
    const auto checked =
        co_await locks.async_check_fence("ledger/of/" + tenant, pawl::fence_token{1});
    if (checked.accepted) ++held;
    co_return held;
}

awaitable<bool> work(pawl::locks& locks) {
    const auto shared = std::make_shared<int>(0);
    std::stop_source stop;
    const pawl::job nightly{.name = "a job with a name that is longer than most",
                            .lease = {.ttl = 30s},
                            .body = [shared](const pawl::run&) { ++*shared; }};
    if (co_await locks.async_run(nightly) != pawl::run_outcome::ran) co_return false;
    const pawl::term_body lead = [shared, &stop](const pawl::term&) {
        ++*shared;
        stop.request_stop();
    };
    co_await locks.async_lead("leader/of/the/whole/cluster/of/nodes", {.ttl = 30s},
                              stop.get_token(), lead);
    co_await locks.async_lead("leader/of/the/whole/cluster/of/nodes", {.ttl = 30s},
                              stop.get_token(), [&](const pawl::term&) { ++*shared; });
    std::stop_source enough;
    const pawl::partition_body part = [shared, &enough](const pawl::partition&) {
        ++*shared;
        enough.request_stop();
    };
    co_await locks.async_run_partitions("partitions/of/a/name/of/some/length", 1,
                                        enough.get_token(), part, {.lease = {.ttl = 30s}});
    co_return *shared == 3;
}

// The same calls with completion tokens.
awaitable<int> complete(pawl::locks& locks, std::string tenant) {
    using boost::asio::use_awaitable;
    int held = 0;
    if (auto lease = co_await locks.async_acquire("completed/" + tenant + "/of/everything",
                                                  {.ttl = 30s}, 1min, use_awaitable))
        ++held;
    auto later = locks.async_try_acquire("later/" + tenant, {.ttl = 30s}, boost::asio::deferred);
    if (auto lease = co_await std::move(later)(use_awaitable)) ++held;
    co_return held;
}

bool call_back(pawl::locks& locks, boost::asio::io_context& context) {
    const auto shared = std::make_shared<std::string>("a text that is too long for the string");
    bool called = false;
    const auto handler = [shared, &called](const std::exception_ptr& error,
                                           const pawl::acquired<pawl::lease>& lease) {
        called = !error && lease && !shared->empty();
    };
    locks.async_acquire("called/back/with/a/key/of/some/length", {.ttl = 30s}, 1min,
                        boost::asio::bind_executor(context, handler));
    context.restart();
    context.run();
    auto lease =
        locks.async_acquire("kept/for/the/future", {.ttl = 30s}, 1min, boost::asio::use_future);
    const auto held = lease.get();
    return called && held;
}

awaitable<void> all(pawl::locks& locks, int& failed) {
    if (const auto held = co_await acquire(locks, "a tenant with a name of some length");
        held != 9) {
        std::cerr << held << " of 9 acquires and checks came true\n";
        ++failed;
    }
    if (!co_await work(locks)) {
        std::cerr << "bodies did not run as they should\n";
        ++failed;
    }
    if (co_await complete(locks, "a tenant with a name of some length") != 2) {
        std::cerr << "a completion token was not obeyed\n";
        ++failed;
    }
}

// The same in the context of the program: it runs out of work when the locks are closed.
int in_own_context() {
    int failed = 0;
    boost::asio::io_context context;
    auto locks = pawl::locks::open("memory:?namespace=own", {.executor = context.get_executor()});
    const auto work = [](pawl::locks& where, int& count) -> awaitable<void> {
        co_await all(where, count);
        co_await where.async_close();
    };
    boost::asio::co_spawn(context, work(locks, failed), [](const std::exception_ptr& thrown) {
        if (thrown) std::rethrow_exception(thrown);
    });
    context.run();
    return failed;
}

}  // namespace

int main() {
    auto locks = pawl::locks::open("memory:");
    int failed = 0;
    boost::asio::io_context context;
    boost::asio::co_spawn(context, all(locks, failed), [&](const std::exception_ptr& thrown) {
        if (thrown) std::rethrow_exception(thrown);
    });
    context.run();
    if (!call_back(locks, context)) {
        std::cerr << "a callback or a future was not served\n";
        ++failed;
    }
    return failed + in_own_context();
}
