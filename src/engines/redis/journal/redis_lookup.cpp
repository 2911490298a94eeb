#include "engines/redis/journal/journal_text.hpp"
#include "engines/redis/journal/redis_journal.hpp"
#include "engines/rules/journal/run_rules.hpp"
#include "engines/rules/journal/texts.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pawl::redis {
namespace {

std::int64_t count_of(std::size_t count) { return static_cast<std::int64_t>(count); }

// Numbers of Lua are exact to here.
constexpr std::uint64_t exact_max = std::uint64_t{1} << 53;

// {size, status, offset, bytes}
std::optional<output_part> read_part(const reply& got) {
    const auto& parts = got.elements;
    const auto status = parts.size() == 4 ? run_status_named(parts[1].text) : std::nullopt;
    const auto size = status ? number_in(parts[0].text) : std::nullopt;
    const auto offset = status ? number_in(parts[2].text) : std::nullopt;
    if (!size || !offset) return std::nullopt;
    output_part part;
    part.offset = *offset;
    part.bytes = parts[3].text;
    part.size = *size;
    part.over = is_finished(*status);
    return part;
}

// The shortest index that holds all that are wanted. Runs that are completed have none of their
// own: they are most of all.
std::string index_for(const run_filter& which) {
    if (which.job) return "job:" + *which.job;
    if (which.status && *which.status != run_status::completed)
        return "status:" + std::string{name_of(*which.status)};
    return "runs";
}

}  // namespace

async<std::optional<run_record>> redis_journal::find_run(std::string id) {
    auto call = reading(scripts_.find);
    call.add("run").add(id);
    return ask_run(std::move(call));
}

async<std::optional<run_record>> redis_journal::find_occurrence(std::string job,
                                                                std::uint32_t partition,
                                                                pawl::occurrence occurrence) {
    auto call = reading(scripts_.find);
    call.add("firing").add(job).add(std::int64_t{partition}).add(number(occurrence));
    return ask_run(std::move(call));
}

// One more than asked for tells whether there is another page.
async<run_page> redis_journal::list_runs(run_filter which, std::string after, std::size_t limit) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto deadline = servers_->deadline_from_now();
    const auto index = index_for(which);
    run_page page;
    std::string last_kept;  // the place of the last row on the page
    do {
        auto call = reading(scripts_.list);
        call.add(index).add(after);
        call.add(count_of(std::min(rows_a_call, limit + 1 - page.records.size())));
        call.add(count_of(reply_bytes_a_call)).add(count_of(rows_looked_a_call));
        call.add(which.job.value_or("")).add(which.status ? name_of(*which.status) : "");
        call.add(which.node ? "=" : "", which.node.value_or(""));
        const auto got = co_await ask(call);
        if (got.has_error()) co_return got.error();
        if (got->elements.empty()) co_return unreadable("an index of runs");
        for (std::size_t i = 1; i < got->elements.size(); ++i) {
            auto found = read_run(got->elements[i]);
            if (!found) continue;
            page.records.push_back(std::move(*found));
            if (page.records.size() == limit) last_kept = value_in(got->elements[i], "place");
        }
        after = got->elements.front().text;
        if (after.empty() || state.cancelled() != boost::asio::cancellation_type::none) break;
        // Of a node there is no index: what the time did not suffice for is left to the next page.
        if (page.records.size() <= limit && lease_clock::now() >= deadline) {
            page.next = std::move(after);
            co_return page;
        }
    } while (page.records.size() <= limit);
    if (page.records.size() > limit) {
        page.records.pop_back();
        page.next = std::move(last_kept);
    }
    co_return page;
}

async<std::vector<run_event>> redis_journal::history(std::string id) {
    auto call = reading(scripts_.history);
    call.add(id);
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    std::vector<run_event> events;
    for (const auto& one : got->elements) {
        auto found = read_event(one.text);
        if (!found) co_return unreadable("the history of a run");
        events.push_back(std::move(*found));
    }
    co_return events;
}

async<std::optional<output_part>> redis_journal::read_output(std::string id, std::uint64_t offset,
                                                             std::size_t bytes_max) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto deadline = servers_->deadline_from_now();
    std::optional<output_part> all;
    do {
        const auto have = all ? all->bytes.size() : 0;
        const auto at = all ? all->offset + have : std::min(offset, exact_max);
        auto call = reading(scripts_.read_output);
        call.add(id).add(static_cast<std::int64_t>(at));
        call.add(count_of(std::min(bytes_max - have, reply_bytes_a_call)));
        const auto got = co_await ask(call);
        if (got.has_error()) co_return got.error();
        if (!got->is_array()) break;
        auto part = read_part(*got);
        if (!part) co_return unreadable("the output of a run");
        if (!all)
            all = std::move(*part);
        else if (part->offset == at && !part->bytes.empty())
            all->bytes += part->bytes;
        else
            break;
        if (all->bytes.empty() || all->offset + all->bytes.size() >= all->size) break;
        // What was read so far is an answer.
        if (lease_clock::now() >= deadline) break;
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
    } while (all->bytes.size() < bytes_max);
    co_return all;
}

async<bool> redis_journal::request_cancel(std::string id, std::string by) {
    auto call = writing(scripts_.cancel);
    call.add(id).add(by).add(journals::cancel_reason(by));
    return ask_flag(std::move(call));
}

// The index counts rows that cannot be read, `skip` does not: so each page begins at the first.
async<std::vector<run_record>> redis_journal::stale_runs(std::size_t limit, std::size_t skip) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto deadline = servers_->deadline_from_now();
    std::vector<run_record> found;
    std::string from{"0"};
    do {
        auto call = reading(scripts_.stale);
        call.add(from).add(count_of(skip)).add(count_of(rows_a_call));
        call.add(count_of(reply_bytes_a_call));
        const auto got = co_await ask(call);
        if (got.has_error()) co_return got.error();
        if (got->elements.empty()) co_return unreadable("the index of heartbeats");
        for (std::size_t i = 1; i < got->elements.size() && found.size() < limit; ++i) {
            auto one = read_run(got->elements[i]);
            if (!one) continue;
            if (skip > 0)
                --skip;
            else
                found.push_back(std::move(*one));
        }
        from = got->elements.front().text;
        if (lease_clock::now() >= deadline) break;
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
    } while (!from.empty() && found.size() < limit);
    co_return found;
}

async<std::size_t> redis_journal::prune(std::string job, std::size_t keep, millis keep_for,
                                        std::size_t limit) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const auto deadline = servers_->deadline_from_now();
    std::size_t gone = 0;
    std::string after;
    while (gone < limit) {
        auto call = writing(scripts_.prune);
        call.add(job).add(count_of(std::min<std::size_t>(keep, exact_max))).add(keep_for.count());
        call.add(count_of(std::min(pruned_a_call, limit - gone)));
        call.add(count_of(rows_looked_a_call)).add(after);
        const auto got = co_await ask(call);
        if (got.has_error()) co_return got.error();
        if (got->elements.size() != 2) co_return unreadable("an index of runs");
        const auto removed = static_cast<std::size_t>(got->elements[0].number);
        gone += removed;
        after = got->elements[1].text;
        if (after.empty() && removed < pruned_a_call) break;
        if (lease_clock::now() >= deadline) break;
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
    }
    co_return gone;
}

}  // namespace pawl::redis
