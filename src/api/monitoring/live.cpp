#include "api/monitoring/live.hpp"

#include "api/jobs/job_routes.hpp"
#include "api/monitoring/overview.hpp"
#include "base/digest.hpp"
#include "documents/documents.hpp"
#include "net/timer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace pawl::api {
namespace {

using boost::asio::awaitable;
namespace json = boost::json;

constexpr std::array<std::string_view, topics_count> topic_words{"locks", "runs",  "jobs",
                                                                 "nodes", "audit", "overview"};
constexpr std::size_t runs_looked_at = 200;
constexpr std::size_t audit_looked_at = 50;
// Of each job, for its strip.
constexpr std::size_t strip_runs = 20;

std::size_t index_of(topic what) { return static_cast<std::size_t>(what); }

// An event, and no comment: a browser tells its page of events alone.
std::shared_ptr<const std::string> pulse() {
    static const auto text = std::make_shared<const std::string>("event: pulse\ndata: {}\n\n");
    return text;
}

std::string print_of(const run_record& run) {
    auto stable = run;
    stable.last_heartbeat = 0;
    return base::sha256_hex(json::serialize(documents::json_of(stable)));
}

// Drops what this look has not met, and says its names.
template <class Map>
json::array sweep(Map& known, std::uint64_t look) {
    json::array gone;
    for (auto one = known.begin(); one != known.end();) {
        if (one->second.look == look) {
            ++one;
            continue;
        }
        gone.emplace_back(one->first);
        one = known.erase(one);
    }
    return gone;
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
    const json::object hello{{"as_of", documents::now_text()},
                             {"node", me.around_->node_name},
                             {"version", me.around_->version},
                             {"interval_ms", look_interval.count()}};
    auto first = std::make_shared<const std::string>(
        "retry: 2000\nevent: hello\ndata: " + json::serialize(hello) + "\n\n");
    auto greeting = where->write(std::move(first));
    bool taken = co_await std::move(greeting);
    // A viewer who has gone is let go of at once, and not at the next event.
    const std::stop_callback leaving{where->gone(), [mine] { mine->wake.notify_all(); }};
    while (taken && !mine->lost && !where->gone().stop_requested()) {
        if (mine->backlog.empty()) {
            auto resting = mine->wake.wait_for(pulse_interval);
            co_await std::move(resting);
        }
        auto next = pulse();
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

void live::start_watching(topic what) {
    if (std::exchange(watching_[index_of(what)], true)) return;
    boost::asio::co_spawn(around_->core->loop().get_executor(), watch(shared_from_this(), what),
                          boost::asio::detached);
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
    json::array changed;
    std::string after;
    std::size_t seen = 0;
    do {
        auto listing = me.around_->core->running()->store().list("", after, page_limit_max);
        auto some = co_await std::move(listing);
        if (some.has_error()) co_return std::move(some).error();
        const auto now = me.around_->core->loop().now();
        for (const auto& one : some->records)
            if (me.has_changed(one, now)) changed.push_back(documents::json_of(one));
        seen += some->records.size();
        after = some->next;
    } while (!after.empty() && seen < locks_watched_max);
    const auto look = me.looks_[index_of(topic::locks)];
    auto gone = sweep(me.locks_, look);
    if (look > 1 && (!changed.empty() || !gone.empty()))
        me.tell(topic::locks, "locks",
                {{"changed", std::move(changed)}, {"gone", std::move(gone)}});
    co_return boost::system::in_place_value;
}

bool live::has_changed(const run_record& run) {
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
    json::array changed;
    run_filter which;
    for (const auto status : {std::optional<run_status>{}, std::optional{run_status::started}}) {
        which.status = status;
        auto listing = me.around_->records->list_runs(which, "", runs_looked_at);
        auto some = co_await std::move(listing);
        if (some.has_error()) co_return std::move(some).error();
        for (const auto& one : some->records)
            if (me.has_changed(one)) changed.push_back(documents::json_of(one));
    }
    // One that ran at the last look and is on neither page now has ended behind two hundred others.
    const auto look = me.looks_[index_of(topic::runs)];
    const auto gone = sweep(me.runs_, look);
    for (const auto& id : gone) {
        auto finding = me.around_->records->find_run(std::string{id.as_string()});
        auto one = co_await std::move(finding);
        if (one.has_value() && *one) changed.push_back(documents::json_of(**one));
    }
    if (look > 1 && !changed.empty())
        me.tell(topic::runs, "runs", {{"changed", std::move(changed)}});
    co_return boost::system::in_place_value;
}

async<void> live::look_at_jobs(std::shared_ptr<live> self) {
    auto& me = *self;
    const auto look = me.looks_[index_of(topic::jobs)];
    auto listing = job_documents(me.around_, "", jobs_watched_max, strip_runs);
    auto some = co_await std::move(listing);
    if (some.has_error()) co_return std::move(some).error();
    json::array changed;
    for (auto& one : *some) {
        auto& seen = me.jobs_[one.at("name").as_string().c_str()];
        auto print = base::sha256_hex(json::serialize(one));
        seen.look = look;
        if (seen.print == print) continue;
        seen.print = std::move(print);
        changed.push_back(std::move(one));
    }
    auto gone = sweep(me.jobs_, look);
    if (look > 1 && (!changed.empty() || !gone.empty()))
        me.tell(topic::jobs, "jobs", {{"changed", std::move(changed)}, {"gone", std::move(gone)}});
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

async<void> live::look_at_audit(std::shared_ptr<live> self) {
    auto& me = *self;
    auto listing = me.around_->records->list_audit(0, audit_looked_at);
    auto some = co_await std::move(listing);
    if (some.has_error()) co_return std::move(some).error();
    json::array entries;
    for (const auto& one : *some)
        if (one.sequence > me.audited_) entries.push_back(documents::json_of(one));
    if (!some->empty()) me.audited_ = some->front().sequence;
    if (me.looks_[index_of(topic::audit)] > 1 && !entries.empty())
        me.tell(topic::audit, "audit", {{"entries", std::move(entries)}});
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
    auto text = "event: " + std::string{name} + "\nid: " + std::to_string(next_id_++) +
                "\ndata: " + documents::serialize(data) + "\n\n";
    const auto one = std::make_shared<const std::string>(std::move(text));
    for (auto& to : viewers_)
        if (to.wanted.contains(what)) push(to, one);
}

void live::tell_trouble(topic what, const failure* why) {
    const auto where = what == topic::locks ? "store" : "journal";
    const bool was = std::exchange(in_trouble_[index_of(what)], why != nullptr);
    if (why != nullptr)
        tell(what, "trouble", {{"what", where}, {"detail", why->detail}});
    else if (was)
        tell(what, "well", {{"what", where}});
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
