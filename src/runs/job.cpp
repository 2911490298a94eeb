#include <pawl/locks.hpp>

#include "base/identity.hpp"
#include "base/text.hpp"
#include "net/remote_operation.hpp"
#include "net/unattended.hpp"
#include "runs/session.hpp"
#include "runs/unrun_occurrence.hpp"
#include "runtime/await_there.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/core.hpp"
#include "runtime/done_mark.hpp"

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace pawl {
namespace {

using boost::asio::awaitable;
using runs::is_left_to_resume;
using runs::run_session;

void check_body(const job& what) {
    if (!what.body) throw option_error{"the job '" + what.name + "' has no body"};
}

// What the journal makes of a run that is about to begin.
std::optional<run_outcome> rejected(const begin_result& begun) {
    if (begun.outcome == begin_outcome::already_run) return run_outcome::skipped_done;
    if (begun.outcome == begin_outcome::superseded) return run_outcome::skipped_busy;
    return std::nullopt;
}

run_start start_of(const job& what, fence_token token, const std::string& owner) {
    run_start start{base::fresh_uuid(), what.name, what.name};
    start.owner = owner;
    start.node = runtime::host_name();
    start.token = token;
    start.occurrence = what.lease.occurrence;
    start.delivery = what.lease.delivery;
    start.trigger = "library";
    start.heartbeat_timeout = runs::run_heartbeat_timeout;
    return start;
}

// Null where there is none, where it cannot be opened, and for a name that is too long for it.
awaitable<std::shared_ptr<journal>> open_records(runtime::core& home, const job& what) {
    if (what.name.size() > job_name_bytes_max) co_return nullptr;
    std::optional<failure> bad;
    std::shared_ptr<journal> records;
    try {
        auto finding = home.find_records();
        records = co_await std::move(finding);
    } catch (const store_error& error) {
        bad = failure{error.code(), error.what()};
    }
    if (bad) home.running()->report_failure("journal", *bad);
    co_return records;
}

// The occurrence counts as done, and nothing may have run for it. The journal knows of others'
// runs; where it knows of none, it is told why, and no caller is told that it has run.
awaitable<run_outcome> settle_unrun(runtime::core& home, const job& what, std::string_view why) {
    auto opening = open_records(home, what);
    const auto records = co_await std::move(opening);
    if (records) {
        auto start = start_of(what, fence_token{}, home.running()->owner());
        auto recording = runs::record_unrun(records, std::move(start), why);
        const auto run = co_await std::move(recording);
        if (run.has_error()) home.running()->report_failure("journal", run.error());
        if (run.has_value() && *run) co_return run_outcome::skipped_done;
    }
    throw store_error{failure{errc::rejected, "'" + base::printable(what.name) +
                                                  "' may not have run for its occurrence, and "
                                                  "will not any more: " +
                                                  std::string{why}}};
}

awaitable<run_outcome> settle_done(runtime::core& home, const job& what, already_done done) {
    if (done.answer_lost) {
        auto settling = settle_unrun(home, what, runs::answer_lost_text);
        co_return co_await std::move(settling);
    }
    auto finding = runtime::find_done_mark(home.running(), what.name,
                                           what.lease.occurrence.value_or(done.last), done.last);
    const auto mark = co_await std::move(finding);
    if (mark.value()) co_return run_outcome::skipped_done;
    auto settling = settle_unrun(home, what, runs::forgotten_text);
    co_return co_await std::move(settling);
}

// A run from its grant on, in the parts that the two ways to run a body share. The coroutines are
// awaited on the loop.
class granted_run {
public:
    granted_run(runtime::core& home, const job& what, lease won, std::stop_token shutdown)
        : home_{home},
          what_{what},
          held_{std::move(won)},
          start_{start_of(what, held_.token(), home.running()->owner())},
          program_{std::move(shutdown)},
          stopping_{program_, held_.stop_token()},
          told_{stopping_.token(), journal_.get_token()} {
        was_.started = false;
    }

    // However it went, what never began is given back.
    ~granted_run() {
        if (held_ && !was_.started) held_.mark_not_started();
    }
    granted_run(const granted_run&) = delete;
    granted_run& operator=(const granted_run&) = delete;

    lease& held() { return held_; }

    // Without a journal, or with one that does not answer, the run begins all the same.
    begin_result unwritten() const { return begin_result{begin_outcome::begun, start_.id}; }
    static awaitable<begin_result> begin(granted_run& me) {
        auto opening = open(me);
        co_await std::move(opening);
        if (!me.written_) co_return me.unwritten();
        auto beginning_of = run_session::begin(me.written_, me.start_);
        auto told = co_await std::move(beginning_of);
        if (!told) co_return me.unwritten();
        auto looking = is_left_to_resume(me.records_, me.start_, *told);
        me.is_left_ = co_await std::move(looking);
        co_return std::move(*told);
    }

    void work(const begin_result& begun) {
        stopped_ = program_.stop_requested() || journal_.stop_requested();
        if (stopped_ || !runtime::may_start(held_, what_.lease.ttl, home_.loop().now())) return;
        const auto order = order_of(begun);
        was_.started = true;
        try {
            what_.body(order);
        } catch (...) {
            thrown_ = std::current_exception();
        }
        stopped_ = order.stop.stop_requested();
        kept_ = held_.valid();
        // A body that is told to stop returns as one does that has done all.
        was_.succeeded = !thrown_ && !stopped_;
    }
    // There was no thread for it.
    void reject_work(std::exception_ptr why) { thrown_ = std::move(why); }

    // False where its end is not recorded in time.
    static awaitable<bool> end(granted_run& me) {
        if (!me.written_) co_return true;
        auto ending = run_session::end(me.written_, me.judged());
        const bool written = co_await std::move(ending);
        me.stale_ = me.written_->is_stale();
        if (written && runs::is_one_to_prune_after(me.start_.id))
            boost::asio::co_spawn(me.home_.loop().get_executor(),
                                  runs::prune_own(me.records_, me.start_.job), net::unattended{});
        co_return written;
    }
    // What the store is to know, before the release.
    void settle(bool written) { runs::tell(held_, runs::settle(judged().status, written)); }
    // After it.
    run_outcome outcome() const {
        if (thrown_) std::rethrow_exception(thrown_);
        if (!was_.started && stopped_) return run_outcome::skipped_busy;
        return kept_ && !stale_ ? run_outcome::ran : run_outcome::lost;
    }
    run_outcome reject(run_outcome why, const begin_result& begun) {
        // The node that ran it was lost before it could tell the store.
        if (is_finished(begun.status)) held_.mark_done();
        if (!is_left_) return why;
        held_.mark_not_started();
        return run_outcome::skipped_busy;
    }

private:
    static awaitable<void> open(granted_run& me) {
        auto opening = open_records(me.home_, me.what_);
        me.records_ = co_await std::move(opening);
        if (!me.records_) co_return;
        const auto report = [home = me.home_.running()](const failure* why) {
            if (why != nullptr) home->report_failure("journal", *why);
        };
        run_session::settings how;
        how.where = me.records_;
        how.who.on_renewal_failures = report;
        how.holds = runs::lease_look(me.home_.running());
        how.who.on_told = [told = me.journal_](runs::stop_cause) mutable { told.request_stop(); };
        me.written_ = run_session::make(me.home_.loop(), std::move(how));
    }

    // A copy of what the body was given may outlive the run, and all of pawl.
    static bool save(runtime::link& way, const std::weak_ptr<run_session>& session,
                     std::stop_source told, std::string_view text) {
        if (way.is_forked_child()) throw std::logic_error{net::opened_before_fork};
        const runtime::link::visit on{way};
        const auto written = on ? session.lock() : nullptr;
        if (!written) return false;
        const bool saved =
            on.loop().wait_for(run_session::checkpoint(written, std::string{text})).value();
        // Who returns for that has not done all.
        if (!saved) told.request_stop();
        return saved;
    }

    // What the body is told of itself.
    run order_of(const begin_result& begun) const {
        run order{start_.key, begun.id, start_.token, told_.token()};
        order.occurrence = start_.occurrence;
        order.idempotency_key = runs::idempotency_key(start_, begun);
        order.attempt = begun.attempt;
        order.last_checkpoint = begun.checkpoint;
        if (written_)
            order.save_checkpoint = [way = home_.home(), session = std::weak_ptr{written_},
                                     told = journal_](std::string_view text) {
                return save(*way, session, told, text);
            };
        return order;
    }

    run_end judged() const {
        auto was = was_;
        was.reason = runtime::reason_of(thrown_);
        runs::run_context under;
        under.is_at_least_once =
            start_.delivery == delivery::at_least_once && start_.occurrence.has_value();
        under.failed = runs::failing::reopens;
        under.trusted = kept_ || !was.started;
        under.loss = held_.lost();
        under.shutdown = "stopped by its program";
        if (stopped_) {
            const bool by_program = program_.stop_requested();
            under.cause = by_program ? runs::stop_cause::shutdown : runs::stop_cause::lost;
            if (written_ && written_->was_cancelled()) under.cause = runs::stop_cause::cancelled;
        }
        return runs::judge(was, under);
    }

    runtime::core& home_;
    const job& what_;
    lease held_;
    const run_start start_;
    std::shared_ptr<journal> records_;
    run_session::self_ptr written_;  // null: there is no journal
    const std::stop_token program_;
    std::stop_source journal_;  // cancelled, or another node's
    runtime::combined_stop stopping_;
    runtime::combined_stop told_;
    // What the body did, and whether it had been told to stop before it ended.
    runs::work_result was_;
    std::exception_ptr thrown_;
    bool stopped_ = false;
    bool kept_ = false;     // the lease was trusted until then
    bool stale_ = false;    // its row is another node's, or over
    bool is_left_ = false;  // to who resumes it as the at-least-once run that it is
};

// On the loop; the body has a thread of its own.
awaitable<run_outcome> carry_out(runtime::core& home, job what, std::stop_token stop,
                                 std::stop_token gone) {
    const runtime::core::activity going_on{home};
    const runtime::stops told{std::move(stop), std::move(gone), home.closing()};
    auto claiming = runtime::engine::acquire_with_reason(home.running(), what.name, what.lease,
                                                         what.waiting, told.token());
    auto answer = co_await std::move(claiming);
    auto& tried = answer.value();
    if (const auto* done = std::get_if<already_done>(&tried)) {
        auto settling = settle_done(home, what, *done);
        co_return co_await std::move(settling);
    }
    auto* won = std::get_if<std::shared_ptr<runtime::lease_state>>(&tried);
    if (won == nullptr) co_return run_outcome::skipped_busy;
    // Requested when the loop goes away while the body runs.
    std::stop_source abandoned;
    const runtime::combined_stop to_end{told.token(), abandoned.get_token()};
    granted_run now{home, what, lease{std::move(*won)}, to_end.token()};
    if (told.token().stop_requested()) {
        now.held().mark_not_started();
        auto releasing = now.held().async_release();
        co_await std::move(releasing);
        co_return run_outcome::skipped_busy;
    }
    auto begun = now.unwritten();
    if (home.keeps_records()) {
        auto starting = granted_run::begin(now);
        begun = co_await std::move(starting);
    }
    if (const auto why = rejected(begun)) {
        const auto outcome = now.reject(*why, begun);
        auto releasing = now.held().async_release();
        co_await std::move(releasing);
        co_return outcome;
    }
    std::function<void()> work = [&now, &begun] { now.work(begun); };
    try {
        auto working = runtime::on_thread(std::move(work), abandoned);
        co_await std::move(working);
    } catch (const std::system_error&) {
        now.reject_work(std::current_exception());
    }
    bool written = true;
    if (home.keeps_records()) {
        auto ending = granted_run::end(now);
        written = co_await std::move(ending);
    }
    now.settle(written);
    auto releasing = now.held().async_release();
    co_await std::move(releasing);
    co_return now.outcome();
}

// It may be awaited for the first time when the core has gone: the way there says so.
awaitable<run_outcome> run_on_loop(std::shared_ptr<runtime::link> way, runtime::core& home,
                                   job what, std::stop_token stop) {
    auto there = runtime::reach(*way);
    check_body(what);
    runtime::check_claim(*home.running(), what.name, what.lease, what.waiting);
    std::stop_source gone;
    auto running = carry_out(home, std::move(what), std::move(stop), gone.get_token());
    auto awaiting =
        runtime::await_there(std::move(there), std::move(running), gone, net::leave::when_done);
    co_return co_await std::move(awaiting);
}

}  // namespace

bool run::checkpoint(std::string_view text) const {
    if (!save_checkpoint)
        throw option_error{"the run of '" + key +
                           "' has no journal to keep a checkpoint: open the locks with one"};
    if (text.size() > checkpoint_bytes_max)
        throw option_error{"a checkpoint of " + std::to_string(text.size()) +
                           " bytes: there is room for " + std::to_string(checkpoint_bytes_max)};
    return save_checkpoint(text);
}

run_outcome locks::run(const job& what, std::stop_token stop) {
    const runtime::blocking_call on{core_.get()};
    check_body(what);
    auto tried = acquire_with_reason(what.name, what.lease, what.waiting, stop);
    if (std::holds_alternative<busy>(tried)) return run_outcome::skipped_busy;
    if (const auto* done = std::get_if<already_done>(&tried))
        return on->loop().wait_for(settle_done(*on, what, *done));
    const runtime::combined_stop told{std::move(stop), on->closing()};
    granted_run now{*on, what, std::move(std::get<lease>(tried)), told.token()};
    auto begun = now.unwritten();
    if (on->keeps_records()) begun = on->loop().wait_for(granted_run::begin(now));
    if (const auto why = rejected(begun)) {
        const auto outcome = now.reject(*why, begun);
        now.held().release();
        return outcome;
    }
    now.work(begun);
    const bool written = !on->keeps_records() || on->loop().wait_for(granted_run::end(now));
    now.settle(written);
    now.held().release();
    return now.outcome();
}

boost::asio::awaitable<run_outcome> locks::async_run(const job& what, std::stop_token stop) {
    auto& home = runtime::opened(core_.get());
    return run_on_loop(home.home(), home, what, std::move(stop));
}

}  // namespace pawl
