#include <pawl/locks.hpp>

#include "base/identity.hpp"
#include "runtime/core.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <thread>

namespace pawl {
namespace {

// What the body did, while two reasons to stop became one.
std::exception_ptr run_body(const job& what, lease& held, const std::stop_token& shutdown) {
    std::stop_source both;
    const auto request = [&both] { both.request_stop(); };
    const std::stop_callback on_shutdown{shutdown, request};
    const std::stop_callback on_loss{held.stop_token(), request};
    const run now{held.key(), base::fresh_uuid(), held.token(), both.get_token()};
    try {
        what.body(now);
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
}

void check_body(const job& what) {
    if (!what.body) throw option_error{"the job '" + what.name + "' has no body"};
}

std::optional<run_outcome> skipped(const attempt& tried) {
    if (std::holds_alternative<busy>(tried)) return run_outcome::skipped_busy;
    if (std::holds_alternative<already_done>(tried)) return run_outcome::skipped_done;
    return std::nullopt;
}

}  // namespace

run_outcome locks::run(const job& what, std::stop_token stop) {
    check_body(what);
    auto tried = claim_key(what.name, what.lease, what.waiting, stop);
    if (const auto why = skipped(tried)) return *why;
    auto& held = std::get<lease>(tried);
    const auto thrown = run_body(what, held, stop);
    const bool kept = held.trusted();
    if (!thrown && kept) held.mark_done();
    held.release();
    if (thrown) std::rethrow_exception(thrown);
    return kept ? run_outcome::ran : run_outcome::lost;
}

boost::asio::awaitable<run_outcome> locks::async_run(job what, std::stop_token stop) {
    check_body(what);
    auto claiming = async_claim_key(what.name, what.lease, what.waiting, stop);
    auto tried = co_await std::move(claiming);
    if (const auto why = skipped(tried)) co_return *why;
    auto& held = std::get<lease>(tried);
    std::exception_ptr thrown;
    std::thread worker;
    auto start = [&](auto handler) {
        auto resume = std::make_shared<decltype(handler)>(std::move(handler));
        const auto executor = boost::asio::get_associated_executor(*resume);
        worker = std::thread{[&, resume, executor] {
            thrown = run_body(what, held, stop);
            boost::asio::post(executor, [resume] { std::move (*resume)(); });
        }};
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        start, boost::asio::use_awaitable);
    worker.join();
    const bool kept = held.trusted();
    if (!thrown && kept) held.mark_done();
    auto releasing = held.async_release();
    co_await std::move(releasing);
    if (thrown) std::rethrow_exception(thrown);
    co_return kept ? run_outcome::ran : run_outcome::lost;
}

}  // namespace pawl
