// Ways to leave what was asked of a store, on the one that is given: Asio's cancellation, the end
// of a context, the end of `locks`, and a server that is not there. Ends with 0 if nothing is left
// behind, and if each has the answer that the documentation promises.
#include "waiting.hpp"

#include <pawl/pawl.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;
using boost::asio::awaitable;
using boost::asio::cancellation_type;

constexpr pawl::lease_options a_minute{.ttl = 60s};

int failed = 0;
void check(bool right, const char* what) {
    if (right) return;
    std::cerr << "leaving: " << what << '\n';
    ++failed;
}

bool is_abort(const std::exception_ptr& raised) {
    try {
        if (raised) std::rethrow_exception(raised);
    } catch (const boost::system::system_error& error) {
        return error.code() == boost::asio::error::operation_aborted;
    }
    return false;
}

awaitable<void> ask(pawl::locks& from, std::string key, std::chrono::milliseconds wait) {
    const auto lease = co_await from.async_acquire(key, a_minute, wait);
}

// A claim that is still on its way when its caller leaves may be granted, and is given back then.
void check_given_up(pawl::locks& mine) {
    check(mine.drain(60s), "what was given up did not reach the store");
}

// The key was held for a TTL after a cancellation that met the claim on its way.
void cancelled_around_the_answer(pawl::locks& mine, pawl::locks& other) {
    for (int i = 0; i < 25; ++i) {
        const auto key = "cancelled-" + std::to_string(i);
        boost::asio::io_context context;
        boost::asio::cancellation_signal signal;
        boost::asio::co_spawn(
            context, ask(mine, key, 1min),
            boost::asio::bind_cancellation_slot(signal.slot(), [](const std::exception_ptr&) {}));
        boost::asio::steady_timer soon{context, i * 100us};
        soon.async_wait([&](auto) { signal.emit(cancellation_type::terminal); });
        context.run();
        check_given_up(mine);
        const auto next = other.try_acquire(key, a_minute);
        check(next.has_value(), "a key is held after its claim was cancelled");
    }
}

void cancelled_while_it_waits(pawl::locks& mine, pawl::locks& other) {
    auto held = other.try_acquire("waited", a_minute);
    boost::asio::io_context context;
    boost::asio::cancellation_signal signal;
    std::exception_ptr raised;
    boost::asio::co_spawn(
        context, ask(mine, "waited", 1h),
        boost::asio::bind_cancellation_slot(
            signal.slot(), [&](const std::exception_ptr& error) { raised = error; }));
    std::thread program{[&] { context.run(); }};
    check(comes_to_wait(mine, "waited"), "an awaited claim does not wait");
    boost::asio::post(context, [&] { signal.emit(cancellation_type::terminal); });
    program.join();
    check(is_abort(raised), "a cancelled wait does not end with operation_aborted");
    check_given_up(mine);
    held->release();
    const auto next = other.try_acquire("waited", a_minute);
    check(next.has_value(), "a key was taken by a wait that was cancelled");
}

void cancelled_by_a_token(pawl::locks& mine, pawl::locks& other) {
    auto held = other.try_acquire("token", a_minute);
    boost::asio::io_context context;
    boost::asio::cancellation_signal signal;
    std::exception_ptr raised;
    const auto note = [&](const std::exception_ptr& error,
                          const pawl::acquired<pawl::lease>& lease) {
        raised = error;
        check(!lease, "a cancelled call has a lease");
    };
    mine.async_acquire("token", a_minute, 1h,
                       boost::asio::bind_cancellation_slot(
                           signal.slot(), boost::asio::bind_executor(context, note)));
    std::thread program{[&] { context.run(); }};
    check(comes_to_wait(mine, "token"), "a call with a token does not wait");
    boost::asio::post(context, [&] { signal.emit(cancellation_type::terminal); });
    program.join();
    check(is_abort(raised), "a cancelled call does not end with operation_aborted");
    check_given_up(mine);
    held->release();
    const auto next = other.try_acquire("token", a_minute);
    check(next.has_value(), "a key was taken by a call that was cancelled");
}

void under_a_context_that_goes(pawl::locks& mine, pawl::locks& other) {
    auto held = other.try_acquire("context", a_minute);
    auto context = std::make_unique<boost::asio::io_context>();
    boost::asio::co_spawn(*context, ask(mine, "context", 1h), boost::asio::detached);
    std::thread program{[&] { context->run(); }};
    check(comes_to_wait(mine, "context"), "an awaited claim does not wait");
    context->stop();
    program.join();
    context.reset();
    check_given_up(mine);
    held->release();
    const auto next = other.try_acquire("context", a_minute);
    check(next.has_value(), "a key was taken for a context that is gone");
}

void under_locks_that_go(const std::string& url, pawl::locks& other) {
    auto held = other.try_acquire("locks", a_minute);
    // Its requests are answered in their order: on Redis they always are.
    const bool has_sessions = url.starts_with("postgresql:") || url.starts_with("mysql:");
    auto mine = std::make_unique<pawl::locks>(
        pawl::locks::open(has_sessions ? with_parameter(url, "connections=1") : url));
    boost::asio::io_context context;
    auto asking = boost::asio::co_spawn(context, ask(*mine, "locks", 1h), boost::asio::use_future);
    std::thread program{[&] { context.run(); }};
    check(comes_to_wait(*mine, "locks"), "an awaited claim does not wait");
    // The claim as well has been answered then. One that is still on its way when `locks` go is
    // waited for only briefly, and is for nobody if it is granted behind the release.
    (void)mine->inspect("locks");
    mine.reset();
    program.join();
    std::optional<pawl::errc> ended;
    try {
        asking.get();
    } catch (const pawl::store_error& error) {
        ended = error.code();
    }
    check(ended == pawl::errc::closed, "an awaited claim did not end with errc::closed");
    held->release();
    const auto next = other.try_acquire("locks", a_minute);
    check(next.has_value(), "a key was taken for locks that are gone");
}

// Coroutines that clean up after their cancellation.
awaitable<void> outlive(pawl::locks& mine, bool& released) {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    auto lease = co_await mine.async_try_acquire("own", a_minute);
    bool cancelled = false;
    try {
        const auto none = co_await mine.async_acquire("outlived", a_minute, 1h);
    } catch (const boost::system::system_error&) {
        cancelled = true;
    }
    const auto how = co_await lease->async_release();
    released = cancelled && how == pawl::release_outcome::released;
}

void outlived_by_a_coroutine(pawl::locks& mine, pawl::locks& other) {
    const auto held = other.try_acquire("outlived", a_minute);
    boost::asio::io_context context;
    boost::asio::cancellation_signal signal;
    bool released = false;
    boost::asio::co_spawn(
        context, outlive(mine, released),
        boost::asio::bind_cancellation_slot(signal.slot(), [](const std::exception_ptr&) {}));
    std::thread program{[&] { context.run(); }};
    check(comes_to_wait(mine, "outlived"), "an awaited claim does not wait");
    boost::asio::post(context, [&] { signal.emit(cancellation_type::terminal); });
    program.join();
    check(released, "a coroutine that has outlived its cancellation cannot release");
}

// How long a call takes that has to throw store_error.
template <class Call>
std::chrono::seconds duration_of_failure(Call call) {
    const auto began = std::chrono::steady_clock::now();
    try {
        call();
        check(false, "a store that is not there answers");
    } catch (const pawl::store_error&) {
    }
    return std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
}

// A port that takes connections and says nothing, and one that takes none.
void where_no_server_is(const std::string& url) {
    using boost::asio::ip::tcp;
    boost::asio::io_context context;
    tcp::acceptor silent{context, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}};
    const auto at = [&](const std::string& port) {
        return std::regex_replace(url, std::regex{R"(127\.0\.0\.1:\d+)"}, "127.0.0.1:" + port);
    };
    {
        auto locks = pawl::locks::open(at(std::to_string(silent.local_endpoint().port())));
        // Two seconds for the first request, and some for a machine that is busy. One that stands
        // still makes it longer, but not each time.
        const auto ends_in_time = [](const auto& call) {
            for (int turn = 0; turn < 3; ++turn)
                if (duration_of_failure(call) < 8s) return true;
            return false;
        };
        check(ends_in_time([&] { (void)locks.acquire("k", a_minute, 3s); }),
              "a wait of 3 s does not end in time where the server is silent");
        check(ends_in_time([&] { (void)locks.acquire_slot("s", 4, a_minute, 3s); }),
              "a wait of 3 s for a slot does not end in time where the server is silent");
    }
    auto locks = pawl::locks::open(with_parameter(at("1"), "timeout=60s"));
    check(duration_of_failure([&] { (void)locks.try_acquire("k", a_minute); }) < 20s,
          "a call is not rejected at once where the server is gone");
}

}  // namespace

int main(int count, char** words) {
    if (count != 2) return 64;
    const std::string url = words[1];
    {
        const auto patient = with_long_timeout(url);
        auto mine = pawl::locks::open(patient), other = pawl::locks::open(patient);
        cancelled_around_the_answer(mine, other);
        cancelled_while_it_waits(mine, other);
        cancelled_by_a_token(mine, other);
        under_a_context_that_goes(mine, other);
        under_locks_that_go(patient, other);
        outlived_by_a_coroutine(mine, other);
    }
    if (is_of_server(url)) where_no_server_is(url);
    return failed;
}
