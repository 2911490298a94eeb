#include "engines/redlock/store/renewing.hpp"

#include "engines/redlock/store/lock_text.hpp"
#include "engines/redlock/store/pages.hpp"
#include "engines/redlock/store/vote_scripts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace pawl::redlock {
namespace {

// A lease whose claim is known: what a late answer needs is kept by value.
struct candidate {
    std::size_t place;  // among the leases asked for
    held_lease lease;
    own_claim under;
    bool is_own;  // this process knew it
};
using candidates = std::shared_ptr<const std::vector<candidate>>;

// What renew.lua says of each lease: h (held), f (free for this claim), n (no), u (unreadable,
// which is no answer).
struct vote_count {
    std::size_t held = 0, free = 0, silent = 0;
};

bool is_legible(const std::optional<node_answer>& got, std::size_t leases) {
    return got && got->has_value() && (*got)->is_text() && (*got)->text.size() == leases;
}

vote_count count(const round& votes, std::size_t lease, std::size_t leases) {
    vote_count all;
    for (const auto& one : votes.answers()) {
        if (!is_legible(one, leases)) {
            ++all.silent;
            continue;
        }
        const char letter = (*one)->text[lease];
        if (letter == 'h') ++all.held;
        if (letter == 'f') ++all.free;
        if (letter == 'u') ++all.silent;
    }
    return all;
}

redis::script_call renewal_call(const quorum& among, const std::vector<candidate>& all,
                                const std::string& life) {
    redis::script_call call{vote_scripts::all().renew, all.size() + 1};
    call.add(among.marker);
    for (const auto& one : all) call.add(among.lock_prefix, one.lease.key);
    call.add(life).add(among.settings().retention.count());
    for (const auto& one : all) {
        call.add(digits_of(one.lease.token)).add(one.lease.ttl.count());
        call.add(one.lease.max_lifetime.count()).add(one.under.id);
    }
    return call;
}

void top_up(const std::shared_ptr<quorum>& among, std::size_t which, const candidates& all,
            std::size_t place, instant deadline, answer_taker taker) {
    auto agree = [among, all, place](const std::string& life) {
        const auto& one = (*all)[place];
        redis::script_call call{vote_scripts::all().top_up, 2};
        call.add(among->marker).add(among->lock_prefix, one.lease.key).add(life);
        call.add(one.under.id).add(one.under.owner).add(digits_of(one.lease.token));
        call.add(one.lease.ttl.count()).add(one.lease.max_lifetime.count());
        return call.add(among->settings().retention.count());
    };
    among->at(which)->ask_for(std::move(agree), deadline, std::move(taker));
}

// Nodes that were down, or were not promised the key, join the majority that holds it.
void top_up_in_background(const std::shared_ptr<quorum>& among, const candidates& all,
                          std::size_t which, const std::string& letters,
                          const std::vector<bool>& renewed) {
    for (std::size_t i = 0; i < all->size(); ++i)
        if (renewed[i] && letters[i] == 'f')
            top_up(among, which, all, i, among->deadline(), [](const node_answer&) {});
}

bool is_lost_for_sure(const vote_count& seen, std::size_t majority) {
    return seen.held + seen.silent < majority;
}

// Whether the nodes that are free may join those that hold: one has to hold it still, unless an
// expired lease is carried on.
bool may_join(const vote_count& seen, const held_lease& lease, std::size_t majority) {
    return (seen.held > 0 || lease.if_expired == expired_renewal::extend_if_unclaimed) &&
           seen.held + seen.free >= majority;
}

// Whether the nodes that have not answered yet cannot change what becomes of the lease.
bool is_decided(const vote_count& seen, std::size_t missing, const held_lease& lease,
                std::size_t majority) {
    if (seen.held >= majority || may_join(seen, lease, majority)) return true;
    return seen.held + seen.free + missing < majority;
}

// Nodes that are free are asked to join those that hold one lease.
struct joining {
    std::size_t lease;
    std::vector<bool> asked;  // by node
    std::shared_ptr<round> additions;
};

joining begin_joining(const std::shared_ptr<quorum>& among, const round& votes,
                      const candidates& all, std::size_t lease, instant deadline) {
    joining some{lease, std::vector<bool>(among->size()), std::make_shared<round>(among->size())};
    for (std::size_t i = 0; i < among->size(); ++i) {
        const auto& said = votes.answers()[i];
        some.asked[i] = is_legible(said, all->size()) && (*said)->text[lease] == 'f';
        if (some.asked[i])
            top_up(among, i, all, lease, deadline, some.additions->taker(i));
        else
            some.additions->take(i, failure{errc::unreachable, {}});
    }
    return some;
}

// Who holds the lease after that: one that did not answer may.
boost::asio::awaitable<vote_count> finish_joining(const joining& some, const round& votes,
                                                  std::size_t leases, std::size_t majority) {
    const auto before = count(votes, some.lease, leases).held;
    const round::judge enough = [before, majority](const round& so_far) {
        std::size_t yes = before;
        for (const auto& got : so_far.answers())
            if (got && got->has_value() && (*got)->number == 1) ++yes;
        return yes >= majority;
    };
    co_await some.additions->until(enough);
    // With those that have voted meanwhile.
    auto after = count(votes, some.lease, leases);
    after.free = 0;
    for (std::size_t i = 0; i < some.asked.size(); ++i) {
        if (!some.asked[i]) continue;
        const auto& got = some.additions->answers()[i];
        if (!got || got->has_error())
            ++after.silent;
        else if ((*got)->number == 1)
            ++after.held;
    }
    co_return after;
}

struct claims_found {
    std::vector<candidate> known;
    std::vector<std::size_t> uncertain;  // among the leases: one may hold, but which cannot be said
};

// The claims of the leases; those that this process does not know are looked for, all at once.
async<claims_found> find_claims(std::shared_ptr<quorum> among, const held_leases& mine,
                                std::span<const held_lease> leases) {
    claims_found all;
    std::vector<std::pair<std::size_t, std::shared_ptr<round>>> looks;
    for (std::size_t i = 0; i < leases.size(); ++i) {
        if (auto under = mine.find(leases[i].key, leases[i].token))
            all.known.push_back({i, leases[i], *std::move(under), true});
        else
            looks.emplace_back(i, ask_for_records(among, leases[i].key));
    }
    for (auto& [place, records] : looks) {
        auto finding = find_claim(among, std::move(records), leases[place].token);
        auto found = co_await std::move(finding);
        if (found.has_error()) co_return found.error();
        if (found->claim)
            all.known.push_back({place, leases[place], *std::move(found->claim), false});
        else if (found->is_uncertain)
            all.uncertain.push_back(place);
    }
    co_return all;
}

}  // namespace

async<std::vector<renewal>> renew_batch(std::shared_ptr<quorum> among, held_leases& mine,
                                        std::span<const held_lease> leases) {
    auto finding = find_claims(among, mine, leases);
    auto claims = co_await std::move(finding);
    if (claims.has_error()) co_return claims.error();
    const candidates all = std::make_shared<const std::vector<candidate>>(std::move(claims->known));
    std::vector<renewal> answers(leases.size(), renewal::lost);
    for (const auto place : claims->uncertain) answers[place] = renewal::unknown;
    if (all->empty()) co_return answers;
    const auto sent = lease_clock::now();
    const auto deadline = among->deadline();
    const quorum::question tell = [&](node& whom, std::size_t, answer_taker taker) {
        auto extend = [among, all](const std::string& life) {
            return renewal_call(*among, *all, life);
        };
        whom.ask_for(std::move(extend), deadline, std::move(taker));
    };
    const auto votes = among->ask(tell);
    const auto majority = among->majority();
    const auto count_of = all->size();
    const round::judge enough = [majority, all](const round& got) {
        if (got.healthy() < majority) return false;
        for (std::size_t i = 0; i < all->size(); ++i) {
            const auto seen = count(got, i, all->size());
            if (!is_decided(seen, got.missing(), (*all)[i].lease, majority)) return false;
        }
        return true;
    };
    const auto renewed = std::make_shared<std::vector<bool>>(count_of, false);
    votes->then([among, all, renewed](std::size_t which, const node_answer& got) {
        if (is_legible(got, all->size()))
            top_up_in_background(among, all, which, got->text, *renewed);
    });
    co_await votes->until(enough);
    if (votes->was_cancelled() || votes->healthy() < majority)
        co_return among->minority(*votes, errc::outcome_unknown);

    std::vector<joining> joins;
    // The votes may have used their time up.
    const auto joined_by = among->deadline();
    for (std::size_t i = 0; i < count_of; ++i) {
        const auto seen = count(*votes, i, count_of);
        if (seen.held < majority && may_join(seen, (*all)[i].lease, majority))
            joins.push_back(begin_joining(among, *votes, all, i, joined_by));
    }
    std::map<std::size_t, vote_count> joined;
    for (const auto& some : joins) {
        auto finishing = finish_joining(some, *votes, count_of, majority);
        const auto seen = co_await std::move(finishing);
        joined.emplace(some.lease, seen);
    }
    for (std::size_t i = 0; i < count_of; ++i) {
        const auto& one = (*all)[i];
        const auto found = joined.find(i);
        const auto seen = found != joined.end() ? found->second : count(*votes, i, count_of);
        auto answer = seen.held >= majority              ? renewal::renewed
                      : is_lost_for_sure(seen, majority) ? renewal::lost
                                                         : renewal::unknown;
        (*renewed)[i] = answer == renewal::renewed;
        if (answer == renewal::renewed && one.is_own)
            mine.extend(one.lease.key, one.lease.token, sent + one.lease.ttl);
        else if (answer == renewal::renewed)
            mine.keep_unless_newer(one.lease.key, one.lease.token,
                                   {one.under.id, one.under.owner, sent + one.lease.ttl});
        else if (answer == renewal::lost)
            mine.forget(one.lease.key, one.lease.token);
        answers[one.place] = answer;
    }
    for (std::size_t which = 0; which < among->size(); ++which)
        if (const auto& got = votes->answers()[which]; is_legible(got, count_of))
            top_up_in_background(among, all, which, (*got)->text, *renewed);
    co_return answers;
}

}  // namespace pawl::redlock
