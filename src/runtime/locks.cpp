#include <pawl/locks.hpp>

#include "net/fork_check.hpp"
#include "runtime/await_there.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/claim_answer.hpp"
#include "runtime/core.hpp"
#include "runtime/grants_in_transit.hpp"
#include "runtime/own_connections.hpp"

#include <algorithm>
#include <utility>

namespace pawl {
namespace {

using boost::asio::awaitable;
using runtime::check_claim;
using runtime::check_key;
using runtime::claimed;
using runtime::engine;
using runtime::listened_to;

acquired<lease> as_lease(acquire_result<lease> what) {
    if (auto* won = std::get_if<lease>(&what)) return std::move(*won);
    return std::nullopt;
}

void check_open(const claimed& what, const listened_to& whom) {
    if (std::holds_alternative<runtime::cancelled>(what) && whom.was_closed())
        throw store_error{net::locks_closed()};
}

// An answer on its way to its caller. One that is not taken, because the caller has gone
// meanwhile, is of no use.
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

    acquire_result<lease> take() && {
        return runtime::answer_to<acquire_result<lease>>(std::exchange(what_, claimed{busy{}}));
    }

private:
    claimed what_;
    bool fresh_;  // else it is a handle on what another caller holds already
};

awaitable<undelivered> ask(std::shared_ptr<engine> where, std::string key, lease_options options,
                           wait_policy how_long, listened_to whom) {
    const runtime::stops told{whom.program, whom.waiter, whom.closing};
    const auto began = where->now();
    auto claiming = engine::acquire_with_reason(std::move(where), std::move(key), options, how_long,
                                                told.token());
    auto answer = co_await std::move(claiming);
    auto& what = answer.value();
    check_open(what, whom);
    const auto* held = std::get_if<std::shared_ptr<runtime::lease_state>>(&what);
    const bool fresh = held != nullptr && (*held)->claimed >= began;
    co_return undelivered{std::move(what), fresh};
}

// Throws what the store's failure is to the facade's callers.
template <class T>
T value_of(result<T> answer) {
    return std::move(answer).value();
}

using awaited_link = std::shared_ptr<runtime::link>;

awaitable<acquire_result<lease>> claim_on_loop(awaited_link home, std::string key,
                                               lease_options options, wait_policy how_long,
                                               std::stop_token stop, std::stop_token closing) {
    auto way = runtime::reach(*home);
    const auto what = way->running();
    check_claim(*what, key, options, how_long);
    std::stop_source gone;
    listened_to whom{std::move(stop), gone.get_token(), std::move(closing)};
    auto asking = ask(what, std::move(key), options, how_long, std::move(whom));
    auto awaiting = runtime::await_there(std::move(way), std::move(asking), gone);
    auto answer = co_await std::move(awaiting);
    co_return std::move(answer).take();
}

awaitable<acquired<lease>> lease_of(awaitable<acquire_result<lease>> claiming) {
    auto what = co_await std::move(claiming);
    co_return as_lease(std::move(what));
}

// What a verb of the store answers, awaited from anywhere.
template <class T, class Verb>
awaitable<T> ask_on_loop(awaited_link home, Verb verb) {
    auto way = runtime::reach(*home);
    async<T> asking = verb(way->running()->store());
    auto awaiting = runtime::await_there(std::move(way), std::move(asking));
    auto answer = co_await std::move(awaiting);
    co_return value_of(std::move(answer));
}

awaitable<bool> drain_on_loop(awaited_link home, std::stop_token closing, millis longest,
                              std::stop_token stop) {
    auto way = runtime::reach(*home);
    const runtime::combined_stop told{std::move(stop), std::move(closing)};
    auto draining = runtime::claimer::drain(way->running()->claims(), longest, told.token());
    auto awaiting = runtime::await_there(std::move(way), std::move(draining));
    co_return co_await std::move(awaiting);
}

void check_limit(std::size_t limit) {
    if (limit < 1 || limit > page_limit_max)
        throw option_error{"invalid limit " + std::to_string(limit) + "; expected 1 to 1000"};
}

void check_delay(millis delay) {
    if (delay.count() < 0)
        throw option_error{"delay is " + std::to_string(delay.count()) + " ms; expected 0 or more"};
}

// In the child of a fork() the parent's loop is neither waited for nor taken down.
void end_core(std::unique_ptr<runtime::core>& core) noexcept {
    if (core && core->home()->is_forked_child())
        net::keep_for_ever(std::shared_ptr<runtime::core>{core.release(), [](runtime::core*) {}});
    if (core && core->loop().is_guest()) return runtime::core::end_in_its_context(std::move(core));
    core.reset();
}

// Ends one whichever way its owner goes.
struct ended_core {
    void operator()(runtime::core* one) const noexcept {
        std::unique_ptr<runtime::core> last{one};
        end_core(last);
    }
};

awaitable<void> close_core(std::unique_ptr<runtime::core>& from) {
    const auto here = co_await boost::asio::this_coro::executor;
    if (&boost::asio::query(here,
                            boost::asio::execution::context_as<boost::asio::execution_context&>) ==
        &runtime::opened(from.get()).loop().context())
        throw std::logic_error{
            "async_close() was awaited on pawl's own executor, which ends with it: await it on "
            "another one"};
    std::shared_ptr<runtime::core> core{from.release(), ended_core{}};
    if (!core->loop().is_guest()) {
        auto ending = runtime::on_thread([&core] { core.reset(); }, std::stop_source{});
        co_await std::move(ending);
        co_return;
    }
    if (core->loop().has_ended()) co_return;
    // It goes on where this coroutine is destroyed.
    auto way = runtime::reach(*core->home());
    auto work = [](std::shared_ptr<runtime::core> what) -> awaitable<bool> {
        auto ending = runtime::core::end(*what);
        co_return co_await std::move(ending);
    };
    auto awaiting = runtime::await_there(std::move(way), work(std::move(core)));
    co_await std::move(awaiting);
}

}  // namespace

locks::locks(std::unique_ptr<runtime::core> core) : core_{std::move(core)} {}
locks::~locks() { end_core(core_); }

awaitable<void> locks::async_close() {
    runtime::opened(core_.get());
    return close_core(core_);
}

locks::locks(locks&&) noexcept = default;
locks& locks::operator=(locks&& other) noexcept {
    if (this == &other) return *this;
    end_core(core_);
    core_ = std::move(other.core_);
    return *this;
}

locks locks::open(const store_factory& make, store_settings settings, open_options options) {
    if (!options.journal.empty() && options.journal != "none")
        throw option_error{"a store of one's own is opened without a journal: leave `journal` out"};
    if (!runtime::engines_of(options.connections).empty())
        throw option_error{
            "a store of one's own makes its connections itself: leave `connections` out"};
    const auto on_loop = [&](net::loop& where) { return make(where.get_executor()); };
    return locks{std::make_unique<runtime::core>(on_loop, std::move(settings), std::move(options))};
}

acquire_result<lease> locks::acquire_with_reason(std::string_view key, const lease_options& options,
                                                 wait_policy how_long, std::stop_token stop) {
    const runtime::blocking_call on{core_.get()};
    check_claim(*on->running(), key, options, how_long);
    const auto closing = on->closing();
    std::optional<runtime::combined_stop> both;
    if (stop.stop_possible()) both.emplace(stop, closing);
    auto claiming = engine::acquire_with_reason(on->running(), std::string{key}, options, how_long,
                                                both ? both->token() : closing);
    auto answer = on->loop().wait_for(std::move(claiming));
    auto& what = answer.value();
    check_open(what, {std::move(stop), {}, closing});
    return runtime::answer_to<acquire_result<lease>>(std::move(what));
}

acquired<lease> locks::try_acquire(std::string_view key, const lease_options& options) {
    return as_lease(acquire_with_reason(key, options));
}

acquired<lease> locks::acquire(std::string_view key, const lease_options& options, millis wait,
                               std::stop_token stop) {
    return as_lease(acquire_with_reason(key, options, wait_policy{.wait = wait}, std::move(stop)));
}

awaitable<acquire_result<lease>> locks::async_acquire_with_reason(std::string_view key,
                                                                  lease_options options,
                                                                  wait_policy how_long,
                                                                  std::stop_token stop) {
    auto& on = runtime::opened(core_.get());
    return claim_on_loop(on.home(), std::string{key}, options, how_long, std::move(stop),
                         on.closing());
}

awaitable<acquired<lease>> locks::async_try_acquire(std::string_view key, lease_options options) {
    return lease_of(async_acquire_with_reason(key, options));
}

awaitable<acquired<lease>> locks::async_acquire(std::string_view key, lease_options options,
                                                millis wait, std::stop_token stop) {
    return lease_of(
        async_acquire_with_reason(key, options, wait_policy{.wait = wait}, std::move(stop)));
}

std::optional<record> locks::inspect(std::string_view key) {
    const runtime::blocking_call on{core_.get()};
    check_key(key);
    return value_of(on->loop().wait_for(on->running()->store().inspect(std::string{key})));
}

awaitable<std::optional<record>> locks::async_inspect(std::string_view key) {
    const auto verb = [key = std::string{key}](lease_store& store) {
        check_key(key);
        return store.inspect(key);
    };
    return ask_on_loop<std::optional<record>>(runtime::opened(core_.get()).home(), verb);
}

page locks::list(std::string_view prefix, std::string_view after, std::size_t limit) {
    const runtime::blocking_call on{core_.get()};
    check_limit(limit);
    return value_of(on->loop().wait_for(
        on->running()->store().list(std::string{prefix}, std::string{after}, limit)));
}

awaitable<page> locks::async_list(std::string_view prefix, std::string_view after,
                                  std::size_t limit) {
    const auto verb = [prefix = std::string{prefix}, after = std::string{after},
                       limit](lease_store& store) {
        check_limit(limit);
        return store.list(prefix, after, limit);
    };
    return ask_on_loop<page>(runtime::opened(core_.get()).home(), verb);
}

bool locks::force_release(std::string_view key, fence_token shown, millis delay) {
    const runtime::blocking_call on{core_.get()};
    check_key(key);
    check_delay(delay);
    return value_of(
        on->loop().wait_for(on->running()->store().force_release(std::string{key}, shown, delay)));
}

awaitable<bool> locks::async_force_release(std::string_view key, fence_token shown, millis delay) {
    const auto verb = [key = std::string{key}, shown, delay](lease_store& store) {
        check_key(key);
        check_delay(delay);
        return store.force_release(key, shown, delay);
    };
    return ask_on_loop<bool>(runtime::opened(core_.get()).home(), verb);
}

fence_result locks::check_fence(std::string_view resource, fence_token token, fence_rule rule) {
    const runtime::blocking_call on{core_.get()};
    check_key(resource);
    return value_of(
        on->loop().wait_for(on->running()->store().fence(std::string{resource}, token, rule)));
}

awaitable<fence_result> locks::async_check_fence(std::string_view resource, fence_token token,
                                                 fence_rule rule) {
    const auto verb = [resource = std::string{resource}, token, rule](lease_store& store) {
        check_key(resource);
        return store.fence(resource, token, rule);
    };
    return ask_on_loop<fence_result>(runtime::opened(core_.get()).home(), verb);
}

bool locks::drain(millis longest, std::stop_token stop) {
    const runtime::blocking_call on{core_.get()};
    const runtime::combined_stop told{std::move(stop), on->closing()};
    return on->loop().wait_for(
        runtime::claimer::drain(on->running()->claims(), longest, told.token()));
}

awaitable<bool> locks::async_drain(millis longest, std::stop_token stop) {
    auto& on = runtime::opened(core_.get());
    return drain_on_loop(on.home(), on.closing(), longest, std::move(stop));
}

std::shared_ptr<journal> locks::run_journal() {
    const runtime::blocking_call on{core_.get()};
    return on->run_journal();
}

examination locks::examine() {
    const runtime::blocking_call on{core_.get()};
    return value_of(on->loop().wait_for(on->running()->store().examine()));
}

awaitable<examination> locks::async_examine() {
    return ask_on_loop<examination>(runtime::opened(core_.get()).home(),
                                    [](lease_store& store) { return store.examine(); });
}

const std::string& locks::owner() const& { return runtime::opened(core_.get()).running()->owner(); }
store_traits locks::traits() const {
    return runtime::opened(core_.get()).running()->store().traits();
}
boost::asio::any_io_executor locks::get_executor() const {
    return runtime::opened(core_.get()).running()->executor();
}

}  // namespace pawl
