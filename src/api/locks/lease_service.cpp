#include "api/locks/lease_service.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;

// A client that has gone before the key came free may be heard of only now. In one turn of the loop
// its end is seen, and in the next it is told.
awaitable<void> hear_of_who_has_gone() {
    for (int turn = 0; turn < 2; ++turn) co_await boost::asio::post(boost::asio::use_awaitable);
}

}  // namespace

lease_service::lease_service(runtime::core& where)
    : core_{&where}, queue_{std::make_shared<runtime::local_queue>()} {}

awaitable<client_outcome> lease_service::ask(std::shared_ptr<lease_service> self,
                                             std::shared_ptr<const client_claim> wanted) {
    const auto engine = self->engine();
    const auto& claims = engine->claims();
    const bool is_clients_own = wanted->id.has_value();
    using if_unknown = leasing::claim_plan::unknown;
    runtime::claim_request todo{
        wanted->key,
        wanted->owner,
        wanted->id ? std::make_shared<runtime::kept_claim>(runtime::kept_claim{*wanted->id})
                   : claims->new_claim(),
        wanted->how,
        wait_policy{wanted->wait},
        is_clients_own ? if_unknown::keep : if_unknown::withdraw,
        engine->now()};
    const auto call_off = [bell = engine->bell(), place = todo.place] {
        bell->post([place] { place->called_off.set(); });
    };
    const std::stop_callback on_gone{wanted->gone, call_off};
    user_quota::permit waiter;
    std::optional<runtime::ticket> turn;
    if (wanted->wait.count() > 0) {
        auto taken = user_quota::take(self->waiters_, wanted->user);
        if (const auto* full = std::get_if<user_quota::full>(&taken)) co_return crowded{*full};
        waiter = std::get<user_quota::permit>(std::move(taken));
        auto line = self->queue_->enter(todo.key, wanted->wait, todo.place);
        turn = co_await std::move(line);
    }
    if (wanted->gone.stop_requested()) co_return leasing::cancelled{};
    // Whoever's turn did not come takes the one look that is left.
    if (!turn) todo.waiting = wait_policy{};
    auto asking = runtime::claimer::ask(claims, todo);
    auto outcome = co_await std::move(asking);
    if (const auto* other = std::get_if<busy>(&outcome)) co_return *other;
    if (const auto* done = std::get_if<already_done>(&outcome)) co_return *done;
    if (const auto* why = std::get_if<failure>(&outcome)) co_return *why;
    const auto* won = std::get_if<leasing::granted>(&outcome);
    if (won == nullptr) co_return leasing::cancelled{};
    if (wanted->wait.count() > 0) {
        auto hearing = hear_of_who_has_gone();
        co_await std::move(hearing);
    }
    if (wanted->gone.stop_requested() && !is_clients_own) {
        // Before the next in line asks.
        withdrawal given_up{todo.key, todo.under->id, todo.options.occurrence};
        auto giving = runtime::claimer::give_back(claims, std::move(given_up), todo.options);
        co_await std::move(giving);
        co_return leasing::cancelled{};
    }
    client_grant made{won->what, std::chrono::floor<millis>(won->sent - todo.began)};
    made.id = todo.under->id;
    made.repeated = won->repeated;
    co_return made;
}

}  // namespace pawl::api
