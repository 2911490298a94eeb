#include "schedule/registrar.hpp"

#include "base/definition_text.hpp"
#include "base/duration.hpp"
#include "schedule/job/job_digest.hpp"
#include "schedule/job/log_text.hpp"
#include "schedule/timing/intervals.hpp"
#include "time/clocks.hpp"
#include "time/zone.hpp"

#include <algorithm>
#include <utility>

namespace pawl::schedule {
namespace {

using boost::asio::awaitable;

// An answer that was slow says too little of the clock.
constexpr int comparisons_max = 3;
constexpr std::size_t published_at_once_max = 500;
constexpr millis publish_retry{2'000};  // where the journal did not take it
// With so many that are rejected one by one it is the journal that takes none.
constexpr std::size_t rejected_max = 20;
// A journal may take them one by one, within one timeout.
constexpr std::size_t retired_at_once_max = 100;

}  // namespace

registrar::registrar(node_state& node, job_table& jobs, positions& where, const runner& runs,
                     std::size_t runs_max)
    : node_{node},
      jobs_{jobs},
      positions_{where},
      runner_{runs},
      runs_max_{runs_max},
      started_at_{number(occurrence_of(node.loop.wall()))},
      live_{node.me.owner},
      ranking_{node.me.owner},
      heard_{node.me.owner},
      heartbeats_{node.loop.get_executor()},
      registry_timer_{node.loop.get_executor()},
      publish_timer_{node.loop.get_executor()} {}

void registrar::wake_up() { publish_timer_.cancel(); }

// -- the registry

const std::string& registrar::digest() {
    if (digest_.empty()) digest_ = digest_of(jobs_);
    return digest_;
}

node_entry registrar::entry() {
    node_entry entry;
    entry.id = node_.me.owner;
    entry.name = node_.me.name;
    entry.version =
        time::with_zones(with_jobs(node_.me.version, digest()), time::zone::database_version());
    entry.address = node_.me.address;
    entry.started_at = started_at_;
    entry.running = static_cast<std::uint32_t>(runner_.running());
    entry.running_max = static_cast<std::uint32_t>(runs_max_);
    entry.jobs = static_cast<std::uint32_t>(jobs_.size());
    entry.draining = node_.stopping;
    return entry;
}

// What comes due goes by this node's clock, so it is compared before anything does.
awaitable<void> registrar::register_first() {
    for (int i = 0; i < comparisons_max; ++i) {
        auto registering = register_node();
        co_await std::move(registering);
        if (node_.journal_down || node_.clock.is_compared()) co_return;
    }
}

awaitable<void> registrar::register_node() {
    if (!node_.records || signed_off_) co_return;
    const auto sent = node_.loop.wall();
    auto beating = send_heartbeat();
    const auto beaten = co_await std::move(beating);
    const auto answered = node_.loop.wall();
    on_answer(beaten);
    if (beaten.has_error()) co_return;
    auto listing = node_.records->list_nodes();
    const auto nodes = co_await std::move(listing);
    if (nodes.has_error()) co_return;
    std::vector<const node_entry*> live;
    live.reserve(nodes->size());
    heard_ = {node_.me.owner};
    for (const auto& one : *nodes) {
        if (one.id == node_.me.owner)
            compare_clocks(one.last_seen, sent, answered);
        else if (one.age > node_heartbeat_timeout)
            continue;
        heard_.insert(one.id);
        if (!one.draining) live.push_back(&one);
    }
    take_live(live);
}

async<void> registrar::send_heartbeat() {
    heartbeats_.begin();
    auto beating = node_.records->node_heartbeat(entry());
    const auto beaten = co_await std::move(beating);
    heartbeats_.end();
    co_return beaten;
}

// A node with other jobs, or of an earlier version, asks when it will.
void registrar::take_live(const std::vector<const node_entry*>& live) {
    live_.clear();
    std::vector<ranked_node> peers;
    for (const auto* one : live) {
        if (one->id != node_.me.owner && split_jobs(one->version).jobs != digest()) continue;
        live_.push_back(one->id);
        peers.push_back({one->id, one->running, one->running_max});
    }
    std::sort(live_.begin(), live_.end());
    if (live_.empty()) live_.push_back(node_.me.owner);
    ranking_.follow(peers);
}

void registrar::on_answer(const result<void>& told) {
    if (std::exchange(node_.journal_down, told.has_error()) == told.has_error()) return;
    if (told.has_error())
        node_.log(log_level::warn, "journal unreachable: " + told.error().detail);
    else
        node_.log(log_level::info, "journal reachable again");
    if (node_.observer) node_.observer->on_journal(told.has_value());
}

// `seen` is the journal's clock at a moment between the two.
void registrar::compare_clocks(std::int64_t seen, wall_instant sent, wall_instant answered) {
    const auto found = node_.clock.compare(wall_instant{millis{seen}}, sent, answered);
    switch (found.what) {
        case node_clock::finding::nothing_new:
            return;
        case node_clock::finding::agrees_again:
            node_.log(log_level::info, "this node's clock agrees with the journal's again");
            break;
        case node_clock::finding::ahead:
        case node_clock::finding::behind:
            node_.log(log_level::warn,
                      "this node's clock is " + base::format_duration(found.by) +
                          (found.what == node_clock::finding::ahead ? " ahead of" : " behind") +
                          " the journal's: schedules go by the journal's");
    }
    // The timekeeper knows since when it was wrong.
    node_.time_changed.cancel();
}

awaitable<void> registrar::keep_registered() {
    while (!signed_off_) {
        auto waiting = registry_timer_.wait_for(registry_interval);
        co_await std::move(waiting);
        auto registering = register_node();
        co_await std::move(registering);
    }
}

awaitable<void> registrar::sign_off() {
    if (std::exchange(signed_off_, true)) co_return;
    registry_timer_.cancel();
    if (!node_.records) co_return;
    // A heartbeat behind it would put this node back on the list.
    const auto end = node_.loop.now() + runs::journal_timeout * 2;
    while (heartbeats_.goes_on() && node_.loop.now() < end) {
        auto waiting = heartbeats_.wait_for(end - node_.loop.now());
        co_await std::move(waiting);
    }
    auto leaving = node_.records->node_leave(node_.me.owner);
    const auto left = co_await std::move(leaving);
    if (left.has_error()) node_.log(log_level::debug, "not signed off: " + left.error().detail);
}

// -- what the jobs are, for everybody

awaitable<void> registrar::publish_jobs() {
    if (!node_.records) co_return;
    // What is retired from here on is still to be told.
    has_news_ = !retired_.empty();
    std::vector<std::shared_ptr<const job_plan>> all;
    all.reserve(jobs_.size());
    for (const auto& [name, which] : jobs_.all()) all.push_back(which->plan);
    std::unordered_map<std::string, std::string> rejected;
    for (std::size_t from = 0; from < all.size(); from += published_at_once_max) {
        std::vector<job_entry> entries;
        for (auto i = from; i < std::min(from + published_at_once_max, all.size()); ++i)
            entries.push_back(all[i]->entry);
        auto publishing = publish_some(std::move(entries), rejected);
        const auto failed = co_await std::move(publishing);
        if (failed) {
            node_.log(std::exchange(unpublished_, true) ? log_level::debug : log_level::warn,
                      "jobs not published: " + failed->detail);
            positions_.on_not_published(*failed);
            co_return;
        }
    }
    unpublished_ = false;
    tell_rejected(rejected);
    positions_.on_all_published();
}

// A list is rejected for one of its jobs: halved again and again, it leaves that one, and why.
awaitable<std::optional<failure>> registrar::publish_some(
    std::vector<job_entry> entries, std::unordered_map<std::string, std::string>& rejected) {
    std::vector<std::vector<job_entry>> parts;
    parts.push_back(std::move(entries));
    while (!parts.empty()) {
        auto part = std::move(parts.back());
        parts.pop_back();
        auto publishing = node_.records->publish(part);
        const auto told = co_await std::move(publishing);
        if (told.has_value()) {
            for (const auto& one : *told) take_since(one);
            continue;
        }
        if (told.error().code != errc::rejected) co_return told.error();
        if (part.size() == 1) {
            rejected.emplace(part.front().name, told.error().detail);
            if (rejected.size() > rejected_max) co_return told.error();
            continue;
        }
        const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
        parts.emplace_back(middle, part.end());
        part.erase(middle, part.end());
        parts.push_back(std::move(part));
    }
    co_return std::nullopt;
}

// Each once, as long as it is rejected.
void registrar::tell_rejected(const std::unordered_map<std::string, std::string>& rejected) {
    std::unordered_set<std::string> now;
    for (const auto& [name, why] : rejected) {
        if (!rejected_.contains(name))
            node_.log(log_level::warn, "job not published " + job_field(name) + ": " + why);
        now.insert(name);
    }
    rejected_ = std::move(now);
}

bool registrar::take_since(const job_entry& told) {
    const auto which = jobs_.find(told.name);
    if (!which) return false;
    // A reload may have changed the job since it was sent.
    const auto& now = which->plan->entry;
    if (told.schedule != now.schedule || told.zone != now.zone ||
        told.partitions != now.partitions ||
        base::has_slots(told.definition) != base::has_slots(now.definition))
        return false;
    positions_.on_published(told.name, told.since);
    jobs_.times().not_before(which->entry, wall_of(occurrence{told.since}), node_.now());
    return true;
}

awaitable<void> registrar::keep_published() {
    // Nothing has changed, so many jobs are told again less often: a thousand of them a minute.
    const auto seldom = [this] {
        return node_.loop.now() + publish_interval * static_cast<long>(1 + jobs_.size() / 1000);
    };
    auto due = seldom();
    while (!node_.stopping) {
        // No caller was waiting when what has changed meanwhile was said.
        if (!has_news_) {
            const bool is_untold = unpublished_ || !leaving_.empty();
            auto waiting = publish_timer_.wait_until(
                is_untold ? std::min(due, node_.loop.now() + publish_retry) : due);
            co_await std::move(waiting);
        }
        if (node_.stopping) break;
        // The jobs that stay are not told again for those that go.
        const bool is_due =
            std::exchange(has_news_, false) || unpublished_ || node_.loop.now() >= due;
        auto retiring = retire_jobs();
        co_await std::move(retiring);
        if (!is_due) continue;
        due = seldom();
        auto publishing = publish_jobs();
        co_await std::move(publishing);
    }
}

awaitable<void> registrar::retire_jobs() {
    for (auto& job : std::exchange(retired_, {})) leaving_.push_back(std::move(job));
    while (node_.records) {
        // A reload may have brought it back.
        std::erase_if(leaving_,
                      [this](const std::string& job) { return jobs_.find(job) != nullptr; });
        if (leaving_.empty()) break;
        const auto from = leaving_.end() - static_cast<std::ptrdiff_t>(
                                               std::min(leaving_.size(), retired_at_once_max));
        std::vector<std::string> some(from, leaving_.end());
        auto retiring = node_.records->retire(some, node_.me.name);
        const auto told = co_await std::move(retiring);
        if (told.has_error())
            node_.log(std::exchange(unretired_, true) ? log_level::debug : log_level::warn,
                      "job entries not removed from the journal: " + told.error().detail);
        else
            unretired_ = false;
        // What the journal rejects it will reject again.
        if (told.has_error() && may_pass(told.error().code)) break;
        leaving_.resize(leaving_.size() - some.size());
    }
}

}  // namespace pawl::schedule
