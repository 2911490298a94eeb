#include "engines/redlock/store/acquisition.hpp"

#include "engines/redlock/store/lock_text.hpp"
#include "engines/redlock/store/vote_scripts.hpp"

#include <algorithm>

namespace pawl::redlock {
namespace {

// What acquire.lua answers when it does not promise.
enum answer_kind : std::int64_t { held_by_other, cooldown, quarantined, early, done, again };

fence_token token_of(const redis::reply& value) {
    return fence_token{static_cast<std::uint64_t>(value.number)};
}

// How long a claim that was given up may still arrive, over a connection that is not read any
// more.
millis longest_delay(const claim& wanted) {
    return std::max<millis>(wanted.ttl, std::chrono::seconds{60});
}

}  // namespace

acquisition::acquisition(std::shared_ptr<quorum> among, claim wanted, std::string id,
                         std::string attempt, instant deadline)
    : among_{std::move(among)},
      wanted_{std::move(wanted)},
      id_{std::move(id)},
      attempt_{std::move(attempt)},
      deadline_{deadline},
      claim_{among_->size(), among_->majority()} {}

void acquisition::start() {
    const auto missing = among_->left_out();
    // First those that are asked, so that those that are not cannot end what has not begun.
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (!missing[i]) ask(i);
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (missing[i]) hear(i, *missing[i]);
}

majority_claim::outcome acquisition::outcome() const {
    if (claim_.result_so_far()) return *claim_.result_so_far();
    return failure{errc::outcome_unknown, among_->at(0)->place() + ": cancelled by the caller"};
}

void acquisition::ask(std::size_t which) {
    const auto& settings = among_->settings();
    auto claim_it = [self = shared_from_this(), retention = settings.retention.count(),
                     max_skew = settings.max_skew.count()](const std::string& life) {
        const auto& wanted = self->wanted_;
        redis::script_call call{vote_scripts::all().acquire, 2};
        call.add(self->among_->marker).add(self->among_->lock_prefix, wanted.key).add(life);
        call.while_unconnected(wanted.on_store_down);
        call.add(self->id_).add(self->attempt_).add(wanted.owner);
        call.add(wanted.ttl.count()).add(retention);
        if (wanted.occurrence) call.add(number(*wanted.occurrence)).add(max_skew);
        return call;
    };
    among_->at(which)->ask_for(
        std::move(claim_it), deadline_,
        [self = shared_from_this(), which](const node_answer& got) { self->hear(which, got); },
        wanted_.on_store_down);
}

void acquisition::hear(std::size_t which, const node_answer& got) {
    std::vector<order> orders;
    claim_.voted(which, got.has_error() ? vote{got.error()} : read(which, *got), orders);
    follow(orders);
    if (claim_.result_so_far()) decided_.set();
}

vote acquisition::read(std::size_t which, const redis::reply& got) const {
    if (got.is_integer() && got.number > 0) return promised{token_of(got)};
    const auto& parts = got.elements;
    if (parts.size() < 2 || !parts[0].is_integer() || !parts[1].is_integer())
        return among_->unexpected(which, "acquire");
    const auto kind = parts[0].number;
    if (kind == again) return held_already{token_of(parts[1])};
    if (kind == done) return already_done{occurrence{parts[1].number}};
    if (parts.size() != 6 || kind < held_by_other || kind > early)
        return among_->unexpected(which, "acquire");
    constexpr busy_reason reasons[] = {busy_reason::held, busy_reason::cooldown,
                                       busy_reason::quarantined, busy_reason::early};
    turned_down told;
    told.reason = reasons[static_cast<std::size_t>(kind)];
    told.remaining = millis{parts[1].number};
    told.last = token_of(parts[2]);
    told.holder = token_of(parts[3]);
    told.id = parts[4].text;
    told.owner = parts[5].text;
    return told;
}

void acquisition::follow(const std::vector<order>& orders) {
    for (const auto& one : orders) {
        if (one.what == order::kind::confirm)
            confirm(one);
        else
            withdraw(one);
    }
}

void acquisition::confirm(const order& what) {
    auto agree = [self = shared_from_this(), own = what.own](const std::string& life) {
        const auto& wanted = self->wanted_;
        redis::script_call call{vote_scripts::all().confirm, 2};
        call.add(self->among_->marker).add(self->among_->lock_prefix, wanted.key).add(life);
        call.add(self->id_).add(digits_of(own)).add(digits_of(self->claim_.token()));
        call.add(self->among_->settings().retention.count());
        if (wanted.occurrence && wanted.delivery == delivery::at_most_once)
            call.add(number(*wanted.occurrence));
        return call;
    };
    // Promises may have taken all the time there was.
    among_->at(what.node)->ask_for(
        std::move(agree), among_->deadline(),
        [self = shared_from_this(), which = what.node](const node_answer& got) {
            auto agreed =
                got.has_error() ? result<bool>{got.error()} : result<bool>{got->number == 1};
            std::vector<order> orders;
            self->claim_.confirmed(which, std::move(agreed), orders);
            self->follow(orders);
            if (self->claim_.result_so_far()) self->decided_.set();
        });
}

// Behind the claim on the same connection nothing needs to be remembered.
void acquisition::withdraw(const order& what) {
    const bool remember = what.what == order::kind::forget;
    redis::script_call call{vote_scripts::all().withdraw, 1};
    call.add(among_->lock_prefix, wanted_.key).add(id_).add(attempt_);
    call.add(remember ? "remember" : "").add(among_->settings().retention.count());
    // What this attempt confirmed in vain has marked the occurrence there.
    if (wanted_.occurrence && wanted_.delivery == delivery::at_most_once)
        call.add(number(*wanted_.occurrence));
    auto& whom = *among_->at(what.node);
    const auto until = lease_clock::now() + longest_delay(wanted_);
    if (remember) return whom.retry_later(std::move(call), until);
    redis::script_call again = call;
    whom.ask(std::move(call), among_->deadline(),
             [self = shared_from_this(), which = what.node, until,
              again = std::move(again)](const node_answer& got) {
                 if (got.has_error()) self->among_->at(which)->retry_later(again, until);
             });
}

void acquisition::abandon() {
    std::vector<order> orders;
    claim_.abandon(orders);
    follow(orders);
}

}  // namespace pawl::redlock
