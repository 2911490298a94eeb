#include "api/locks/lease_service.hpp"

#include "runtime/slots.hpp"

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
    : core_{&where},
      queue_{std::make_shared<runtime::local_queue>()},
      semaphores_{std::make_shared<runtime::local_queue>()} {}

std::optional<crowded> lease_service::admit(const std::string& user, std::size_t count,
                                            permits& into) const {
    for (; count > 0; --count) {
        auto taken = user_quota::take(waiters_, user);
        if (const auto* full = std::get_if<user_quota::full>(&taken)) return crowded{*full};
        into.push_back(std::get<user_quota::permit>(std::move(taken)));
    }
    return std::nullopt;
}

awaitable<client_outcome> lease_service::ask(std::shared_ptr<lease_service> self,
                                             std::shared_ptr<const client_claim> wanted) {
    const auto heard = self->engine()->now();
    permits waits;
    if (wanted->wait.count() > 0 || wanted->slots > 1)
        if (const auto full = self->admit(wanted->user, 1, waits)) co_return *full;
    auto asking = wanted->slots > 0 ? ask_slots(self, wanted, heard)
                                    : ask_key(self, wanted, heard, instant::max());
    co_return co_await std::move(asking);
}

awaitable<client_outcome> lease_service::ask_key(std::shared_ptr<lease_service> self,
                                                 std::shared_ptr<const client_claim> wanted,
                                                 instant heard, instant answer_by) {
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
    todo.answer_by = answer_by;
    const auto call_off = [home = engine->loop_attachment(), place = todo.place] {
        home->post([place] { place->called_off.set(); });
    };
    const std::stop_callback on_gone{wanted->gone, call_off};
    std::optional<runtime::ticket> turn;
    if (wanted->wait.count() > 0) {
        auto line = self->queue_->enter(todo.key, wanted->wait, todo.place);
        turn = co_await std::move(line);
    }
    if (wanted->gone.stop_requested()) co_return leasing::cancelled{};
    // A caller whose turn did not come takes the one look that is left.
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
    client_grant made{won->what, std::chrono::floor<millis>(won->sent - heard)};
    made.id = todo.under->id;
    made.repeated = won->repeated;
    co_return made;
}

// Keys of a semaphore, for a client that keeps the lease itself.
class lease_service::slot_source : public runtime::slot_source<client_grant> {
public:
    slot_source(std::shared_ptr<lease_service> where, std::shared_ptr<const client_claim> wanted,
                instant heard)
        : where_{std::move(where)}, wanted_{std::move(wanted)}, heard_{heard} {}

    async<answer> claim(std::string key, millis wait, instant answer_by,
                        std::stop_token stop) override {
        auto one = std::make_shared<client_claim>(*wanted_);
        one->key = std::move(key);
        one->slots = 0;
        one->wait = wait;
        one->gone = std::move(stop);
        return answer_of(ask_key(where_, std::move(one), heard_, answer_by));
    }
    void let_go_unused(client_grant unwanted) override {
        leasing::claim_attempts sent;
        sent.last_sent = now();
        runtime::claimer::withdraw_later(where_->engine()->claims(),
                                         {unwanted.what.key, unwanted.id}, sent, wanted_->how);
    }
    boost::asio::any_io_executor executor() const override { return where_->engine()->executor(); }
    instant now() const override { return where_->engine()->now(); }

private:
    static async<answer> answer_of(awaitable<client_outcome> asking) {
        auto outcome = co_await std::move(asking);
        if (auto* won = std::get_if<client_grant>(&outcome)) co_return answer{std::move(*won)};
        if (auto* other = std::get_if<busy>(&outcome)) co_return answer{std::move(*other)};
        if (auto* why = std::get_if<failure>(&outcome)) co_return std::move(*why);
        co_return answer{leasing::cancelled{}};
    }

    // Constant after construction
    const std::shared_ptr<lease_service> where_;
    const std::shared_ptr<const client_claim> wanted_;
    const instant heard_;
};

awaitable<client_outcome> lease_service::ask_slots(std::shared_ptr<lease_service> self,
                                                   std::shared_ptr<const client_claim> wanted,
                                                   instant heard) {
    const auto place = std::make_shared<runtime::queue_waiter>();
    const auto call_off = [home = self->engine()->loop_attachment(), place] {
        home->post([place] { place->called_off.set(); });
    };
    const std::stop_callback on_gone{wanted->gone, call_off};
    const std::shared_ptr<runtime::slot_source<client_grant>> source =
        std::make_shared<slot_source>(self, wanted, heard);
    runtime::slot_search todo{wanted->key, wanted->slots,
                              self->core_->slots()->any_of(wanted->slots), instant::max(),
                              wanted->gone};
    permits keys;
    std::optional<runtime::ticket> turn;
    if (wanted->wait.count() > 0) {
        todo.until = heard + wanted->wait;
        auto line = self->semaphores_->enter(wanted->key, wanted->wait, place);
        turn = co_await std::move(line);
        if (wanted->gone.stop_requested()) co_return leasing::cancelled{};
        // Who waits for so much already looks at each slot, and waits for none.
        if (turn && self->admit(wanted->user, wanted->slots - 1, keys)) turn.reset();
    }
    // A caller whose turn did not come takes the one look that is left.
    auto asking = turn ? runtime::acquire_any_slot<client_grant>(source, std::move(todo))
                       : runtime::try_each_slot<client_grant>(source, std::move(todo));
    auto found = co_await std::move(asking);
    if (found.has_error()) co_return std::move(found).error();
    if (auto* other = std::get_if<busy>(&*found)) co_return std::move(*other);
    auto* won = std::get_if<runtime::slot_won<client_grant>>(&*found);
    if (won == nullptr) co_return leasing::cancelled{};
    if (wanted->wait.count() > 0) {
        auto hearing = hear_of_who_has_gone();
        co_await std::move(hearing);
    }
    if (wanted->gone.stop_requested()) {
        source->let_go_unused(std::move(won->held));
        co_return leasing::cancelled{};
    }
    won->held.slot = won->index;
    co_return std::move(won->held);
}

}  // namespace pawl::api
