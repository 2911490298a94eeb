#include "engines/redlock/store/guard.hpp"

#include "base/identity.hpp"
#include "base/text.hpp"
#include "engines/redlock/store/lock_text.hpp"
#include "engines/redlock/store/vote_scripts.hpp"
#include "net/timer.hpp"
#include "time/clocks.hpp"

#include <pawl/spi/rules.hpp>

#include <algorithm>
#include <random>

namespace pawl::redlock {
namespace {

constexpr std::chrono::microseconds pause_min{500};
constexpr std::chrono::microseconds pause_max{20'000};

// What redlock_prepare.lua answers.
enum answer_kind : std::int64_t { outvoted, promise, quarantined, forgotten };

// What one node accepted last.
struct accepted {
    std::int64_t round = 0;
    std::string from;  // orders ballots of one round
    fence_token newest{};
    std::string writer;  // whose check made it the newest
};

// One check, however many ballots it takes.
struct ballot {
    ballot(std::int64_t number, std::string name) : round{number}, who{std::move(name)} {}

    std::int64_t round;
    std::string who;
};

struct preparation {
    bool promised = false;      // by a majority
    std::int64_t highest = 0;   // the latest round that was promised to another client
    millis quarantined{0};      // how long a node in quarantine says nothing yet
    std::size_t forgetful = 0;  // nodes that lost their data after the token was minted
    fence_token reborn{};       // the first token that one of those may judge again
    accepted state;
};

bool is_promise(const std::optional<node_answer>& got) {
    return got && got->has_value() && (*got)->elements.size() == 6;
}

preparation read_promises(const round& votes, std::size_t majority) {
    preparation seen;
    std::size_t promises = 0;
    for (const auto& got : votes.answers()) {
        if (!got || got->has_error()) continue;
        const auto& parts = (*got)->elements;
        if (parts.size() < 2 || !parts[0].is_integer()) continue;
        const auto kind = parts[0].number;
        if (kind == outvoted) seen.highest = std::max(seen.highest, parts[1].number);
        if (kind == quarantined)
            seen.quarantined = std::max(seen.quarantined, millis{parts[1].number});
        if (kind == forgotten) {
            const fence_token birth{static_cast<std::uint64_t>(parts[1].number)};
            seen.reborn = seen.forgetful == 0 ? birth : std::min(seen.reborn, birth);
            ++seen.forgetful;
        }
        if (!is_promise(got)) continue;
        ++promises;
        const bool later = std::pair{parts[1].number, parts[2].text} >
                           std::pair{seen.state.round, seen.state.from};
        if (!later) continue;
        seen.state = {parts[1].number, parts[2].text,
                      fence_token{static_cast<std::uint64_t>(parts[3].number)}, parts[4].text};
    }
    seen.promised = promises >= majority;
    return seen;
}

std::size_t count_promises(const round& votes) {
    const auto& all = votes.answers();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_promise));
}

std::size_t count_forgetful(const round& votes) {
    const auto& all = votes.answers();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& got) {
        return got && got->has_value() && !(*got)->elements.empty() &&
               (*got)->elements[0].is_integer() && (*got)->elements[0].number == forgotten;
    }));
}

// Any node's clock may have minted the token; who has not answered may be the one that is ahead.
bool may_be_issued(const round& votes, fence_token token, millis max_skew) {
    return std::any_of(votes.answers().begin(), votes.answers().end(), [&](const auto& got) {
        if (!is_promise(got)) return false;
        const std::chrono::microseconds now{(*got)->elements[5].number};
        return token <= rules::issued_tokens(std::nullopt, {}, now, max_skew).newest;
    });
}

std::size_t count_accepted(const round& votes) {
    std::size_t yes = 0;
    for (const auto& got : votes.answers())
        if (got && got->has_value() && (*got)->number == 1) ++yes;
    return yes;
}

boost::asio::awaitable<std::shared_ptr<round>> prepare(std::shared_ptr<quorum> among,
                                                       std::string resource, ballot mine,
                                                       fence_token token, instant deadline) {
    const quorum::question tell = [&](node& whom, std::size_t, answer_taker taker) {
        auto promise = [among, resource, mine, token](const std::string& life) {
            redis::script_call call{vote_scripts::all().prepare, 2};
            call.add(among->marker).add(among->fence_prefix, resource).add(life);
            return call.add(mine.round).add(mine.who).add(digits_of(token));
        };
        whom.ask_for(std::move(promise), deadline, std::move(taker));
    };
    auto votes = among->ask(tell);
    const auto majority = among->majority();
    const round::judge enough = [majority, token,
                                 max_skew = among->settings().max_skew](const round& all) {
        const auto yes = count_promises(all);
        if (yes >= majority) return may_be_issued(all, token, max_skew);
        if (all.healthy() < majority || yes + all.missing() >= majority) return false;
        // Those that are missing may say with the others that the token is from before a loss.
        const auto lost = count_forgetful(all);
        const auto too_many = all.answers().size() - majority;
        return lost > too_many || lost + all.missing() <= too_many;
    };
    co_await votes->until(enough);
    co_return votes;
}

boost::asio::awaitable<std::shared_ptr<round>> accept(std::shared_ptr<quorum> among,
                                                      std::string resource, ballot mine,
                                                      fence_token newest, std::string writer,
                                                      instant deadline) {
    const quorum::question tell = [&](node& whom, std::size_t, answer_taker taker) {
        auto remember = [among, resource, mine, newest, writer](const std::string& life) {
            redis::script_call call{vote_scripts::all().accept, 2};
            call.add(among->marker).add(among->fence_prefix, resource).add(life);
            call.add(mine.round).add(mine.who);
            return call.add(static_cast<std::int64_t>(number(newest))).add(writer);
        };
        whom.ask_for(std::move(remember), deadline, std::move(taker));
    };
    auto votes = among->ask(tell);
    const auto majority = among->majority();
    const round::judge enough = [majority](const round& all) {
        const auto yes = count_accepted(all);
        return yes >= majority || (all.healthy() >= majority && yes + all.missing() < majority);
    };
    co_await votes->until(enough);
    co_return votes;
}

// Checks that took promises from each other must not meet again: full jitter, doubled each time.
boost::asio::awaitable<bool> pause(const quorum& among, int tries, std::minstd_rand& random,
                                   instant deadline) {
    const auto longest = std::min(pause_max, pause_min * (1 << std::min(tries, 6)));
    std::uniform_int_distribution<std::int64_t> spread{0, longest.count()};
    const std::chrono::microseconds rest{spread(random)};
    if (lease_clock::now() + rest >= deadline) co_return false;
    net::timer timer{among.executor()};
    auto pausing = timer.wait_for(rest);
    co_return co_await std::move(pausing);
}

failure too_forgetful(const quorum& among) {
    return {errc::unreachable,
            among.at(0)->place() + ": fewer than " + std::to_string(among.majority()) + " of " +
                std::to_string(among.size()) +
                " nodes answer that have kept their data since the token was minted"};
}

failure in_quarantine(const quorum& among, millis left) {
    return {errc::rejected,
            among.at(0)->place() + ": fewer than " + std::to_string(among.majority()) + " of " +
                std::to_string(among.size()) + " nodes are out of quarantine, for up to " +
                std::to_string(left.count()) + " ms more"};
}

}  // namespace

async<fence_result> check_fence(std::shared_ptr<quorum> among, std::string resource,
                                fence_token token, fence_rule rule) {
    const auto deadline = among->deadline();
    const auto me = base::fresh_id().substr(0, 16);
    std::minstd_rand random{base::fresh_seed()};
    // The clock only makes the first ballot likely to be the highest; any number will do.
    ballot mine{time::wall_now().time_since_epoch().count(), me};
    bool may_have_counted = false;
    for (int tries = 0;; ++tries) {
        auto preparing = prepare(among, resource, mine, token, deadline);
        const auto promises = co_await std::move(preparing);
        if (promises->healthy() < among->majority() || promises->was_cancelled())
            co_return among->minority(*promises,
                                      may_have_counted ? errc::outcome_unknown : errc::unreachable);
        auto seen = read_promises(*promises, among->majority());
        if (seen.promised && !may_be_issued(*promises, token, among->settings().max_skew))
            co_return fence_result{false, seen.state.newest, true};
        if (seen.promised) {
            // Our own, of an earlier ballot that was interrupted, is no other's.
            const bool ours = seen.state.writer == me;
            const bool newer = rule == fence_rule::reject_older ? token >= seen.state.newest
                                                                : token > seen.state.newest;
            const bool passes = ours || newer;
            const auto newest = passes ? std::max(token, seen.state.newest) : seen.state.newest;
            const auto writer = newer ? me : seen.state.writer;
            may_have_counted = may_have_counted || passes;
            auto accepting = accept(among, resource, mine, newest, writer, deadline);
            const auto votes = co_await std::move(accepting);
            if (count_accepted(*votes) >= among->majority()) co_return fence_result{passes, newest};
            if (votes->healthy() < among->majority() || votes->was_cancelled())
                co_return among->minority(*votes, errc::outcome_unknown);
        } else if (seen.forgetful > among->size() - among->majority()) {
            co_return fence_result{false, seen.reborn};
        } else if (seen.forgetful > 0 && seen.highest == 0 && seen.quarantined.count() == 0) {
            co_return too_forgetful(*among);
        } else if (seen.quarantined.count() > 0 && seen.highest == 0) {
            co_return in_quarantine(*among, seen.quarantined);
        }
        mine.round = std::max(mine.round, seen.highest) + 1;
        const auto paused = co_await pause(*among, tries, random, deadline);
        if (!paused)
            co_return failure{may_have_counted ? errc::outcome_unknown : errc::unreachable,
                              among->at(0)->place() + ": other checks of " +
                                  base::printable(resource) + " came between each time"};
    }
}

}  // namespace pawl::redlock
