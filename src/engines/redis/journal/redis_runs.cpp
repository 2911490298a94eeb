#include "engines/redis/journal/journal_text.hpp"
#include "engines/redis/journal/redis_journal.hpp"
#include "engines/rules/journal/run_rules.hpp"
#include "engines/rules/journal/texts.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pawl::redis {
namespace {

std::int64_t digits(fence_token token) { return static_cast<std::int64_t>(number(token)); }

void add_mark(script_call& call, const run_ref& who) { call.add(who.id).add(digits(who.token)); }

void add_start(script_call& call, const run_start& start) {
    call.add(start.id).add(start.job).add(std::int64_t{start.partition}).add(start.key);
    call.add(start.owner).add(start.node).add(digits(start.token));
    if (start.occurrence)
        call.add(number(*start.occurrence));
    else
        call.add("");
    call.add(word_of(start.delivery)).add(start.trigger);
}

void add_exit(script_call& call, const std::optional<int>& status) {
    if (status)
        call.add(std::int64_t{*status});
    else
        call.add("");
}

std::optional<begin_result> read_beginning(const reply& got) {
    const auto& parts = got.elements;
    if (parts.size() != 6 || parts[0].number > static_cast<int>(begin_outcome::superseded))
        return std::nullopt;
    const auto status = run_status_named(parts[4].text);
    if (!status) return std::nullopt;
    begin_result found;
    found.outcome = static_cast<begin_outcome>(parts[0].number);
    found.id = parts[1].text;
    found.attempt = static_cast<int>(parts[2].number);
    found.checkpoint = parts[3].text;
    found.status = *status;
    found.output_size = static_cast<std::uint64_t>(parts[5].number);
    return found;
}

}  // namespace

async<begin_result> redis_journal::begin(run_start start) {
    auto call = writing(scripts_.begin);
    add_start(call, start);
    call.add(start.consumes_trigger ? "answers" : "");
    call.add(start.starts_from == checkpoint_source::last_saved ? "last_saved" : "none");
    call.add(start.heartbeat_timeout.count());
    const auto got = co_await ask(call);
    if (got.has_error()) co_return got.error();
    if (got->elements.size() == 1) co_return journals::id_taken(start.id);
    auto answer = read_beginning(*got);
    if (!answer) co_return unreadable("a run");
    co_return std::move(*answer);
}

async<std::vector<heartbeat_result>> redis_journal::heartbeat(std::span<const run_ref> runs) {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    std::vector<heartbeat_result> answers;
    answers.reserve(runs.size());
    while (!runs.empty()) {
        const auto asked = runs.first(std::min(runs.size(), beats_a_call));
        runs = runs.subspan(asked.size());
        auto call = writing(scripts_.heartbeat);
        for (const auto& who : asked) add_mark(call, who);
        const auto got = co_await ask(call);
        if (got.has_error()) co_return got.error();
        if (got->text.size() != asked.size()) co_return unreadable("the answer of a script");
        for (const char digit : got->text)
            answers.push_back(digit == '1'   ? heartbeat_result::alive
                              : digit == '2' ? heartbeat_result::cancel_requested
                                             : heartbeat_result::stale);
        if (state.cancelled() != boost::asio::cancellation_type::none) break;
    }
    co_return answers;
}

async<bool> redis_journal::checkpoint(run_ref who, std::string text) {
    auto call = writing(scripts_.checkpoint);
    add_mark(call, who);
    call.add(text);
    return ask_flag(std::move(call));
}

async<bool> redis_journal::append_output(run_ref who, std::uint64_t offset, std::string bytes,
                                         std::uint64_t limit) {
    // Numbers of Lua are exact to here, and no output gets so long.
    constexpr std::uint64_t limit_max = std::uint64_t{1} << 53;
    auto call = writing(scripts_.append_output);
    add_mark(call, who);
    call.add(static_cast<std::int64_t>(offset)).add(bytes);
    call.add(static_cast<std::int64_t>(std::min(limit, limit_max)));
    call.add(static_cast<std::int64_t>(merged_chunk_max));
    call.add(static_cast<std::int64_t>(dropped_chunks_max));
    return ask_flag(std::move(call));
}

async<bool> redis_journal::add_event(run_ref who, std::string kind, std::string text) {
    auto call = writing(scripts_.note);
    add_mark(call, who);
    call.add(kind).add(text);
    return ask_flag(std::move(call));
}

async<bool> redis_journal::next_attempt(run_ref who, run_end last) {
    auto call = writing(scripts_.next_attempt);
    add_mark(call, who);
    call.add(last.reason);
    add_exit(call, last.exit_status);
    call.add(std::int64_t{last.attempt}).add(std::int64_t{attempts_max});
    const auto got = co_await ask_number(std::move(call));
    if (got.has_error()) co_return got.error();
    if (*got < 0) co_return journals::attempts_used_up(who.id);
    co_return *got == 1;
}

async<bool> redis_journal::end(const run_ref& who, const run_end& how, std::string_view by) {
    auto call = writing(scripts_.finish);
    add_mark(call, who);
    call.add(name_of(how.status)).add(how.reason);
    add_exit(call, how.exit_status);
    call.add(by);
    return ask_flag(std::move(call));
}

async<bool> redis_journal::finish(run_ref who, run_end how) { return end(who, how, "finish"); }

async<bool> redis_journal::end_stale(run_ref who, run_end how) { return end(who, how, "judge"); }

async<bool> redis_journal::skip(run_start what, std::string reason) {
    auto call = writing(scripts_.skip);
    add_start(call, what);
    call.add(reason).add(what.heartbeat_timeout.count());
    const auto got = co_await ask_number(std::move(call));
    if (got.has_error()) co_return got.error();
    if (*got < 0) co_return journals::id_taken(what.id);
    co_return *got == 1;
}

}  // namespace pawl::redis
