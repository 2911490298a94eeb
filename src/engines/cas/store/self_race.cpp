#include "engines/cas/store/self_race.hpp"

#include "net/for_each_bounded.hpp"
#include "net/timer.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace pawl::cas {
namespace {

// Of what the verb has that waits for the race.
constexpr int shares_of_the_time = 4;

// A round of which an answer was lost says nothing of the server, and its writes may still arrive:
// so the race goes on over another record, after a pause that grows.
constexpr int race_records_max = 12;
constexpr std::chrono::milliseconds race_pause{20};

// Shared by the writers, which may outlive the race.
struct one_race {
    std::shared_ptr<versioned_records> on;
    instant until;
    record_name name{record_kind::fence, "pawl.self-race." + on->fresh_nonce()};
    version expected;              // by all who race
    int rounds = 0;                // that have come to an end, those over other records included
    std::set<version> versions{};  // that the record has had
    std::array<std::string, racers> texts{};
    std::array<std::optional<version>, racers> won{};
};

failure lie(const one_race& all, const std::string& what) {
    return {errc::unsupported, all.on->place() + ": " + what +
                                   ": this server does not keep the conditions of writes, so a "
                                   "key could be held twice; use another store"};
}

async<void> run_one(std::shared_ptr<one_race> all, std::size_t me) {
    all->won[me].reset();
    all->texts[me] = encode(fence_record{fence_token{me}, all->on->fresh_nonce()});
    change wanted{all->name, all->texts[me], all->expected};
    auto writing = all->on->write(std::move(wanted), all->until);
    const auto got = co_await std::move(writing);
    if (got.has_error()) co_return got.error();
    if (const auto* mine = std::get_if<written>(&*got)) all->won[me] = mine->at;
    co_return result<void>{};
}

// Afterwards `expected` is the version that the winner has written.
async<void> run_round(const std::shared_ptr<one_race>& all) {
    net::bounded_step step = [all](std::size_t me) { return run_one(all, me); };
    auto running = net::for_each_bounded(racers, racers, std::move(step));
    const auto run = co_await std::move(running);
    const auto has_won = [](const auto& each) { return each.has_value(); };
    const auto winners = std::count_if(all->won.begin(), all->won.end(), has_won);
    if (winners > 1)
        co_return lie(*all, std::to_string(winners) + " of " + std::to_string(racers) +
                                " writers that raced for one record won");
    if (run.has_error()) co_return run.error();
    if (winners == 0) co_return lie(*all, "none of the writers that raced for one record won");
    auto reading = all->on->read(all->name, all->until);
    const auto stands = co_await std::move(reading);
    if (stands.has_error()) co_return stands.error();
    const auto won = std::find_if(all->won.begin(), all->won.end(), has_won);
    if (stands->text != all->texts[won - all->won.begin()] || stands->at != **won)
        co_return lie(*all, "a record is not what the winner of a race has written");
    if (stands->at.empty() || !all->versions.insert(stands->at).second)
        co_return lie(*all, "two states of a record have the same version");
    all->expected = stands->at;
    co_return result<void>{};
}

// Until there have been enough of them, of which at least two over this record: it is erased under
// the same condition, which is shown by a version that it had before.
async<void> run_rounds(const std::shared_ptr<one_race>& all, instant enough) {
    do {
        const auto run = co_await run_round(all);
        if (run.has_error()) co_return run.error();
        ++all->rounds;
    } while (all->versions.size() < 2 || all->rounds < race_rounds_min ||
             (all->rounds < race_rounds_max && all->on->now() < enough));
    auto old =
        *all->versions.begin() == all->expected ? *all->versions.rbegin() : *all->versions.begin();
    auto erasing = all->on->erase(all->name, std::move(old), all->until);
    const auto erased = co_await std::move(erasing);
    if (erased.has_error()) co_return erased.error();
    if (std::holds_alternative<written>(*erased))
        co_return lie(*all, "a record was erased by a version that it no longer had");
    co_return result<void>{};
}

// What is left of it is a few bytes that no verb looks at.
boost::asio::awaitable<void> clear_away(const std::shared_ptr<one_race>& all) {
    auto reading = all->on->read(all->name, all->until);
    const auto left = co_await std::move(reading);
    if (left.has_error() || left->at.empty()) co_return;
    auto erasing = all->on->erase(all->name, left->at, all->until);
    static_cast<void>(co_await std::move(erasing));
}

}  // namespace

async<int> race(const std::shared_ptr<versioned_records>& on, instant until) {
    const auto begun = on->now();
    const auto enough =
        begun + std::min<std::chrono::nanoseconds>(race_time, (until - begun) / shares_of_the_time);
    int rounds = 0;
    for (int records = 1;; ++records) {
        const auto all = std::make_shared<one_race>(on, until);
        all->rounds = rounds;
        const auto run = co_await run_rounds(all, enough);
        co_await clear_away(all);
        if (run.has_value()) co_return all->rounds;
        const auto pause = race_pause * records;
        if (!may_pass(run.error().code) || records == race_records_max ||
            on->now() + pause >= until)
            co_return run.error();
        rounds = all->rounds;
        co_await net::sleep_for(pause);
    }
}

}  // namespace pawl::cas
