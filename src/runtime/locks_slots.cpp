#include <pawl/locks.hpp>

#include "runtime/await_there.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"
#include "runtime/grants_in_transit.hpp"
#include "runtime/slots.hpp"

#include <utility>

namespace pawl {
namespace {

using boost::asio::awaitable;
using runtime::grants_in_transit;
using runtime::slot_claimer;
using runtime::slot_request;

slot_request checked(const runtime::engine& where, slot_request wanted) {
    runtime::check_slots(where, wanted.name, wanted.count, wanted.options, {.wait = wanted.wait});
    return wanted;
}

// A slot on its way to its caller.
struct slot_in_transit {
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    bool granted = false;
    grants_in_transit held;

    acquired<slot> take() && {
        if (!granted) return std::nullopt;
        return slot{std::move(std::move(held).take().front()), index, count};
    }
};

async<slot_in_transit> ask(std::shared_ptr<slot_claimer> where, slot_request wanted,
                           runtime::listened_to whom) {
    const runtime::stops told{whom.program, whom.waiter, whom.closing};
    const auto count = wanted.count;
    auto claiming = slot_claimer::claim(std::move(where), std::move(wanted), told.token());
    auto answer = co_await std::move(claiming);
    if (answer.has_error()) co_return std::move(answer).error();
    slot_in_transit found;
    if (auto* won = std::get_if<runtime::slot_grant>(&*answer)) {
        found.index = won->index;
        found.count = count;
        found.granted = true;
        found.held.add(std::move(won->held));
    } else if (whom.was_closed()) {
        co_return net::locks_closed();
    }
    co_return found;
}

awaitable<acquired<slot>> ask_on_loop(std::shared_ptr<runtime::link> home,
                                      std::shared_ptr<slot_claimer> slots, slot_request what,
                                      std::stop_token stop, std::stop_token closing) {
    auto way = runtime::reach(*home);
    auto wanted = checked(*way->running(), std::move(what));
    std::stop_source gone;
    runtime::listened_to whom{std::move(stop), gone.get_token(), std::move(closing)};
    auto asking = ask(std::move(slots), std::move(wanted), std::move(whom));
    auto awaiting = runtime::await_there(std::move(way), std::move(asking), gone);
    auto answer = co_await std::move(awaiting);
    co_return std::move(answer).value().take();
}

}  // namespace

slot::slot(std::shared_ptr<runtime::lease_state> held, std::uint32_t index, std::uint32_t count)
    : lease{std::move(held)}, index_{index}, count_{count} {}

acquired<slot> locks::try_acquire_slot(std::string_view name, std::uint32_t slots,
                                       const lease_options& options) {
    return acquire_slot(name, slots, options, millis{0});
}

acquired<slot> locks::acquire_slot(std::string_view name, std::uint32_t slots,
                                   const lease_options& options, millis wait,
                                   std::stop_token stop) {
    const runtime::blocking_call on{core_.get()};
    auto wanted = checked(*on->running(), {std::string{name}, slots, options, wait});
    auto answer = on->loop().wait_for(
        ask(on->slots(), std::move(wanted), {std::move(stop), {}, on->closing()}));
    return std::move(answer).value().take();
}

awaitable<acquired<slot>> locks::async_try_acquire_slot(std::string_view name, std::uint32_t slots,
                                                        lease_options options) {
    return async_acquire_slot(name, slots, options, millis{0});
}

awaitable<acquired<slot>> locks::async_acquire_slot(std::string_view name, std::uint32_t slots,
                                                    lease_options options, millis wait,
                                                    std::stop_token stop) {
    auto& on = runtime::opened(core_.get());
    slot_request wanted{std::string{name}, slots, options, wait};
    return ask_on_loop(on.home(), on.slots(), std::move(wanted), std::move(stop), on.closing());
}

}  // namespace pawl
