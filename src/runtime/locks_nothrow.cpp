// The same calls for programs that take a store's failure as a value.
#include <pawl/locks.hpp>

#include "runtime/checks.hpp"
#include "runtime/core.hpp"

#include <utility>

namespace pawl {
namespace {

using runtime::engine;

acquire_result<lease, failure> as_value(result<runtime::claimed> answer) {
    if (answer.has_error()) return std::move(answer).error();
    auto& what = *answer;
    if (auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&what))
        return lease{std::move(*held)};
    if (auto* other = std::get_if<busy>(&what)) return std::move(*other);
    if (auto* done = std::get_if<already_done>(&what)) return *done;
    return busy{};
}

}  // namespace

acquire_result<lease, failure> locks::claim_key(std::string_view key, const lease_options& options,
                                                std::nothrow_t, wait_policy how_long,
                                                std::stop_token stop) {
    check_claim(*core_->running(), key, options, how_long);
    return as_value(core_->loop().wait_for(
        engine::claim_key(core_->running(), std::string{key}, options, how_long, std::move(stop))));
}

acquire_result<lease, failure> locks::try_acquire(std::string_view key,
                                                  const lease_options& options, std::nothrow_t) {
    return claim_key(key, options, std::nothrow);
}

acquire_result<lease, failure> locks::acquire(std::string_view key, const lease_options& options,
                                              millis wait, std::nothrow_t, std::stop_token stop) {
    return claim_key(key, options, std::nothrow, wait_policy{.wait = wait}, std::move(stop));
}

result<std::optional<record>> locks::inspect(std::string_view key, std::nothrow_t) {
    runtime::check_key(key);
    return core_->loop().wait_for(core_->running()->store().inspect(std::string{key}));
}

result<fence_result> locks::check_fence(std::string_view resource, fence_token token,
                                        std::nothrow_t, fence_rule rule) {
    runtime::check_key(resource);
    return core_->loop().wait_for(
        core_->running()->store().fence(std::string{resource}, token, rule));
}

}  // namespace pawl
