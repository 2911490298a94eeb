// What the control state has said last: which jobs are paused, which runs were asked for by hand,
// and which abandoned runs turned out to be done.
//
// A machine without I/O: it is handed what was read, and when, and says what may be concluded from
// it.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/types.hpp>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace pawl::schedule {

// A trigger that has gone from the control state is another node's, or begins here within that.
constexpr millis trigger_memory{600'000};

// Used by one thread at a time.
class control_cache {
public:
    enum class control_source { journal, none };
    explicit control_cache(control_source where) : where_{where} {}

    void on_read(instant now);
    bool was_read() const noexcept { return read_at_.has_value(); }
    // Until then no schedule is handed out: a job may be paused.
    bool knows_pauses() const noexcept { return where_ == control_source::none || was_read(); }
    // While one exists, what is due is being learned: the control state is known in a moment, and
    // what is let go of meanwhile is not offered again.
    class learning {
    public:
        explicit learning(control_cache& whose) : whose_{whose} { whose_.is_learning_ = true; }
        ~learning() { whose_.is_learning_ = whose_.was_offered_ && !whose_.was_read(); }
        // What is due is offered, and stays so however long the control state cannot be read.
        void on_offered() noexcept { whose_.was_offered_ = true; }
        learning(const learning&) = delete;
        learning& operator=(const learning&) = delete;

    private:
        control_cache& whose_;
    };
    bool is_learning() const noexcept { return is_learning_; }
    // Whether a stale run says anything about its node: what was cut off with this node, or before
    // it started, is given the time to say that it lives, or how it ended.
    bool may_judge(instant now) const noexcept;

    using pause_map = std::unordered_map<std::string, job_pause>;  // by job
    // Null for a job that is not paused.
    const job_pause* pause_of(const std::string& job) const;
    // Returns those before.
    pause_map replace_pauses(std::vector<job_pause> now);

    // A run that was asked for: told again with each control state that has it.
    void on_trigger(const run_trigger& what, instant now) { triggers_[what.id] = {what, now}; }
    // Null for one that is not known, or not any more.
    const run_trigger* trigger(const std::string& id) const;
    void on_answered(const std::string& id) { triggers_.erase(id); }

    // An abandoned run, by its row, and done, by the store. Its own node may still be about to tell
    // the journal.
    struct done_orphan {
        instant seen{};
        fence_token token{};  // of who had the key last
        std::string owner;
        bool closing = false;
    };
    void on_orphan_done(const std::string& run, done_orphan what);
    // Null for one that is not known to be done.
    done_orphan* find_done(const std::string& run);

    // `orphans`: those of the control state.
    void forget_old(instant now, const std::vector<run_record>& orphans);

private:
    struct asked_for {
        run_trigger what;
        instant seen{};  // when it was last in the control state
    };

    bool was_cut_off(instant now) const noexcept;

    control_source where_;
    bool is_learning_ = false;
    bool was_offered_ = false;
    std::optional<instant> read_at_;
    instant judge_from_{};
    pause_map pauses_;
    std::unordered_map<std::string, asked_for> triggers_;        // by id
    std::unordered_map<std::string, done_orphan> done_orphans_;  // by run
};

}  // namespace pawl::schedule
