#include "runs/run_result.hpp"

#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

namespace pawl::runs {
namespace {

constexpr std::string_view before_it_began = " before its work began";
// Without a lease only the journal says so, perhaps late.
constexpr std::string_view elsewhere = "another node has run it";

run_end ended(run_status how, std::string reason) {
    run_end made;
    made.status = how;
    made.reason = std::move(reason);
    return made;
}

// Nothing has been done: a row that is skipped lets its occurrence run.
run_end judge_unstarted(const work_result& what, const run_context& under) {
    if (under.cause == stop_cause::cancelled) return ended(run_status::cancelled, "cancelled");
    auto reason = what.reason;
    if (under.cause == stop_cause::shutdown)
        reason = std::string{under.shutdown} + std::string{before_it_began};
    else if (under.cause && !under.has_lease)
        reason = elsewhere;
    else if (under.cause || reason.empty())
        reason = "its lease ended" + std::string{before_it_began};
    return ended(under.is_at_least_once ? run_status::abandoned : run_status::skipped,
                 std::move(reason));
}

run_end judge_lost(const work_result& what, const run_context& under) {
    auto reason =
        "its lease was lost (" + std::string{under.loss ? name_of(*under.loss) : "ending"} + ")";
    if (!under.has_lease) reason = elsewhere;
    if (!what.reason.empty()) reason += "; " + what.reason;
    return ended(under.is_at_least_once ? run_status::abandoned : run_status::lost,
                 std::move(reason));
}

// A deadline is the end of the lease, also where the work was dead before it could be told so.
run_context with_deadline(const work_result& what, run_context under) {
    if (!under.cause && what.ending == work_ending::deadline) under.cause = stop_cause::lost;
    return under;
}

run_end judge_work(const work_result& what, const run_context& under) {
    if (what.succeeded && under.trusted) return ended(run_status::completed, what.reason);
    const bool timed_out = under.cause == stop_cause::timed_out;
    if (!what.started && !under.has_worked && !timed_out) return judge_unstarted(what, under);
    // What could not begin, and does not say why: its deadline came before it did.
    const bool too_late = !what.started && !under.cause && what.reason.empty();
    if (!under.trusted || too_late || under.cause == stop_cause::lost)
        return judge_lost(what, under);
    const auto left = under.is_at_least_once ? run_status::abandoned : run_status::failed;
    // What its guard took with it says nothing of the work.
    const bool reopens = under.failed == failing::reopens || what.ending == work_ending::guard_lost;
    if (!under.cause) return ended(reopens ? left : run_status::failed, what.reason);
    if (timed_out) return ended(run_status::timed_out, "it took longer than its timeout");
    if (under.cause == stop_cause::cancelled) return ended(run_status::cancelled, "cancelled");
    return ended(under.is_at_least_once ? run_status::abandoned : run_status::cancelled,
                 std::string{under.shutdown});
}

}  // namespace

run_end judge(const work_result& what, const run_context& under) {
    auto how = judge_work(what, with_deadline(what, under));
    if (what.started) how.exit_status = what.exit_status;
    return how;
}

settlement settle(run_status how, bool written) {
    if (how == run_status::skipped) return written ? settlement::not_started : settlement::open;
    const bool over = is_finished(how) && how != run_status::lost;
    return over ? settlement::done : settlement::open;
}

void tell(lease& held, settlement what) {
    if (what == settlement::not_started) held.mark_not_started();
    if (what == settlement::done) held.mark_done();
}

bool may_begin(const begin_result& begun) noexcept {
    return begun.outcome == begin_outcome::begun || begun.outcome == begin_outcome::resumed;
}

std::string idempotency_key(const run_start& start, const begin_result& begun) {
    if (!start.occurrence) return begun.id;
    const time::wall_instant at{millis{number(*start.occurrence)}};
    return start.key + "@" + time::format_rfc3339(at);
}

}  // namespace pawl::runs
