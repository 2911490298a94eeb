#include <pawl/locks.hpp>

#include "net/remote_operation.hpp"
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

slot_request checked(const runtime::core& where, std::string name, std::uint32_t count,
                     const lease_options& options, millis wait) {
    if (count < 1 || count > slots_max)
        throw option_error{"invalid number of slots '" + std::to_string(count) +
                           "'; expected 1 to " + std::to_string(slots_max)};
    if (options.occurrence)
        throw option_error{"a slot takes no occurrence: each slot would run it once"};
    if (options.again != reentrancy::none)
        throw option_error{"a slot takes no reentrancy: one slot would have two holders"};
    runtime::check_key(name);
    slot_request wanted{std::move(name), count, options, wait};
    runtime::check_claim(*where.running(), wanted.key_of(count - 1), options, {.wait = wait});
    return wanted;
}

// A slot on its way to whoever asked.
struct slot_in_transit {
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    bool granted = false;
    grants_in_transit held;

    std::optional<slot> take() && {
        if (!granted) return std::nullopt;
        return slot{std::move(std::move(held).take().front()), index, count};
    }
};

async<slot_in_transit> ask(std::shared_ptr<slot_claimer> where, slot_request wanted,
                           std::stop_token stop, std::stop_token gone) {
    const runtime::either_stop told{std::move(stop), std::move(gone)};
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
    }
    co_return found;
}

awaitable<std::optional<slot>> acquire_on(runtime::core& where, std::string name,
                                          std::uint32_t count, lease_options options, millis wait,
                                          std::stop_token stop) {
    auto wanted = checked(where, std::move(name), count, options, wait);
    std::stop_source gone;
    auto asking = ask(where.slots(), std::move(wanted), std::move(stop), gone.get_token());
    auto answer = co_await net::await_on(where.loop(), std::move(asking), gone);
    co_return std::move(answer).value().take();
}

}  // namespace

slot::slot(std::shared_ptr<runtime::lease_state> held, std::uint32_t index, std::uint32_t count)
    : lease{std::move(held)}, index_{index}, count_{count} {}

std::optional<slot> locks::try_acquire_slot(std::string_view name, std::uint32_t slots,
                                            const lease_options& options) {
    return acquire_slot(name, slots, options, millis{0});
}

std::optional<slot> locks::acquire_slot(std::string_view name, std::uint32_t slots,
                                        const lease_options& options, millis wait,
                                        std::stop_token stop) {
    auto wanted = checked(*core_, std::string{name}, slots, options, wait);
    auto answer =
        core_->loop().wait_for(ask(core_->slots(), std::move(wanted), std::move(stop), {}));
    return std::move(answer).value().take();
}

awaitable<std::optional<slot>> locks::async_try_acquire_slot(std::string_view name,
                                                             std::uint32_t slots,
                                                             lease_options options) {
    return async_acquire_slot(name, slots, options, millis{0});
}

awaitable<std::optional<slot>> locks::async_acquire_slot(std::string_view name, std::uint32_t slots,
                                                         lease_options options, millis wait,
                                                         std::stop_token stop) {
    return acquire_on(*core_, std::string{name}, slots, options, wait, std::move(stop));
}

}  // namespace pawl
