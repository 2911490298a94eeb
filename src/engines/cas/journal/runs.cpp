// What becomes of a run: signs of life, notes, attempts, ends, cancellations.
#include "engines/cas/journal/cas_journal.hpp"

#include "net/for_each_bounded.hpp"

#include <algorithm>
#include <utility>

namespace pawl::cas {
namespace {

// The newest events stand in the truth until they are so many or so long: a function of themselves,
// so that a page has the same events whichever process writes it.
constexpr std::size_t events_here_max = 16;
constexpr std::size_t event_bytes_here_max = 4096;
constexpr std::size_t batch_without_bound = 100;
constexpr std::size_t beats_at_once = 8;
constexpr std::size_t places_max = 8192;

bool is_full(const std::vector<run_event>& events) {
    std::size_t bytes = 0;
    for (const auto& each : events) bytes += each.kind.size() + each.text.size() + each.node.size();
    return events.size() >= events_here_max || bytes >= event_bytes_here_max;
}

}  // namespace

result<run_place> cas_journal::parse_at(const std::string& key, const seen& stands) const {
    auto read = parse_run_place(stands);
    if (read.has_error()) return records_->unreadable(key, read.error());
    return read;
}

std::int64_t cas_journal::time_within(const run_state& state, std::int64_t now) {
    const auto& run = state.row.record;
    now = std::max({now, run.started_at, run.last_heartbeat, run.completed_at.value_or(0)});
    return state.events.empty() ? now : std::max(now, state.events.back().at);
}

result<std::int64_t> cas_journal::now_for(const run_state& state) const {
    const auto now = records_->time();
    if (now.has_error()) return now.error();
    return time_within(state, *now);
}

std::string cas_journal::place_of(const std::string& id) const {
    const auto known = places_.find(id);
    return known == places_.end() ? keys::run(id) : known->second;
}

void cas_journal::note_place(const std::string& id, const std::string& key) {
    if (key == keys::run(id)) return;
    if (places_.size() >= places_max) places_.clear();
    places_.insert_or_assign(id, key);
}

async<cas_journal::found_run> cas_journal::find(std::string id, instant until) {
    found_run found;
    found.key = place_of(id);
    for (int looks = 0; looks < 3; ++looks) {
        auto reading = records_->read(found.key, until);
        auto stands = co_await std::move(reading);
        if (stands.has_error()) co_return stands.error();
        auto there = parse_at(found.key, *stands);
        if (there.has_error()) co_return there.error();
        if (there->run && there->run->row.record.id == id) {
            note_place(id, found.key);
            found.stands = std::move(*stands);
            found.state = std::move(there->run);
            break;
        }
        // Where it was, another run may be by now.
        if (there->elsewhere.empty() && places_.erase(id) == 0) break;
        found.key = there->elsewhere.empty() ? keys::run(id) : there->elsewhere;
    }
    co_return found;
}

std::vector<cas_journal::hint> cas_journal::hints_of(const run_state& state) {
    const auto& run = state.row.record;
    const auto key = key_of(state);
    std::vector<hint> hints;
    if (is_finished(run.status)) return hints;
    index_entry entry{key,
                      run.id,
                      run.job,
                      state.number,
                      run.last_heartbeat + state.row.heartbeat_timeout.count(),
                      run.last_heartbeat};
    hints.push_back({keys::newest_first(keys::active, state.number), entry});
    if (run.cancel_requested)
        hints.push_back({keys::oldest_first(keys::cancels, state.number), entry});
    if (journals::is_orphan(run))
        hints.push_back({keys::oldest_first(keys::orphans, state.number), entry});
    return hints;
}

async<void> cas_journal::put_hints(std::vector<hint> hints, instant until) {
    const auto now = records_->time();
    if (now.has_error()) co_return now.error();
    for (auto& each : hints) {
        each.entry.at = *now;
        auto putting = records_->put(
            each.key, [&](const std::string& nonce) { return encode(each.entry, nonce); }, until);
        const auto put = co_await std::move(putting);
        if (put.has_error()) co_return put.error();
    }
    co_return result<void>{};
}

async<std::vector<place_and_version>> cas_journal::change_hints(const run_state* before,
                                                                const run_state& after,
                                                                instant until) {
    const auto has = [](const std::vector<hint>& all, const std::string& wanted) {
        return std::any_of(all.begin(), all.end(),
                           [&](const hint& one) { return one.key == wanted; });
    };
    const auto had = before == nullptr ? std::vector<hint>{} : hints_of(*before);
    const auto needed = hints_of(after);
    // A hint that is too early costs a look; one that is too late hides a run that became stale.
    const bool is_sooner =
        before != nullptr && after.row.heartbeat_timeout < before->row.heartbeat_timeout;
    const auto active = keys::newest_first(keys::active, after.number);
    std::vector<hint> missing;
    for (const auto& each : needed)
        if (!has(had, each.key) || (is_sooner && each.key == active)) missing.push_back(each);
    std::vector<place_and_version> gone;
    // Their versions as they are before the truth changes: who asks for them again writes them
    // anew.
    for (const auto& each : had)
        if (const auto known = records_->recall(each.key); known && !has(needed, each.key))
            gone.emplace_back(each.key, known->at);
    auto putting = put_hints(std::move(missing), until);
    const auto put = co_await std::move(putting);
    if (put.has_error()) co_return put.error();
    co_return gone;
}

async<void> cas_journal::add_event(run_state& state, std::optional<run_event> event,
                                   instant until) {
    if (!event) co_return result<void>{};
    auto& events = state.events;
    if (!events.empty() && journals::repeats(events.back(), *event)) co_return result<void>{};
    if (is_full(events)) {
        event_page page;
        page.first = state.event_count - events.size() + 1;
        page.events = events;
        auto creating = records_->create(keys::events(state.number, page.first),
                                         encode(page, records_->fresh_nonce()), until);
        const auto created = co_await std::move(creating);
        if (created.has_error()) co_return created.error();
        if (!state.begun) state.begun = events.front();
        events.clear();
        if (state.event_count > run_events_max) {
            auto trimming = trim_history(state.number, state.event_count, until);
            co_await std::move(trimming);
        }
    }
    events.push_back(std::move(*event));
    ++state.event_count;
    co_return result<void>{};
}

// Pages of which no event is among the newest.
boost::asio::awaitable<void> cas_journal::trim_history(std::uint64_t number, std::uint64_t count,
                                                       instant until) {
    auto listing_them = records_->list(keys::history(number), {}, 2, until);
    const auto oldest = co_await std::move(listing_them);
    if (oldest.has_error()) co_return;
    std::vector<place_and_version> gone;
    for (const auto& [key, stands] : oldest->records) {
        const auto page = parse_events(stands.text);
        if (page.has_value() && page->first + page->events.size() + run_events_max < count)
            gone.emplace_back(key, stands.at);
    }
    auto tidying = records_->tidy(std::move(gone), until);
    co_await std::move(tidying);
}

async<decision<bool>> cas_journal::decide_change(change_ptr what, std::string key,
                                                 const seen& stands, std::string nonce,
                                                 instant until) {
    what->gone.clear();
    auto there = parse_at(key, stands);
    if (there.has_error()) co_return there.error();
    if (!there->run || there->run->row.record.id != what->id) co_return decision<bool>{false};
    auto& state = *there->run;
    const auto before = state;
    const auto now = now_for(state);
    if (now.has_error()) co_return now.error();
    auto stepping = what->step(state, *now);
    auto did = co_await std::move(stepping);
    if (did.has_error()) co_return did.error();
    if (!did->written) co_return decision<bool>{did->answer};
    auto adding = add_event(state, std::move(did->event), until);
    const auto added = co_await std::move(adding);
    if (added.has_error()) co_return added.error();
    auto changing = change_hints(&before, state, until);
    auto gone = co_await std::move(changing);
    if (gone.has_error()) co_return gone.error();
    for (auto& each : *gone) what->gone.push_back(std::move(each));
    if (is_finished(state.row.record.status)) output_.erase(state.number);
    decision<bool> made{did->answer};
    made.text = encode(state, nonce);
    co_return made;
}

async<bool> cas_journal::change_run(change_ptr what, instant until) {
    const auto self = shared_from_this();
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    until = std::max(until, *ready);
    auto key = place_of(what->id);
    auto known = records_->recall_text(key);
    if (!known) {
        auto finding = find(what->id, until);
        auto found = co_await std::move(finding);
        if (found.has_error()) co_return found.error();
        if (!found->state) co_return false;
        key = found->key;
        known = std::move(found->stands);
    }
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) {
        return decide_change(what, key, stands, std::move(nonce), until);
    };
    auto changing = records_->amend<bool>(key, std::move(known), until, std::move(decide));
    const auto changed = co_await std::move(changing);
    if (changed.has_error()) co_return changed.error();
    if (*changed) {
        auto tidying = records_->tidy(std::move(what->gone), until);
        co_await std::move(tidying);
    }
    co_return *changed;
}

async<bool> cas_journal::change_row(std::string id, row_step step) {
    const auto self = shared_from_this();
    const auto what = std::make_shared<run_change>();
    what->id = std::move(id);
    what->step = [step = std::move(step)](run_state& state,
                                          std::int64_t now) -> async<journals::change> {
        co_return step(state.row, now);
    };
    auto changing = change_run(what, records_->deadline());
    co_return co_await std::move(changing);
}

async<bool> cas_journal::add_event(run_ref who, std::string kind, std::string text) {
    row_step step = [&](journals::run_row& row, std::int64_t now) {
        return journals::add_event(row, who.token, kind, text, now);
    };
    auto changing = change_row(who.id, std::move(step));
    co_return co_await std::move(changing);
}

async<bool> cas_journal::next_attempt(run_ref who, run_end last) {
    row_step step = [&](journals::run_row& row, std::int64_t now) {
        return journals::next_attempt(row, who.token, last, now);
    };
    auto changing = change_row(who.id, std::move(step));
    co_return co_await std::move(changing);
}

async<bool> cas_journal::finish(run_ref who, run_end how) {
    row_step step = [&](journals::run_row& row, std::int64_t now) {
        return journals::finish(row, who.token, how, now);
    };
    auto changing = change_row(who.id, std::move(step));
    co_return co_await std::move(changing);
}

async<bool> cas_journal::end_stale(run_ref who, run_end how) {
    row_step step = [&](journals::run_row& row, std::int64_t now) -> result<journals::change> {
        const auto time = records_->time();
        if (time.has_error()) return time.error();
        // Not before the other bound of the clock has come so far, either.
        if (journals::is_writable(row, who.token) &&
            !journals::is_stale(row, *time - records_->blur().count()))
            return journals::change{};
        return journals::judge(row, who.token, how, now);
    };
    auto changing = change_row(who.id, std::move(step));
    co_return co_await std::move(changing);
}

async<bool> cas_journal::request_cancel(std::string id, std::string by) {
    row_step step = [&](journals::run_row& row, std::int64_t now) {
        return journals::request_cancel(row, by, now);
    };
    auto changing = change_row(id, std::move(step));
    co_return co_await std::move(changing);
}

struct cas_journal::beats_of_run {
    std::string key;
    std::vector<std::size_t> marks{};
    std::optional<seen> known{};
};

// One heartbeat of many runs, of which several marks may be for one run.
struct cas_journal::beats {
    explicit beats(std::span<const run_ref> who)
        : marks{who.begin(), who.end()}, answers(who.size(), heartbeat_result::stale) {}

    std::vector<run_ref> marks;
    std::vector<heartbeat_result> answers;
    std::vector<beats_of_run> runs{};
    std::vector<std::size_t> alone{};  // those that one write for all has not settled
    std::size_t failed = 0;            // of which nothing can be told
    std::optional<failure> why{};
    instant until{};
    bool has_written = false;
};

result<decision<bool>> cas_journal::decide_beats(beats& all, const beats_of_run& which,
                                                 const seen& stands,
                                                 const std::string& nonce) const {
    auto there = parse_at(which.key, stands);
    if (there.has_error()) return there.error();
    decision<bool> made{true};
    bool is_alive = false;
    for (const auto mark : which.marks) {
        auto& answer = all.answers[mark];
        answer = heartbeat_result::stale;
        if (!there->run || there->run->row.record.id != all.marks[mark].id) continue;
        const auto now = now_for(*there->run);
        if (now.has_error()) return now.error();
        answer = journals::heartbeat(there->run->row, all.marks[mark].token, *now);
        is_alive = is_alive || answer != heartbeat_result::stale;
        made.answer = made.answer && answer != heartbeat_result::stale;
    }
    if (is_alive) made.text = encode(*there->run, nonce);
    return made;
}

// Which runs they are of; what is there of those that are not known here.
async<void> cas_journal::find_runs(std::shared_ptr<beats> all) {
    std::vector<std::string> unknown;
    for (const auto& mark : all->marks) {
        const auto key = place_of(mark.id);
        if (!records_->recall_text(key)) unknown.push_back(key);
    }
    std::sort(unknown.begin(), unknown.end());
    unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
    auto reading = records_->read_many(unknown, all->until);
    auto found = co_await std::move(reading);
    if (found.has_error()) co_return found.error();
    std::map<std::string, std::size_t> groups;
    for (std::size_t i = 0; i < all->marks.size(); ++i) {
        auto key = place_of(all->marks[i].id);
        std::optional<seen> known = records_->recall(key);
        const auto looked = std::lower_bound(unknown.begin(), unknown.end(), key);
        if (looked != unknown.end() && *looked == key) {
            known = (*found)[static_cast<std::size_t>(looked - unknown.begin())];
            // One that cannot be read is looked at alone.
            const auto there = parse_at(key, *known);
            if (there.has_value() && !there->elsewhere.empty()) {
                key = there->elsewhere;
                known = records_->recall(key);
            }
        }
        const auto [group, is_new] = groups.emplace(key, all->runs.size());
        if (is_new) all->runs.push_back({key, {}, std::move(known)});
        all->runs[group->second].marks.push_back(i);
    }
    co_return result<void>{};
}

async<void> cas_journal::beat_together(std::shared_ptr<beats> all) {
    std::vector<change> changes;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < all->runs.size(); ++i) {
        const auto& run = all->runs[i];
        auto decided = run.known && !run.known->text.empty()
                           ? decide_beats(*all, run, *run.known, records_->fresh_nonce())
                           : result<decision<bool>>{decision<bool>{false}};
        if (decided.has_error() || !decided->answer || !decided->text) {
            all->alone.push_back(i);
            continue;
        }
        changes.emplace_back(record_name{record_kind::journal, run.key}, std::move(*decided->text),
                             run.known->at);
        which.push_back(i);
    }
    const auto size = records_->batch_max() > 1 ? records_->batch_max() : batch_without_bound;
    for (std::size_t begin = 0; begin < changes.size(); begin += size) {
        const auto end = std::min(changes.size(), begin + size);
        std::vector<change> batch{changes.begin() + static_cast<std::ptrdiff_t>(begin),
                                  changes.begin() + static_cast<std::ptrdiff_t>(end)};
        auto writing = records_->write_many(std::move(batch), all->until);
        const auto got = co_await std::move(writing);
        for (auto i = begin; i < end; ++i) {
            const auto answer = got.has_value() ? (*got)[i - begin] : got.error();
            const bool done = answer.has_value() && std::holds_alternative<written>(*answer);
            if (done || (answer.has_error() && answer.error().code == errc::outcome_unknown))
                all->has_written = true;
            if (!done) all->alone.push_back(which[i]);
        }
    }
    co_return result<void>{};
}

async<void> cas_journal::beat_alone(std::shared_ptr<cas_journal> self, std::shared_ptr<beats> all,
                                    std::size_t which) {
    const auto& run = all->runs[all->alone[which]];
    decide_step<bool> decide = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        co_return self->decide_beats(*all, run, stands, nonce);
    };
    auto beating =
        self->records_->amend<bool>(run.key, std::nullopt, all->until, std::move(decide));
    const auto done = co_await std::move(beating);
    if (done.has_error() && may_pass(done.error().code)) co_return done.error();
    if (done.has_value()) {
        all->has_written = true;
        co_return result<void>{};
    }
    // It says nothing of the other runs, and nothing against this one.
    ++all->failed;
    all->why = done.error();
    for (const auto mark : run.marks) all->answers[mark] = heartbeat_result::alive;
    co_return result<void>{};
}

async<std::vector<heartbeat_result>> cas_journal::heartbeat(std::span<const run_ref> runs) {
    const auto self = shared_from_this();
    const auto all = std::make_shared<beats>(runs);
    auto preparing = records_->ready();
    const auto ready = co_await std::move(preparing);
    if (ready.has_error()) co_return ready.error();
    all->until = *ready;
    auto finding = find_runs(all);
    const auto found = co_await std::move(finding);
    if (found.has_error()) co_return found.error();
    auto beating = beat_together(all);
    co_await std::move(beating);
    net::bounded_step step = [self, all](std::size_t which) {
        return beat_alone(self, all, which);
    };
    auto rest = net::for_each_bounded(all->alone.size(), beats_at_once, std::move(step));
    const auto done = co_await std::move(rest);
    if (done.has_value() && all->why && all->failed == all->runs.size()) co_return *all->why;
    if (done.has_value()) co_return std::move(all->answers);
    auto why = done.error();
    if (all->has_written) why.code = errc::outcome_unknown;
    co_return why;
}

}  // namespace pawl::cas
