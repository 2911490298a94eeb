#include "engines/redis/journal/journal_text.hpp"
#include "engines/redis/journal/redis_journal.hpp"
#include "engines/rules/journal/audit_chain.hpp"
#include "engines/rules/journal/node_list.hpp"
#include "engines/rules/journal/texts.hpp"
#include "engines/rules/journal/unreadable.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pawl::redis {
namespace {

std::int64_t count_of(std::size_t count) { return static_cast<std::int64_t>(count); }

// {name, text, name, text...}
template <class Take>
void for_each_pair(const reply& told, Take take) {
    for (std::size_t i = 0; i + 1 < told.elements.size(); i += 2)
        take(told.elements[i].text, told.elements[i + 1].text);
}

// {pauses, triggers, cancels, orphans}; one that cannot be read keeps none of the others away.
std::optional<control_state> read_whole(const reply& got) {
    const auto& parts = got.elements;
    if (parts.size() != 4) return std::nullopt;
    control_state all;
    for_each_pair(parts[0], [&](const std::string& job, const std::string& text) {
        auto pause = read_pause(job, text);
        all.pauses.push_back(pause ? std::move(*pause)
                                   : journals::unreadable_pause(job, "no journal wrote it"));
    });
    for_each_pair(parts[1], [&](const std::string& id, const std::string& text) {
        if (auto trigger = read_trigger(id, text)) all.triggers.push_back(std::move(*trigger));
    });
    for (const auto& one : parts[2].elements) all.cancels.push_back(one.text);
    for (const auto& one : parts[3].elements)
        if (auto run = read_run(one)) all.orphans.push_back(std::move(*run));
    return all;
}

}  // namespace

// ---- The control state

async<control_state> redis_journal::read_control_state() {
    auto call = reading(scripts_.control_state);
    call.add(count_of(control_entries_max)).add(count_of(control_bytes_max));
    call.add(count_of(orphans_looked_max));
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    auto all = read_whole(*got);
    if (!all) co_return unreadable("the control state");
    co_return std::move(*all);
}

async<bool> redis_journal::add_trigger(run_trigger what) {
    auto call = writing(scripts_.add_trigger);
    call.add(what.id).add(text_of(what));
    return ask_flag(std::move(call));
}

async<bool> redis_journal::remove_trigger(std::string id) {
    auto call = writing(scripts_.remove_trigger);
    call.add(id);
    return ask_flag(std::move(call));
}

async<bool> redis_journal::pause_job(std::string job, std::string reason, std::string by) {
    job_pause what;
    what.reason = reason;
    what.by = by;
    auto call = writing(scripts_.pause);
    call.add(job).add(text_of(what));
    return ask_flag(std::move(call));
}

async<bool> redis_journal::resume_job(std::string job) {
    auto call = writing(scripts_.resume_job);
    call.add(job);
    return ask_flag(std::move(call));
}

// ---- Jobs and nodes

async<std::vector<job_entry>> redis_journal::publish(std::vector<job_entry> jobs) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    for (std::size_t begun = 0; begun < jobs.size(); begun += published_a_call) {
        const auto end = std::min(begun + published_a_call, jobs.size());
        auto call = writing(scripts_.publish);
        for (auto i = begun; i < end; ++i) {
            const auto& one = jobs[i];
            call.add(one.name).add(one.schedule).add(one.zone).add(std::int64_t{one.partitions});
            call.add(one.definition).add(one.node);
        }
        const auto got = co_await ask(call);
        if (got.has_error()) co_return got.error();
        if (got->elements.size() != end - begun + 1) co_return unreadable("the published jobs");
        for (auto i = begun; i < end; ++i) {
            jobs[i].since = got->elements[i - begun + 1].number;
            jobs[i].published_at = got->elements[0].number;
        }
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
    }
    co_return jobs;
}

async<std::size_t> redis_journal::retire(std::vector<std::string> names, std::string node) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    std::size_t gone = 0;
    for (std::size_t begun = 0; begun < names.size(); begun += rows_a_call) {
        auto call = writing(scripts_.retire);
        call.add(node);
        const auto end = std::min(begun + rows_a_call, names.size());
        for (auto i = begun; i < end; ++i) call.add(names[i]);
        const auto got = co_await ask_number(std::move(call));
        if (got.has_error()) co_return got.error();
        gone += static_cast<std::size_t>(*got);
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
    }
    co_return gone;
}

async<std::vector<job_entry>> redis_journal::list_jobs(std::string after, std::size_t limit) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto deadline = servers_->deadline_from_now();
    std::vector<job_entry> found;
    while (found.size() < limit) {
        auto call = reading(scripts_.list_jobs);
        call.add(after).add(count_of(std::min(rows_a_call, limit - found.size())));
        call.add(count_of(reply_bytes_a_call));
        const auto got = co_await ask(call);
        if (got.has_error()) co_return got.error();
        for (std::size_t i = 0; i + 1 < got->elements.size(); i += 2) {
            after = got->elements[i].text;
            if (auto one = read_job(after, got->elements[i + 1])) found.push_back(std::move(*one));
        }
        if (got->elements.empty()) break;
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
        if (lease_clock::now() >= deadline) co_return too_slow();
    }
    co_return found;
}

async<std::optional<job_entry>> redis_journal::find_job(std::string name) {
    auto call = reading(scripts_.find_job);
    call.add(name);
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    if (got->elements.empty()) co_return std::optional<job_entry>{};
    auto found = read_job(name, *got);
    if (!found) co_return unreadable("a published job");
    co_return std::move(found);
}

async<void> redis_journal::node_heartbeat(node_entry me) {
    auto call = writing(scripts_.node_heartbeat);
    call.add(me.id).add(me.name).add(me.version).add(me.address);
    call.add(std::int64_t{me.running}).add(std::int64_t{me.running_max});
    call.add(std::int64_t{me.jobs}).add(me.draining ? "draining" : "");
    call.add(journals::node_memory.count());
    const auto got = co_await ask_number(std::move(call));
    if (got.has_error()) co_return got.error();
    co_return result<void>{};
}

async<void> redis_journal::node_leave(std::string id) {
    auto call = writing(scripts_.node_leave);
    call.add(id);
    const auto got = co_await ask_number(std::move(call));
    if (got.has_error()) co_return got.error();
    co_return result<void>{};
}

async<std::vector<node_entry>> redis_journal::list_nodes() {
    auto call = reading(scripts_.list_nodes);
    call.add(journals::node_memory.count()).add(count_of(page_limit_max));
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    if (got->elements.empty()) co_return unreadable("the nodes");
    std::vector<node_entry> found;
    for (std::size_t i = 1; i + 1 < got->elements.size(); i += 2) {
        const auto& id = got->elements[i].text;
        auto one = read_node(id, got->elements[i + 1], got->elements[0].number);
        found.push_back(one ? std::move(*one) : journals::unreadable_node(id));
    }
    journals::shorten(found);
    co_return found;
}

// ---- The audit

// Redis has no SHA-256 for scripts: the entry is made here behind the newest that was shown, and
// written only if that is still the newest. One writer is first each time, so all come to an end.
async<audit_entry> redis_journal::append_audit(audit_draft what) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto deadline = servers_->deadline_from_now();
    auto look = reading(scripts_.append_audit);
    auto shown = co_await ask(look);
    while (state.cancelled() == boost::asio::cancellation_type::none) {
        if (shown.has_error()) co_return shown.error();
        if (shown->elements.size() != 4) co_return unreadable("the audit");
        const auto entries = shown->elements[1].number;
        const auto newest = shown->elements[2].text;
        std::string hash;
        if (entries > 0) {
            const auto before = read_audit(newest);
            if (!before) co_return unreadable("the audit");
            hash = before->hash;
        }
        auto entry = journals::next_entry(static_cast<std::uint64_t>(entries), hash, what,
                                          shown->elements[3].number);
        auto call = writing(scripts_.append_audit);
        call.add(entries).add(newest).add(text_of(entry));
        shown = co_await ask(call);
        if (shown.has_value() && shown->elements.size() == 4 && shown->elements[0].number == 1)
            co_return entry;
        if (shown.has_value() && lease_clock::now() >= deadline) break;
    }
    co_return failure{errc::unreachable,
                      servers_->place() + ": others write to the audit all the time"};
}

async<std::vector<audit_entry>> redis_journal::list_audit(std::uint64_t before, std::size_t limit) {
    auto call = reading(scripts_.list_audit);
    constexpr std::uint64_t exact_max = std::uint64_t{1} << 53;  // to here Lua counts
    call.add(static_cast<std::int64_t>(std::min(before, exact_max)));
    call.add(count_of(limit));
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    std::vector<audit_entry> found;
    for (auto one = got->elements.rbegin(); one != got->elements.rend(); ++one) {
        auto entry = read_audit(one->text);
        if (!entry) co_return unreadable("the audit");
        found.push_back(std::move(*entry));
    }
    co_return found;
}

}  // namespace pawl::redis
