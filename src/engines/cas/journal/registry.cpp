// Jobs and nodes, and the audit.
#include "engines/cas/journal/cas_journal.hpp"

#include "engines/rules/journal/audit_chain.hpp"
#include "engines/rules/journal/job_rules.hpp"
#include "engines/rules/journal/node_list.hpp"
#include "engines/rules/journal/texts.hpp"
#include "engines/rules/journal/unreadable.hpp"
#include "net/for_each_bounded.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace pawl::cas {
namespace {

constexpr std::size_t published_at_once = 8;
// No answer of a server is too large with so many of the largest definitions.
constexpr std::size_t jobs_a_page = 100;

constexpr auto highest_sequence =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

std::string key_of_job(const std::string& name) { return std::string{keys::jobs} + name; }
std::string key_of_node(const std::string& id) { return std::string{keys::nodes} + id; }

// It does not fit the chain, and says where.
audit_entry unreadable_audit(const std::string& key, const failure& why) {
    audit_entry entry;
    entry.sequence = keys::number_of(keys::audit, key).value_or(0);
    entry.actor = "(unreadable)";
    entry.detail = why.detail;
    return entry;
}

}  // namespace

async<void> cas_journal::publish_one(std::shared_ptr<cas_journal> self,
                                     std::shared_ptr<publishing> all, std::size_t which) {
    const auto key = key_of_job(all->jobs[which].name);
    decide_step<job_entry> decide = [&](const seen& stands,
                                        std::string nonce) -> async<decision<job_entry>> {
        const auto now = self->records_->time();
        if (now.has_error()) co_return now.error();
        auto entry = all->jobs[which];
        entry.since = *now;
        entry.published_at = *now;
        if (!stands.at.empty()) {
            const auto known = parse_job(stands.text);
            // What no pawl has written is replaced, and its job is as new.
            if (known.has_error() && known.error().code != errc::rejected)
                co_return self->records_->unreadable(key, known.error());
            if (known.has_value()) {
                entry.published_at = std::max(*now, known->published_at);
                entry.since =
                    journals::has_gone_on(*known, entry) ? known->since : entry.published_at;
            }
        }
        decision<job_entry> made{entry};
        made.text = encode(entry, nonce);
        co_return made;
    };
    auto known = self->records_->recall_text(key);
    auto publishing_it =
        self->records_->amend<job_entry>(key, std::move(known), all->until, std::move(decide));
    auto published = co_await std::move(publishing_it);
    if (published.has_error() && may_pass(published.error().code)) co_return published.error();
    if (published.has_error()) {
        // The others are told all the same.
        all->why = published.error();
        co_return result<void>{};
    }
    all->jobs[which] = std::move(*published);
    all->has_written = true;
    co_return result<void>{};
}

async<std::vector<job_entry>> cas_journal::publish(std::vector<job_entry> jobs) {
    const auto self = shared_from_this();
    const auto all = std::make_shared<publishing>();
    all->jobs = std::move(jobs);
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    all->until = *ready;
    net::bounded_step step = [self, all](std::size_t which) {
        return publish_one(self, all, which);
    };
    auto publishing_them =
        net::for_each_bounded(all->jobs.size(), published_at_once, std::move(step));
    const auto done = co_await std::move(publishing_them);
    if (done.has_value() && !all->why) co_return std::move(all->jobs);
    auto why = done.has_error() ? done.error() : *all->why;
    if (all->has_written && may_pass(why.code)) why.code = errc::outcome_unknown;
    co_return why;
}

// What comes due from now on is to run, and nothing that came due before: of the two bounds of the
// clock it is the later one.
async<void> cas_journal::raise_since(std::string job, instant until) {
    const auto self = shared_from_this();
    const auto key = key_of_job(job);
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        decision<bool> made{true};
        if (stands.at.empty()) co_return made;
        const auto now = records_->latest_time();
        if (now.has_error()) co_return now.error();
        auto entry = parse_job(stands.text);
        if (entry.has_error()) co_return records_->unreadable(key, entry.error());
        if (entry->since >= *now) co_return made;
        entry->since = *now;
        made.text = encode(*entry, nonce);
        co_return made;
    };
    auto known = records_->recall_text(key);
    auto raising = records_->amend<bool>(key, std::move(known), until, std::move(decide));
    const auto raised = co_await std::move(raising);
    if (raised.has_error()) co_return raised.error();
    co_return result<void>{};
}

async<std::size_t> cas_journal::retire(std::vector<std::string> names, std::string node) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    std::size_t gone = 0;
    for (const auto& name : names) {
        const auto key = key_of_job(name);
        auto removing = records_->remove(
            key,
            [&](const seen& stands) -> result<bool> {
                const auto job = parse_job(stands.text);
                return job.has_value() && job->node == node;
            },
            until);
        const auto removed = co_await std::move(removing);
        if (removed.has_error() && gone > 0)
            co_return failure{errc::outcome_unknown, removed.error().detail};
        if (removed.has_error()) co_return removed.error();
        if (*removed) ++gone;
    }
    co_return gone;
}

async<std::vector<job_entry>> cas_journal::list_jobs(std::string after, std::size_t limit) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    std::vector<job_entry> jobs;
    std::string behind = after.empty() ? std::string{} : key_of_job(after);
    for (bool more = true; more && jobs.size() < limit;) {
        const auto size = std::min(jobs_a_page, limit - jobs.size());
        auto listing_them = records_->list(std::string{keys::jobs}, behind, size, until);
        const auto page = co_await std::move(listing_them);
        if (page.has_error()) co_return page.error();
        more = page->more && !page->records.empty();
        for (const auto& [key, stands] : page->records) {
            auto job = parse_job(stands.text);
            if (job.has_value()) jobs.push_back(std::move(*job));
            behind = key;
        }
    }
    co_return jobs;
}

async<std::optional<job_entry>> cas_journal::find_job(std::string name) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto key = key_of_job(name);
    auto reading = records_->read(key, until);
    const auto stands = co_await std::move(reading);
    if (stands.has_error()) co_return stands.error();
    if (stands->at.empty()) co_return std::optional<job_entry>{};
    auto job = parse_job(stands->text);
    if (job.has_error()) co_return records_->unreadable(key, job.error());
    co_return std::optional{std::move(*job)};
}

// Of processes that have not left, as they should have.
boost::asio::awaitable<void> cas_journal::forget_old_nodes(instant until) {
    auto listing_them = records_->list_all(std::string{keys::nodes}, until);
    const auto all = co_await std::move(listing_them);
    const auto now = records_->time();
    if (all.has_error() || now.has_error()) co_return;
    std::vector<place_and_version> gone;
    for (const auto& [key, stands] : *all) {
        const auto node = parse_node(stands.text);
        if (node.has_value() && *now - node->last_seen > journals::node_memory.count())
            gone.emplace_back(key, stands.at);
    }
    auto tidying = records_->tidy(std::move(gone), until);
    co_await std::move(tidying);
}

async<void> cas_journal::node_heartbeat(node_entry me) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto key = key_of_node(me.id);
    bool is_new = false;
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        const auto now = records_->time();
        if (now.has_error()) co_return now.error();
        auto entry = me;
        entry.started_at = *now;
        entry.last_seen = *now;
        is_new = stands.at.empty();
        if (!is_new) {
            const auto known = parse_node(stands.text);
            if (known.has_error()) co_return records_->unreadable(key, known.error());
            entry.started_at = known->started_at;
            entry.last_seen = std::max(*now, known->last_seen);
        }
        decision<bool> made{true};
        made.text = encode(entry, nonce);
        co_return made;
    };
    auto known = records_->recall_text(key);
    auto beating = records_->amend<bool>(key, std::move(known), until, std::move(decide));
    const auto done = co_await std::move(beating);
    if (done.has_error()) co_return done.error();
    if (is_new) {
        auto forgetting = forget_old_nodes(until);
        co_await std::move(forgetting);
    }
    co_return result<void>{};
}

async<void> cas_journal::node_leave(std::string id) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    auto removing =
        records_->remove(key_of_node(id), [](const seen&) -> result<bool> { return true; }, until);
    const auto removed = co_await std::move(removing);
    if (removed.has_error()) co_return removed.error();
    co_return result<void>{};
}

async<std::vector<node_entry>> cas_journal::list_nodes() {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    auto listing_them = records_->list_all(std::string{keys::nodes}, until);
    const auto all = co_await std::move(listing_them);
    if (all.has_error()) co_return all.error();
    const auto now = records_->latest_time();
    if (now.has_error()) co_return now.error();
    std::vector<node_entry> nodes;
    for (const auto& [key, stands] : *all) {
        auto node = parse_node(stands.text);
        if (node.has_error()) {
            nodes.push_back(journals::unreadable_node(key.substr(keys::nodes.size())));
            continue;
        }
        if (*now - node->last_seen > journals::node_memory.count()) continue;
        node->age = millis{std::max<std::int64_t>(*now - node->last_seen, 0)};
        nodes.push_back(std::move(*node));
    }
    journals::shorten(nodes);
    co_return nodes;
}

// The newest is listed first, so that no other record says where the end is.
async<audit_entry> cas_journal::newest_audit(instant until) {
    auto listing_them = records_->list(std::string{keys::audit}, {}, 1, until);
    const auto newest = co_await std::move(listing_them);
    if (newest.has_error()) co_return newest.error();
    if (newest->records.empty()) co_return audit_entry{};
    const auto& [key, stands] = newest->records.front();
    auto entry = parse_audit(stands.text);
    if (entry.has_value()) co_return std::move(*entry);
    // Behind that of a newer pawl there would be a gap that is none.
    if (entry.error().code != errc::rejected) co_return records_->unreadable(key, entry.error());
    co_return unreadable_audit(key, entry.error());
}

// The next sequence is free for one who writes it; the others go on behind that entry.
async<audit_entry> cas_journal::append_audit(audit_draft what) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    auto looking = newest_audit(until);
    auto before = co_await std::move(looking);
    if (before.has_error()) co_return before.error();
    int conflicts = 0;
    do {
        const auto now = records_->time();
        if (now.has_error()) co_return now.error();
        const auto entry =
            journals::next_entry(before->sequence, before->hash, what, std::max(*now, before->at));
        const auto key = keys::newest_first(keys::audit, entry.sequence);
        auto creating = records_->create(key, encode(entry, records_->fresh_nonce()), until);
        const auto created = co_await std::move(creating);
        if (created.has_error()) co_return created.error();
        if (*created) co_return entry;
        auto pausing = records_->back_off(++conflicts);
        co_await std::move(pausing);
        auto reading = records_->read(key, until);
        const auto stands = co_await std::move(reading);
        if (stands.has_error()) co_return stands.error();
        before = parse_audit(stands->text);
        if (before.has_error()) co_return records_->unreadable(key, before.error());
    } while (records_->now() < until);
    co_return records_->too_slow();
}

async<std::vector<audit_entry>> cas_journal::list_audit(std::uint64_t before, std::size_t limit) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    std::vector<audit_entry> entries;
    if (before == 1) co_return entries;
    std::string behind;
    if (before > 0) behind = keys::newest_first(keys::audit, std::min(before, highest_sequence));
    auto listing_them = records_->list(std::string{keys::audit}, behind, limit, until);
    const auto page = co_await std::move(listing_them);
    if (page.has_error()) co_return page.error();
    for (const auto& [key, stands] : page->records) {
        auto entry = parse_audit(stands.text);
        entries.push_back(entry.has_value() ? std::move(*entry)
                                            : unreadable_audit(key, entry.error()));
    }
    co_return entries;
}

std::shared_ptr<journal> make_cas_journal(net::loop& where, const store_settings& settings,
                                          std::shared_ptr<medium> on) {
    return std::make_shared<cas_journal>(where, settings, std::move(on));
}

}  // namespace pawl::cas
