// What a run saves, and what its job is given of it.
#include "engines/cas/journal/cas_journal.hpp"

#include <utility>

namespace pawl::cas {
namespace {

constexpr std::size_t checkpoint_here_max = 1024;

}  // namespace

async<std::optional<std::string>> cas_journal::checkpoint_of(const run_state& state,
                                                             instant until) {
    if (state.apart.empty()) co_return std::optional{state.row.record.checkpoint};
    const auto key = keys::checkpoint(state.number, state.apart);
    auto reading = records_->read(key, until);
    const auto stands = co_await std::move(reading);
    if (stands.has_error()) co_return stands.error();
    if (stands->at.empty()) co_return std::optional<std::string>{};
    auto text = parse_checkpoint(stands->text);
    if (text.has_error()) co_return records_->unreadable(key, text.error());
    co_return std::optional{std::move(*text)};
}

async<void> cas_journal::keep_checkpoint(run_state& state, std::string text, std::string ref,
                                         instant until) {
    if (text.size() <= checkpoint_here_max) {
        state.apart.clear();
        state.row.record.checkpoint = std::move(text);
        co_return result<void>{};
    }
    auto creating = records_->create(keys::checkpoint(state.number, ref),
                                     encode_checkpoint(text, records_->fresh_nonce()), until);
    const auto created = co_await std::move(creating);
    if (created.has_error()) co_return created.error();
    state.apart = std::move(ref);
    state.row.record.checkpoint.clear();
    co_return result<void>{};
}

async<journals::saved_checkpoint> cas_journal::last_saved(std::string job, std::uint32_t partition,
                                                          instant until) {
    const auto key = keys::saved(job, partition);
    std::string asked;
    for (;;) {
        auto reading = records_->read(key, until);
        const auto stands = co_await std::move(reading);
        if (stands.has_error()) co_return stands.error();
        auto state = parse_saved(*stands);
        if (state.has_error()) co_return records_->unreadable(key, state.error());
        if (state->ref.empty()) co_return std::move(state->newest);
        // Of a run that has saved again in between, the truth names another offer than this one.
        if (state->ref == asked) co_return std::move(state->before);
        auto looking = records_->read(state->key, until);
        const auto at = co_await std::move(looking);
        if (at.has_error()) co_return at.error();
        const auto there = parse_at(state->key, *at);
        if (there.has_error()) co_return there.error();
        if (there->run && there->run->saved == state->ref) co_return std::move(state->newest);
        asked = std::move(state->ref);
    }
}

// Whether the run has made this offer its own; if not, a write that is on its way cannot any more.
async<bool> cas_journal::withhold(std::string key, std::string ref, instant until) {
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        auto there = parse_at(key, stands);
        if (there.has_error()) co_return there.error();
        decision<bool> made{there->run && there->run->saved == ref};
        const bool may_take =
            there->run && !made.answer && there->run->row.record.status == run_status::started;
        if (may_take) made.text = encode(*there->run, nonce);
        co_return made;
    };
    auto touching = records_->amend<bool>(key, std::nullopt, until, std::move(decide));
    co_return co_await std::move(touching);
}

// Puts it where the job's runs look, to hold from when the run has taken it. False: a newer token
// has saved one.
async<bool> cas_journal::offer(std::shared_ptr<saving> what, const run_state& state,
                               instant until) {
    const auto key = keys::saved(state.row.record.job, state.row.record.partition);
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        auto saved = parse_saved(stands);
        if (saved.has_error()) co_return records_->unreadable(key, saved.error());
        if (saved->ref == what->ref) co_return decision<bool>{saved->before.token <= what->token};
        bool is_taken = saved->ref.empty() || saved->ref == state.saved;
        if (!is_taken && saved->ref != what->withheld) {
            auto withholding = withhold(saved->key, saved->ref, until);
            const auto taken = co_await std::move(withholding);
            if (taken.has_error()) co_return taken.error();
            is_taken = *taken;
            if (!is_taken) what->withheld = saved->ref;
        }
        saved_state next;
        next.before = std::move(is_taken ? saved->newest : saved->before);
        if (next.before.token > what->token) co_return decision<bool>{false};
        next.newest.token = what->token;
        next.newest.text = what->text;
        next.key = key_of(state);
        next.ref = what->ref;
        decision<bool> made{true};
        made.text = encode(next, nonce);
        co_return made;
    };
    auto offering = records_->amend<bool>(key, std::nullopt, until, std::move(decide));
    co_return co_await std::move(offering);
}

// Before a run goes: what it has taken holds by itself.
async<void> cas_journal::settle_saved(const run_state& state, instant until) {
    if (state.saved.empty()) co_return result<void>{};
    const auto key = keys::saved(state.row.record.job, state.row.record.partition);
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        auto saved = parse_saved(stands);
        if (saved.has_error()) co_return records_->unreadable(key, saved.error());
        decision<bool> made{saved->ref == state.saved};
        saved->ref.clear();
        if (made.answer) made.text = encode(*saved, nonce);
        co_return made;
    };
    auto settling = records_->amend<bool>(key, std::nullopt, until, std::move(decide));
    const auto settled = co_await std::move(settling);
    if (settled.has_error()) co_return settled.error();
    co_return result<void>{};
}

async<journals::change> cas_journal::save(std::shared_ptr<saving> what, change_ptr into,
                                          run_state& state, std::int64_t now, instant until) {
    if (!journals::is_writable(state.row, what->token)) co_return journals::change{};
    auto offering = offer(what, state, until);
    const auto offered = co_await std::move(offering);
    if (offered.has_error()) co_return offered.error();
    // Without a lease it is in no order with others: it saves for itself alone.
    if (!*offered && number(what->token) != 0) co_return journals::change{};
    journals::saved_checkpoint before;
    auto did = journals::checkpoint(state.row, what->token, what->text, before, now);
    if (!state.apart.empty())
        if (const auto old = keys::checkpoint(state.number, state.apart);
            const auto known = records_->recall(old))
            into->gone.emplace_back(old, known->at);
    if (*offered) state.saved = what->ref;
    auto keeping = keep_checkpoint(state, what->text, what->ref, until);
    const auto kept = co_await std::move(keeping);
    if (kept.has_error()) co_return kept.error();
    co_return did;
}

async<bool> cas_journal::checkpoint(run_ref who, std::string text) {
    const auto self = shared_from_this();
    const auto until = records_->deadline();
    const auto what = std::make_shared<saving>();
    what->token = who.token;
    what->text = std::move(text);
    what->ref = records_->fresh_nonce();
    const auto into = std::make_shared<run_change>();
    into->id = who.id;
    into->step = [this, what, weak = std::weak_ptr{into}, until](run_state& state,
                                                                 std::int64_t now) {
        return save(what, weak.lock(), state, now, until);
    };
    auto changing = change_run(into, until);
    co_return co_await std::move(changing);
}

}  // namespace pawl::cas
