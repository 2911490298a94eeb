// How runs begin, and how an occurrence is skipped.
#include "engines/cas/journal/cas_journal.hpp"

#include <utility>

namespace pawl::cas {
namespace {

constexpr int numbers_tried_max = 8;
constexpr int looks_max = 4;

}  // namespace

// A number of its own, by which lists find it; entries of indexes; and the record under its id, so
// that no other run can have it. All of them are hints until the truth is there.
async<void> cas_journal::claim(std::shared_ptr<claimed_run> mine, instant until) {
    const auto now = records_->time();
    if (now.has_error()) co_return now.error();
    for (int tried = 0; mine->number == 0; ++tried) {
        const auto number = records_->fresh_number();
        if (number.has_error()) co_return number.error();
        index_entry entry{
            mine->key, mine->id, mine->job, *number, *now + mine->heartbeat_timeout.count(), *now};
        const auto key = keys::newest_first(keys::all_runs, *number);
        auto creating = records_->create(key, encode(entry, records_->fresh_nonce()), until);
        const auto created = co_await std::move(creating);
        if (created.has_error()) co_return created.error();
        if (!*created && tried == numbers_tried_max) co_return records_->too_slow();
        if (!*created) continue;
        mine->number = *number;
        mine->entries.push_back(key);
        std::vector<std::string> others{keys::newest_first(keys::runs_of(mine->job), *number)};
        if (mine->is_active) others.push_back(keys::newest_first(keys::active, *number));
        for (const auto& other : others) {
            auto adding = records_->create(other, encode(entry, records_->fresh_nonce()), until);
            const auto added = co_await std::move(adding);
            if (added.has_error()) co_return added.error();
            mine->entries.push_back(other);
        }
    }
    co_return result<void>{};
}

async<void> cas_journal::claim_id(std::shared_ptr<claimed_run> mine, instant until) {
    const auto key = keys::run(mine->id);
    if (mine->key == key || mine->has_id) co_return result<void>{};
    auto creating =
        records_->create(key, encode_elsewhere(mine->key, records_->fresh_nonce()), until);
    const auto created = co_await std::move(creating);
    if (created.has_error()) co_return created.error();
    mine->has_id = true;
    if (*created) {
        mine->entries.push_back(key);
        co_return result<void>{};
    }
    auto reading = records_->read(key, until);
    const auto stands = co_await std::move(reading);
    if (stands.has_error()) co_return stands.error();
    const auto there = parse_at(key, *stands);
    if (there.has_error()) co_return there.error();
    if (there->elsewhere != mine->key) co_return journals::id_taken(mine->id);
    co_return result<void>{};
}

// What was written for a run that was not added goes; `added` is the id of the one that was.
boost::asio::awaitable<void> cas_journal::unclaim(std::shared_ptr<claimed_run> mine,
                                                  std::string added, instant until) {
    const auto own_id = keys::run(mine->id);
    std::vector<place_and_version> gone;
    while (!mine->entries.empty()) {
        const auto key = std::move(mine->entries.back());
        mine->entries.pop_back();
        if (key == own_id && added == mine->id) continue;
        if (const auto known = records_->recall(key)) gone.emplace_back(key, known->at);
    }
    auto tidying = records_->tidy(std::move(gone), until);
    co_await std::move(tidying);
}

// What a run that stands needs to be found, where a beginning was repeated: what was written for it
// may have been taken for what a lost process had left.
async<void> cas_journal::assure(run_state state, instant until) {
    const auto now = records_->time();
    if (now.has_error()) co_return now.error();
    const auto& run = state.row.record;
    const index_entry entry{key_of(state), run.id, run.job, state.number, *now, *now};
    std::vector<hint> hints = hints_of(state);
    hints.push_back({keys::newest_first(keys::all_runs, state.number), entry});
    hints.push_back({keys::newest_first(keys::runs_of(run.job), state.number), entry});
    auto putting = put_hints(std::move(hints), until);
    const auto put = co_await std::move(putting);
    if (put.has_error()) co_return put.error();
    if (!run.occurrence) co_return result<void>{};
    auto creating = records_->create(
        keys::run(run.id), encode_elsewhere(key_of(state), records_->fresh_nonce()), until);
    const auto created = co_await std::move(creating);
    if (created.has_error()) co_return created.error();
    co_return result<void>{};
}

async<void> cas_journal::add_run(run_state& state, const journals::begin_decision& decided,
                                 std::shared_ptr<claimed_run> mine, instant until) {
    auto claiming = claim(mine, until);
    const auto claimed = co_await std::move(claiming);
    if (claimed.has_error()) co_return claimed.error();
    auto claiming_id = claim_id(mine, until);
    const auto has_id = co_await std::move(claiming_id);
    if (has_id.has_error()) co_return has_id.error();
    state = run_state{};
    state.row = decided.row;
    state.number = mine->number;
    auto keeping =
        keep_checkpoint(state, decided.row.record.checkpoint, records_->fresh_nonce(), until);
    const auto kept = co_await std::move(keeping);
    if (kept.has_error()) co_return kept.error();
    auto adding = add_event(state, decided.event, until);
    const auto added = co_await std::move(adding);
    if (added.has_error()) co_return added.error();
    co_return result<void>{};
}

async<void> cas_journal::take_over(run_state& state, const journals::begin_decision& decided,
                                   std::shared_ptr<claimed_run> mine, instant until) {
    const auto before = state;
    const auto number = state.number;
    state.row = decided.row;
    if (state.apart.empty() || before.row.record.checkpoint != decided.row.record.checkpoint) {
        auto keeping =
            keep_checkpoint(state, decided.row.record.checkpoint, records_->fresh_nonce(), until);
        const auto kept = co_await std::move(keeping);
        if (kept.has_error()) co_return kept.error();
    }
    auto adding = add_event(state, decided.event, until);
    const auto added = co_await std::move(adding);
    if (added.has_error()) co_return added.error();
    auto changing = change_hints(&before, state, until);
    auto gone = co_await std::move(changing);
    if (gone.has_error()) co_return gone.error();
    mine->gone = std::move(*gone);
    output_.erase(number);
    co_return result<void>{};
}

async<decision<begin_result>> cas_journal::decide_begin(std::shared_ptr<starting> what,
                                                        const seen& stands, std::string nonce,
                                                        instant until) {
    const auto& start = what->start;
    const auto& mine = what->mine;
    mine->gone.clear();
    what->repeated.reset();
    what->was_passed = false;
    auto there = parse_at(mine->key, stands);
    if (there.has_error()) co_return there.error();
    if (!there->elsewhere.empty()) co_return journals::id_taken(start.id);
    std::optional<journals::run_row> known;
    if (there->run) {
        auto looking = checkpoint_of(*there->run, until);
        auto text = co_await std::move(looking);
        if (text.has_error()) co_return text.error();
        what->was_passed = !text->has_value();
        if (what->was_passed) co_return records_->too_slow();
        there->run->row.record.checkpoint = std::move(**text);
        known = there->run->row;
    }
    journals::saved_checkpoint past;
    if (start.starts_from == checkpoint_source::last_saved) {
        auto looking = last_saved(start.job, start.partition, until);
        auto found = co_await std::move(looking);
        if (found.has_error()) co_return found.error();
        past = std::move(*found);
    }
    const auto now = there->run ? now_for(*there->run) : records_->time();
    if (now.has_error()) co_return now.error();
    auto decided = journals::begin(known, start, there->trigger.has_value(), past.text, *now);
    if (decided.has_error()) co_return decided.error();
    decision<begin_result> made{std::move(decided->answer)};
    if (decided->write == journals::begin_write::nothing) {
        const bool is_begun = made.answer.outcome == begin_outcome::begun ||
                              made.answer.outcome == begin_outcome::resumed;
        if (is_begun) what->repeated = std::move(there->run);
        co_return made;
    }
    run_state state = there->run ? std::move(*there->run) : run_state{};
    auto writing = decided->write == journals::begin_write::insert
                       ? add_run(state, *decided, mine, until)
                       : take_over(state, *decided, mine, until);
    const auto wrote = co_await std::move(writing);
    if (wrote.has_error()) co_return wrote.error();
    what->answered = there->trigger ? there->trigger->number : 0;
    made.text = encode(state, nonce);
    co_return made;
}

// Decides again where a run has gone on, or was pruned, while it was decided on.
async<begin_result> cas_journal::begin_as_it_stands(std::shared_ptr<starting> what, instant until) {
    for (int looks = 1;; ++looks) {
        decide_step<begin_result> decide = [&](const seen& stands, std::string nonce) {
            return decide_begin(what, stands, std::move(nonce), until);
        };
        auto beginning_it =
            records_->amend<begin_result>(what->mine->key, std::nullopt, until, std::move(decide));
        auto begun = co_await std::move(beginning_it);
        const bool has_failed = begun.has_error() && begun.error().code == errc::unreachable;
        if (!has_failed || !what->was_passed || looks == looks_max) co_return begun;
    }
}

async<begin_result> cas_journal::begin(run_start start) {
    const auto self = shared_from_this();
    if (start.consumes_trigger && start.occurrence)
        co_return failure{errc::rejected,
                          "journal: a run that answers a trigger has no occurrence: leave it out"};
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto what = std::make_shared<starting>(std::move(start));
    const auto& mine = what->mine;
    auto beginning_it = begin_as_it_stands(what, until);
    auto begun = co_await std::move(beginning_it);
    if (begun.has_error()) {
        // What is in doubt may be there.
        if (begun.error().code == errc::rejected) {
            auto unclaiming = unclaim(mine, {}, until);
            co_await std::move(unclaiming);
        }
        co_return begun.error();
    }
    const bool was_added =
        begun->outcome == begin_outcome::begun && begun->id == what->start.id && !what->repeated;
    if (!was_added) {
        auto unclaiming = unclaim(mine, begun->id, until);
        co_await std::move(unclaiming);
    }
    if (what->repeated) {
        auto assuring = assure(std::move(*what->repeated), until);
        const auto assured = co_await std::move(assuring);
        if (assured.has_error()) co_return assured.error();
    }
    auto tidying = records_->tidy(std::move(mine->gone), until);
    co_await std::move(tidying);
    if (what->answered != 0) {
        auto forgetting = records_->tidy(keys::oldest_first(keys::triggers, what->answered), until);
        co_await std::move(forgetting);
    }
    note_place(begun->id, mine->key);
    co_return begun;
}

async<decision<bool>> cas_journal::decide_skip(std::shared_ptr<starting> what, std::string reason,
                                               const seen& stands, std::string nonce,
                                               instant until) {
    auto there = parse_at(what->mine->key, stands);
    if (there.has_error()) co_return there.error();
    if (there->run) {
        const auto& run = there->run->row.record;
        what->added = run.id;
        co_return decision<bool>{run.id == what->start.id && run.status == run_status::skipped};
    }
    const auto now = records_->time();
    if (now.has_error()) co_return now.error();
    const auto decided = journals::skip(what->start, reason, *now);
    run_state state;
    auto adding = add_run(state, decided, what->mine, until);
    const auto added = co_await std::move(adding);
    if (added.has_error()) co_return added.error();
    what->added.clear();
    decision<bool> made{true};
    made.text = encode(state, nonce);
    co_return made;
}

async<bool> cas_journal::skip(run_start start, std::string reason) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    const auto until = *ready;
    const auto what = std::make_shared<starting>(std::move(start));
    what->mine->is_active = false;
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) {
        return decide_skip(what, reason, stands, std::move(nonce), until);
    };
    auto skipping = records_->amend<bool>(what->mine->key, std::nullopt, until, std::move(decide));
    const auto skipped = co_await std::move(skipping);
    const bool was_rejected = skipped.has_error() && skipped.error().code == errc::rejected;
    if (was_rejected || (skipped.has_value() && !what->added.empty())) {
        auto unclaiming = unclaim(what->mine, what->added, until);
        co_await std::move(unclaiming);
    }
    if (skipped.has_error()) co_return skipped.error();
    co_return *skipped;
}

}  // namespace pawl::cas
