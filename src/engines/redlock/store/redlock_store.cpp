#include "engines/redlock/store/redlock_store.hpp"

#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "engines/redis/store/index_sweep.hpp"
#include "engines/redis/store/lease_text.hpp"
#include "engines/redlock/store/acquisition.hpp"
#include "engines/redlock/store/examination.hpp"
#include "engines/redlock/store/guard.hpp"
#include "engines/redlock/store/held_leases.hpp"
#include "engines/redlock/store/lock_text.hpp"
#include "engines/redlock/store/majority_watch.hpp"
#include "engines/redlock/store/pages.hpp"
#include "engines/redlock/store/quorum.hpp"
#include "engines/redlock/store/renewing.hpp"
#include "engines/redlock/store/vote_scripts.hpp"
#include "net/renew_in_batches.hpp"
#include "net/timer.hpp"

#include <pawl/spi/rules.hpp>

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <random>

namespace pawl::redlock {
namespace {

constexpr millis pause_min{1};
constexpr millis pause_max{50};
constexpr millis retry_min{20};
// Two rounds of messages must fit into a lease.
constexpr millis shortest_ttl{50};

bool said_yes(const std::optional<node_answer>& got) {
    return got && got->has_value() && (*got)->number == 1;
}

std::size_t count_yes(const round& votes) {
    const auto& all = votes.answers();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), said_yes));
}

class redlock_store : public lease_store, public std::enable_shared_from_this<redlock_store> {
public:
    redlock_store(net::loop& where, redlock_settings settings)
        : among_{std::make_shared<quorum>(where, std::move(settings))},
          attempts_{base::fresh_id().substr(0, 12)},
          sweeps_{std::make_shared<std::vector<redis::index_sweep>>(among_->size())},
          random_{base::fresh_seed()} {}

    ~redlock_store() override { among_->close_from_anywhere(); }

    store_traits traits() const noexcept override {
        return {.strict_fencing = settings().quarantine.has_value(),
                .notifies = true,
                .ttl_min = shortest_ttl};
    }

#include "engines/rules/store/verbs.inc"

private:
    const store_settings& settings() const noexcept { return among_->settings(); }
    void sweep_behind(const std::string& granted);
    boost::asio::awaitable<bool> pause_before_retry(int tries, instant give_up);
    async<bool> force_release_everywhere(std::string key, fence_token token, millis delay,
                                         bool also_elsewhere);
    // For so long a node that does not hear of an end may hold the key.
    millis longest_lease() const { return settings().quarantine.value_or(ttl_max); }
    failure gave_up() const {
        return {errc::outcome_unknown, among_->at(0)->place() + ": cancelled by the caller"};
    }

    // Constant after construction
    const std::shared_ptr<quorum> among_;
    const std::string attempts_;

    // On the loop only
    held_leases held_;
    // Of each node; shared with the sweeps that are under way.
    const std::shared_ptr<std::vector<redis::index_sweep>> sweeps_;
    std::uint64_t attempts_made_ = 0;
    std::minstd_rand random_;
};

// ---- Claims

async<acquire_result<grant>> redlock_store::acquire(claim wanted) {
    const auto self = shared_from_this();
    if (auto rejected = rules::reject_long_ttl(settings().quarantine, wanted.ttl))
        co_return std::move(*rejected);
    const auto id = redis::encode_id(wanted.id);
    const auto sent = lease_clock::now();
    const auto deadline = among_->deadline();
    // Without a majority it asks again, but trust is counted from the first request on: whether
    // enough of it is left is for the claimer to say, who withdraws a grant that came too late.
    const auto give_up =
        sent + std::min(settings().timeout / 2, std::max(wanted.ttl / 4, retry_min));
    for (int tries = 0;; ++tries) {
        const auto attempt = std::make_shared<acquisition>(
            among_, wanted, id, attempts_ + std::to_string(++attempts_made_), deadline);
        attempt->start();
        auto waiting = attempt->wait();
        if (!co_await std::move(waiting)) {
            attempt->abandon();
            co_return gave_up();
        }
        auto outcome = attempt->outcome();
        if (const auto* won = std::get_if<majority_claim::won>(&outcome)) {
            held_.keep(wanted.key, won->token, {id, wanted.owner, sent + wanted.ttl});
            sweep_behind(wanted.key);
            co_return acquire_result<grant>{grant{wanted.key, won->token, wanted.ttl}};
        }
        if (const auto* why = std::get_if<failure>(&outcome)) co_return *why;
        if (const auto* told = std::get_if<busy>(&outcome)) co_return acquire_result<grant>{*told};
        if (const auto* done = std::get_if<already_done>(&outcome))
            co_return acquire_result<grant>{*done};
        const auto paused = co_await pause_before_retry(tries, give_up);
        if (!paused)
            co_return acquire_result<grant>{std::get<majority_claim::split>(outcome).meanwhile};
    }
}

// Each node by itself, in the background.
void redlock_store::sweep_behind(const std::string& granted) {
    for (std::size_t i = 0; i < among_->size(); ++i) {
        auto& whom = *among_->at(i);
        if (whom.is_down()) continue;
        auto call = (*sweeps_)[i].granted(among_->index, among_->lock_prefix, granted);
        if (!call) continue;
        whom.ask(*std::move(call), among_->deadline(),
                 [sweeps = sweeps_, i](const node_answer& got) { (*sweeps)[i].ended(got); });
    }
}

// Claimers that took promises from each other must not meet again: full jitter, doubled each time.
boost::asio::awaitable<bool> redlock_store::pause_before_retry(int tries, instant give_up) {
    const auto longest = std::min(pause_max, pause_min * (1 << std::min(tries, 6)));
    std::uniform_int_distribution<std::int64_t> spread{0,
                                                       std::chrono::microseconds{longest}.count()};
    const std::chrono::microseconds rest{spread(random_)};
    if (lease_clock::now() + rest >= give_up) co_return false;
    net::timer timer{among_->executor()};
    auto pausing = timer.wait_for(rest);
    co_return co_await std::move(pausing);
}

async<bool> redlock_store::withdraw(withdrawal given_up) {
    const auto self = shared_from_this();
    const auto word = redis::encode_id(given_up.id);
    const auto deadline = among_->deadline();
    const auto call = [&] {
        redis::script_call one{vote_scripts::all().withdraw, 1};
        one.add(among_->lock_prefix, given_up.key).add(word).add("").add("remember");
        one.add(settings().retention.count());
        if (given_up.occurrence) one.add(number(*given_up.occurrence));
        return one;
    };
    const quorum::question tell = [&](node& whom, std::size_t, answer_taker taker) {
        whom.ask(call(), deadline, std::move(taker));
    };
    const auto votes = among_->ask(tell);
    const auto until = lease_clock::now() + longest_lease();
    votes->then([among = among_, until, again = call()](std::size_t which, const node_answer& got) {
        if (got.has_error()) among->at(which)->retry_later(again, until);
    });
    held_.forget_claim(given_up.key, word);
    const auto majority = among_->majority();
    // Where one node says that it was held and another that it was not, the next one decides.
    const round::judge enough = [majority](const round& all) {
        const auto yes = count_yes(all);
        return all.healthy() >= majority && (yes >= majority || yes + all.missing() < majority);
    };
    co_await votes->until(enough);
    for (std::size_t i = 0; i < among_->size(); ++i)
        if (const auto& got = votes->answers()[i]; got && got->has_error())
            among_->at(i)->retry_later(call(), until);
    if (votes->healthy() < majority) co_return among_->minority(*votes, errc::outcome_unknown);
    const auto freed = count_yes(*votes);
    co_return freed > 0 && freed + votes->missing() + votes->failures().size() >= majority;
}

// ---- Leases

async<std::vector<renewal>> redlock_store::renew(std::span<const held_lease> leases) {
    const auto self = shared_from_this();
    for (const auto& lease : leases)
        if (auto rejected = rules::reject_long_ttl(settings().quarantine, lease.ttl))
            co_return std::move(*rejected);
    auto renewing = net::renew_in_batches(
        leases, renew_batch_max, among_->at(0)->place(),
        [this](std::span<const held_lease> batch, std::vector<renewal>& answers) -> async<bool> {
            auto asking = renew_batch(among_, held_, batch);
            const auto renewed = co_await std::move(asking);
            if (renewed.has_error()) co_return renewed.error();
            answers.insert(answers.end(), renewed->begin(), renewed->end());
            co_return true;
        });
    co_return co_await std::move(renewing);
}

async<bool> redlock_store::release(std::string key, fence_token token, release_options how) {
    const auto self = shared_from_this();
    const auto deadline = among_->deadline();
    const auto mine = held_.find(key, token);
    const auto call = [&] {
        redis::script_call one{vote_scripts::all().release, 1};
        one.add(among_->lock_prefix, key).add(digits_of(token)).add(mine ? mine->id : "");
        if (how.min_hold == release_options::until_expiry)
            one.add("until_expiry");
        else
            one.add(how.min_hold.count());
        if (how.done)
            one.add(number(*how.done));
        else
            one.add("");
        one.add(settings().retention.count());
        return one;
    };
    const quorum::question tell = [&](node& whom, std::size_t, answer_taker taker) {
        whom.ask(call(), deadline, std::move(taker));
    };
    const auto votes = among_->ask(tell);
    // A node that did not hear it holds the key until the lease ends: it is told when it is back.
    const auto until = mine ? mine->expires : lease_clock::now() + longest_lease();
    votes->then([among = among_, until, again = call()](std::size_t which, const node_answer& got) {
        if (got.has_error()) among->at(which)->retry_later(again, until);
    });
    const auto majority = among_->majority();
    const round::judge enough = [majority](const round& all) {
        const auto yes = count_yes(all);
        return yes >= majority || (all.healthy() >= majority && yes + all.missing() < majority);
    };
    co_await votes->until(enough);
    for (std::size_t i = 0; i < among_->size(); ++i)
        if (const auto& got = votes->answers()[i]; got && got->has_error())
            among_->at(i)->retry_later(call(), until);
    if (votes->healthy() < majority) co_return among_->minority(*votes, errc::outcome_unknown);
    held_.forget(key, token);
    const auto yes = count_yes(*votes);
    co_return yes > 0 && yes + votes->missing() + votes->failures().size() >= majority;
}

// Where the token holds the key it is burnt; and then, so that a majority knows, where it does not.
async<bool> redlock_store::force_release_everywhere(std::string key, fence_token token,
                                                    millis delay, bool also_elsewhere) {
    const auto at = [&](const char* nodes) -> quorum::question {
        return [&, nodes](node& whom, std::size_t, answer_taker taker) {
            redis::script_call one{vote_scripts::all().force_release, 1};
            one.add(among_->lock_prefix, key).add(digits_of(token));
            one.add(digits_of(fence_token{number(token) + 1})).add(delay.count());
            one.add(settings().retention.count()).add(nodes);
            whom.ask(std::move(one), among_->deadline(), std::move(taker));
        };
    };
    const auto votes = among_->ask(at(also_elsewhere ? "any" : "held"));
    const auto majority = among_->majority();
    const round::judge enough = [majority](const round& all) {
        return count_yes(all) >= majority || all.healthy() >= majority;
    };
    co_await votes->until(enough);
    if (votes->was_cancelled()) co_return gave_up();
    if (votes->healthy() < majority) co_return among_->minority(*votes, errc::outcome_unknown);
    const auto yes = count_yes(*votes);
    // Who has not answered may hold it as well.
    const auto silent = votes->missing() + votes->failures().size();
    if (yes == 0 || yes + silent < majority) co_return false;
    if (also_elsewhere) co_return true;
    if (yes >= majority) {
        // A node that the grant has yet to reach, as by a top-up, would believe the force-released
        // holder afterwards, and tell the next claimer of a lease that is over.
        if (yes == among_->size()) co_return true;
        const auto burns = among_->ask(at("any"));
        const round::judge told = [](const round& all) { return all.missing() == 0; };
        co_await burns->until(told);
        co_return true;
    }
    auto burning = force_release_everywhere(key, token, delay, true);
    co_return co_await std::move(burning);
}

async<bool> redlock_store::force_release(std::string key, fence_token token, millis delay) {
    const auto self = shared_from_this();
    auto releasing = force_release_everywhere(key, token, delay, false);
    const auto done = co_await std::move(releasing);
    if (done.has_error()) co_return done.error();
    if (*done) held_.forget(key, token);
    // Not `done`: a moved result<bool> would be read as "has a value".
    co_return *done;
}

// ---- Looking

async<std::optional<record>> redlock_store::inspect(std::string key) {
    const auto self = shared_from_this();
    auto work = look_at(among_, std::move(key));
    co_return co_await std::move(work);
}

async<page> redlock_store::list(std::string prefix, std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    base::ensure(limit >= 1 && limit <= page_limit_max);
    auto work = read_page(among_, std::move(prefix), std::move(after), limit);
    co_return co_await std::move(work);
}

async<void> redlock_store::wait_change(std::string key, fence_token seen) {
    const auto self = shared_from_this();
    auto work = watch_over(among_, std::move(key), seen);
    co_return co_await std::move(work);
}

async<fence_result> redlock_store::fence(std::string resource, fence_token token, fence_rule rule) {
    const auto self = shared_from_this();
    auto work = check_fence(among_, std::move(resource), token, rule);
    co_return co_await std::move(work);
}

async<examination> redlock_store::examine() {
    const auto self = shared_from_this();
    auto work = examine_nodes(among_);
    co_return co_await std::move(work);
}

}  // namespace

std::shared_ptr<lease_store> make_redlock_store(net::loop& where, redlock_settings settings) {
    base::ensure(!base::name_space_fault(settings.common.name_space));
    return std::make_shared<redlock_store>(where, std::move(settings));
}

}  // namespace pawl::redlock
