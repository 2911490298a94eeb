#include "engines/redis/client/servers.hpp"

#include "base/duration.hpp"
#include "base/identity.hpp"
#include "engines/redis/client/error_mapping.hpp"
#include "net/event.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <map>

namespace pawl::redis {
namespace {

constexpr millis pause_min{5};
constexpr millis pause_max{200};
// A redirection, and the node that it names not knowing the script yet.
constexpr int again_at_once_max = 2;
constexpr std::string_view asking_command{"*1\r\n$6\r\nASKING\r\n"};

bool is_plain(const answer& got) { return got.has_value() && !got->is_error(); }

// To be asked after every await: the next one would throw.
bool is_finished(const boost::asio::cancellation_state& state) {
    return state.cancelled() != boost::asio::cancellation_type::none;
}

life life_of(const session_facts& facts) { return {facts.run_id, facts.place}; }

failure gave_up(const std::string& place) {
    return {errc::unreachable, place + ": cancelled by the caller"};
}

// Which settings a server is dialled with before its address is known.
std::shared_ptr<const redis_settings> first_settings(const redis_settings& settings) {
    auto to = std::make_shared<redis_settings>(settings);
    if (settings.shape == topology::sentinel) {
        to->host = settings.seeds.front().host;
        to->port = settings.seeds.front().port;
    } else {
        to->master_name.clear();
    }
    return to;
}

}  // namespace

failure unconfirmed(const std::string& place, std::int64_t have, const redis_settings& settings) {
    return {errc::outcome_unknown,
            place + ": " + std::to_string(have) + " of " + std::to_string(settings.replicas) +
                " replicas have it after " + base::format_duration(replica_timeout(settings)) +
                " (wait=" + std::to_string(settings.replicas) + ")",
            true};
}

std::shared_ptr<servers> servers::make(net::loop& where,
                                       std::shared_ptr<const redis_settings> settings) {
    return std::make_shared<servers>(where, std::move(settings));
}

servers::servers(net::loop& where, std::shared_ptr<const redis_settings> settings)
    : settings_{std::move(settings)}, executor_{where.get_executor()}, random_{base::fresh_seed()} {
    if (settings_->shape == topology::cluster) {
        map_ = cluster_map::make(where, settings_);
        return;
    }
    const auto to = first_settings(*settings_);
    if (settings_->shape == topology::sentinel) sentinels_ = sentinels::make(where, settings_);
    only_ = std::make_shared<server>();
    only_->at = {to->host, to->port};
    only_->link = pipeline::make(where, to, {}, sentinels_);
    only_->ears = subscriber::make(where, to, sentinels_);
    if (!sentinels_) return;
    sentinels_->on_move([link = only_->link, ears = only_->ears,
                         settings = settings_](const server_address& master) {
        auto moved = *settings;
        moved.host = master.host;
        moved.port = master.port;
        const auto place = place_of(moved);
        if (link->place() != place) link->drop("the sentinels name another master");
        if (ears->server() != place) ears->drop();
    });
}

instant servers::deadline_from_now() const {
    return lease_clock::now() + settings_->common.timeout;
}

std::string servers::place() const {
    if (only_) return only_->link->place();
    auto first = *settings_;
    first.host = settings_->seeds.front().host;
    first.port = settings_->seeds.front().port;
    return place_of(first) + " (cluster)";
}

void servers::close_from_anywhere() {
    if (sentinels_) sentinels_->close_from_anywhere();
    if (map_) return map_->close_from_anywhere();
    only_->link->close_from_anywhere();
    only_->ears->close_from_anywhere();
}

// ---- Who serves what

async<server_ptr> servers::of(std::size_t shard, instant deadline) {
    if (only_) co_return only_;
    if (const auto& known = map_->at(shard)) co_return known;
    const auto read = co_await map_->refresh(deadline);
    if (read.has_error()) co_return read.error();
    if (const auto& known = map_->at(shard)) co_return known;
    co_return failure{errc::unreachable,
                      place() + ": no node serves slot " + std::to_string(shard_slot(shard))};
}

async<std::vector<server_ptr>> servers::all(instant deadline) {
    if (only_) co_return std::vector<server_ptr>{only_};
    auto known = map_->masters();
    if (!known.empty()) co_return known;
    const auto read = co_await map_->refresh(deadline);
    if (read.has_error()) co_return read.error();
    co_return map_->masters();
}

// ---- One call

void servers::append_wait(std::string& out) const {
    command_writer{out, 3}
        .add("WAIT")
        .add(std::int64_t{settings_->replicas})
        .add(replica_timeout(*settings_).count());
}

std::size_t servers::encode(const script_call& call, const server& to, form how,
                            std::string& out) const {
    std::size_t count = 1;
    const auto& facts = to.link->facts();
    const auto meant = life_of(facts);
    const auto* whose = call.names_life() ? &meant : nullptr;
    if (how == form::by_digest)
        call.append_by_digest(out, whose);
    else
        call.append_with_text(out, whose);
    if (call.confirmations() > 0) {
        append_wait(out);
        ++count;
    }
    return count;
}

// The script's own reply among those of the commands around it.
const reply& servers::said_in(const script_call& call, const answer& got) const {
    return call.confirmations() > 0 && got->elements.size() >= 2
               ? got->elements[got->elements.size() - 2]
               : *got;
}

// In a frame as small as can be: every request pays for it.
async<reply> servers::run(const script_call& call, std::size_t shard, on_split how) {
    const auto begun = lease_clock::now();
    auto to = only_ ? only_ : map_->at(shard);
    std::unique_ptr<attempt> first;
    if (to && (!call.names_life() || to->link->is_connected())) {
        scratch_.clear();
        const auto count = encode(call, *to, form::by_digest, scratch_);
        auto got = co_await to->link->ask(scratch_, count, instant::max(), call.unconnected());
        if (is_plain(got) && call.confirmations() == 0) co_return got;
        first = std::make_unique<attempt>();
        first->to = std::move(to);
        first->got = std::move(got);
    }
    co_return co_await finish(call, shard, how, begun, std::move(first));
}

async<reply> servers::finish(const script_call& call, std::size_t shard, on_split how,
                             instant begun, std::unique_ptr<attempt> first) {
    auto next = next_step::again;
    if (!first)
        first = std::make_unique<attempt>();
    else
        next = judge(call, shard, how, *first);
    if (next == next_step::finished) co_return std::move(first->got);
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    if (is_finished(state)) co_return gave_up(place());
    const auto deadline = begun + settings_->common.timeout;
    co_return co_await persist(call, shard, how, deadline, std::move(*first), next);
}

// What an answer means. Leaves in `last` what is to be answered, or how the next attempt goes.
servers::next_step servers::judge(const script_call& call, std::size_t shard, on_split how,
                                  attempt& last) {
    const auto link = last.to->link;
    if (last.got.has_error()) {
        if (!map_) return next_step::finished;
        // The node may be gone for good: another node may know.
        map_->refresh_soon();
        last.unreached = std::move(last.to);
        return last.got.error().code == errc::unreachable ? next_step::later : next_step::finished;
    }
    // Where the node may not answer at all, the rejection stands in front of the call's own.
    if (last.asking && last.got->elements.size() >= 2) {
        auto& parts = last.got->elements;
        if (parts.front().is_error()) parts[1] = parts.front();
        parts.erase(parts.begin());
        if (parts.size() == 1) {
            auto alone = std::move(parts.front());
            last.got = std::move(alone);
        }
    }
    const auto& said = said_in(call, last.got);
    if (!said.is_error()) return next_step::finished;
    const auto words = said.text;
    if (is_unknown_script(words)) {
        last.how = form::with_text;
        return next_step::again;
    }
    last.asking = false;
    if (!map_ && is_read_only(words)) {
        // By the same name there may be another server by now.
        link->leave("it is no longer a master");
        last.got = explain_rejection(link->place(), words);
        return sentinels_ ? next_step::later : next_step::finished;
    }
    if (map_) {
        if (const auto where = read_redirection(words)) return follow(*where, last);
        if (how == on_split::tell && is_split(words)) {
            reply split = said;
            last.got = std::move(split);
            return next_step::finished;
        }
        if (is_cluster_in_motion(words)) {
            auto why = explain_rejection(link->place(), words);
            why.code = errc::unreachable;
            last.got = std::move(why);
            last.to = map_->at(shard);
            if (!is_split(words)) map_->refresh_soon();
            return next_step::later;
        }
    }
    last.got = explain_rejection(link->place(), words);
    return next_step::finished;
}

servers::next_step servers::follow(const redirection& where, attempt& last) {
    auto to = where.to;
    if (to.host.empty()) to.host = last.to->at.host;
    last.got = failure{errc::unreachable, last.to->link->place() + ": slot " +
                                              std::to_string(where.slot) + " is being moved to " +
                                              to.host + ":" + std::to_string(to.port)};
    last.asking = where.how == redirection::kind::ask;
    if (!last.asking) map_->moved(where.slot, to);
    last.to = map_->stranger(to);
    last.how = form::by_digest;
    return next_step::again;
}

// Again and again, until there is an answer or the time is up. What it ends with then surely had no
// effect.
async<reply> servers::persist(const script_call& call, std::size_t shard, on_split how,
                              instant deadline, attempt last, next_step next) {
    const auto self = shared_from_this();
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    for (int round = 0; next != next_step::finished; ++round) {
        if (call.unconnected() == store_down::fail && last.unreached) {
            const auto unreached = std::exchange(last.unreached, nullptr);
            const auto read = co_await map_->refresh(deadline);
            if (is_finished(state) || read.has_error() || map_->at(shard) == unreached) break;
        }
        // Two nodes that name each other for one slot send a call back and forth.
        if (next == next_step::later || round > again_at_once_max) co_await pause(deadline, round);
        if (is_finished(state)) break;
        if (lease_clock::now() >= deadline) break;
        if (!last.to) {
            const auto found = co_await of(shard, deadline);
            if (is_finished(state)) break;
            if (found.has_error()) {
                last.got = found.error();
                if (found.error().code != errc::unreachable) break;
                next = next_step::later;
                continue;
            }
            last.to = *found;
        }
        if (call.names_life() && !last.to->link->is_connected()) {
            // The claim names the life of the server that it is meant for.
            const auto stands = co_await greet(last.to, deadline, call.unconnected());
            if (is_finished(state)) break;
            if (stands.has_error()) {
                last.got =
                    failure{stands.error().code == errc::outcome_unknown ? errc::unreachable
                                                                         : stands.error().code,
                            stands.error().detail};
                next = judge(call, shard, how, last);
                continue;
            }
        }
        scratch_.clear();
        if (last.asking) scratch_.append(asking_command);
        const auto count = encode(call, *last.to, last.how, scratch_) + (last.asking ? 1u : 0u);
        const auto link = last.to->link;
        last.got = co_await link->ask(scratch_, count, deadline, call.unconnected());
        next = judge(call, shard, how, last);
    }
    if (next != next_step::finished && last.got.has_value())
        last.got = failure{errc::unreachable, explain_rejection(place(), last.got->text).detail};
    co_return std::move(last.got);
}

// Ends when a connection stands, or with the reason why it does not.
async<void> servers::greet(const server_ptr& to, instant deadline, store_down unconnected) {
    const auto link = to->link;
    static const std::string ping{"*1\r\n$4\r\nPING\r\n"};
    const auto got = co_await link->ask(ping, 1, deadline, unconnected);
    if (got.has_error()) co_return got.error();
    co_return result<void>{};
}

boost::asio::awaitable<void> servers::pause(instant deadline, int round) {
    const auto step = std::min<millis>(pause_max, pause_min * (1 << std::min(round, 6)));
    std::uniform_int_distribution<millis::rep> spread{step.count() / 2, step.count()};
    const auto left = std::max(deadline - lease_clock::now(), lease_clock::duration{0});
    auto pausing = net::sleep_for(std::min<lease_clock::duration>(millis{spread(random_)}, left));
    co_await std::move(pausing);
}

// ---- Many calls

// What many calls share while they are on their way; kept alive by all who send some of them.
struct servers::many {
    explicit many(std::vector<sharded_call> asked)
        : calls{std::move(asked)},
          answers(calls.size(), answer{failure{errc::unreachable, "not sent yet"}}) {
        for (std::size_t i = 0; i < calls.size(); ++i) open.push_back(i);
    }

    const std::vector<sharded_call> calls;
    std::vector<answer> answers;
    std::vector<std::size_t> open;   // to be sent (again)
    std::vector<std::size_t> asked;  // to be asked of another node, each by itself
    instant deadline{};
    bool with_text = false;  // some node does not know the script
    bool hurried = true;     // no node needs time
    std::size_t under_way = 0;
    net::event all_back;
};

boost::asio::awaitable<std::vector<answer>> servers::run_all(std::vector<sharded_call> calls) {
    const auto self = shared_from_this();
    auto work = std::make_shared<many>(std::move(calls));
    work->deadline = deadline_from_now();
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    for (int round = 0; !work->open.empty(); ++round) {
        if (!work->hurried) {
            co_await pause(work->deadline, round);
            if (is_finished(state)) co_return work->answers;
        }
        if (lease_clock::now() >= work->deadline) break;
        co_await send_round(work);
        if (is_finished(state)) co_return work->answers;
        const auto asked = std::exchange(work->asked, {});
        for (const auto which : asked) {
            const auto& [call, shard] = work->calls[which];
            attempt anew;
            anew.to = map_->at(shard);
            work->answers[which] = co_await persist(call, shard, on_split::tell, work->deadline,
                                                    std::move(anew), next_step::again);
            if (is_finished(state)) co_return work->answers;
        }
    }
    co_return std::move(work->answers);
}

boost::asio::awaitable<void> servers::send_round(std::shared_ptr<many> work) {
    std::map<server_ptr, std::vector<std::size_t>> groups;
    const auto open = std::exchange(work->open, {});
    work->hurried = true;
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    for (const auto which : open) {
        const auto found = co_await of(work->calls[which].shard, work->deadline);
        if (is_finished(state)) co_return;
        if (found.has_value()) {
            groups[*found].push_back(which);
            continue;
        }
        work->answers[which] = found.error();
        work->hurried = false;
        // All of them would hear the same.
        if (found.error().code != errc::unreachable || lease_clock::now() >= work->deadline) {
            for (const auto other : open) work->answers[other] = found.error();
            co_return;
        }
        work->open.push_back(which);
    }
    for (auto& [to, which] : groups) {
        ++work->under_way;
        boost::asio::co_spawn(executor_, send_group(shared_from_this(), work, to, std::move(which)),
                              [work](std::exception_ptr) {
                                  if (--work->under_way == 0) work->all_back.notify_all();
                              });
    }
    if (work->under_way == 0) co_return;
    auto waiting = work->all_back.wait();
    co_await std::move(waiting);
}

boost::asio::awaitable<void> servers::send_group(std::shared_ptr<servers> self,
                                                 std::shared_ptr<many> work, server_ptr to,
                                                 std::vector<std::size_t> which) {
    const auto& first = work->calls[which.front()].call;
    if (first.names_life() && !to->link->is_connected()) {
        const auto stands = co_await self->greet(to, work->deadline, store_down::retry);
        if (stands.has_error()) {
            auto why = answer{failure{errc::unreachable, stands.error().detail}};
            co_return self->sort_answers(*work, to, which, std::move(why));
        }
    }
    const auto& facts = to->link->facts();
    const life here = life_of(facts);
    const auto* meant = first.names_life() ? &here : nullptr;
    std::string commands;
    bool confirmed = false;
    bool taught = !work->with_text;
    for (const auto one : which) {
        const auto& call = work->calls[one].call;
        if (taught)
            call.append_by_digest(commands, meant);
        else
            call.append_with_text(commands, meant);
        taught = true;
        confirmed = confirmed || call.confirmations() > 0;
    }
    // One for all: it waits for everything that was written on this connection.
    if (confirmed) self->append_wait(commands);
    const auto count = which.size() + (confirmed ? 1 : 0);
    auto got = co_await to->link->ask(commands, count, work->deadline);
    if (got.has_value() && count == 1) {
        reply alone;
        alone.kind = reply_kind::array;
        alone.elements.push_back(std::move(*got));
        got = std::move(alone);
    }
    self->sort_answers(*work, to, which, std::move(got));
}

void servers::sort_answers(many& work, const server_ptr& to, const std::vector<std::size_t>& which,
                           answer got) {
    for (std::size_t i = 0; i < which.size(); ++i) {
        const auto place = which[i];
        const auto& [call, shard] = work.calls[place];
        attempt last;
        last.to = to;
        if (got.has_error())
            last.got = got.error();
        else if (call.confirmations() == 0)
            last.got = std::move(got->elements[i]);
        else {
            reply both;
            both.kind = reply_kind::array;
            both.elements.push_back(std::move(got->elements[i]));
            both.elements.push_back(got->elements.back());
            last.got = std::move(both);
        }
        const auto next = judge(call, shard, on_split::tell, last);
        work.answers[place] = std::move(last.got);
        if (next == next_step::finished) continue;
        if (last.asking) {
            work.asked.push_back(place);
            continue;
        }
        if (last.how == form::with_text) work.with_text = true;
        if (next == next_step::later) work.hurried = false;
        work.open.push_back(place);
    }
}

}  // namespace pawl::redis
