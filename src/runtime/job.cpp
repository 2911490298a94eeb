#include <pawl/locks.hpp>

#include "net/remote_operation.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"
#include "runtime/written_run.hpp"

#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

namespace pawl {
namespace {

using boost::asio::awaitable;
using runtime::written_run;

// What the body did, and whether it had been told to stop before it ended.
struct body_end {
    std::exception_ptr thrown;
    bool stopped = false;
    bool kept = false;  // the lease was trusted until then
    bool started = false;
};

body_end run_body(const job& what, const run& now) {
    body_end how;
    how.started = true;
    try {
        what.body(now);
    } catch (...) {
        how.thrown = std::current_exception();
    }
    how.stopped = now.stop.stop_requested();
    return how;
}

void check_body(const job& what) {
    if (!what.body) throw option_error{"the job '" + what.name + "' has no body"};
}

std::optional<run_outcome> skipped(const attempt& tried) {
    if (std::holds_alternative<busy>(tried)) return run_outcome::skipped_busy;
    if (std::holds_alternative<already_done>(tried)) return run_outcome::skipped_done;
    return std::nullopt;
}

// What the journal makes of a run that is about to begin.
std::optional<run_outcome> refused(const beginning& begun) {
    if (begun.outcome == begin_outcome::already_run) return run_outcome::skipped_done;
    if (begun.outcome == begin_outcome::superseded) return run_outcome::skipped_busy;
    return std::nullopt;
}

// An at-least-once firing that was not brought to its end is left for somebody to take up; a row
// that is skipped lets another node run the occurrence.
run_end judge(const body_end& was, const lease& held, const run_start& start, bool cancelled) {
    const bool again = start.mode == delivery::at_least_once && start.firing;
    run_end how;
    how.reason = runtime::reason_of(was.thrown);
    const auto say = [&how](std::string_view what) {
        if (how.reason.empty()) how.reason = what;
    };
    if (!was.started) {
        const auto once = again ? run_status::abandoned : run_status::skipped;
        how.status = cancelled ? run_status::cancelled : once;
        say(cancelled     ? "cancelled"
            : was.stopped ? "its program told it to stop before its work began"
                          : "its lease ended before its work began");
    } else if (!was.kept) {
        how.status = again ? run_status::abandoned : run_status::lost;
        const auto why = held.lost();
        how.reason = "its lease was lost (" + std::string{why ? name_of(*why) : "ending"} + ")" +
                     (how.reason.empty() ? "" : "; " + how.reason);
    } else if (was.stopped && cancelled) {
        how.status = run_status::cancelled;
        say("cancelled");
    } else if (was.stopped) {
        how.status = again ? run_status::abandoned : run_status::cancelled;
        say("its program told it to stop");
    } else if (was.thrown) {
        how.status = again ? run_status::abandoned : run_status::failed;
    }
    return how;
}

// A run from its grant on, in the parts that the two ways to run a body share.
class granted_run {
public:
    granted_run(runtime::core& home, const job& what, lease won, std::stop_token shutdown)
        : what_{what},
          held_{std::move(won)},
          start_{runtime::start_of(what, held_, home.running()->owner())},
          written_{std::make_shared<written_run>(home, start_)},
          program_{std::move(shutdown)},
          stopping_{program_, held_.stop_token()},
          told_{stopping_.token(), written_->told()} {}

    const std::shared_ptr<written_run>& written() const { return written_; }
    lease& held() { return held_; }
    const std::string& id() const { return start_.id; }

    void work(const beginning& begun) {
        was_.stopped = program_.stop_requested() || written_->told().stop_requested();
        if (was_.stopped || !runtime::may_start(held_, what_.lease.ttl)) return;
        auto order = runtime::order_of(start_, begun, told_.token());
        order.save = written_->saver();
        was_ = run_body(what_, order);
        was_.kept = held_.trusted();
    }
    // There was no thread for it.
    void refuse_work(std::exception_ptr why) { was_.thrown = std::move(why); }
    run_end ending() const { return judge(was_, held_, start_, written_->was_cancelled()); }

    // Before the release. What never began is given back when its row says so: one that is written
    // later would end the run of whoever claims it next.
    void conclude(const run_end& how, bool written) {
        if (written_->is_stale()) was_.kept = false;
        if (!was_.started && how.status != run_status::cancelled) {
            if (written) held_.mark_not_started();
        } else if (is_over(how.status) && was_.kept) {
            held_.mark_done();
        }
    }
    // After it.
    run_outcome outcome() const {
        if (was_.thrown) std::rethrow_exception(was_.thrown);
        if (!was_.started && was_.stopped) return run_outcome::skipped_busy;
        return was_.kept ? run_outcome::ran : run_outcome::lost;
    }
    run_outcome refuse(run_outcome why, const beginning& begun) {
        // Whoever ran it was lost before it could tell the store.
        if (is_over(begun.status)) held_.mark_done();
        return why;
    }

private:
    const job& what_;
    lease held_;
    const run_start start_;
    std::shared_ptr<written_run> written_;
    const std::stop_token program_;
    runtime::either_stop stopping_;
    runtime::either_stop told_;
    body_end was_;
};

// On the loop; the body has a thread of its own.
awaitable<run_outcome> carry_out(runtime::core& home, job what, std::stop_token stop,
                                 std::stop_token gone) {
    const runtime::core::activity going_on{home};
    const runtime::stops told{std::move(stop), std::move(gone), home.closing()};
    auto claiming = runtime::engine::claim_key(home.running(), what.name, what.lease, what.waiting,
                                               told.token());
    auto answer = co_await std::move(claiming);
    auto& tried = answer.value();
    if (std::holds_alternative<already_done>(tried)) co_return run_outcome::skipped_done;
    auto* won = std::get_if<std::shared_ptr<runtime::holding>>(&tried);
    if (won == nullptr) co_return run_outcome::skipped_busy;
    // Requested when the loop goes away while the body runs.
    std::stop_source abandoned;
    const runtime::either_stop to_end{told.token(), abandoned.get_token()};
    granted_run now{home, what, lease{std::move(*won)}, to_end.token()};
    if (told.token().stop_requested()) {
        now.held().mark_not_started();
        auto releasing = now.held().async_release();
        co_await std::move(releasing);
        co_return run_outcome::skipped_busy;
    }
    beginning begun{begin_outcome::begun, now.id()};
    if (home.keeps_records()) {
        auto starting = written_run::begin(now.written());
        begun = co_await std::move(starting);
    }
    if (const auto why = refused(begun)) {
        const auto outcome = now.refuse(*why, begun);
        auto releasing = now.held().async_release();
        co_await std::move(releasing);
        co_return outcome;
    }
    std::function<void()> work = [&now, &begun] { now.work(begun); };
    try {
        auto working = runtime::on_thread(std::move(work), abandoned);
        co_await std::move(working);
    } catch (const std::system_error&) {
        now.refuse_work(std::current_exception());
    }
    const auto how = now.ending();
    bool written = true;
    if (home.keeps_records()) {
        auto ending = written_run::end(now.written(), how);
        written = co_await std::move(ending);
    }
    now.conclude(how, written);
    auto releasing = now.held().async_release();
    co_await std::move(releasing);
    co_return now.outcome();
}

}  // namespace

bool run::checkpoint(std::string_view text) const {
    if (!save)
        throw option_error{"the run of '" + key +
                           "' has no journal to keep a checkpoint: open the locks with one"};
    if (text.size() > checkpoint_bytes_max)
        throw option_error{"a checkpoint of " + std::to_string(text.size()) +
                           " bytes: there is room for " + std::to_string(checkpoint_bytes_max)};
    return save(text);
}

run_outcome locks::run(const job& what, std::stop_token stop) {
    check_body(what);
    auto tried = claim_key(what.name, what.lease, what.waiting, stop);
    if (const auto why = skipped(tried)) return *why;
    granted_run now{*core_, what, std::move(std::get<lease>(tried)), std::move(stop)};
    beginning begun{begin_outcome::begun, now.id()};
    if (core_->keeps_records()) begun = core_->loop().wait_for(written_run::begin(now.written()));
    if (const auto why = refused(begun)) {
        const auto outcome = now.refuse(*why, begun);
        now.held().release();
        return outcome;
    }
    now.work(begun);
    const auto how = now.ending();
    const bool written =
        !core_->keeps_records() || core_->loop().wait_for(written_run::end(now.written(), how));
    now.conclude(how, written);
    now.held().release();
    return now.outcome();
}

boost::asio::awaitable<run_outcome> locks::async_run(job what, std::stop_token stop) {
    check_body(what);
    runtime::check_claim(*core_->running(), what.name, what.lease, what.waiting);
    std::stop_source gone;
    auto running = carry_out(*core_, std::move(what), std::move(stop), gone.get_token());
    co_return co_await net::await_on(core_->loop(), std::move(running), gone,
                                     net::leave::when_done);
}

}  // namespace pawl
