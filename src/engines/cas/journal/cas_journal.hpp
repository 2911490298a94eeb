// The journal itself: what its verbs share. They are defined in begin.cpp (how runs begin),
// runs.cpp (what becomes of them), checkpoints.cpp, output.cpp, lists.cpp, prune.cpp, control.cpp
// and registry.cpp.
#pragma once

#include "engines/cas/journal/journal_keys.hpp"
#include "engines/cas/journal/journal_records.hpp"
#include "engines/cas/journal/journal_text.hpp"
#include "engines/cas/journal/make_cas_journal.hpp"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace pawl::cas {

// What no truth asks for is removed when it is as old as this.
constexpr millis hint_ages_in = std::chrono::minutes{10};

class cas_journal : public journal, public std::enable_shared_from_this<cas_journal> {
public:
    cas_journal(net::loop& where, const store_settings& settings, std::shared_ptr<medium> on)
        : records_{std::make_shared<journal_records>(where, settings, std::move(on))} {}

#include "engines/rules/journal/verbs.inc"

private:
    // The truth about a run as it stands, and where.
    struct found_run {
        std::string key{};
        seen stands{};
        std::optional<run_state> state{};  // nothing: there is no such run, or it is unreadable
        bool is_unreadable = false;        // what stands there says nothing, and is left as it is

        bool is_gone() const { return !state && !is_unreadable; }
    };
    struct hint {
        std::string key;
        index_entry entry;
    };
    using hint_list = std::vector<hint>;

    // How one verb changes a run. `gone` is what the truth no longer asks for once it is written.
    struct run_change {
        std::string id{};
        std::function<async<journals::change>(run_state&, std::int64_t now)> step{};
        std::vector<place_and_version> gone{};
    };
    using change_ptr = std::shared_ptr<run_change>;
    using row_step = std::function<result<journals::change>(journals::run_row&, std::int64_t now)>;

    // What is written for a run that is to be added, before it is.
    struct claimed_run {
        std::string key{};
        std::string id{};
        std::string job{};
        millis heartbeat_timeout{0};
        bool is_active = true;
        std::uint64_t number = 0;               // 0: nothing yet
        bool has_id = false;                    // the record under its id was looked at
        std::vector<std::string> entries{};     // their keys
        std::vector<place_and_version> gone{};  // of one that it takes over
    };
    struct starting {
        explicit starting(run_start its_start) : start{std::move(its_start)} {
            mine->key = keys::of(start);
            mine->id = start.id;
            mine->job = start.job;
            mine->heartbeat_timeout = start.heartbeat_timeout;
        }
        const run_start start;
        const std::shared_ptr<claimed_run> mine = std::make_shared<claimed_run>();
        std::optional<run_state> repeated{};  // it had begun before
        bool was_passed = false;              // what stood there has changed during the decision
        std::uint64_t answered = 0;           // the number of its trigger
        std::string added{};                  // skip(): the id of another that is there
    };
    struct saving {
        fence_token token{};
        std::string text{};
        std::string ref{};
        std::string withheld{};  // an offer that no run can take any more
    };
    struct appending {
        fence_token token{};
        std::uint64_t offset = 0;
        std::string bytes{};
        std::uint64_t limit = 0;
        std::uint64_t number = 0;  // of the run
        std::uint64_t floor = 0;
    };
    struct publishing {
        std::vector<job_entry> jobs{};
        instant until{};
        bool has_written = false;
        std::optional<failure> why{};  // a job could not be told that no other attempt will tell
    };
    struct beats;
    struct beats_of_run;
    struct removal;
    struct excess;
    struct control_entry;
    using control_entries = std::vector<control_entry>;
    struct control_reading;

    result<run_place> parse_at(const std::string& key, const seen& stands) const;
    // Not before anything that the run's record says has happened.
    static std::int64_t time_within(const run_state& state, std::int64_t now);
    result<std::int64_t> now_for(const run_state& state) const;
    // Whether what was written then cannot belong to a verb that is under way.
    bool is_old(std::int64_t at) const;

    // Where the run with this id is, as far as is known.
    std::string place_of(const std::string& id) const;
    void note_place(const std::string& id, const std::string& key);
    async<found_run> find(std::string id, instant until);
    async<std::optional<run_record>> show(std::string id, instant until);
    // With their checkpoints, where these stand apart.
    async<std::vector<run_record>> complete(std::vector<run_state> runs, instant until);
    static std::vector<index_entry> entries_of(const listing& page,
                                               const std::optional<std::string>& job);
    async<std::vector<found_run>> truths_of(std::vector<index_entry> entries, instant until);

    // What such a truth asks for.
    static hint_list hints_of(const run_state& state);
    async<void> put_hints(hint_list hints, instant until);
    // Writes those that the new truth asks for and the old one did not, and says which go.
    async<std::vector<place_and_version>> change_hints(const run_state* before,
                                                       const run_state& after, instant until);
    // Adds it to the newest; those that there were, if they are many, go to a page of their own.
    async<void> add_event(run_state& state, std::optional<run_event> event, instant until);
    boost::asio::awaitable<void> trim_history(std::uint64_t number, std::uint64_t count,
                                              instant until);
    async<bool> change_run(change_ptr what, instant until);
    async<bool> change_row(std::string id, row_step step);
    async<decision<bool>> decide_change(change_ptr what, std::string key, const seen& stands,
                                        std::string nonce, instant until);

    async<decision<begin_result>> decide_begin(std::shared_ptr<starting> what, const seen& stands,
                                               std::string nonce, instant until);
    async<begin_result> begin_as_it_stands(std::shared_ptr<starting> what, instant until);
    async<decision<bool>> decide_skip(std::shared_ptr<starting> what, std::string reason,
                                      const seen& stands, std::string nonce, instant until);
    async<void> add_run(run_state& state, const journals::begin_decision& decided,
                        std::shared_ptr<claimed_run> mine, instant until);
    async<void> take_over(run_state& state, const journals::begin_decision& decided,
                          std::shared_ptr<claimed_run> mine, instant until);
    async<void> claim(std::shared_ptr<claimed_run> mine, instant until);
    async<void> claim_id(std::shared_ptr<claimed_run> mine, instant until);
    boost::asio::awaitable<void> unclaim(std::shared_ptr<claimed_run> mine, std::string added,
                                         instant until);
    async<void> assure(run_state state, instant until);

    // Nothing: the run has saved another meanwhile, or is gone.
    async<std::optional<std::string>> checkpoint_of(const run_state& state, instant until);
    async<void> keep_checkpoint(run_state& state, std::string text, std::string ref, instant until);
    async<journals::saved_checkpoint> last_saved(std::string job, std::uint32_t partition,
                                                 instant until);
    async<bool> withhold(std::string key, std::string ref, instant until);
    async<bool> offer(std::shared_ptr<saving> what, const run_state& state, instant until);
    async<void> settle_saved(const run_state& state, instant until);
    async<journals::change> save(std::shared_ptr<saving> what, change_ptr into, run_state& state,
                                 std::int64_t now, instant until);
    async<journals::change> add_output(std::shared_ptr<appending> what, run_state& state,
                                       instant until);
    boost::asio::awaitable<void> trim_output(std::uint64_t number, std::uint64_t floor,
                                             instant until);

    result<decision<bool>> decide_beats(beats& all, const beats_of_run& which, const seen& stands,
                                        const std::string& nonce) const;
    async<void> find_runs(std::shared_ptr<beats> all);
    async<void> beat_together(std::shared_ptr<beats> all);
    static async<void> beat_alone(std::shared_ptr<cas_journal> self, std::shared_ptr<beats> all,
                                  std::size_t which);

    boost::asio::awaitable<void> sweep(index_entry entry, instant until);
    async<std::unordered_set<std::uint64_t>> active_runs(std::string job);
    async<excess> find_excess(std::string job, std::size_t keep, std::int64_t ended_before);
    static async<void> remove_run(std::shared_ptr<cas_journal> self, std::shared_ptr<removal> all,
                                  std::size_t which);
    async<void> remove_oldest(std::shared_ptr<removal> all, std::vector<index_entry> entries,
                              std::size_t limit);

    bool take_control(control_reading& into, const std::string& key, const index_entry& entry,
                      run_place truth) const;
    async<void> take_page(std::shared_ptr<control_reading> into, listing page, instant until);
    async<void> take_entries(std::shared_ptr<control_reading> into, control_entries entries,
                             instant until);
    async<void> take_fairly(std::shared_ptr<control_reading> into, control_entries all,
                            instant until);
    async<std::uint64_t> announce(std::shared_ptr<waiting_trigger> waiting, instant until);
    static async<void> publish_one(std::shared_ptr<cas_journal> self,
                                   std::shared_ptr<publishing> all, std::size_t which);
    async<void> raise_since(std::string job, instant until);
    boost::asio::awaitable<void> forget_old_nodes(instant until);
    async<audit_entry> newest_audit(instant until);

    // Constant after construction
    const std::shared_ptr<journal_records> records_;

    // On the loop only
    std::unordered_map<std::string, std::string> places_;  // of runs with an occurrence, by ids
    struct kept_chunk {
        place_and_version where;
        std::uint64_t end = 0;
    };
    // What runs have written here and is kept, by their numbers.
    std::unordered_map<std::uint64_t, std::deque<kept_chunk>> output_;
};

}  // namespace pawl::cas
