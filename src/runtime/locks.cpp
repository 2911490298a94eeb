#include <pawl/locks.hpp>

#include "net/remote_operation.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"

#include <algorithm>
#include <utility>

namespace pawl {
namespace {

using boost::asio::awaitable;
using runtime::check_claim;
using runtime::check_key;
using runtime::claimed;
using runtime::engine;

acquire_result<lease> as_attempt(claimed what) {
    if (auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&what))
        return lease{std::move(*held)};
    if (auto* other = std::get_if<busy>(&what)) return std::move(*other);
    if (auto* done = std::get_if<already_done>(&what)) return *done;
    return busy{};
}

std::optional<lease> as_lease(acquire_result<lease> what) {
    if (auto* won = std::get_if<lease>(&what)) return std::move(*won);
    return std::nullopt;
}

// An answer on its way to whoever asked. One that nobody takes, because he has gone meanwhile, was
// for nobody.
class undelivered {
public:
    undelivered(claimed what, bool fresh) : what_{std::move(what)}, fresh_{fresh} {}
    undelivered(undelivered&& other) noexcept
        : what_{std::exchange(other.what_, claimed{busy{}})}, fresh_{other.fresh_} {}
    undelivered& operator=(undelivered&&) = delete;
    ~undelivered() {
        auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&what_);
        if (held == nullptr) return;
        if (fresh_)
            engine::let_go_unused(std::move(*held));
        else
            engine::let_go(std::move(*held));
    }

    acquire_result<lease> take() && { return as_attempt(std::exchange(what_, claimed{busy{}})); }

private:
    claimed what_;
    bool fresh_;  // else it is a handle on what somebody holds already
};

awaitable<undelivered> ask(std::shared_ptr<engine> where, std::string key, lease_options options,
                           wait_policy how_long, std::stop_token stop, std::stop_token gone) {
    const runtime::either_stop told{std::move(stop), std::move(gone)};
    const auto began = where->now();
    auto claiming =
        engine::claim_key(std::move(where), std::move(key), options, how_long, told.token());
    auto answer = co_await std::move(claiming);
    auto& what = answer.value();
    const auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&what);
    const bool fresh = held != nullptr && (*held)->claimed >= began;
    co_return undelivered{std::move(what), fresh};
}

// Throws what the store's failure is to the facade's callers.
template <class T>
T value_of(result<T> answer) {
    return std::move(answer).value();
}

}  // namespace

locks::locks(std::unique_ptr<runtime::core> core) : core_{std::move(core)} {}
locks::~locks() = default;
locks::locks(locks&&) noexcept = default;
locks& locks::operator=(locks&&) noexcept = default;

locks locks::open(const store_factory& make, store_settings settings, open_options options) {
    if (!options.journal.empty() && options.journal != "none")
        throw option_error{"a store of one's own is opened without a journal: leave `journal` out"};
    const auto on_loop = [&](net::loop& where) { return make(where.get_executor()); };
    return locks{std::make_unique<runtime::core>(on_loop, std::move(settings), std::move(options))};
}

acquire_result<lease> locks::claim_key(std::string_view key, const lease_options& options,
                                       wait_policy how_long, std::stop_token stop) {
    check_claim(*core_->running(), key, options, how_long);
    auto answer = core_->loop().wait_for(
        engine::claim_key(core_->running(), std::string{key}, options, how_long, std::move(stop)));
    return as_attempt(std::move(answer).value());
}

std::optional<lease> locks::try_acquire(std::string_view key, const lease_options& options) {
    return as_lease(claim_key(key, options));
}

std::optional<lease> locks::acquire(std::string_view key, const lease_options& options, millis wait,
                                    std::stop_token stop) {
    return as_lease(claim_key(key, options, wait_policy{.wait = wait}, std::move(stop)));
}

awaitable<acquire_result<lease>> locks::async_claim_key(std::string key, lease_options options,
                                                        wait_policy how_long,
                                                        std::stop_token stop) {
    check_claim(*core_->running(), key, options, how_long);
    std::stop_source gone;
    auto asking =
        ask(core_->running(), std::move(key), options, how_long, std::move(stop), gone.get_token());
    auto answer = co_await net::await_on(core_->loop(), std::move(asking), gone);
    co_return std::move(answer).take();
}

awaitable<std::optional<lease>> locks::async_try_acquire(std::string key, lease_options options) {
    auto claiming = async_claim_key(std::move(key), options);
    auto what = co_await std::move(claiming);
    co_return as_lease(std::move(what));
}

awaitable<std::optional<lease>> locks::async_acquire(std::string key, lease_options options,
                                                     millis wait, std::stop_token stop) {
    const wait_policy how_long{.wait = wait};
    auto claiming = async_claim_key(std::move(key), options, how_long, std::move(stop));
    auto what = co_await std::move(claiming);
    co_return as_lease(std::move(what));
}

std::optional<record> locks::inspect(std::string_view key) {
    check_key(key);
    return value_of(core_->loop().wait_for(core_->running()->store().inspect(std::string{key})));
}

awaitable<std::optional<record>> locks::async_inspect(std::string key) {
    check_key(key);
    auto looking = core_->running()->store().inspect(std::move(key));
    auto answer = co_await net::await_on(core_->loop(), std::move(looking));
    co_return value_of(std::move(answer));
}

page locks::list(std::string_view prefix, std::string_view after, std::size_t limit) {
    if (limit < 1 || limit > page_limit_max) throw option_error{"a page has 1 to 1000 records"};
    return value_of(core_->loop().wait_for(
        core_->running()->store().list(std::string{prefix}, std::string{after}, limit)));
}

bool locks::force_release(std::string_view key, fence_token shown, millis delay) {
    check_key(key);
    if (delay.count() < 0) throw option_error{"the lock delay cannot be negative"};
    return value_of(core_->loop().wait_for(
        core_->running()->store().force_release(std::string{key}, shown, delay)));
}

fence_result locks::check_fence(std::string_view resource, fence_token token, fence_rule rule) {
    check_key(resource);
    return value_of(core_->loop().wait_for(
        core_->running()->store().fence(std::string{resource}, token, rule)));
}

awaitable<fence_result> locks::async_check_fence(std::string resource, fence_token token,
                                                 fence_rule rule) {
    check_key(resource);
    auto checking = core_->running()->store().fence(std::move(resource), token, rule);
    auto answer = co_await net::await_on(core_->loop(), std::move(checking));
    co_return value_of(std::move(answer));
}

bool locks::drain(millis longest, std::stop_token stop) {
    return core_->loop().wait_for(
        runtime::claimer::drain(core_->running()->claims(), longest, std::move(stop)));
}

std::shared_ptr<journal> locks::records() { return core_->records(); }

examination locks::examine() {
    return value_of(core_->loop().wait_for(core_->running()->store().examine()));
}

const std::string& locks::owner() const { return core_->running()->owner(); }
store_traits locks::traits() const { return core_->running()->store().traits(); }
boost::asio::any_io_executor locks::get_executor() const { return core_->running()->executor(); }

}  // namespace pawl
