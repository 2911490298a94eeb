// Records as the verbs use them: read with the store's clock, written if nothing has changed since.
#pragma once

#include "base/identity.hpp"
#include "engines/cas/store/medium.hpp"
#include "engines/cas/store/record_text.hpp"
#include "engines/cas/store/store_clock.hpp"
#include "net/loop.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pawl::cas {

// What a verb makes of a record: its answer, which holds once `text` is written.
template <class T>
struct decision {
    T answer;
    std::optional<std::string> text{};  // nothing: the answer holds as it is
    bool is_grant = false;              // how long it holds counts from now
};

// Decides on what stands under a name, after whatever has to be known, or done, before. `nonce` is
// for the text of the decision.
template <class T>
using decide_step = std::function<async<decision<T>>(const seen& stands, std::string nonce)>;

// What this process wrote last, and may write over without another look.
struct remembered {
    seen stands;
    fence_token holder{};
    instant granted = instant::max();  // the answer to the grant was there; max(): not by us
    micros until{};                    // by the store's clock it is free behind this
};

// It was written, and how late it is the answer does not say.
bool tells_no_time(const write_answer& answer) noexcept;

// On the loop only.
class versioned_records : public std::enable_shared_from_this<versioned_records> {
public:
    versioned_records(net::loop& where, std::shared_ptr<medium> on, millis skew);

    instant now() const { return where_.now(); }
    net::loop& where() const { return where_; }
    medium& on() const { return *on_; }
    const medium_traits& traits() const noexcept { return traits_; }
    std::string place() const { return on_->place(); }

    // Those of the medium, which also tell the store's clock. A write that asked for the time and
    // is not told it is `outcome_unknown`; of many each is as it was answered.
    async<seen> read(record_name name, instant until);
    async<std::vector<seen>> read_many(std::vector<record_name> names, instant until);
    async<write_answer> write(change what, instant until);
    async<write_answer> erase(record_name name, version expected, instant until);
    async<std::vector<result<write_answer>>> write_many(std::span<const change> changes,
                                                        instant until);
    async<listing> list(list_order what, instant until);

    // `protocol` where no answer has carried a stamp.
    result<clock_bounds> clock() const;
    // REQUIRES: an answer has, as there is no namespace without.
    clock_bounds known_clock() const { return *clock_.at(now()); }
    int clock_jumps() const noexcept { return clock_.jumps(); }

    // The last state of a lease that was written here; null where the clock has not been heard of
    // for so long that a look is due anyway.
    const remembered* find(const std::string& key) const;
    void remember(const change& wrote, version at, instant granted = instant::max());
    // The answer to a grant of the key is there.
    void was_granted(const std::string& key);
    void forget(const std::string& key) { known_.erase(key); }

    // Notes since when a record has stood unchanged before our eyes: the answer is for how long.
    instant::duration unchanged(const std::string& key, const version& at);

    std::string fresh_nonce() { return ids_.next(); }
    // Up to `most`, from nothing.
    std::chrono::nanoseconds jitter(std::chrono::nanoseconds most);

    // Decides on the record and writes what was decided if it is the same still, as often as it
    // takes until the deadline. `known` may stand for the first look; where it is remembered, only
    // a decision to write is taken on it. A lease that was written is remembered; `wrote` is told.
    template <class T>
    async<T> amend(record_name name, std::optional<seen> known, instant until,
                   decide_step<T> decide, std::function<void(change, const version&)> wrote = {});

    // How one call of amend() has fared; also for loops that write more than one record.
    struct progress {
        std::string nonce;  // begins those of all attempts
        int attempts = 0;
        int conflicts = 0;
        int lost = 0;                      // answers
        std::optional<version> doubted{};  // a write over it may have happened, or happen yet

        std::string next_nonce() { return nonce + "." + std::to_string(attempts); }
        failure unsettled(failure why) const {
            if (doubted) why.code = errc::outcome_unknown;
            return why;
        }
        // Which of the attempts has written this; nothing: none has.
        std::optional<std::size_t> attempt_of(std::string_view text) const;
    };
    boost::asio::awaitable<void> back_off(int conflicts);
    // Before a write is looked for whose answer was lost, as was that of so many before it.
    boost::asio::awaitable<void> pause_for_the_server(int lost, instant until);

    // Of a record that cannot be read.
    failure unreadable(std::string_view what, const failure& why) const;

private:
    void hear(const result<write_answer>& got);

    // Constant after construction
    net::loop& where_;
    const std::shared_ptr<medium> on_;
    const medium_traits traits_;

    // On the loop only
    store_clock clock_;
    std::unordered_map<std::string, remembered> known_;
    std::size_t looked_through_at_ = 0;  // how many there may be before those that are free go
    struct observation {
        version at;
        instant since;
        instant looked;
    };
    std::unordered_map<std::string, observation> observations_;
    std::size_t sightings_kept_ = 0;  // how many there may be before those that are old go
    base::id_source ids_;
    std::minstd_rand random_;
};

template <class T>
async<T> versioned_records::amend(record_name name, std::optional<seen> known, instant until,
                                  decide_step<T> decide,
                                  std::function<void(change, const version&)> wrote) {
    const auto self = shared_from_this();
    progress so_far{fresh_nonce()};
    std::vector<T> answers;  // of the attempts, by their numbers
    bool from_memory = known && !known->clock;
    do {
        if (!known) {
            auto reading = read(name, until);
            auto got = co_await std::move(reading);
            if (got.has_error()) co_return so_far.unsettled(got.error());
            known = std::move(*got);
            from_memory = false;
        }
        // An attempt without an answer has come to its end after all.
        if (const auto mine = so_far.attempt_of(known->text)) co_return std::move(answers[*mine]);
        if (so_far.doubted && known->at != *so_far.doubted) so_far.doubted.reset();
        auto deciding = decide(*known, so_far.next_nonce());
        auto decided = co_await std::move(deciding);
        const bool writes = decided.has_value() && decided->text.has_value();
        // A request that has failed says nothing of what is remembered.
        const bool fails = decided.has_error() && may_pass(decided.error().code);
        if (from_memory && !writes && !fails) {
            known.reset();
            continue;
        }
        if (decided.has_error()) co_return so_far.unsettled(decided.error());
        if (!writes) {
            if (so_far.doubted)
                co_return so_far.unsettled({errc::outcome_unknown, "an earlier attempt is open"});
            co_return std::move(decided->answer);
        }
        const auto most = name.kind == record_kind::journal ? journal_text_max : text_max;
        if (decided->text->size() > most)
            co_return failure{errc::rejected, place() + ": the record would be larger than " +
                                                  std::to_string(most) + " bytes"};
        ++so_far.attempts;
        answers.push_back(std::move(decided->answer));
        change wanted{name, std::move(*decided->text), known->at};
        wanted.asks_time = decided->is_grant && from_memory;
        auto writing = write(wanted, until);
        const auto got = co_await std::move(writing);
        if (got.has_value() && std::holds_alternative<written>(*got)) {
            const auto& at = std::get<written>(*got).at;
            if (name.kind == record_kind::lease) remember(wanted, at);
            if (wrote) wrote(std::move(wanted), at);
            co_return std::move(answers.back());
        }
        if (got.has_error() && got.error().code != errc::outcome_unknown)
            co_return so_far.unsettled(got.error());
        from_memory = false;
        if (got.has_value()) {
            known = std::get<conflict>(*got).now;
            co_await back_off(++so_far.conflicts);
        } else {
            so_far.doubted = std::exchange(known, std::nullopt)->at;
            co_await pause_for_the_server(++so_far.lost, until);
        }
    } while (now() < until);
    co_return so_far.unsettled({errc::unreachable, place() + ": the record changes too often"});
}

}  // namespace pawl::cas
