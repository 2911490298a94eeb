// The same calls for programs that take a store's failure as a value.
#include <pawl/locks.hpp>

#include "net/remote_operation.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/claim_answer.hpp"
#include "runtime/core.hpp"
#include "runtime/grants_in_transit.hpp"

#include <utility>

namespace pawl {
namespace {

using runtime::engine;

// As runtime::blocking_call, which throws where `locks` is about to end.
using visit = runtime::link::visit;

// The answer of what is asked on the loop; its context may end under it.
template <class T>
result<T> ask(const visit& on, async<T> asking) {
    try {
        return on.loop().wait_for(std::move(asking));
    } catch (const store_error&) {
        return net::locks_closed();
    }
}

}  // namespace

acquire_result<lease, failure> locks::acquire_with_reason(std::string_view key,
                                                          const lease_options& options,
                                                          std::nothrow_t, wait_policy how_long,
                                                          std::stop_token stop) {
    auto& core = runtime::opened(core_.get());
    const visit on{*core.home()};
    if (!on) return net::locks_closed();
    check_claim(*on.running(), key, options, how_long);
    const runtime::listened_to whom{std::move(stop), {}, core.closing()};
    const runtime::combined_stop told{whom.program, whom.closing};
    auto answer = ask(on, engine::acquire_with_reason(on.running(), std::string{key}, options,
                                                      how_long, told.token()));
    const bool called_off =
        answer.has_value() && std::holds_alternative<runtime::cancelled>(*answer);
    if (called_off && whom.was_closed()) return net::locks_closed();
    if (answer.has_error()) return std::move(answer).error();
    return runtime::answer_to<acquire_result<lease, failure>>(*std::move(answer));
}

acquire_result<lease, failure> locks::try_acquire(std::string_view key,
                                                  const lease_options& options, std::nothrow_t) {
    return acquire_with_reason(key, options, std::nothrow);
}

acquire_result<lease, failure> locks::acquire(std::string_view key, const lease_options& options,
                                              millis wait, std::nothrow_t, std::stop_token stop) {
    return acquire_with_reason(key, options, std::nothrow, wait_policy{.wait = wait},
                               std::move(stop));
}

result<std::optional<record>> locks::inspect(std::string_view key, std::nothrow_t) {
    const visit on{*runtime::opened(core_.get()).home()};
    if (!on) return net::locks_closed();
    runtime::check_key(key);
    return ask(on, on.running()->store().inspect(std::string{key}));
}

result<fence_result> locks::check_fence(std::string_view resource, fence_token token,
                                        std::nothrow_t, fence_rule rule) {
    const visit on{*runtime::opened(core_.get()).home()};
    if (!on) return net::locks_closed();
    runtime::check_key(resource);
    return ask(on, on.running()->store().fence(std::string{resource}, token, rule));
}

}  // namespace pawl
