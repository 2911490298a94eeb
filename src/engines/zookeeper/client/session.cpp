#include "engines/zookeeper/client/session.hpp"

#include "base/duration.hpp"
#include "base/ensure.hpp"
#include "base/identity.hpp"
#include "engines/zookeeper/client/addresses.hpp"
#include "engines/zookeeper/client/deferred_close.hpp"
#include "engines/zookeeper/client/error_mapping.hpp"
#include "engines/zookeeper/client/four_letters.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace pawl::zookeeper {
namespace {

constexpr millis beat_max{5000};
constexpr millis beat_min{50};
constexpr std::size_t requests_max = std::size_t{64} * 1024;

}  // namespace

std::string place_of(const server& one) {
    const auto port = ":" + std::to_string(one.port);
    return one.host.find(':') == std::string::npos ? one.host + port : "[" + one.host + "]" + port;
}

std::string place_of(const zookeeper_settings& settings) {
    std::string text;
    for (const auto& one : settings.servers)
        text.append(text.empty() ? "" : ",").append(place_of(one));
    return text;
}

// A fifth of the timeout, and up to half a tick, is for what the leader has not heard yet.
millis longest_ttl(millis session_timeout, millis tick) {
    const auto fifth = session_timeout / 5;
    return session_timeout - fifth - std::min(fifth, tick / 2);
}

millis least_timeout(millis ttl) {
    // What the short ones are divided by is more, what the long ones lose is the same for all.
    auto timeout = std::min((ttl + usual_tick / 2) * 5 / 4, ttl * 5 / 3);
    while (longest_ttl(timeout) < ttl) ++timeout;
    return timeout;
}

std::shared_ptr<session> session::make(net::loop& where,
                                       std::shared_ptr<const zookeeper_settings> settings,
                                       millis timeout) {
    auto made = std::make_shared<session>(where, std::move(settings), timeout);
    made->attachment_ = net::attach(where.get_executor(), made);
    return made;
}

session::session(net::loop& where, std::shared_ptr<const zookeeper_settings> settings,
                 millis timeout)
    : settings_{std::move(settings)},
      place_{place_of(*settings_)},
      timeout_{timeout},
      executor_{where.get_executor()},
      socket_{std::in_place, executor_},
      timer_{std::in_place, executor_},
      retries_{base::fresh_seed()},
      random_{base::fresh_seed()} {}

// ---- Asking

void session::enqueue(request wanted, instant until, std::shared_ptr<completion_handler> who) {
    std::optional<failure> rejected;
    if (state_ == state::dead)
        rejected =
            last_failure_.value_or(failure{errc::unreachable, place_ + ": the session ended"});
    else if (waiting_.size() >= requests_max)
        rejected = failure{errc::unreachable, place_ + ": too many requests wait for an answer"};
    else if (state_ == state::resting && last_failure_ && !may_pass(last_failure_->code) &&
             lease_clock::now() < not_before_)
        rejected = last_failure_;
    if (rejected) {
        // Posted: an answer must not come before the question has been asked.
        boost::asio::post(executor_, [who = std::move(who), rejected = std::move(*rejected)] {
            who->take(rejected);
        });
        return;
    }
    const auto number = ++numbers_;
    auto& one = waiting_[number];
    one.who = std::move(who);
    one.until = until;
    one.writes = wanted.writes();
    one.unsent = std::move(wanted);
    deadlines_.emplace(until, number);
    arm(until);
    if (state_ == state::connected) return send(number, one);
    unsent_.push_back(number);
    if (state_ == state::resting) start_opening();
}

void session::send(std::uint64_t number, waiting& one) {
    auto wanted = std::move(*one.unsent);
    one.unsent.reset();
    const auto code = handle_->submit(number, std::move(wanted));
    if (!turning_) attend();
    if (code == 0) return;
    const auto judged = judge_code(code, false, place_, {});
    auto why = judged.has_error() ? judged.error() : failure{errc::rejected, place_};
    boost::asio::post(executor_, [self = shared_from_this(), number, why = std::move(why)] {
        self->finish(number, why);
    });
}

void session::send_unsent() {
    while (!unsent_.empty() && state_ == state::connected) {
        const auto number = unsent_.front();
        unsent_.pop_front();
        if (const auto found = waiting_.find(number); found != waiting_.end())
            send(number, found->second);
    }
}

void session::finish(std::uint64_t number, result<answer> got) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    const auto who = std::move(found->second.who);
    deadlines_.erase({found->second.until, number});
    waiting_.erase(found);
    if (who) who->take(std::move(got));
}

namespace {

// The answers of several requests for one handler, in the order of the requests.
struct collected_replies {
    std::vector<std::optional<result<answer>>> answers;
    std::size_t left;
};

// The collectors alone own the handler: its coroutine owns the collected replies, and the two
// must not keep each other when the loop ends under them.
class reply_collector final : public completion_handler {
public:
    reply_collector(std::shared_ptr<collected_replies> into,
                    std::shared_ptr<completion_handler> who, std::size_t place)
        : into_{std::move(into)}, who_{std::move(who)}, place_{place} {}
    void take(result<answer> got) override {
        into_->answers[place_] = std::move(got);
        if (--into_->left == 0) who_->take(answer{});
    }

private:
    const std::shared_ptr<collected_replies> into_;
    const std::shared_ptr<completion_handler> who_;
    const std::size_t place_;
};

class discarded_reply final : public completion_handler {
public:
    void take(result<answer>) override {}
};

}  // namespace

async<std::vector<answer>> session::ask_all(std::vector<request> wanted, instant until) {
    std::vector<answer> answers;
    if (wanted.empty()) co_return answers;
    const auto all = std::make_shared<collected_replies>();
    all->answers.resize(wanted.size());
    all->left = wanted.size();
    auto begin = [this, &wanted, &all, until](auto&& handler) {
        auto who = net::make_completion_handler<result<answer>>(
            std::forward<decltype(handler)>(handler),
            [this](std::weak_ptr<completion_handler> gone) {
                net::give_up(executor_, std::move(gone), place_);
            });
        for (std::size_t i = 0; i < wanted.size(); ++i)
            enqueue(std::move(wanted[i]), until, std::make_shared<reply_collector>(all, who, i));
    };
    const auto ended = co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&,
                                                            void(result<answer>)>(
        begin, boost::asio::use_awaitable);
    if (ended.has_error()) co_return ended.error();
    for (auto& one : all->answers) {
        if (one->has_error()) co_return one->error();
        answers.push_back(std::move(**one));
    }
    co_return answers;
}

void session::tell(request wanted, instant until) {
    enqueue(std::move(wanted), until, std::make_shared<discarded_reply>());
}

async<void> session::ready(instant until, store_down unconnected) {
    const auto self = shared_from_this();
    if (state_ == state::connected) co_return result<void>{};
    if (unconnected == store_down::fail) {
        const auto some = co_await any_answers(until);
        if (some.has_error()) co_return some.error();
    }
    // Answered by whichever server the session is on.
    request anything{request::kind::exists, "/"};
    const auto got = co_await ask(std::move(anything), until);
    if (got.has_error()) co_return got.error();
    co_return result<void>{};
}

// ---- Connecting

async<void> session::any_answers(instant until) {
    result<void> last = failure{errc::unreachable, place_};
    const auto& all = settings_->servers;
    const auto share = settings_->common.timeout / static_cast<millis::rep>(all.size());
    for (const auto& one : all) {
        const auto by = std::min(until, lease_clock::now() + share);
        const auto report = co_await ask_srvr(executor_, one, by);
        if (report.has_value()) co_return result<void>{};
        last = failure{errc::unreachable, report.error().detail};
    }
    co_return last;
}

void session::start_opening() {
    state_ = state::opening;
    boost::asio::co_spawn(executor_, open(shared_from_this()), boost::asio::detached);
}

// The servers, those that serve first; a failure when there is none.
async<std::vector<server>> session::find_servers(std::shared_ptr<session> self) {
    const auto& all = self->settings_->servers;
    std::vector<std::size_t> line(all.size());
    for (std::size_t i = 0; i < line.size(); ++i) line[i] = i;
    std::shuffle(line.begin(), line.end(), self->random_);
    std::vector<server> order;
    std::optional<failure> worst;
    const auto share =
        self->settings_->common.timeout / static_cast<int>(std::min<std::size_t>(all.size(), 3));
    for (const auto place : line) {
        const auto until = lease_clock::now() + share;
        const auto report = co_await ask_srvr(self->executor_, all[place], until);
        if (self->state_ != state::opening) break;
        if (report.has_error()) {
            if (!worst || may_pass(worst->code)) worst = report.error();
        } else if (report->state == readiness::serving || report->state == readiness::silent_word) {
            order.push_back(all[place]);
            // A shorter one keeps two fifths whatever the tick is.
            if (self->timeout_ / 5 > usual_tick / 2) {
                const auto told = co_await ask_tick(self->executor_, all[place], until);
                if (told.has_value()) self->tick_ = std::max(self->tick_, *told);
            }
            break;
        } else if (!worst) {
            const bool read_only = report->state == readiness::read_only;
            worst = failure{read_only ? errc::rejected : errc::unreachable,
                            place_of(all[place]) + (read_only ? ": this server has lost its quorum "
                                                                "and is read-only"
                                                              : ": This ZooKeeper instance is not "
                                                                "currently serving requests (no "
                                                                "quorum)")};
        }
    }
    if (order.empty()) co_return worst.value_or(failure{errc::unreachable, self->place_});
    for (const auto place : line)
        if (place_of(all[place]) != place_of(order.front())) order.push_back(all[place]);
    co_return order;
}

boost::asio::awaitable<void> session::open(std::shared_ptr<session> self) {
    while (self->state_ == state::opening) {
        if (lease_clock::now() < self->not_before_) {
            net::boot_timer pause{self->executor_};
            pause.set(self->not_before_);
            co_await pause.wait();
            if (self->state_ != state::opening) co_return;
        }
        auto order = co_await find_servers(self);
        if (self->state_ != state::opening) co_return;
        if (order.has_error()) {
            self->retire_attempt(order.error());
            continue;
        }
        auto addresses = co_await find_addresses(self->executor_, std::move(*order));
        if (self->state_ != state::opening) co_return;
        if (addresses.has_error()) {
            self->retire_attempt(addresses.error());
            continue;
        }
        auto opened = client_handle::open(*self->settings_, *addresses, self->timeout_);
        if (opened.has_error()) {
            self->retire_attempt(opened.error());
            continue;
        }
        self->handle_ = std::move(*opened);
        self->state_ = state::connecting;
        self->connect_by_ = lease_clock::now() + self->settings_->common.timeout;
        self->arm(self->connect_by_);
        self->turn(cause::time);
        co_return;
    }
}

// Names may have other addresses than when the connection was made.
boost::asio::awaitable<void> session::look_names_up(std::shared_ptr<session> self) {
    self->looking_up_ = true;
    const auto* const whose = self->handle_.get();
    const auto addresses = co_await find_addresses(self->executor_, self->settings_->servers);
    self->looking_up_ = false;
    if (addresses.has_value() && self->handle_.get() == whose && whose != nullptr)
        self->handle_->move_to(*addresses);
}

void session::retire_attempt(failure why) {
    not_before_ = lease_clock::now() + retries_.failed();
    last_failure_ = std::move(why);
    if (may_pass(last_failure_->code)) {
        expire(lease_clock::now());
        if (!waiting_.empty()) return;
        state_ = state::resting;
        return;
    }
    state_ = state::resting;
    unsent_.clear();
    const auto gone = all_waiting();
    const auto told = *last_failure_;
    for (const auto number : gone) finish(number, told);
}

// ---- Driving the C client

void session::turn(cause why) {
    if (!handle_ || turning_) return;
    const auto self = shared_from_this();
    turning_ = true;
    if (why == cause::readable) handle_->read();
    if (why == cause::writable) handle_->write();
    do {
        for (const auto& event : handle_->take_events()) {
            deliver(event);
            // The observer has ended the session.
            if (!handle_) break;
        }
        if (handle_) attend();
    } while (handle_ && handle_->has_events());
    turning_ = false;
}

// Told later, where a call of ours is on its way that must not find everything changed.
void session::turn_soon() {
    if (std::exchange(turn_posted_, true)) return;
    boost::asio::post(executor_, [self = shared_from_this()] {
        self->turn_posted_ = false;
        self->turn(cause::time);
    });
}

auto session::when_ready(cause what, bool& waits) {
    return [weak = weak_from_this(), left = socket_->times_left(), what,
            &waits](const boost::system::error_code&) {
        const auto self = weak.lock();
        if (!self || !self->socket_ || self->socket_->times_left() != left) return;
        waits = false;
        if (what == cause::writable) self->socket_->end_wait_to_write();
        self->turn(what);
    };
}

void session::attend() {
    const auto wants = handle_->attend();
    if (wants.link != watched_) {
        reading_ = writing_ = false;
        socket_->leave();
        watched_ = wants.link;
        if (watched_ != 0 && !socket_->follow(wants.socket)) {
            // Out of descriptors: tried again when the time has come.
            watched_ = 0;
            handle_->shake();
        }
    }
    if (watched_ != 0 && !std::exchange(reading_, true))
        socket_->wait_to_read(when_ready(cause::readable, reading_));
    // Where the system is out of descriptors, it is tried again when the time has come.
    if (watched_ != 0 && wants.write && !writing_)
        writing_ = socket_->wait_to_write(when_ready(cause::writable, writing_));
    // While it is connected, a time that is too early costs one look, and moving it a system call.
    attend_at_ = watched_ != 0 ? std::min(attend_at_, wants.by) : wants.by;
    arm(attend_at_);
    if (!turning_ && handle_->has_events()) turn_soon();
}

void session::deliver(const handle_event& event) {
    if (const auto* now = std::get_if<link_state>(&event)) return state_changed(*now);
    if (const auto* number = std::get_if<std::uint64_t>(&event)) return answered(*number);
    node_changed(std::get<std::string>(event));
}

void session::answered(std::uint64_t number) {
    auto got = handle_->take(number, place_);
    finish(number, std::move(got));
}

// From now on the handle is the closer's.
void session::let_go(instant when) {
    if (socket_) socket_->leave();
    watched_ = 0;
    reading_ = writing_ = false;
    attend_at_ = instant::max();
    close_later(std::move(handle_), when);
}

void session::state_changed(link_state now) {
    if (state_ == state::dead) return;
    switch (now) {
        case link_state::connected:
            return stand();
        case link_state::connecting:
        case link_state::read_only:
            return fall();
        case link_state::expired:
            return die({errc::unreachable, place_ + ": the session has expired"});
        case link_state::rejected:
            return die({errc::denied, place_ + ": the server rejected user:password@"});
    }
}

void session::stand() {
    state_ = state::connected;
    granted_ = handle_->negotiated_timeout();
    id_ = handle_->session_id();
    connect_by_ = instant::max();
    nudge_at_ = instant::max();
    retries_.succeeded();
    not_before_ = instant{};
    last_failure_.reset();
    beat_at_ = lease_clock::now() + beat_every();
    arm(beat_at_);
    send_unsent();
}

// The connection is gone, the session perhaps not: the C client goes on trying.
void session::fall() {
    if (state_ != state::connected) return;
    state_ = state::connecting;
    beat_at_ = instant::max();
    const auto now = lease_clock::now();
    fell_at_ = now;
    nudge_at_ = now + retries_.failed();
    connect_by_ = now + settings_->common.timeout;
    arm(std::min(nudge_at_, connect_by_));
    wake_watches();
}

std::vector<std::uint64_t> session::all_waiting() const {
    std::vector<std::uint64_t> all;
    all.reserve(waiting_.size());
    for (const auto& [number, one] : waiting_) all.push_back(number);
    return all;
}

void session::die(failure why) {
    state_ = state::dead;
    last_failure_ = std::move(why);
    let_go(instant{});
    unsent_.clear();
    const auto gone = all_waiting();
    for (const auto number : gone) {
        const auto found = waiting_.find(number);
        if (found == waiting_.end()) continue;
        auto told = *last_failure_;
        if (told.code == errc::unreachable && !found->second.unsent && found->second.writes)
            told.code = errc::outcome_unknown;
        finish(number, told);
    }
    wake_watches();
    if (timer_) timer_->wake();
}

// ---- Watching

session::watch::watch(std::shared_ptr<session> where, std::string path)
    : where_{std::move(where)}, path_{std::move(path)} {
    where_->watches_.emplace(path_, this);
}

session::watch::~watch() {
    const auto [begin, end] = where_->watches_.equal_range(path_);
    for (auto at = begin; at != end; ++at) {
        if (at->second != this) continue;
        where_->watches_.erase(at);
        break;
    }
}

boost::asio::awaitable<void> session::watch::fired() {
    if (fired_) co_return;
    auto begin = [this](auto&& handler) {
        waiting_ = net::make_completion_handler<result<answer>>(
            std::forward<decltype(handler)>(handler),
            [where = where_.get()](std::weak_ptr<completion_handler> gone) {
                net::give_up(where->executor_, std::move(gone), where->place_);
            });
    };
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&,
                                         void(result<answer>)>(begin, boost::asio::use_awaitable);
}

void session::node_changed(const std::string& path) {
    std::vector<std::shared_ptr<completion_handler>> woken;
    const auto [begin, end] = watches_.equal_range(path);
    for (auto at = begin; at != end; ++at) {
        at->second->fired_ = true;
        if (at->second->waiting_) woken.push_back(std::move(at->second->waiting_));
    }
    for (const auto& one : woken) one->take(answer{});
}

void session::wake_watches() {
    std::vector<std::shared_ptr<completion_handler>> woken;
    for (auto& [path, one] : watches_) {
        one->fired_ = true;
        if (one->waiting_) woken.push_back(std::move(one->waiting_));
    }
    for (const auto& one : woken) one->take(answer{});
}

// ---- Time

millis session::beat_every() const {
    const auto slack = std::min(granted_, timeout_) - usable_ttl();
    return std::clamp(slack / 3, beat_min, beat_max);
}

void session::arm(instant when) {
    if (!timer_) return;
    if (when < timer_->when()) timer_->set(when);
    if (timing_) return;
    timing_ = true;
    boost::asio::co_spawn(executor_, watch_time(shared_from_this()), boost::asio::detached);
}

boost::asio::awaitable<void> session::watch_time(std::shared_ptr<session> self) {
    while (self->state_ != state::dead || !self->waiting_.empty()) {
        co_await self->timer_->wait();
        self->look_at_time();
    }
    self->timing_ = false;
}

void session::expire(instant now) {
    const auto waited = base::format_duration(settings_->common.timeout);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const auto number = deadlines_.begin()->second;
        const auto& one = waiting_.find(number)->second;
        failure why{errc::unreachable, place_ + ": no connection within " + waited};
        if (one.unsent && last_failure_) why.detail = last_failure_->detail;
        if (!one.unsent) {
            why.detail = place_ + ": no answer within " + waited;
            if (one.writes) why.code = errc::outcome_unknown;
        }
        finish(number, why);
    }
}

void session::look_at_time() {
    const auto now = lease_clock::now();
    const bool unanswered = !deadlines_.empty() && deadlines_.begin()->first <= now &&
                            !waiting_.find(deadlines_.begin()->second)->second.unsent;
    expire(now);
    // A server that does not answer in time is not waited for, but another server may be well.
    bool due = attend_at_ <= now;
    if (due) attend_at_ = instant::max();
    if (unanswered && state_ == state::connected && handle_) {
        handle_->shake();
        due = true;
    }
    // A server whose data is older than what this session has seen never takes it back; another
    // session it does take.
    if (state_ == state::connecting && id_ != 0 && fell_at_ + granted_ <= now)
        die({errc::unreachable, place_ + ": no connection for longer than the session's timeout"});
    if (state_ == state::connecting && connect_by_ <= now) {
        connect_by_ = instant::max();
        if (id_ == 0) {
            // No session yet, so nothing is lost with this handle.
            let_go(instant{});
            state_ = state::opening;
            retire_attempt(
                {errc::unreachable, place_ + ": no session within " +
                                        base::format_duration(settings_->common.timeout)});
            if (state_ == state::opening) start_opening();
        } else {
            // It waits for a server that took the connection and says nothing: try the next one.
            connect_by_ = now + settings_->common.timeout;
            handle_->shake();
            due = true;
        }
    }
    if (state_ == state::connecting && nudge_at_ <= now && handle_) {
        // The C client pauses between its attempts, the longer the longer the session's timeout.
        nudge_at_ = now + retries_.failed();
        due = true;
        if (!looking_up_ && has_names(settings_->servers))
            boost::asio::co_spawn(executor_, look_names_up(shared_from_this()),
                                  boost::asio::detached);
    }
    if (due) turn(cause::time);
    if (state_ == state::connected && beat_at_ <= now) {
        beat_at_ = now + beat_every();
        tell(request{request::kind::exists, "/"}, now + settings_->common.timeout);
    }
    auto next = std::min({connect_by_, beat_at_, nudge_at_, attend_at_});
    if (!deadlines_.empty()) next = std::min(next, deadlines_.begin()->first);
    if (state_ != state::dead && next != instant::max()) arm(next);
}

// ---- Ending

void session::close() {
    if (state_ == state::dead) return;
    if (!last_failure_)
        last_failure_ = failure{errc::unreachable, place_ + ": the store is closed"};
    state_ = state::dead;
    let_go(leases_ > 0 ? carries_until_ : instant{});
    if (timer_) timer_->wake();
}

void session::close_from_anywhere() {
    attachment_->post([self = shared_from_this()] { self->close(); });
}

void session::loop_ends() {
    close();
    timer_.reset();
    socket_.reset();
    const auto gone = std::move(waiting_);
    waiting_.clear();
    deadlines_.clear();
    unsent_.clear();
    std::vector<std::shared_ptr<completion_handler>> watching;
    for (auto& [path, one] : watches_)
        if (one->waiting_) watching.push_back(std::move(one->waiting_));
}

}  // namespace pawl::zookeeper
