// The last argument of an `async_` call: a completion token of Asio.
//
//     auto soon = locks.async_acquire("invoices", {.ttl = 30s}, 1min, boost::asio::use_future);
//
// Without a token a call returns an awaitable<T>. With one it is started as any operation of Asio
// is, with the signature void(std::exception_ptr, T), and returns what the token makes of that: a
// future, nothing for a callback, an operation for `deferred`. use_awaitable is the call without a
// token.
//
// The handler runs on the executor that is associated with it; see boost::asio::bind_executor. A
// handler without one runs on Asio's pool of threads for the whole process, system_executor, and
// may block there. The error is null, or what the awaited call would have thrown; the T is then an
// empty one, and says nothing. A handler is destroyed without having been called only if the
// context of its executor ends first.
//
// A cancellation slot that is associated with the handler is obeyed as the awaited call obeys it:
// the claiming calls end with operation_aborted, and leave nothing behind. Its signal must be
// emitted on the handler's executor. So a handler that has a slot needs an executor of its own: the
// call throws std::logic_error without one.
//
// Of a lease that a handler does not take over, the key is released at once.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

namespace pawl {

// What an `async_` call that answers with T accepts as its last argument.
template <class Token, class T>
concept completion_token = !std::same_as<std::remove_cvref_t<Token>, std::stop_token> &&
                           std::is_class_v<std::remove_cvref_t<Token>> &&
                           boost::asio::completion_token_for<Token, void(std::exception_ptr, T)>;

namespace detail {

// What stands beside an error.
template <class T>
T empty_answer() {
    if constexpr (std::is_default_constructible_v<T>)
        return T{};
    else
        return std::variant_alternative_t<1, T>{};
}

// The handler of a caller, behind an answer that can be made from nothing, as co_spawn wants it.
template <class T, class Handler>
struct unwrapping {
    void operator()(std::exception_ptr error, std::optional<T> answer) {
        if (answer)
            std::move(handler)(std::move(error), std::move(*answer));
        else
            std::move(handler)(std::move(error), empty_answer<T>());
    }
    Handler handler;
};

template <class T>
boost::asio::awaitable<std::optional<T>> wrapped(boost::asio::awaitable<T> call) {
    co_return std::optional<T>{co_await std::move(call)};
}

template <class T>
struct start_call {
    template <class Handler>
    void operator()(Handler&& handler, boost::asio::awaitable<T> call) const {
        using kept = std::decay_t<Handler>;
        using boost::asio::system_executor;
        if constexpr (std::same_as<boost::asio::associated_executor_t<kept, system_executor>,
                                   system_executor>) {
            if (boost::asio::get_associated_cancellation_slot(handler).is_connected())
                throw std::logic_error{
                    "a handler with a cancellation slot has no executor, so its signal could be "
                    "emitted while it runs; use boost::asio::bind_executor"};
        }
        const boost::asio::any_io_executor where{
            boost::asio::get_associated_executor(handler, system_executor{})};
        boost::asio::co_spawn(where, wrapped(std::move(call)),
                              unwrapping<T, kept>{std::forward<Handler>(handler)});
    }
};

// Starts `call` and hands its answer to the token.
template <class T, completion_token<T> Token>
auto complete(boost::asio::awaitable<T> call, Token&& token) {
    if constexpr (std::same_as<std::remove_cvref_t<Token>, boost::asio::use_awaitable_t<>>)
        return call;
    else
        return boost::asio::async_initiate<Token, void(std::exception_ptr, T)>(
            start_call<T>{}, token, std::move(call));
}

}  // namespace detail
}  // namespace pawl

// What is associated with a caller's handler is associated with what wraps it.
template <template <class, class> class Associator, class T, class Handler, class Default>
struct boost::asio::associator<Associator, pawl::detail::unwrapping<T, Handler>, Default>
    : Associator<Handler, Default> {
    static typename Associator<Handler, Default>::type get(
        const pawl::detail::unwrapping<T, Handler>& what, const Default& other = Default()) {
        return Associator<Handler, Default>::get(what.handler, other);
    }
};
