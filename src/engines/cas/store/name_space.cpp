#include "engines/cas/store/name_space.hpp"

#include "engines/cas/store/self_race.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

namespace pawl::cas {
namespace {

// To make a table may take longer than any one verb.
constexpr std::chrono::seconds opening_max{60};

// How much longer than its timeout a verb waits for it: who asks once, as a command does, would
// else fail because it is the first. The medium has answered then, so it is not one that is gone.
constexpr millis making_wait_max{20'000};

// A medium that is gone is given up by its own client at about the verb's end: a caller that asks
// once hears from it why, and not from here that it may be asked again.
constexpr millis cause_wait_max{250};

// A medium that was rejected is asked again after this: it may have been replaced.
constexpr std::chrono::minutes rejected_for{1};

// Under a quarantine: how long the marker, and the identity of the data, are taken to be as they
// were. A marker that was restored with the data shows nothing.
constexpr std::chrono::seconds look_age_max{3};
constexpr std::chrono::minutes identity_age_max{1};

record_name marker_name() { return {record_kind::marker, {}}; }

// A fence that no client may use: how far the clock has been seen, behind a quarantine.
constexpr std::string_view proofs{"pawl/quarantine/"};

// An empty one says nothing.
bool is_same_data(const std::string& one, const std::string& other) {
    return one.empty() || other.empty() || one == other;
}

}  // namespace

async<instant> name_space::ready() {
    const auto until = records_->now() + timeout_;
    if (is_open_) co_return until;
    const auto self = shared_from_this();
    if (rejected_ && records_->now() < rejected_until_) co_return *rejected_;
    auto mine = opening_;
    if (!mine) {
        mine = opening_ = std::make_shared<opening>();
        // It may come to its end within this call.
        boost::asio::co_spawn(records_->where().get_executor(), open(self, mine),
                              net::unattended{});
    }
    co_await mine->done.wait_until(until);
    if (!mine->end) {
        const bool answers = mine->is_racing || records_->on().has_answered();
        co_await mine->done.wait_until(until + (answers ? making_wait_max : cause_wait_max));
    }
    if (mine->end && mine->end->has_error()) co_return mine->end->error();
    // What it took is not taken from the verb's own time.
    if (mine->end) co_return records_->now() + timeout_;
    co_return failure{errc::unreachable,
                      records_->place() + ": the namespace is being made ready; ask again"};
}

boost::asio::awaitable<void> name_space::open(std::shared_ptr<name_space> self,
                                              std::shared_ptr<opening> mine) {
    const auto until =
        self->records_->now() + std::max<instant::duration>(self->timeout_, opening_max);
    auto end = co_await self->prepare(until);
    if (end.has_value()) end = co_await self->look(until);
    if (const auto clock = self->records_->clock(); end.has_value() && clock.has_error())
        end = clock.error();
    self->is_open_ = end.has_value();
    self->rejected_.reset();
    if (end.has_error() && end.error().code == errc::unsupported) {
        self->rejected_ = end.error();
        self->rejected_until_ = self->records_->now() + rejected_for;
    }
    self->opening_.reset();
    // Nothing but a namespace was made, and the next caller makes it again.
    if (end.has_error() && end.error().code == errc::outcome_unknown)
        end = failure{errc::unreachable, end.error().detail};
    mine->end = std::move(end);
    mine->done.set();
}

async<void> name_space::prepare(instant until) {
    auto identity = co_await records_->on().prepare(until);
    if (identity.has_error()) co_return identity.error();
    identity_ = std::move(*identity);
    prepare_due_ = records_->now() + identity_age_max;
    co_return result<void>{};
}

async<void> name_space::look(instant until) {
    const auto self = shared_from_this();
    const auto due = records_->now() + look_age_max;
    // The data may have been replaced under a process that has been here for long.
    bool asks_again = is_open_;
    for (;;) {
        auto reading = records_->read(marker_name(), until);
        const auto stands = co_await std::move(reading);
        if (stands.has_error()) co_return stands.error();
        std::optional<marker_record> found;
        if (!stands->at.empty()) {
            auto read = parse_marker(stands->text);
            if (read.has_error())
                co_return records_->unreadable(
                    "the marker",
                    {read.error().code, read.error().detail + "; choose another namespace="});
            found = std::move(*read);
        }
        const bool is_other = !found || !is_same_data(found->identity, identity_);
        const bool is_doubtful = is_wary_ && !is_other &&
                                 (found->nonce != marker_.nonce || records_->now() >= prepare_due_);
        if ((is_other || is_doubtful) && std::exchange(asks_again, false)) {
            const auto prepared = co_await prepare(until);
            if (prepared.has_error()) co_return prepared.error();
        }
        if (found && is_same_data(found->identity, identity_)) {
            marker_ = std::move(*found);
            look_due_ = due;
            co_return result<void>{};
        }
        const auto begun = co_await begin(*stands, found, until);
        if (begun.has_error()) co_return begun.error();
        if (records_->now() >= until)
            co_return failure{errc::unreachable,
                              records_->place() + ": the marker changes too often"};
    }
}

// Another data set: what was granted in the one before may still be held, so that a quarantine
// counts from now. Whether this, or another process, has written the marker shows at the next look.
async<void> name_space::begin(const seen& stands, const std::optional<marker_record>& before,
                              instant until) {
    if (opening_) opening_->is_racing = true;
    const auto raced = co_await race(records_, until);
    if (raced.has_error()) co_return raced.error();
    const auto bounds = records_->clock();
    if (bounds.has_error()) co_return bounds.error();
    const marker_record made{.born = bounds->high,
                             .floor = before ? before->floor : fence_token{},
                             .identity = identity_,
                             .rounds = *raced,
                             .nonce = records_->fresh_nonce()};
    change wanted{marker_name(), encode(made), stands.at};
    auto writing = records_->write(std::move(wanted), until);
    const auto got = co_await std::move(writing);
    if (got.has_error() && got.error().code != errc::outcome_unknown) co_return got.error();
    co_return result<void>{};
}

async<fence_token> name_space::raise_floor(fence_token to, instant until) {
    decide_step<fence_token> raise = [to](const seen& stands,
                                          std::string nonce) -> async<decision<fence_token>> {
        auto read = parse_marker(stands.text);
        if (read.has_error()) co_return read.error();
        decision<fence_token> made{std::max(read->floor, to)};
        if (read->floor >= to) co_return made;
        read->floor = to;
        read->nonce = std::move(nonce);
        made.text = encode(*read);
        co_return made;
    };
    // What else the marker says is seen at the next look.
    return records_->amend(marker_name(), {}, until, std::move(raise));
}

async<bool> name_space::is_behind(micros end, instant until) {
    const auto self = shared_from_this();
    const auto born = marker_.born;
    if (proved_ == std::pair{born, end}) co_return true;
    const auto is_there = [&] { return records_->known_clock().low >= end; };
    if (records_->known_clock().high < end) co_return false;
    // One for each beginning of the data: what is restored from a copy proves nothing of the new.
    record_name name{record_kind::fence, std::string{proofs} + std::to_string(born.count())};
    const fence_token needed{static_cast<std::uint64_t>(std::max(end, micros{0}).count())};
    decide_step<bool> prove = [&](const seen& stands, std::string nonce) -> async<decision<bool>> {
        fence_record proof;
        if (!stands.at.empty()) {
            auto read = parse_fence(stands.text);
            if (read.has_error()) co_return read.error();
            proof = std::move(*read);
        }
        const bool is_known = proof.newest >= needed;
        decision<bool> made{is_known || is_there()};
        if (is_known || !made.answer) co_return made;
        proof.newest = needed;
        proof.nonce = std::move(nonce);
        made.text = encode(proof);
        co_return made;
    };
    auto proving = records_->amend(std::move(name), {}, until, std::move(prove));
    const auto proved = co_await std::move(proving);
    // Others may doubt it for a while; who has seen the clock there does not.
    if (proved.has_error()) co_return is_there();
    if (*proved) proved_ = {born, end};
    bool answer = *proved;
    co_return answer;
}

}  // namespace pawl::cas
