#include "engines/redlock/store/pages.hpp"

#include "engines/redis/store/pages.hpp"
#include "engines/redis/store/scripts.hpp"
#include "engines/redlock/store/lock_text.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace pawl::redlock {
namespace {

using observation = std::optional<node_record>;

// What inspect.lua says: the node's clock, and the record if there is one.
result<observation> read_observation(const quorum& among, std::size_t which,
                                     const redis::reply& got) {
    const auto& parts = got.elements;
    if (parts.empty() || !parts[0].is_integer()) return among.unexpected(which, "inspect");
    if (parts.size() < 2 || !parts[1].is_text()) return observation{};
    return parse_record(parts[1].text, parts[0].number);
}

std::vector<observation> observations_of(const quorum& among, const round& votes) {
    std::vector<observation> seen;
    for (std::size_t i = 0; i < votes.answers().size(); ++i) {
        const auto& got = votes.answers()[i];
        if (!got || got->has_error()) continue;
        auto one = read_observation(among, i, **got);
        if (one.has_value()) seen.push_back(*std::move(one));
    }
    return seen;
}

// A process has one connection to each node for all that wait in it, and is counted at each.
boost::asio::awaitable<void> count_waiters(std::shared_ptr<quorum> among,
                                           std::vector<record>& records) {
    std::string command;
    redis::command_writer writer{command, records.size() + 2};
    writer.add("PUBSUB").add("NUMSUB");
    for (const auto& one : records) writer.add(among->channel_prefix, one.key);
    const auto deadline = among->deadline();
    const quorum::question look = [&](node& whom, std::size_t, answer_taker taker) {
        whom.ask_plainly(command, 1, deadline, std::move(taker));
    };
    const auto votes = among->ask(look);
    const auto majority = among->majority();
    const round::judge enough = [majority](const round& all) { return all.healthy() >= majority; };
    co_await votes->until(enough);
    for (std::size_t which = 0; which < among->size(); ++which) {
        const auto& got = votes->answers()[which];
        // Without the privilege it is unknown, which is no failure.
        if (!got || got->has_error() || (*got)->elements.size() != records.size() * 2) continue;
        const auto& subscriber = *among->at(which)->subscriber();
        for (std::size_t i = 0; i < records.size(); ++i) {
            const auto channel = among->channel_prefix + records[i].key;
            auto others = (*got)->elements[2 * i + 1].number;
            if (subscriber.is_subscribed(channel)) --others;
            const auto here = static_cast<std::uint32_t>(std::max<std::int64_t>(others, 0)) +
                              subscriber.watchers_of(channel);
            records[i].waiters = std::max(records[i].waiters.value_or(0), here);
        }
    }
}

// The claims that confirmed records of this token name, and how many nodes name them.
struct claim_count {
    own_claim claim;
    std::size_t nodes = 0;
};

std::map<std::string, claim_count> claims_under(const std::vector<observation>& seen,
                                                fence_token token) {
    std::map<std::string, claim_count> all;
    for (const auto& one : seen) {
        if (!one || one->at != node_record::phase::confirmed || one->holder != token) continue;
        auto& counted = all[one->id];
        counted.claim = {one->id, one->owner, lease_clock::now()};
        ++counted.nodes;
    }
    return all;
}

const claim_count* named_most(const std::map<std::string, claim_count>& all) {
    const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.second.nodes < b.second.nodes;
    });
    return most == all.end() ? nullptr : &most->second;
}

// The pages of several nodes laid over each other. A node says nothing about what lies behind the
// place up to which it has looked.
struct overlay {
    std::size_t pages = 0;
    std::optional<std::string> horizon;  // the first such place
    std::map<std::string, std::vector<observation>> keys;
};

bool lay_over(overlay& all, const redis::reply& got) {
    const bool is_list =
        redis::read_list(got, [&](const auto& key, const auto& packed, auto now_us) {
            all.keys[key].push_back(parse_record(packed, now_us));
        });
    if (!is_list) return false;
    const auto& place = redis::place_in_list(got);
    if (!place.empty() && (!all.horizon || place < *all.horizon)) all.horizon = place;
    ++all.pages;
    return true;
}

// Adds what the nodes say together, up to `limit` records in all.
void add_page(const quorum& among, overlay& all, std::size_t limit, page& found) {
    for (auto& [key, seen] : all.keys) {
        if (all.horizon && key > *all.horizon) break;
        if (found.records.size() == limit) {
            found.next = found.records.back().key;
            return;
        }
        seen.resize(all.pages);
        auto one = merge(key, seen, among.size(), among.majority());
        if (one) found.records.push_back(std::move(*one));
    }
    found.next = all.horizon.value_or(std::string{});
}

// One look at all nodes.
async<bool> read_further(std::shared_ptr<quorum> among, std::string prefix, std::size_t limit,
                         instant deadline, page& found) {
    const auto want = limit - found.records.size();
    const quorum::question look = [&](node& whom, std::size_t, answer_taker taker) {
        whom.ask(redis::list_call(among->index, among->lock_prefix, prefix, found.next, want),
                 deadline, std::move(taker));
    };
    const auto votes = among->ask(look);
    const auto majority = among->majority();
    const round::judge enough = [majority](const round& all) { return all.healthy() >= majority; };
    co_await votes->until(enough);
    overlay all;
    for (std::size_t i = 0; i < among->size(); ++i) {
        const auto& got = votes->answers()[i];
        if (got && got->has_value() && !lay_over(all, **got))
            co_return among->unexpected(i, "list");
    }
    if (all.pages < majority) co_return among->minority(*votes, errc::unreachable);
    if (votes->was_cancelled())
        co_return failure{errc::unreachable, among->at(0)->place() + ": cancelled by the caller"};
    add_page(*among, all, limit, found);
    co_return true;
}

}  // namespace

std::shared_ptr<round> ask_for_records(const std::shared_ptr<quorum>& among,
                                       const std::string& key) {
    const auto deadline = among->deadline();
    const quorum::question look = [&](node& whom, std::size_t, answer_taker taker) {
        redis::script_call call{redis::scripts::all().inspect, 1};
        call.add(among->lock_prefix, key);
        whom.ask(std::move(call), deadline, std::move(taker));
    };
    return among->ask(look);
}

async<std::optional<record>> look_at(std::shared_ptr<quorum> among, std::string key) {
    const auto votes = ask_for_records(among, key);
    const auto majority = among->majority();
    const round::judge enough = [among, majority](const round& all) {
        return all.healthy() >= majority &&
               is_settled(observations_of(*among, all), among->size(), majority);
    };
    co_await votes->until(enough);
    const auto seen = observations_of(*among, *votes);
    if (seen.size() < majority) co_return among->minority(*votes, errc::unreachable);
    if (votes->was_cancelled())
        co_return failure{errc::unreachable, among->at(0)->place() + ": cancelled by the caller"};
    auto found = merge(key, seen, among->size(), majority);
    if (!found) co_return found;
    std::vector<record> one;
    one.push_back(*std::move(found));
    co_await count_waiters(among, one);
    co_return std::optional<record>{std::move(one.front())};
}

// Where many keys are dead it takes several looks. What the time does not suffice for is left to
// the next page.
async<page> read_page(std::shared_ptr<quorum> among, std::string prefix, std::string after,
                      std::size_t limit) {
    const auto deadline = among->deadline();
    page found;
    found.next = std::move(after);
    do {
        auto reading = read_further(among, prefix, limit, deadline, found);
        const auto read = co_await std::move(reading);
        if (read.has_error()) co_return read.error();
    } while (found.records.size() < limit && !found.next.empty() && lease_clock::now() < deadline);
    if (!found.records.empty()) co_await count_waiters(among, found.records);
    co_return found;
}

// A token that was completed belongs to one claim: two majorities share a node, and there the later
// one is higher. So whatever a majority says is the one. Where too few know of it, the renewal
// finds out what it is worth: each node compares for itself.
async<found_claim> find_claim(std::shared_ptr<quorum> among, std::shared_ptr<round> records,
                              fence_token token) {
    const auto majority = among->majority();
    const round::judge enough = [among, majority, token](const round& so_far) {
        const auto seen = observations_of(*among, so_far);
        const auto claims = claims_under(seen, token);
        const auto* most = named_most(claims);
        const auto nodes = most != nullptr ? most->nodes : 0;
        return nodes >= majority ||
               (seen.size() >= majority && nodes + so_far.missing() < majority);
    };
    co_await records->until(enough);
    const auto seen = observations_of(*among, *records);
    const auto claims = claims_under(seen, token);
    const auto* most = named_most(claims);
    found_claim found;
    if (most != nullptr && (most->nodes >= majority || claims.size() == 1))
        found.claim = most->claim;
    if (found.claim && most->nodes >= majority) co_return found;
    if (seen.size() < majority) co_return among->minority(*records, errc::outcome_unknown);
    const auto silent = among->size() - seen.size();
    found.is_uncertain = !found.claim && most != nullptr && most->nodes + silent >= majority;
    co_return found;
}

}  // namespace pawl::redlock
