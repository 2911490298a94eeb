#include "engines/mysql/client/pool.hpp"

#include "base/duration.hpp"
#include "base/identity.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>

namespace pawl::mysql {
namespace {

// For a row, as session.sql tells the server.
constexpr millis lock_wait{1000};
// Before a transaction that lost against another is begun again.
constexpr millis conflict_pause_min{1};
constexpr std::uint32_t conflict_pause_doublings_max = 5;
// A table that is missing is made when a connection is opened; if that does not help, nothing does.
constexpr std::uint32_t missing_table_attempts_max = 2;
// What a server takes at least, until it has said so itself: the default of long ago.
constexpr std::size_t packet_usual = std::size_t{1} << 20;

bool is_transaction(std::string_view sql) { return sql.starts_with("START TRANSACTION"); }

// What a request that was never sent ends with.
failure unsent(const failure& why) { return {errc::unreachable, why.detail, why.answered}; }

}  // namespace

std::shared_ptr<pool> pool::make(net::loop& where, std::shared_ptr<const mysql_settings> settings,
                                 const table_plan& tables) {
    auto made = std::make_shared<pool>(where, std::move(settings), tables);
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

pool::pool(net::loop& where, std::shared_ptr<const mysql_settings> settings,
           const table_plan& tables)
    : settings_{std::move(settings)},
      place_{place_of(*settings_)},
      tables_{&tables},
      loop_{where},
      executor_{where.get_executor()},
      deadlines_{executor_},
      retries_{base::fresh_seed()},
      random_{base::fresh_seed()} {
    facts_.packet_max = packet_usual;
}

// ---- Asking

boost::asio::awaitable<outcome> pool::ask(request what) {
    auto begin = [this](auto&& handler, request&& asked) {
        submit(std::move(asked), std::forward<decltype(handler)>(handler));
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void(outcome)>(
        begin, boost::asio::use_awaitable, std::move(what));
}

boost::asio::awaitable<outcome> pool::ask(std::string sql, when_locked locked,
                                          store_down unconnected) {
    request made;
    made.sql = std::move(sql);
    made.locked = locked;
    made.unconnected = unconnected;
    return ask(std::move(made));
}

boost::asio::awaitable<outcome> pool::ask(prepared_call what, store_down unconnected) {
    request made;
    made.call = std::move(what);
    made.unconnected = unconnected;
    return ask(std::move(made));
}

std::optional<failure> pool::reject(store_down unconnected) const {
    if (closed_) return failure{errc::unreachable, place_ + ": the store is closed"};
    if (requests_.size() >= requests_max)
        return failure{errc::unreachable, place_ + ": too many requests wait for a connection"};
    // A wrong password does not become right within the back-off.
    if (standing_ + dialling_ == 0 && last_failure_ && !may_pass(last_failure_->code) &&
        lease_clock::now() < not_before_)
        return last_failure_;
    // The last attempt to connect has failed, and the next one has not begun.
    if (unconnected == store_down::fail && standing_ == 0 && last_failure_ &&
        lease_clock::now() < not_before_)
        return unsent(*last_failure_);
    return std::nullopt;
}

void pool::enqueue(request what) {
    if (auto rejected = reject(what.unconnected)) {
        // Posted: an answer must not come before the question has been asked.
        boost::asio::post(executor_, [who = std::move(what.who), rejected = std::move(*rejected)] {
            who->take(rejected);
        });
        return;
    }
    auto& added = requests_.emplace_back(std::move(what));
    added.deadline = lease_clock::now() + settings_->common.timeout;
    arm(added.deadline);
    // The connection whose answer led to this question is free for it.
    if (delivering_ && requests_.size() == 1) return;
    if (!idle_.empty()) {
        asking_ = true;
        wake_one();
        asking_ = false;
    } else {
        grow();
    }
}

// Later, while the question is still being asked: its answer must not come before that.
void pool::deliver(const std::shared_ptr<completion_handler>& who, outcome got) {
    if (!asking_) return who->take(std::move(got));
    auto later = std::make_shared<outcome>(std::move(got));
    boost::asio::post(executor_, [who, later] { who->take(std::move(*later)); });
}

// ---- Connections

// One dials at a time: the first one makes the tables, and a server that is down or full must not
// be run at by all.
void pool::grow() {
    if (closed_ || dialling_ > 0 || lines_.size() >= settings_->connections_max) return;
    if (standing_ > 0 && lease_clock::now() < not_before_) return;
    auto line = std::make_shared<link>(loop_);
    lines_.push_back(line);
    ++dialling_;
    boost::asio::co_spawn(executor_, serve(shared_from_this(), std::move(line)),
                          boost::asio::detached);
}

boost::asio::awaitable<void> pool::serve(std::shared_ptr<pool> self, std::shared_ptr<link> line) {
    bool stands = co_await self->stand_up(line);
    while (stands && !self->closed_) {
        if (self->requests_.empty()) {
            co_await self->idle(line.get());
            if (!self->is_spare(*line)) continue;
            --self->standing_;
            line->close();
            break;
        }
        // Ended while it was idle, so nothing is lost with it.
        stands = line->is_alive() && co_await self->execute(line);
        if (stands || self->closed_) continue;
        --self->standing_;
        line->close();
        if (self->requests_.empty() || self->dialling_ > 0) break;
        ++self->dialling_;
        stands = co_await self->stand_up(line);
    }
    self->retire(line);
}

// True when the line is logged in; false when it is not needed or of no use. REQUIRES: counted in
// dialling_, which it leaves.
boost::asio::awaitable<bool> pool::stand_up(std::shared_ptr<link> line) {
    for (;;) {
        if (const auto now = lease_clock::now(); now < not_before_) {
            net::boot_timer backoff{executor_};
            backoff.set(not_before_);
            co_await backoff.wait();
        }
        if (closed_) break;
        line->reset();
        line->deadline = lease_clock::now() + settings_->common.timeout;
        arm(line->deadline);
        auto facts = co_await dial(line, settings_, tables_);
        line->deadline = instant::max();
        if (closed_) break;
        if (facts.has_value()) {
            --dialling_;
            ++standing_;
            facts_ = std::move(*facts);
            retries_.succeeded();
            not_before_ = instant{};
            last_failure_.reset();
            // Those behind the first need not wait for it.
            if (requests_.size() > 1) grow();
            co_return true;
        }
        line->close();
        if (!retire_attempt(facts.error())) break;
    }
    --dialling_;
    co_return false;
}

// True when another attempt is to be made.
bool pool::retire_attempt(failure why) {
    not_before_ = lease_clock::now() + retries_.failed();
    // A server may have no room for one more, and go on with those it has.
    if (standing_ > 0) return false;
    last_failure_ = std::move(why);
    if (!may_pass(last_failure_->code)) {
        drop_unsent(*last_failure_);
        return false;
    }
    drop_impatient();
    expire_unsent(lease_clock::now());
    return !requests_.empty();
}

// A burst of callers opens many connections, and a server has not many to give.
bool pool::is_spare(const link& line) const {
    return !closed_ && requests_.empty() && standing_ > settings_->connections_min &&
           lease_clock::now() - line.used >= settings_->idle_max;
}

void pool::retire(const std::shared_ptr<link>& line) {
    if (line->is_connected() && standing_ > 0) --standing_;
    line->close();
    std::erase(lines_, line);
    if (!requests_.empty()) grow();
}

boost::asio::awaitable<void> pool::idle(const link* line) {
    auto begin = [this, line](auto&& handler) {
        using handler_type = std::decay_t<decltype(handler)>;
        idle_.push_back(std::make_unique<handler_idle_waiter<handler_type>>(
            line, std::forward<decltype(handler)>(handler)));
    };
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&, void()>(
        begin, boost::asio::use_awaitable);
}

// At once: another round through the loop would cost a system call for each statement.
void pool::wake_one() {
    const auto first = std::move(idle_.back());
    idle_.pop_back();
    first->wake();
}

// False when the connection is over. REQUIRES: a request waits.
boost::asio::awaitable<bool> pool::execute(std::shared_ptr<link> line) {
    auto one = std::move(requests_.front());
    requests_.pop_front();
    // What was given up before it was sent need not be done.
    if (!one.who->waits()) co_return true;
    line->deadline = one.deadline;
    reply got;
    if (one.call.of != nullptr)
        got = co_await line->call(one.call);
    else
        got = co_await line->ask(one.sql);
    line->used = lease_clock::now();
    if (!got.error && !line->was_aborted()) {
        line->deadline = instant::max();
        response answered{std::move(got.answers), std::nullopt};
        if (settings_->tls) answered.tls = line->examine_tls();
        delivering_ = true;
        deliver(one.who, std::move(answered));
        delivering_ = false;
        co_return true;
    }
    if (line->was_aborted()) {
        line->deadline = instant::max();
        one.who->take(failure{
            errc::outcome_unknown,
            place_ + ": no answer within " + base::format_duration(settings_->common.timeout)});
        co_return false;
    }
    const auto error = std::move(*got.error);
    const auto over = co_await settle(line, one, error);
    line->deadline = instant::max();
    co_return over == connection_state::connection_stands && !line->was_aborted();
}

boost::asio::awaitable<bool> pool::roll_back(std::shared_ptr<link> line) {
    const std::string undo{"ROLLBACK"};
    const auto undone = co_await line->ask(undo);
    co_return !undone.error;
}

boost::asio::awaitable<pool::connection_state> pool::settle(std::shared_ptr<link> line,
                                                            request& one,
                                                            const server_error& error) {
    const bool in_time = lease_clock::now() < one.deadline;
    ++one.attempts;
    if (is_locked(error) && one.locked == when_locked::tell) {
        const bool undone = co_await roll_back(line);
        response told;
        told.locked = true;
        deliver(one.who, std::move(told));
        co_return undone ? connection_state::connection_stands
                         : connection_state::connection_is_over;
    }
    if (is_conflict(error) && in_time) {
        // A lock that was waited for too long ends its statement only, a deadlock all of them.
        if (is_transaction(one.sql)) {
            const bool undone = co_await roll_back(line);
            if (!undone) {
                requests_.push_front(std::move(one));
                co_return connection_state::connection_is_over;
            }
        }
        if (is_locked(error)) {
            // The row may stay so for long: a request that waits for a connection goes first. That
            // nothing was done is known now, and would not be in the middle of the next wait.
            one.last = explain_rejection(place_, error);
            if (lease_clock::now() + 2 * lock_wait < one.deadline)
                requests_.push_back(std::move(one));
            else
                deliver(one.who, *one.last);
            co_return connection_state::connection_stands;
        }
        co_await pause(one.attempts);
        requests_.push_front(std::move(one));
        co_return connection_state::connection_stands;
    }
    const auto why = explain_rejection(place_, error);
    const bool no_table = is_missing_table(error) && one.attempts < missing_table_attempts_max;
    if ((was_not_executed(error) || no_table) && in_time) {
        requests_.push_front(std::move(one));
        co_return connection_state::connection_is_over;
    }
    deliver(one.who, why);
    const bool over = is_of_client(error) || ends_unasked(error) || is_read_only(error) ||
                      is_missing_table(error) || is_transaction(one.sql) ||
                      why.code == errc::outcome_unknown;
    co_return over ? connection_state::connection_is_over : connection_state::connection_stands;
}

boost::asio::awaitable<void> pool::pause(std::uint32_t attempts) {
    const auto longest =
        conflict_pause_min * (1 << std::min(attempts, conflict_pause_doublings_max));
    std::uniform_int_distribution<millis::rep> spread{conflict_pause_min.count(), longest.count()};
    net::boot_timer timer{executor_};
    timer.set(lease_clock::now() + millis{spread(random_)});
    co_await timer.wait();
}

// ---- Deadlines

void pool::arm(instant due) { deadlines_.arm(due, shared_from_this(), &pool::check_deadlines); }

void pool::check_deadlines() {
    const auto now = lease_clock::now();
    auto next = instant::max();
    for (const auto& line : lines_) {
        if (line->deadline <= now) {
            line->deadline = instant::max();
            line->abort();
        }
        next = std::min(next, line->deadline);
    }
    expire_unsent(now);
    // The one at the front has been idle for the longest. Woken without need, it ends.
    const auto idle_until = [this] { return idle_.front()->line->used + settings_->idle_max; };
    const auto has_spare = [this] {
        return standing_ > settings_->connections_min && !idle_.empty();
    };
    while (has_spare() && idle_until() <= now) {
        const auto spare = std::move(idle_.front());
        idle_.erase(idle_.begin());
        spare->wake();
    }
    if (has_spare()) next = std::min(next, idle_until());
    for (const auto& one : requests_) next = std::min(next, one.deadline);
    if (next != instant::max()) arm(next);
}

void pool::drop_unsent(const failure& why) {
    std::deque<request> gone;
    gone.swap(requests_);
    for (const auto& one : gone) deliver(one.who, why);
}

// REQUIRES: no connection stands, and the last attempt to get one has failed.
void pool::drop_impatient() {
    std::deque<request> gone, kept;
    for (auto& one : requests_)
        (one.unconnected == store_down::fail ? gone : kept).push_back(std::move(one));
    requests_ = std::move(kept);
    for (const auto& one : gone) deliver(one.who, unsent(*last_failure_));
}

void pool::expire_unsent(instant now) {
    std::vector<request> gone;
    std::erase_if(requests_, [&](request& one) {
        if (one.deadline > now) return false;
        gone.push_back(std::move(one));
        return true;
    });
    if (gone.empty()) return;
    const auto* what = standing_ > 0 ? ": no connection was free within " : ": no answer within ";
    const auto why = last_failure_.value_or(failure{
        errc::unreachable, place_ + what + base::format_duration(settings_->common.timeout)});
    for (const auto& one : gone) deliver(one.who, one.last.value_or(unsent(why)));
}

// ---- Ending

void pool::close() {
    closed_ = true;
    for (const auto& line : lines_)
        if (line->deadline != instant::max()) line->abort();
    while (!idle_.empty()) wake_one();
    deadlines_.end();
}

void pool::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void pool::loop_ends() {
    // A store may outlive its loop; what does I/O must not.
    closed_ = true;
    deadlines_.drop();
    const auto gone = std::move(requests_);
    requests_.clear();
    const auto idle = std::move(idle_);
    idle_.clear();
    lines_.clear();
}

}  // namespace pawl::mysql
