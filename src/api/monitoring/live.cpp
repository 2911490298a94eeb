#include "api/monitoring/live.hpp"

#include "api/jobs/job_reading.hpp"
#include "api/jobs/run_rows.hpp"
#include "api/limits/cooperative_yield.hpp"
#include "api/monitoring/lock_rows.hpp"
#include "api/monitoring/overview.hpp"
#include "base/digest.hpp"
#include "documents/documents.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
namespace json = boost::json;

constexpr std::array<std::string_view, topics_count> topic_words{"locks", "runs",  "jobs",
                                                                 "nodes", "audit", "overview"};
constexpr std::size_t newest_runs_looked_at = 200;
// Runs that have ended behind the newest, which are asked for one by one; of more a viewer reads
// the list anew.
constexpr std::size_t ended_runs_told_max = 200;
constexpr std::size_t audit_read_at_once = 50;
// New entries of the audit; of more a viewer reads the list anew.
constexpr std::size_t audit_told_max = 500;
// Of each job, for its strip.
constexpr std::size_t strip_runs = 20;
// What one look tells is no reason to let go of a viewer who has taken what the last one told.
static_assert(2 * told_bytes_max <= backlog_bytes_max);

std::size_t index_of(topic what) { return static_cast<std::size_t>(what); }

// An event, and no comment: a browser tells its page of events alone.
std::shared_ptr<const std::string> heartbeat() {
    static const auto text = std::make_shared<const std::string>("event: heartbeat\ndata: {}\n\n");
    return text;
}

std::string text_of(const run_record& run) { return documents::serialize(documents::json_of(run)); }

// A digest of all but the heartbeat. What is too long to be told is dropped from the run.
std::string print_of(run_record& run) {
    const auto saved = base::sha256_hex(run.checkpoint);
    drop_long_checkpoint(run);
    const auto heartbeat = std::exchange(run.last_heartbeat, 0);
    auto print = base::sha256_hex(text_of(run) + saved);
    run.last_heartbeat = heartbeat;
    return print;
}

// Drops what this look has not met, and says its names where the look would have met them.
template <class Map, class Covers>
json::array sweep(Map& known, std::uint64_t look, const Covers& covers) {
    json::array gone;
    for (auto one = known.begin(); one != known.end();) {
        if (one->second.look == look) {
            ++one;
            continue;
        }
        if (covers(one->first)) gone.emplace_back(one->first);
        one = known.erase(one);
    }
    return gone;
}

template <class Map>
json::array sweep(Map& known, std::uint64_t look) {
    return sweep(known, look, [](const std::string&) { return true; });
}

}  // namespace

std::optional<topic> topic_named(std::string_view word) {
    const auto found = std::find(topic_words.begin(), topic_words.end(), word);
    if (found == topic_words.end()) return std::nullopt;
    return static_cast<topic>(found - topic_words.begin());
}

topic_set every_topic() {
    topic_set all;
    for (std::size_t i = 0; i < topics_count; ++i) all.insert(static_cast<topic>(i));
    return all;
}

live::live(shared_context around) : around_{std::move(around)} {}

awaitable<void> live::follow(std::shared_ptr<live> self, topic_set wanted,
                             std::shared_ptr<http::body_stream> where) {
    auto& me = *self;
    me.viewers_.emplace_back().wanted = wanted;
    const auto mine = std::prev(me.viewers_.end());
    for (std::size_t i = 0; i < topics_count; ++i)
        if (wanted.contains(static_cast<topic>(i))) me.start_watching(static_cast<topic>(i));
    // A viewer who has gone is let go of at once, and not at the next event.
    const std::stop_callback leaving{where->gone(), [mine] { mine->wake.notify_all(); }};
    const auto& loop = me.around_->core->loop();
    const auto until = loop.now() + hello_wait_max;
    while (me.is_in_first_look(wanted) && loop.now() < until && !mine->lost &&
           !where->gone().stop_requested()) {
        auto waiting = mine->wake.wait_until(until);
        co_await std::move(waiting);
    }
    mine->greeted = true;
    const json::object hello{{"as_of", documents::now_text()},
                             {"node", me.around_->node_name},
                             {"version", me.around_->version},
                             {"interval_ms", look_interval.count()}};
    auto first = std::make_shared<const std::string>(
        "retry: 2000\nevent: hello\ndata: " + json::serialize(hello) + "\n\n");
    auto greeting = where->write(std::move(first));
    bool taken = co_await std::move(greeting);
    while (taken && !mine->lost && !where->gone().stop_requested()) {
        if (mine->backlog.empty()) {
            auto resting = mine->wake.wait_for(heartbeat_interval);
            co_await std::move(resting);
        }
        auto next = heartbeat();
        if (!mine->backlog.empty()) {
            next = mine->backlog.front();
            mine->backlog.pop_front();
            mine->backlog_bytes -= next->size();
        }
        auto writing = where->write(std::move(next));
        taken = co_await std::move(writing);
    }
    me.viewers_.erase(mine);
}

bool live::is_watched(topic what) const {
    return std::any_of(viewers_.begin(), viewers_.end(),
                       [&](const viewer& one) { return one.wanted.contains(what); });
}

// Each look tells the overview as it is, the first one too.
bool live::is_in_first_look(topic_set wanted) const {
    for (std::size_t i = 0; i < topics_count; ++i)
        if (static_cast<topic>(i) != topic::overview && wanted.contains(static_cast<topic>(i)) &&
            !looked_[i])
            return true;
    return false;
}

// Who was greeted before may have read the list before something changed that was never told. After
// a failure `recovered` has it read again.
void live::end_first_look(topic what, const failure* why) {
    looked_[index_of(what)] = true;
    bool is_late = false;
    for (auto& one : viewers_) {
        if (!one.wanted.contains(what)) continue;
        is_late = is_late || one.greeted;
        one.wake.notify_all();
    }
    if (is_late && why == nullptr && what != topic::overview) tell_gap(what);
}

void live::start_watching(topic what) {
    if (std::exchange(watching_[index_of(what)], true)) return;
    auto ended = [self = shared_from_this(), what](const std::exception_ptr& why) {
        if (why) self->give_up(what, why);
    };
    boost::asio::co_spawn(around_->core->loop().get_executor(), watch(shared_from_this(), what),
                          std::move(ended));
}

// Such as for want of memory. Those who follow the topic would wait in vain: they come back, read
// the lists anew, and are looked for again.
void live::give_up(topic what, const std::exception_ptr& why) {
    forget(what);
    for (auto& one : viewers_) {
        if (!one.wanted.contains(what)) continue;
        one.lost = true;
        one.wake.notify_all();
    }
    std::string words;
    try {
        std::rethrow_exception(why);
    } catch (const std::exception& error) {
        words = error.what();
    } catch (...) {
        words = "unknown";
    }
    if (around_->log)
        around_->log(log_level::error,
                     "event streams ended topic=" + std::string{topic_words[index_of(what)]} +
                         " error=" + words);
}

awaitable<void> live::watch(std::shared_ptr<live> self, topic what) {
    auto& me = *self;
    const auto interval = what == topic::overview ? overview_interval : look_interval;
    while (me.is_watched(what)) {
        const auto begun = me.around_->core->loop().now();
        auto looking = look(self, what);
        const auto looked = co_await std::move(looking);
        std::optional<failure> why;
        if (looked.has_error()) why = looked.error();
        me.tell_trouble(what, why ? &*why : nullptr);
        if (me.is_first_look(what)) me.end_first_look(what, why ? &*why : nullptr);
        const auto took = std::chrono::ceil<millis>(me.around_->core->loop().now() - begun);
        // Waiting for a server that is down is no reason to look less often, and an overview is
        // remembered for as long as its price asks for.
        const bool is_cheap = why.has_value() || what == topic::overview;
        auto resting = net::sleep_for(is_cheap ? interval : std::max(interval, took * look_share));
        co_await std::move(resting);
    }
    me.forget(what);
}

// What was seen is old when a viewer looks again.
void live::forget(topic what) {
    watching_[index_of(what)] = false;
    looked_[index_of(what)] = false;
    in_trouble_[index_of(what)] = false;
    looks_[index_of(what)] = 0;
    switch (what) {
        case topic::locks:
            locks_.clear();
            break;
        case topic::runs:
            runs_.clear();
            break;
        case topic::jobs:
            jobs_.clear();
            break;
        case topic::nodes:
            nodes_.clear();
            break;
        case topic::audit:
            audited_ = 0;
            break;
        case topic::overview:
            break;
    }
}

async<void> live::look(std::shared_ptr<live> self, topic what) {
    ++self->looks_[index_of(what)];
    switch (what) {
        case topic::locks:
            return look_at_locks(std::move(self));
        case topic::runs:
            return look_at_runs(std::move(self));
        case topic::jobs:
            return look_at_jobs(std::move(self));
        case topic::nodes:
            return look_at_nodes(std::move(self));
        case topic::audit:
            return look_at_audit(std::move(self));
        case topic::overview:
            break;
    }
    return look_at_overview(std::move(self));
}

bool live::has_changed(const record& lock, instant now) {
    const auto look = looks_[index_of(topic::locks)];
    const auto until = now + lock.remaining;
    const auto [found, fresh] = locks_.try_emplace(lock.key);
    auto& seen = found->second;
    const auto moved = std::chrono::abs(until - seen.until);
    const bool is_free = lock.remaining.count() == 0 && seen.until <= now;
    const bool changed = fresh || seen.holder != lock.holder || seen.newest != lock.last_token ||
                         seen.last_done != lock.last_done ||
                         seen.waiters != lock.waiters.value_or(0) ||
                         (!is_free && moved > remaining_tolerated);
    if (changed)
        seen = {lock.holder, lock.last_token, lock.last_done, lock.waiters.value_or(0), until,
                look};
    seen.look = look;
    return changed;
}

async<void> live::look_at_locks(std::shared_ptr<live> self) {
    auto& me = *self;
    const auto changed = std::make_shared<json::array>();
    lock_visitor note = [self, changed](record one) {
        const auto now = self->around_->core->loop().now();
        if (self->has_changed(one, now)) changed->push_back(documents::json_of(one));
    };
    auto reading = visit_locks(me.around_, locks_watched_max, std::move(note));
    const auto reach = co_await std::move(reading);
    if (reach.has_error()) co_return reach.error();
    // What lies behind the last that was met may be held all the same.
    auto gone = sweep(me.locks_, me.looks_[index_of(topic::locks)],
                      [&](const std::string& key) { return reach->covers(key); });
    if (!me.is_first_look(topic::locks) && (!changed->empty() || !gone.empty()))
        me.tell(topic::locks, "locks",
                {{"changed", std::move(*changed)}, {"gone", std::move(gone)}});
    co_return boost::system::in_place_value;
}

bool live::has_changed(run_record& run) {
    const auto look = looks_[index_of(topic::runs)];
    auto print = print_of(run);
    auto& seen = runs_[run.id];
    const bool changed =
        seen.print != print || run.last_heartbeat - seen.heartbeat >= heartbeat_told.count();
    if (changed) {
        seen.print = std::move(print);
        seen.heartbeat = run.last_heartbeat;
    }
    seen.look = look;
    return changed;
}

// The newest, and those that still run however old they are.
async<void> live::look_at_runs(std::shared_ptr<live> self) {
    auto& me = *self;
    const auto changed = std::make_shared<event_parts>();
    const auto met_again = std::make_shared<bool>(false);
    row_visitor note = [self, changed, met_again](run_record run) {
        *met_again = *met_again || self->runs_.contains(run.id);
        if (self->has_changed(run)) changed->add(text_of(run));
        return true;
    };
    auto reading = visit_runs(me.around_, run_filter{}, newest_runs_looked_at, note);
    const auto is_whole = co_await std::move(reading);
    if (is_whole.has_error()) co_return is_whole.error();
    // Where none of these was there at the last look, more may have begun since.
    if (!*is_whole && !*met_again) changed->miss();
    run_filter which;
    which.status = run_status::started;
    auto finding =
        visit_indexed_runs(me.around_, std::move(which), active_runs_max, std::move(note));
    const auto started = co_await std::move(finding);
    if (started.has_error()) co_return started.error();
    // One that ran at the last look and is met no more has ended behind the newest.
    const auto gone = sweep(me.runs_, me.looks_[index_of(topic::runs)]);
    if (gone.size() > ended_runs_told_max) changed->miss();
    for (const auto& id : gone) {
        if (changed->is_too_much()) break;
        auto looking = me.around_->records->find_run(std::string{id.as_string()});
        auto one = co_await std::move(looking);
        if (!one.has_value() || !*one) continue;
        drop_long_checkpoint(**one);
        changed->add(text_of(**one));
    }
    if (!me.is_first_look(topic::runs)) me.tell_parts(topic::runs, "changed", *changed, nullptr);
    co_return boost::system::in_place_value;
}

async<void> live::look_at_jobs(std::shared_ptr<live> self) {
    auto& me = *self;
    const auto look = me.looks_[index_of(topic::jobs)];
    auto reading = read_job_page(me.around_, "", jobs_watched_max, strip_runs, thoroughness::brief);
    const auto page = co_await std::move(reading);
    if (page.has_error()) co_return page.error();
    event_parts changed;
    cooperative_yield turn{me.around_->core->loop()};
    for (const auto& one : page->jobs) {
        const auto text = documents::serialize(json_of(one, *page->now, strip_runs));
        auto print = base::sha256_hex(text);
        auto& seen = me.jobs_[one.entry.name];
        seen.look = look;
        if (seen.print != print) changed.add(text);
        seen.print = std::move(print);
        if (!turn.is_due()) continue;
        auto turning = turn.give_turn();
        co_await std::move(turning);
    }
    // What comes behind the last that was read may be there all the same.
    const auto gone = sweep(me.jobs_, look, [&](const std::string& name) {
        return page->ends || name <= page->jobs.back().entry.name;
    });
    if (!me.is_first_look(topic::jobs)) me.tell_parts(topic::jobs, "changed", changed, &gone);
    co_return boost::system::in_place_value;
}

async<void> live::look_at_nodes(std::shared_ptr<live> self) {
    auto& me = *self;
    auto listing = me.around_->records->list_nodes();
    auto some = co_await std::move(listing);
    if (some.has_error()) co_return std::move(some).error();
    json::array nodes;
    for (const auto& one : *some) nodes.push_back(documents::json_of(one));
    auto print = json::serialize(nodes);
    if (print != me.nodes_ && me.looks_[index_of(topic::nodes)] > 1)
        me.tell(topic::nodes, "nodes", {{"nodes", std::move(nodes)}});
    me.nodes_ = std::move(print);
    co_return boost::system::in_place_value;
}

// Back to the newest of the last look.
async<void> live::look_at_audit(std::shared_ptr<live> self) {
    auto& me = *self;
    const auto known = me.audited_;
    const bool is_first = me.is_first_look(topic::audit);
    event_parts entries;
    std::uint64_t newest = known, before = 0;
    std::size_t seen = 0;
    for (bool reached = false; !reached;) {
        auto listing = me.around_->records->list_audit(before, audit_read_at_once);
        const auto some = co_await std::move(listing);
        if (some.has_error()) co_return some.error();
        if (seen == 0 && !some->empty()) newest = some->front().sequence;
        seen += some->size();
        reached = is_first || some->size() < audit_read_at_once;
        for (const auto& one : *some) {
            if (one.sequence > known)
                entries.add(documents::serialize(documents::json_of(one)));
            else
                reached = true;
            before = one.sequence;
        }
        if (!reached && seen >= audit_told_max) {
            entries.miss();
            reached = true;
        }
    }
    me.audited_ = newest;
    if (!is_first) me.tell_parts(topic::audit, "entries", entries, nullptr);
    co_return boost::system::in_place_value;
}

async<void> live::look_at_overview(std::shared_ptr<live> self) {
    auto& me = *self;
    auto asking = overview_of(me.around_);
    const auto seen = co_await std::move(asking);
    if (seen.has_error()) co_return seen.error();
    json::object data = **seen;
    const auto* samples = data.if_contains("samples");
    json::value newest;
    if (samples != nullptr && !samples->as_array().empty()) newest = samples->as_array().back();
    data["sample"] = std::move(newest);
    data.erase("samples");
    me.tell(topic::overview, "overview", std::move(data));
    co_return boost::system::in_place_value;
}

void live::tell(topic what, std::string_view name, json::object data) {
    // What was worked out before has a time of its own.
    if (!data.contains("as_of")) data["as_of"] = documents::now_text();
    send(what, name, documents::serialize(data));
}

void live::tell_gap(topic what) { tell(what, "gap", {{"topic", topic_words[index_of(what)]}}); }

void live::tell_parts(topic what, std::string_view list, const event_parts& parts,
                      const json::array* gone) {
    const auto word = topic_words[index_of(what)];
    if (parts.is_too_much()) return tell_gap(what);
    const auto end = ",\"as_of\":\"" + documents::now_text() + "\"}";
    const auto send_one = [&](const std::string& entries, const json::array& names) {
        auto data = "{\"" + std::string{list} + "\":[" + entries + "]";
        if (gone != nullptr) data += ",\"gone\":" + documents::serialize(names);
        send(what, word, data + end);
    };
    if (gone != nullptr && !gone->empty()) send_one("", *gone);
    for (const auto& entries : parts.all()) send_one(entries, {});
}

void live::send(topic what, std::string_view name, std::string_view data) {
    auto text = "event: " + std::string{name} + "\nid: " + std::to_string(next_id_++) +
                "\ndata: " + std::string{data} + "\n\n";
    const auto one = std::make_shared<const std::string>(std::move(text));
    for (auto& to : viewers_)
        if (to.wanted.contains(what)) push(to, one);
}

void live::tell_trouble(topic what, const failure* why) {
    const auto where = what == topic::locks ? "store" : "journal";
    const bool was = std::exchange(in_trouble_[index_of(what)], why != nullptr);
    if (why != nullptr)
        tell(what, "degraded", {{"what", where}, {"detail", why->detail}});
    else if (was)
        tell(what, "recovered", {{"what", where}});
}

void live::push(viewer& to, const event& one) {
    const auto bytes = to.backlog_bytes + one->size();
    if (to.backlog.size() >= backlog_max || (!to.backlog.empty() && bytes > backlog_bytes_max)) {
        to.lost = true;
    } else {
        to.backlog.push_back(one);
        to.backlog_bytes = bytes;
    }
    to.wake.notify_all();
}

}  // namespace pawl::api
