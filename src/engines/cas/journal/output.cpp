// What runs write: chunks in records of their own, and in the truth which bytes of them count.
#include "engines/cas/journal/cas_journal.hpp"

#include <algorithm>
#include <utility>

namespace pawl::cas {
namespace {

// After so many gaps the oldest bytes go.
constexpr std::size_t ranges_max = 200;
constexpr std::size_t trimmed_at_once = 4;
// Runs whose chunks are known here; those of runs that ended elsewhere are forgotten with them.
constexpr std::size_t writers_max = 4096;
// No answer of a server is too large with so many of the largest.
constexpr std::size_t chunks_a_page = 16;

void add_range(run_state& state, const journals::output_plan& plan, fence_token token) {
    auto& ranges = state.output;
    state.row.record.output_size = plan.size;
    state.output_floor = std::max(state.output_floor, plan.floor);
    if (!ranges.empty() && ranges.back().token == token && ranges.back().to == plan.offset)
        ranges.back().to = plan.size;
    else
        ranges.push_back({token, plan.offset, plan.size});
    if (ranges.size() > ranges_max)
        state.output_floor = std::max(state.output_floor, ranges.front().to);
    std::erase_if(ranges, [&](const output_range& one) { return one.to <= state.output_floor; });
}

// Adds what of the chunk counts and follows. False: it leaves a gap, or there is no room for more.
bool take(output_part& part, const output_chunk& chunk, const run_state& state, std::uint64_t start,
          std::size_t bytes_max) {
    const auto end = chunk.offset + chunk.bytes.size();
    for (const auto& range : state.output) {
        if (range.token != chunk.token) continue;
        const auto next = part.bytes.empty() ? start : part.offset + part.bytes.size();
        const auto from = std::max({chunk.offset, range.from, state.output_floor, next});
        const auto to = std::min({end, range.to, part.size});
        if (from >= to) continue;
        if (part.bytes.empty())
            part.offset = from;
        else if (from != next)
            return false;
        const auto room = bytes_max - part.bytes.size();
        part.bytes.append(chunk.bytes, static_cast<std::size_t>(from - chunk.offset),
                          std::min<std::size_t>(room, static_cast<std::size_t>(to - from)));
        if (part.bytes.size() >= bytes_max) return false;
    }
    return true;
}

}  // namespace

async<journals::change> cas_journal::add_output(std::shared_ptr<appending> what, run_state& state,
                                                instant until) {
    if (!journals::is_writable(state.row, what->token)) co_return journals::change{};
    const auto plan = journals::plan_output(state.row.record.output_size, what->offset,
                                            what->bytes.size(), what->limit);
    if (plan.skip == what->bytes.size()) co_return journals::change{true, false, std::nullopt};
    if (plan.floor < plan.size) {
        output_chunk chunk{plan.offset, what->token, what->bytes.substr(plan.skip)};
        const auto key =
            keys::chunk(state.number, plan.size, what->token, what->bytes.size() - plan.skip);
        auto creating = records_->create(key, encode(chunk, records_->fresh_nonce()), until);
        const auto created = co_await std::move(creating);
        if (created.has_error()) co_return created.error();
        if (const auto mine = records_->recall(key); *created && mine) {
            if (output_.size() >= writers_max) output_.clear();
            output_[state.number].push_back({{key, mine->at}, plan.size});
            records_->forget(key);
        }
    }
    add_range(state, plan, what->token);
    what->number = state.number;
    what->floor = state.output_floor;
    co_return journals::change{true, true, std::nullopt};
}

async<bool> cas_journal::append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                       std::uint64_t limit) {
    const auto self = shared_from_this();
    const auto until = records_->deadline();
    const auto what = std::make_shared<appending>();
    what->token = who.token;
    what->offset = offset;
    what->bytes = std::move(bytes);
    what->limit = limit;
    const auto into = std::make_shared<run_change>();
    into->id = who.id;
    into->step = [this, what, until](run_state& state, std::int64_t) {
        return add_output(what, state, until);
    };
    auto changing = change_run(into, until);
    const auto changed = co_await std::move(changing);
    if (changed.has_error()) co_return changed.error();
    if (*changed && what->floor != 0) {
        auto trimming = trim_output(what->number, what->floor, until);
        co_await std::move(trimming);
    }
    co_return *changed;
}

// Chunks that were written here; those of processes that are gone go with their run.
boost::asio::awaitable<void> cas_journal::trim_output(std::uint64_t number, std::uint64_t floor,
                                                      instant until) {
    const auto found = output_.find(number);
    if (found == output_.end()) co_return;
    std::vector<place_and_version> gone;
    auto& chunks = found->second;
    while (!chunks.empty() && chunks.front().end <= floor && gone.size() < trimmed_at_once) {
        gone.push_back(std::move(chunks.front().where));
        chunks.pop_front();
    }
    auto tidying = records_->tidy(std::move(gone), until);
    co_await std::move(tidying);
}

async<std::optional<output_part>> cas_journal::read_output(std::string id, std::uint64_t offset,
                                                           std::size_t bytes_max) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    auto finding = find(std::move(id), until);
    const auto found = co_await std::move(finding);
    if (found.has_error()) co_return found.error();
    if (!found->state) co_return std::optional<output_part>{};
    const auto& state = *found->state;
    output_part part;
    part.size = state.row.record.output_size;
    part.over = is_finished(state.row.record.status);
    part.offset = std::max(offset, part.size);
    const auto start = std::max(offset, state.output_floor);
    auto after = keys::chunks_behind(state.number, start);
    for (bool more = start < part.size && bytes_max > 0; more;) {
        auto listing_them = records_->list(keys::output(state.number), after, chunks_a_page, until);
        const auto page = co_await std::move(listing_them);
        if (page.has_error()) co_return page.error();
        more = page->more && !page->records.empty();
        for (const auto& [key, stands] : page->records) {
            const auto chunk = parse_chunk(stands.text);
            if (chunk.has_error()) co_return records_->unreadable(key, chunk.error());
            if (!take(part, *chunk, state, start, bytes_max)) co_return part;
            after = key;
        }
    }
    co_return part;
}

}  // namespace pawl::cas
