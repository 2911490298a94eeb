#include "engines/postgresql/client/pool.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "engines/postgresql/client/error_mapping.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>

namespace pawl::postgresql {
namespace {

// The default of the database or of the user may be read-only or another isolation level.
constexpr const char* begin_text = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

constexpr std::string_view not_replicated =
    ": committed, but the wait for the synchronous standby was cancelled";

std::string deallocation_of(const statement_text& what) { return "DEALLOCATE " + what.name; }

bool send_plain(PGconn* on, const char* sql) {
    return PQsendQueryParams(on, sql, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
}

}  // namespace

std::shared_ptr<pool> pool::make(net::loop& where,
                                 std::shared_ptr<const postgresql_settings> settings,
                                 const layout_plan& plan, pool_bounds bounds) {
    auto made = std::make_shared<pool>(where, std::move(settings), plan, bounds);
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

pool::pool(net::loop& where, std::shared_ptr<const postgresql_settings> settings,
           const layout_plan& plan, pool_bounds bounds)
    : settings_{std::move(settings)},
      place_{place_of(settings_->servers)},
      plan_{plan},
      bounds_{bounds},
      loop_{where},
      executor_{where.get_executor()},
      prepares_{settings_->prepare == preparation::automatic},
      deadlines_{executor_},
      backoff_{executor_},
      retries_{base::fresh_seed()} {}

// ---- Asking

// No coroutine of its own: each frame costs every request.
boost::asio::awaitable<answer> pool::ask(statement what, store_down unconnected) {
    auto begin = [this, unconnected, what = std::move(what)](auto&& handler) mutable {
        submit(std::move(what), unconnected, std::forward<decltype(handler)>(handler));
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(answer)>(
        std::move(begin), boost::asio::use_awaitable);
}

std::optional<failure> pool::reject(store_down unconnected) const {
    if (closed_) return failure{errc::unreachable, place_ + ": the store is closed"};
    if (waiting_.size() >= bounds_.requests_max)
        return failure{errc::unreachable, place_ + ": too many requests wait for an answer"};
    // A wrong password does not become right within the back-off.
    if (lines_.empty() && !connecting_ && last_failure_ && !may_pass(last_failure_->code) &&
        lease_clock::now() < not_before_)
        return last_failure_;
    // The last attempt to connect has failed, and the next one has not begun.
    if (unconnected == store_down::fail && lines_.empty() && last_failure_ &&
        lease_clock::now() < not_before_)
        return failure{errc::unreachable, last_failure_->detail};
    return std::nullopt;
}

void pool::enqueue(statement what, store_down unconnected,
                   std::shared_ptr<completion_handler> who) {
    if (auto rejected = reject(unconnected)) {
        // Posted: an answer must not come before the question has been asked.
        boost::asio::post(executor_, [who = std::move(who), rejected = std::move(*rejected)] {
            who->take(rejected);
        });
        return;
    }
    waiting_.push_back({std::move(who), std::move(what),
                        lease_clock::now() + settings_->common.timeout, unconnected});
    pump();
    if (deadlines_.when() == instant::max()) arm();
}

bool pool::is_own_backend(std::int64_t process) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](const auto& one) {
        return PQbackendPID(one->through->handle()) == process;
    });
}

std::shared_ptr<wire> pool::any_wire() const {
    return lines_.empty() ? nullptr : lines_.front()->through;
}

// ---- Connecting

void pool::start_connecting() {
    connecting_ = true;
    boost::asio::co_spawn(executor_, connect(shared_from_this()), boost::asio::detached);
}

boost::asio::awaitable<void> pool::connect(std::shared_ptr<pool> self) {
    while (!self->closed_ && self->connecting_) {
        if (lease_clock::now() < self->not_before_) {
            self->backoff_->set(self->not_before_);
            co_await self->backoff_->wait();
            continue;
        }
        auto on = std::make_shared<wire>(self->loop_);
        self->attempt_ = on;
        self->attempt_deadline_ = lease_clock::now() + self->settings_->common.timeout;
        self->arm();
        auto opening = open(self, on, self->attempt_deadline_);
        auto opened = co_await std::move(opening);
        if (opened.has_error() && lease_clock::now() >= self->attempt_deadline_)
            opened = failure{errc::unreachable,
                             self->place_ + ": no answer within " +
                                 base::format_duration(self->settings_->common.timeout)};
        self->attempt_deadline_ = instant::max();
        self->attempt_.reset();
        if (self->closed_) break;
        if (opened.has_value()) {
            self->stand(on);
            co_return;
        }
        on->close();
        if (!self->retire_attempt(opened.error())) co_return;
    }
}

async<void> pool::open(std::shared_ptr<pool> self, std::shared_ptr<wire> on, instant deadline) {
    auto target =
        std::shared_ptr<const connection_target>{self->settings_, &self->settings_->servers};
    auto dialling = wire::connect(on, std::move(target), deadline);
    const auto connected = co_await std::move(dialling);
    if (connected.has_error()) co_return connected.error();
    constexpr int oldest = 120'000;
    if (const int version = PQserverVersion(on->handle()); version < oldest)
        co_return failure{errc::unsupported, on->place() + ": PostgreSQL " +
                                                 std::to_string(version / 10'000) +
                                                 " is too old: pawl needs 12 or newer"};
    auto looking = ensure_layout(on, self->settings_->schema, self->plan_);
    const auto laid_out = co_await std::move(looking);
    if (laid_out.has_error()) co_return laid_out.error();
    self->writes_ = *laid_out;
    if (!on->is_open() || !on->start_pipeline())
        co_return failure{errc::unreachable, on->place() + ": the connection was closed"};
    co_return result<void>{};
}

void pool::stand(const std::shared_ptr<wire>& on) {
    connecting_ = false;
    // Another server, perhaps.
    if (lines_.empty()) wraps_ = false;
    retries_.succeeded();
    not_before_ = instant{};
    last_failure_.reset();
    auto added = std::make_shared<line>();
    added->through = on;
    lines_.push_back(added);
    receive(added);
    pump();
}

// True when another attempt is to be made.
bool pool::retire_attempt(failure why) {
    not_before_ = lease_clock::now() + retries_.failed();
    if (!lines_.empty()) {
        // One more was wanted, not needed: the server may have no more to give.
        connecting_ = false;
        pump();
        return false;
    }
    last_failure_ = std::move(why);
    if (!may_pass(last_failure_->code)) {
        connecting_ = false;
        drop_unsent();
        return false;
    }
    drop_impatient();
    expire_unsent(lease_clock::now());
    connecting_ = !waiting_.empty();
    return connecting_;
}

// ---- Sending

pool::line_pointer pool::freest() const {
    const auto now = lease_clock::now();
    const auto load = [&](const line& one) {
        return std::pair{is_slow(one, now), one.in_flight.size()};
    };
    line_pointer best;
    for (const auto& one : lines_)
        if (!one->retiring && (!best || load(*one) < load(*best))) best = one;
    return best;
}

bool pool::is_slow(const line& one, instant now) const {
    return !one.in_flight.empty() && now - one.front_since >= bounds_.slow;
}

// A statement that waits for a lock holds up all that is sent behind it, beyond their deadlines if
// there is more than one of them.
bool pool::holds_up(const line& one) const {
    const auto now = lease_clock::now();
    return is_slow(one, now) || (!one.in_flight.empty() && now < locks_until_);
}

bool pool::wants_another(const line_pointer& best) const {
    if (connecting_ || closed_) return false;
    if (!best) return lines_.empty();
    return lines_.size() < settings_->connections &&
           (best->in_flight.size() >= bounds_.crowded || holds_up(*best)) &&
           lease_clock::now() >= not_before_;
}

bool pool::is_free() const {
    const auto best = freest();
    return best ? best->in_flight.empty() : lines_.empty() && waiting_.empty() && !connecting_;
}

boost::asio::awaitable<answer> pool::ask_either(std::shared_ptr<pool> first,
                                                std::shared_ptr<pool> other, statement what) {
    const auto asked = lease_clock::now();
    auto asking = first->ask(what, other->stands() ? store_down::fail : store_down::retry);
    auto got = co_await std::move(asking);
    const bool never_sent =
        got.has_error() && got.error().code != errc::outcome_unknown && !first->stands();
    if (!never_sent || !other->stands() ||
        lease_clock::now() - asked > first->settings_->common.timeout / 2)
        co_return got;
    const auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != boost::asio::cancellation_type::none) co_return got;
    auto again = other->ask(std::move(what));
    co_return co_await std::move(again);
}

void pool::pump() {
    while (!waiting_.empty() && !closed_) {
        const auto best = freest();
        if (wants_another(best)) start_connecting();
        // The one that is being opened is the better one to wait for.
        if (best && connecting_ && holds_up(*best)) return;
        // Between a BEGIN and a COMMIT of ours nothing else may come.
        const auto room = wraps_ ? 1 : bounds_.in_flight_max;
        if (!best || best->in_flight.size() >= room) return;
        auto next = std::move(waiting_.front());
        waiting_.pop_front();
        if (!send(best, std::move(next)))
            break_off(best,
                      failure{errc::outcome_unknown, best->through->place() + ": " +
                                                         PQerrorMessage(best->through->handle())});
    }
}

bool pool::send(const line_pointer& to, request what) {
    if (to->in_flight.empty()) to->front_since = lease_clock::now();
    auto& added = to->in_flight.emplace_back();
    added.of = std::move(what);
    added.wrapped = wraps_;
    auto* handle = to->through->handle();
    if (added.wrapped && !send_plain(handle, begin_text)) return false;
    if (!send_call(to, added)) return false;
    if (added.wrapped && !send_plain(handle, "COMMIT")) return false;
    return finish_segment(to);
}

bool pool::send_call(const line_pointer& to, flight& carrying) {
    auto* handle = to->through->handle();
    const auto& what = carrying.of->what;
    if (!prepares_) return what.send_plain(handle);
    if (to->prepared.find(what.text().name) == to->prepared.end()) {
        if (!what.send_prepare(handle)) return false;
        to->prepared.insert(what.text().name);
        to->through->leaves(deallocation_of(what.text()));
        carrying.prepared = true;
    }
    return what.send_prepared(handle);
}

// Ends the transaction that libpq's pipeline makes of a segment, and hands it to the kernel.
bool pool::finish_segment(const line_pointer& to) {
    return PQpipelineSync(to->through->handle()) == 1 && flush(to);
}

bool pool::flush(const line_pointer& to) {
    if (to->sending) return true;
    const int left = PQflush(to->through->handle());
    if (left <= 0) return left == 0;
    to->sending = true;
    to->through->when_writable([self = shared_from_this(), to](boost::system::error_code error) {
        to->sending = false;
        // The reader will see what is wrong as well, and tells the callers.
        if (!error && self->stands(to)) self->flush(to);
    });
    return true;
}

void pool::roll_back(const line_pointer& on) {
    if (on->in_flight.empty()) on->front_since = lease_clock::now();
    on->in_flight.emplace_back();
    if (!send_plain(on->through->handle(), "ROLLBACK") || !finish_segment(on))
        break_off(on, failure{errc::outcome_unknown,
                              on->through->place() + ": the connection was closed"});
}

// ---- Receiving

bool pool::stands(const line_pointer& on) const {
    return std::find(lines_.begin(), lines_.end(), on) != lines_.end();
}

void pool::receive(const line_pointer& on) {
    on->through->when_readable([self = shared_from_this(), on](boost::system::error_code error) {
        self->received(on, error);
    });
}

void pool::received(const line_pointer& on, boost::system::error_code error) {
    if (!stands(on)) return;
    if (error)
        return break_off(
            on, failure{errc::outcome_unknown, on->through->place() + ": " + error.message()});
    const bool alive = PQconsumeInput(on->through->handle()) == 1;
    // What had come before the end is still an answer.
    if (!deal_out(on)) return;
    if (!alive) {
        const auto why =
            explain_connection(on->through->place(), PQerrorMessage(on->through->handle()));
        return break_off(on, failure{errc::outcome_unknown, why.detail});
    }
    receive(on);
    pump();
}

// False when the connection no longer stands.
bool pool::deal_out(const line_pointer& on) {
    auto* handle = on->through->handle();
    // libpq says "nothing more" once behind each statement.
    constexpr int pauses_max = 8;
    int pauses = 0;
    while (!on->in_flight.empty() && PQisBusy(handle) == 0 && pauses < pauses_max) {
        auto* got = PQgetResult(handle);
        if (got == nullptr) {
            ++pauses;
            continue;
        }
        pauses = 0;
        if (PQresultStatus(got) != PGRES_PIPELINE_SYNC) {
            note(on->in_flight.front(), rows{got});
            if (PQstatus(handle) == CONNECTION_BAD) return true;
            continue;
        }
        PQclear(got);
        auto done = std::move(on->in_flight.front());
        on->in_flight.pop_front();
        on->front_since = lease_clock::now();
        // libpq has read no further than to the end of this one's transaction.
        done.unreplicated = on->through->take_unreplicated();
        deal(on, std::move(done));
        if (!stands(on)) return false;
        close_if_retired(on);
        if (!stands(on)) return false;
    }
    return true;
}

void pool::note(flight& current, rows got) {
    switch (PQresultStatus(got.handle())) {
        case PGRES_TUPLES_OK:
            current.got = std::move(got);
            ++current.successes;
            return;
        case PGRES_COMMAND_OK:
            ++current.successes;
            return;
        case PGRES_PIPELINE_ABORTED:
            return;
        default:
            break;
    }
    if (!current.sqlstate.empty()) return;
    const auto field = [&](int which, const char* otherwise) {
        const auto* text = PQresultErrorField(got.handle(), which);
        return std::string{text == nullptr ? otherwise : text};
    };
    // What libpq made up itself, because the connection is gone, has no SQLSTATE.
    current.sqlstate = field(PG_DIAG_SQLSTATE, "08006");
    current.message = field(PG_DIAG_MESSAGE_PRIMARY, PQresultErrorMessage(got.handle()));
    const auto severity = field(PG_DIAG_SEVERITY_NONLOCALIZED, "FATAL");
    current.fatal = severity == "FATAL" || severity == "PANIC";
}

// A preparation is the first command, or follows a BEGIN; what fails behind it does not undo it.
bool pool::lacks_preparation(const flight& done) {
    return done.prepared && done.successes <= (done.wrapped ? 1 : 0);
}

// What was sent behind it fails with it, and no pooler is to blame for that.
void pool::forget_preparation(const line_pointer& on, const flight& done) {
    const auto& text = done.of->what.text();
    on->prepared.erase(text.name);
    on->through->left_nothing(deallocation_of(text));
    for (auto& each : on->in_flight)
        if (each.of && each.of->what.text().name == text.name) each.unprepared = true;
}

void pool::deal(const line_pointer& on, flight done) {
    if (lacks_preparation(done)) forget_preparation(on, done);
    if (!done.sqlstate.empty() && done.wrapped) roll_back(on);
    if (!done.of) return;
    if (done.sqlstate.empty() && done.unreplicated)
        return done.of->who->take(failure{
            errc::outcome_unknown, on->through->place() + std::string{not_replicated}, true});
    if (done.sqlstate.empty()) return done.of->who->take(std::move(done.got));
    if (!done.fatal && try_again(done)) return;
    if (waited_for_lock(done.sqlstate))
        locks_until_ = lease_clock::now() + bounds_.locks_remembered;
    auto why = explain_error(on->through->place(), done.sqlstate, done.message);
    if (done.fatal) why.code = errc::outcome_unknown;
    done.of->who->take(std::move(why));
}

// True when it will be sent again, in another way. It had no effect, as its transaction was undone.
bool pool::try_again(flight& done) {
    if (lost_prepared_statement(done.sqlstate) && settings_->prepare == preparation::automatic) {
        // Told once for each that was under way.
        if (!done.unprepared) prepares_ = false;
    } else if (wants_own_transaction(done.sqlstate) && !done.wrapped) {
        wraps_ = true;
    } else if (misses_schema(done.sqlstate) && !done.of->made_schema) {
        done.of->made_schema = true;
        retire_all();
    } else if (lost_against_another(done.sqlstate) && done.of->conflicts < bounds_.conflicts_max &&
               lease_clock::now() < done.of->deadline) {
        ++done.of->conflicts;
    } else {
        return false;
    }
    waiting_.push_front(std::move(*done.of));
    return true;
}

// The connection is over. What was sent on it may have been executed.
void pool::break_off(const line_pointer& which, const failure& why) {
    std::erase(lines_, which);
    auto gone = std::move(which->in_flight);
    which->in_flight.clear();
    which->through->close();
    last_failure_ = failure{errc::unreachable, why.detail};
    expire_unsent(lease_clock::now());
    if (!waiting_.empty()) pump();
    const auto self = shared_from_this();
    for (auto& one : gone) {
        if (!one.of) continue;
        // The server's own words for it, if it had any.
        const auto told = one.sqlstate.empty()
                              ? why
                              : failure{errc::outcome_unknown,
                                        explain_error(place_, one.sqlstate, one.message).detail};
        one.of->who->take(told);
    }
}

// The schema is gone: connections look for it, and make it, when they begin.
void pool::retire_all() {
    for (const auto& one : lines_) one->retiring = true;
}

void pool::close_if_retired(const line_pointer& which) {
    if (!which->retiring || !which->in_flight.empty()) return;
    std::erase(lines_, which);
    which->through->close();
    pump();
}

// ---- Deadlines

void pool::arm() {
    auto next = attempt_deadline_;
    if (!waiting_.empty()) next = std::min(next, waiting_.front().deadline);
    for (const auto& one : lines_)
        for (const auto& each : one->in_flight)
            if (each.of) {
                next = std::min(next, each.of->deadline);
                break;
            }
    deadlines_.arm(next, shared_from_this(), &pool::check_deadlines);
}

void pool::check_deadlines() {
    const auto now = lease_clock::now();
    const auto waited = base::format_duration(settings_->common.timeout);
    if (attempt_ && attempt_deadline_ <= now) attempt_->close();
    const auto lines = lines_;
    for (const auto& one : lines) {
        const auto late =
            std::any_of(one->in_flight.begin(), one->in_flight.end(),
                        [&](const flight& each) { return each.of && each.of->deadline <= now; });
        if (late && stands(one))
            break_off(one, failure{errc::outcome_unknown,
                                   one->through->place() + ": no answer within " + waited});
    }
    expire_unsent(now);
    const bool idle = waiting_.empty() && attempt_deadline_ == instant::max() &&
                      std::all_of(lines_.begin(), lines_.end(),
                                  [](const auto& one) { return one->in_flight.empty(); });
    if (!closed_ && !idle) arm();
}

void pool::expire_unsent(instant now) {
    std::deque<request> gone;
    while (!waiting_.empty() && waiting_.front().deadline <= now) {
        gone.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    if (gone.empty()) return;
    const auto why = last_failure_.value_or(failure{
        errc::unreachable,
        place_ + ": no connection within " + base::format_duration(settings_->common.timeout)});
    fail_all(gone, failure{errc::unreachable, why.detail});
}

// REQUIRES: nothing can be sent.
void pool::drop_unsent() {
    std::deque<request> gone;
    gone.swap(waiting_);
    fail_all(gone, failure{*last_failure_});
}

// REQUIRES: no connection stands, and the last attempt to get one has failed.
void pool::drop_impatient() {
    std::deque<request> gone, kept;
    for (auto& one : waiting_)
        (one.unconnected == store_down::fail ? gone : kept).push_back(std::move(one));
    waiting_ = std::move(kept);
    fail_all(gone, failure{errc::unreachable, last_failure_->detail});
}

void pool::fail_all(const std::deque<request>& gone, const failure& why) {
    const auto self = shared_from_this();
    for (const auto& one : gone) one.who->take(why);
}

// ---- Ending

void pool::close() {
    closed_ = true;
    if (attempt_) attempt_->close();
    for (const auto& one : lines_) one->through->close();
    lines_.clear();
    deadlines_.end();
    backoff_->wake();
}

void pool::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void pool::loop_ends() {
    // A store may outlive its loop; what does I/O must not.
    closed_ = true;
    if (attempt_) attempt_->close();
    attempt_.reset();
    const auto lines = std::move(lines_);
    lines_.clear();
    for (const auto& one : lines) {
        one->through->close();
        one->in_flight.clear();
    }
    deadlines_.drop();
    backoff_.reset();
    const auto gone = std::move(waiting_);
    waiting_.clear();
}

}  // namespace pawl::postgresql
