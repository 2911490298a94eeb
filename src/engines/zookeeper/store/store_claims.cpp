// Claims, and the sweep that claims set off.
#include "base/duration.hpp"
#include "engines/rules/store/retention.hpp"
#include "engines/zookeeper/store/zookeeper_store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>

namespace pawl::zookeeper {
namespace {

// How many records one sweep looks at.
constexpr std::size_t sweep_batch = 64;
constexpr millis sweep_pause_min{20};
constexpr millis sweep_pause_max{60'000};
// Beside one in a hundred for the rates of two clocks.
constexpr millis overdue_margin{100};
// How soon to ask again for a lease that should have ended by now.
constexpr millis overdue_pause{50};

millis overdue_after(millis ttl) { return ttl + ttl / 100 + overdue_margin; }

}  // namespace

async<acquire_result<grant>> zookeeper_store::acquire(claim wanted) {
    const auto self = shared_from_this();
    if (auto rejected = rules::reject_long_ttl(settings_->common.quarantine, wanted.ttl))
        co_return std::move(*rejected);
    const auto until = deadline();
    const auto where = co_await tree_->session_for(wanted.ttl, until, wanted.on_store_down);
    if (where.has_error()) co_return where.error();
    const auto longest = (*where)->usable_ttl();
    if (longest < millis{1})
        co_return failure{errc::rejected, tree_->place() + ": a session of " +
                                              base::format_duration((*where)->granted_timeout()) +
                                              " is too short for a lease: raise maxSessionTimeout"};
    // What the server grants, not what was asked; the grant says so.
    wanted.ttl = std::min(wanted.ttl, longest);
    for (int attempts = 0; attempts == 0 || lease_clock::now() < until; ++attempts) {
        auto seen = co_await view_for_claim(**where, wanted, attempts, until);
        if (seen.has_error()) co_return seen.error();
        auto done = co_await try_claim(*where, wanted, std::move(*seen), until);
        if (done.has_error()) co_return done.error();
        if (!*done) continue;
        start_sweep(*where);
        co_return std::move(**done);
    }
    co_return too_slow("the key");
}

async<view> zookeeper_store::view_for_claim(session& through, const claim& wanted, int attempts,
                                            instant until) {
    if (const auto found = remembered_.find(wanted.key); found != remembered_.end()) {
        auto known = std::move(found->second);
        remembered_.erase(found);
        const bool recent = lease_clock::now() - known.since < remembered_for();
        if (attempts == 0 && recent && known.generation == tree_->generation())
            co_return std::move(known.seen);
    }
    // A server that lags behind says busy at worst; what is written on its word is checked.
    const auto how = attempts == 0 ? ensemble::freshness::as_it_is : ensemble::freshness::synced;
    co_return co_await tree_->look(through, wanted.key, how, until);
}

// A holder that has not renewed for a whole TTL, on our clock and while we watched, has stopped
// trusting its lease, whatever its session does: its process may have stopped renewing while its
// loop goes on talking to the server.
bool zookeeper_store::is_overdue(const std::string& key, const view& seen) {
    const auto now = lease_clock::now();
    if (watched_.size() >= remembered_max) watched_.clear();
    const auto [place, fresh] = watched_.try_emplace(key, watched{seen.renewed_zxid, now});
    if (place->second.zxid != seen.renewed_zxid) place->second = {seen.renewed_zxid, now};
    return now - place->second.since >= overdue_after(seen.ttl);
}

millis zookeeper_store::rest_of_watch(const std::string& key, const view& seen) const {
    const auto found = watched_.find(key);
    if (found == watched_.end()) return millis{1};
    const auto end = found->second.since + overdue_after(seen.ttl);
    return std::clamp(std::chrono::ceil<millis>(end - lease_clock::now()), millis{1},
                      overdue_pause);
}

zookeeper_store::attempt<acquire_result<grant>> zookeeper_store::try_claim(const session_ptr& where,
                                                                           const claim& wanted,
                                                                           view seen,
                                                                           instant until) {
    const auto& common = settings_->common;
    forget_what_is_over(wanted.key, seen);
    const bool in_cooldown = !seen.alive && seen.record.cooldown_until > 0;
    auto wall = now_for(seen);
    if (in_cooldown || wanted.occurrence || common.quarantine) {
        const auto read = co_await tree_->read_clock(*where, until);
        if (read.has_error()) co_return read.error();
        wall = *read;
    }
    const rules::store_time now{millis{wall}, millis{wall}};
    const rules::store_time born{millis{tree_->born()}, millis{tree_->born()}};
    if (auto rejected =
            rules::reject_in_quarantine(common.quarantine, born, wanted, now, common.max_skew))
        co_return std::move(rejected);
    auto state = state_of(seen, wall);
    auto decided = rules::acquire(state, wanted, now, common.max_skew);
    if (auto* told = std::get_if<busy>(&decided); told != nullptr && seen.alive) {
        if (is_overdue(wanted.key, seen)) {
            seen.alive = false;
            seen.overdue = true;
            state = state_of(seen, wall);
            decided = rules::acquire(state, wanted, now, common.max_skew);
        } else if (told->remaining <= millis{1}) {
            told->remaining = rest_of_watch(wanted.key, seen);
        }
    }
    if (!std::holds_alternative<grant>(decided))
        co_return std::optional<acquire_result<grant>>{std::move(decided)};
    if (seen.alive) {
        const auto ttl = std::chrono::ceil<millis>(state.until - now.elapsed);
        const auto kept = co_await keep(wanted.key, seen, ttl, until);
        if (kept.has_error()) co_return kept.error();
        if (!*kept) co_return std::optional<acquire_result<grant>>{};
        co_return std::optional<acquire_result<grant>>{
            grant{wanted.key, seen.record.token, wanted.ttl}};
    }
    lease_record next;
    next.claim_id = wanted.id;
    next.owner = wanted.owner;
    next.last_done = state.last_done;
    next.last_token = std::max(seen.record.last_token, tree_->floor());
    co_return co_await grant_new(where, wanted, seen, next, until);
}

async<answer> zookeeper_store::make_lease(const session_ptr& where, std::vector<operation> steps,
                                          std::shared_ptr<lease_end> end, instant until) {
    request ask{std::move(steps)};
    auto done = co_await where->ask(std::move(ask), until);
    const bool unknown = done.has_error() && done.error().code == errc::outcome_unknown;
    if (!unknown && (done.has_error() || !done->done())) expiries_->cancel(end);
    co_return done;
}

// The origin is made with the record, or, where an older pawl made that, with our first write.
std::string zookeeper_store::tie_to(std::vector<operation>& steps, const std::string& record,
                                    const view& seen) {
    using kind = operation::kind;
    auto origin = seen.origin.empty() ? fresh_origin_name() : seen.origin;
    const auto how = seen.origin.empty() ? kind::create : kind::check;
    steps.emplace_back(how, record + "/" + origin);
    return origin;
}

zookeeper_store::attempt<acquire_result<grant>> zookeeper_store::grant_new(const session_ptr& where,
                                                                           const claim& wanted,
                                                                           const view& seen,
                                                                           const lease_record& next,
                                                                           instant until) {
    using kind = operation::kind;
    own_lease mine;
    mine.record = next;
    mine.record.lease = fresh_lease_name();
    const auto record = tree_->paths().record_of(wanted.key);
    const auto path = record + "/" + mine.record.lease;
    const auto text = text_of_grant(mine.record);
    std::vector<operation> steps;
    steps.reserve(5);
    if (!seen.exists) {
        // The zxid of what is made is told by a `set` only.
        steps.emplace_back(kind::create, record);
        steps.emplace_back(kind::set, record, text, 0);
    } else {
        steps.emplace_back(kind::set, record, text, seen.version);
    }
    mine.origin = tie_to(steps, record, seen);
    // With its version: should it be renewed at this very moment, it stays.
    if (seen.overdue)
        steps.emplace_back(kind::remove, tree_->lease_path(wanted.key, seen), "",
                           seen.lease_version);
    steps.emplace_back(kind::create_ephemeral, path, std::to_string(wanted.ttl.count()));
    mine.acquired = lease_clock::now();
    mine.end = expiries_->add(where, wanted.key, path, until + wanted.ttl);
    auto making = make_lease(where, std::move(steps), mine.end, until);
    const auto done = co_await std::move(making);
    if (done.has_error()) co_return done.error();
    if (!done->done()) {
        if (!seen.exists && done->code == finding_code::no_node) {
            const auto made = co_await tree_->make_parent(*where, record, until);
            if (made.has_error()) co_return made.error();
        }
        co_return std::optional<acquire_result<grant>>{};
    }
    tree_->note_clock(done->stat);
    mine.record.token = mint(mine.record.last_token, done->stat.modified);
    mine.record.last_token = mine.record.token;
    mine.record.acquired = done->stat.modified;
    mine.version = done->stat.version;
    watched_.erase(wanted.key);
    expiries_->move(*mine.end, mine.acquired + wanted.ttl);
    const auto token = mine.record.token;
    expiries_->hold(wanted.key, std::move(mine));
    co_return std::optional<acquire_result<grant>>{grant{wanted.key, token, wanted.ttl}};
}

// ---- The sweep

// Records outlive their last use by the retention; a client that claims keys removes what is older,
// a few at a time.
void zookeeper_store::start_sweep(const session_ptr& where) {
    const auto now = lease_clock::now();
    if (sweeping_ || now < next_sweep_ || !tree_->has_clock()) return;
    sweeping_ = true;
    next_sweep_ =
        now + std::clamp(settings_->common.retention / 10'000, sweep_pause_min, sweep_pause_max);
    boost::asio::co_spawn(loop_.get_executor(), sweep(shared_from_this(), where),
                          boost::asio::detached);
}

boost::asio::awaitable<void> zookeeper_store::sweep(std::shared_ptr<zookeeper_store> self,
                                                    session_ptr where) {
    // What fails now is swept another time.
    co_await self->sweep_some(*where, self->deadline());
    self->sweeping_ = false;
}

// The names of one bucket at a time.
async<bool> zookeeper_store::list_to_sweep(session& through, instant until) {
    const bool next_round = buckets_to_sweep_.empty();
    auto folder = next_round ? tree_->paths().locks() : buckets_to_sweep_.back();
    if (!next_round) buckets_to_sweep_.pop_back();
    for (int depth = next_round ? 0 : 1; depth < 2; ++depth) {
        request ask{request::kind::children, folder};
        auto found = co_await through.ask(std::move(ask), until);
        if (found.has_error()) co_return found.error();
        for (const auto& name : found->names) {
            auto path = folder;
            path.append("/").append(name);
            if (depth == 0)
                buckets_to_sweep_.push_back(std::move(path));
            else
                to_sweep_.push_back(std::move(path));
        }
        if (depth == 1 || buckets_to_sweep_.empty()) break;
        folder = buckets_to_sweep_.back();
        buckets_to_sweep_.pop_back();
    }
    co_return true;
}

async<bool> zookeeper_store::sweep_some(session& through, instant until) {
    if (to_sweep_.empty()) {
        const auto listed = co_await list_to_sweep(through, until);
        if (listed.has_error()) co_return listed.error();
    }
    std::vector<std::string> paths;
    std::vector<request> looks;
    while (!to_sweep_.empty() && paths.size() < sweep_batch) {
        paths.push_back(std::move(to_sweep_.front()));
        to_sweep_.pop_front();
        looks.emplace_back(request::kind::children, paths.back());
        looks.emplace_back(request::kind::get, paths.back());
    }
    const auto seen = co_await through.ask_all(std::move(looks), until);
    if (seen.has_error()) co_return seen.error();
    std::vector<request> writes;
    for (std::size_t i = 0; i < paths.size(); ++i)
        if (auto write = sweeping_of(paths[i], (*seen)[2 * i].names, (*seen)[2 * i + 1]))
            writes.push_back(std::move(*write));
    const auto written = co_await through.ask_all(std::move(writes), until);
    if (written.has_error()) co_return written.error();
    co_return true;
}

std::optional<request> zookeeper_store::sweeping_of(const std::string& path,
                                                    const std::vector<std::string>& children,
                                                    const answer& record) const {
    using kind = operation::kind;
    const bool is_held = !std::all_of(children.begin(), children.end(), is_origin);
    const auto kept_for = rules::kept_for(settings_->common.retention);
    const auto oldest = tree_->estimate_clock() - kept_for.count();
    if (!record.done() || is_held || record.stat.modified >= oldest) return std::nullopt;
    auto parsed = parse_record(record.text, tree_->stamp_of(record.stat));
    if (!parsed || parsed->cooldown_until >= oldest) return std::nullopt;
    const bool ends = parsed->lease.empty();
    std::vector<operation> steps;
    steps.reserve(children.size() + 1);
    for (const auto& name : children) {
        auto child = path;
        child.append("/").append(name);
        steps.emplace_back(ends ? kind::remove : kind::check, std::move(child));
    }
    // A lease that ended by itself, who knows when: its last use is now.
    parsed->lease.clear();
    steps.emplace_back(ends ? kind::remove : kind::set, path, ends ? "" : text_of(*parsed),
                       record.stat.version);
    return request{std::move(steps)};
}

}  // namespace pawl::zookeeper
