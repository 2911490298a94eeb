#include "runs/recorder.hpp"

#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

namespace pawl::runs {
namespace {

using boost::asio::awaitable;

constexpr std::size_t writings_max = 1000;  // notes of one run that wait for the journal

// One timer for each who waits: two who share one would wake each other again and again.
class listening {
public:
    listening(std::vector<net::timer*>& all, net::timer& mine) : all_{all}, mine_{&mine} {
        all_.push_back(mine_);
    }
    ~listening() { std::erase(all_, mine_); }
    listening(const listening&) = delete;
    listening& operator=(const listening&) = delete;

private:
    std::vector<net::timer*>& all_;
    net::timer* mine_;
};

}  // namespace

run_recorder::run_recorder(boost::asio::any_io_executor executor, std::shared_ptr<journal> where,
                           std::uint64_t output_limit, listener who,
                           std::shared_ptr<output_room> room)
    : executor_{std::move(executor)},
      journal_{std::move(where)},
      output_limit_{output_limit},
      listener_{std::move(who)},
      room_{std::move(room)},
      pause_{executor_} {
    room_->users.push_back(this);
}

run_recorder::~run_recorder() {
    room_->kept -= gathered_.size();
    std::erase(room_->users, this);
}

bool run_recorder::has_work() const noexcept {
    return !closed_ && (start_ || !queue_.empty() || !gathered_.empty());
}

void run_recorder::start_pump() {
    if (pumping_ || !journal_ || !has_work()) return;
    pumping_ = true;
    boost::asio::co_spawn(executor_, pump(shared_from_this()), net::unattended{});
}

awaitable<void> run_recorder::wait_for_news(instant end) {
    net::timer timer{executor_};
    const listening here{waiters_, timer};
    auto waiting = timer.wait_until(end);
    co_await std::move(waiting);
}

awaitable<void> run_recorder::wait_until_idle(millis timeout) {
    const auto end = pause_.now() + timeout;
    while (has_work() && pause_.now() < end) {
        auto waiting = wait_for_news(end);
        co_await std::move(waiting);
    }
}

bool run_recorder::is_beginning() const noexcept { return start_ || restores_checkpoint(); }

bool run_recorder::restores_checkpoint() const noexcept {
    return !queue_.empty() && queue_.front().kind == what::saved_checkpoint;
}

void run_recorder::tell_waiters() {
    for (auto* one : waiters_) one->cancel();
}

void run_recorder::forget() {
    closed_ = true;
    queue_.clear();
    let_go_of_output(gathered_.size());
    start_.reset();
    pause_.cancel();
    tell_waiters();
}

// A beginning that was given up may still take effect: one that is under way is waited for, and an
// answer that there is no such run is asked for once more.
awaitable<void> run_recorder::take_back(self_ptr self, run_end how) {
    auto& me = *self;
    me.forget();
    if (!me.journal_) co_return;
    const auto give_up = me.pause_.now() + recording_timeout;
    while (me.pumping_ && me.pause_.now() < give_up) {
        auto waiting = me.wait_for_news(give_up);
        co_await std::move(waiting);
    }
    for (int unknown = 0; unknown < 2 && me.pause_.now() < give_up;) {
        auto who = me.mark_;
        auto ending = me.journal_->finish(std::move(who), how);
        const auto ended = co_await std::move(ending);
        if (ended.has_value() && *ended) co_return;
        if (ended.has_value()) ++unknown;
        if (ended.has_error() && ended.error().code == errc::rejected) co_return;
        auto pause = me.pause_.wait_for(record_retry_longest);
        co_await std::move(pause);
    }
}

void run_recorder::let_go_of_output(std::size_t bytes) {
    gathered_.let_go(bytes);
    room_->kept -= bytes;
    written_ += bytes;
}

// A run that writes little, which is recorded at once, loses nothing to one that floods.
void run_recorder::make_room() {
    while (room_->kept > room_->most) {
        const auto& users = room_->users;
        auto* largest = *std::max_element(users.begin(), users.end(), [](auto* one, auto* other) {
            return one->gathered_.size() < other->gathered_.size();
        });
        const auto crowded = room_->kept - room_->most;
        largest->let_go_of_output(std::min(crowded, largest->gathered_.size()));
    }
}

void run_recorder::on_stale_beat() {
    if (closed_ || start_) return;
    if (!begin_again()) return become_stale();
    start_pump();
    pause_.cancel();
}

bool run_recorder::begin_again() {
    asked_again_ = true;
    if (!told_ || !listener_.holds || !listener_.holds(told_->key, told_->token)) return false;
    start_ = told_;
    return true;
}

void run_recorder::become_stale() {
    if (closed_) return;
    stale_ = true;
    forget();
    if (listener_.on_stale) listener_.on_stale();
}

// What the journal will never take must not stand in the way of what it would.
void run_recorder::let_go_of_rejected(const failure& why) {
    if (listener_.on_renewal_failures) listener_.on_renewal_failures(&why);
    switch (sent_) {
        case sending::beginning:
            return forget();
        case sending::output:
            return let_go_of_output(gathered_.size());
        case sending::saved_checkpoint:
        case sending::front_of_queue:
            if (!queue_.empty()) queue_.pop_front();
    }
}

bool run_recorder::survive(const failure& why) {
    const auto now = pause_.now();
    if (!failing_since_) {
        failing_since_ = now;
        if (listener_.on_renewal_failures) listener_.on_renewal_failures(&why);
    }
    ++failures_;
    // While the run goes on its record is wanted, and what waits to be written is bounded.
    if (!ending_since_ || now - std::max(*failing_since_, *ending_since_) < recording_timeout)
        return true;
    forget();
    return false;
}

awaitable<void> run_recorder::pump(self_ptr self) {
    auto& me = *self;
    while (me.has_work()) {
        auto writing = write_next(self);
        const auto written = co_await std::move(writing);
        me.tell_waiters();
        if (written.has_error()) {
            if (written.error().code == errc::rejected) {
                me.let_go_of_rejected(written.error());
                continue;
            }
            if (!me.survive(written.error())) break;
            const auto doubled = record_retry_first * (1LL << std::min(me.failures_, 10));
            auto pause = me.pause_.wait_for(std::min<millis>(doubled, record_retry_longest));
            co_await std::move(pause);
            continue;
        }
        if (me.failing_since_) {
            me.failing_since_.reset();
            me.failures_ = 0;
            if (me.listener_.on_renewal_failures) me.listener_.on_renewal_failures(nullptr);
        }
        if (!*written) {
            // Or a heartbeat has asked meanwhile, and how the beginning is answered says it.
            const bool is_asked = me.start_ && me.sent_ != sending::beginning;
            if (!is_asked && (me.asked_again_ || !me.begin_again())) me.become_stale();
        } else if (me.sent_ == sending::output || me.sent_ == sending::front_of_queue) {
            me.asked_again_ = false;
        }
        // Nothing but output, and not much of it: more may come.
        const bool little = !me.start_ && me.queue_.empty() && !me.gathered_.empty() &&
                            me.gathered_.size() < output_chunk_bytes_max / 4;
        if (little && !me.ending_since_) {
            auto pause = me.pause_.wait_for(output_gathered_for);
            co_await std::move(pause);
        }
    }
    me.pumping_ = false;
    me.tell_waiters();
}

async<bool> run_recorder::write_next(self_ptr self) {
    auto& me = *self;
    if (me.start_) {
        me.sent_ = sending::beginning;
        auto beginning = write_begin(self);
        co_return co_await std::move(beginning);
    }
    const bool last = !me.queue_.empty() && me.queue_.front().kind == what::finish;
    if (!me.gathered_.empty() && (me.queue_.empty() || last)) {
        me.sent_ = sending::output;
        auto flushing = write_output(self);
        co_return co_await std::move(flushing);
    }
    me.sent_ = sending::front_of_queue;
    auto writing = write_front(self);
    co_return co_await std::move(writing);
}

async<bool> run_recorder::write_front(self_ptr self) {
    auto& me = *self;
    // A copy: it stays at the front until it has been written.
    auto next = me.queue_.front();
    auto who = me.mark_;
    result<bool> written = false;
    if (next.kind == what::saved_checkpoint) {
        me.sent_ = sending::saved_checkpoint;
        const auto text = me.saved_;
        auto saving = me.journal_->checkpoint(who, text);
        written = co_await std::move(saving);
        // A newer run may have saved one; whether the row is this run's the next write tells.
        if (written.has_value()) written = true;
        // Another was saved meanwhile, and this one may have come behind it.
        if (me.saved_ != text) co_return written;
    } else if (next.kind == what::note) {
        auto noting = me.journal_->add_event(who, next.word, next.text);
        written = co_await std::move(noting);
    } else if (next.kind == what::next_attempt) {
        auto noting = me.journal_->next_attempt(who, next.how);
        written = co_await std::move(noting);
    } else {
        auto ending = me.journal_->finish(who, next.how);
        written = co_await std::move(ending);
        me.finished_ = written.has_value() && *written;
    }
    // What was not taken is written once its row is there again, or never.
    if (written.has_value() && *written && !me.queue_.empty()) me.queue_.pop_front();
    co_return written;
}

async<bool> run_recorder::write_begin(self_ptr self) {
    auto& me = *self;
    auto start = *me.start_;
    const bool sent_before = std::exchange(me.may_have_begun_, true);
    auto asking = me.journal_->begin(std::move(start));
    auto answer = co_await std::move(asking);
    if (answer.has_error()) {
        if (answer.error().code == errc::unreachable) me.may_have_begun_ = sent_before;
        co_return answer.error();
    }
    me.beginning_ = *answer;
    me.mark_.id = answer->id;
    // Behind what the attempts before this one have written.
    const bool is_anew = me.told_.has_value();
    if (!is_anew) {
        me.written_ += answer->output_size;
        me.saved_ = answer->checkpoint;
    }
    me.begun_ =
        answer->outcome == begin_outcome::begun || answer->outcome == begin_outcome::resumed;
    if (me.begun_ && me.start_) {
        me.told_ = std::move(me.start_);
        me.told_->id = answer->id;
        me.told_->consumes_trigger = false;               // nothing asks for it any more
        me.told_->starts_from = checkpoint_source::none;  // what it was given is saved here
        // A row that was lost and is there anew: who resumes it goes on from where this run is.
        if (is_anew && answer->checkpoint.empty() && !me.saved_.empty() &&
            !me.restores_checkpoint())
            me.queue_.emplace_front(writing{what::saved_checkpoint, {}, {}, {}});
    }
    me.start_.reset();
    co_return me.begun_;
}

async<bool> run_recorder::write_output(self_ptr self) {
    auto& me = *self;
    auto bytes = me.gathered_.front(output_chunk_bytes_max);
    const auto size = bytes.size();
    auto who = me.mark_;
    const auto offset = me.written_;
    auto appending = me.journal_->append_output(who, offset, std::move(bytes), me.output_limit_);
    auto answer = co_await std::move(appending);
    if (answer.has_error() || !*answer) co_return answer;
    // Something at the front may have been let go of meanwhile, to make room.
    const auto done = offset + size;
    if (done > me.written_) {
        const auto gone = std::min<std::uint64_t>(done - me.written_, me.gathered_.size());
        me.let_go_of_output(gone);
    }
    co_return *answer;
}

awaitable<std::optional<begin_result>> run_recorder::begin(self_ptr self, run_start start,
                                                           millis timeout) {
    auto& me = *self;
    me.mark_ = run_ref{start.id, start.token};
    if (!me.journal_) {
        begin_result made;
        made.id = start.id;
        me.begun_ = true;
        co_return made;
    }
    me.start_ = std::move(start);
    me.start_pump();
    const auto end = me.pause_.now() + timeout;
    while (!me.beginning_ && me.start_ && me.pause_.now() < end) {
        auto waiting = me.wait_for_news(end);
        co_await std::move(waiting);
    }
    co_return me.beginning_;
}

void run_recorder::enqueue(writing one) {
    if (!journal_ || closed_) return;
    if (queue_.size() >= writings_max && one.kind == what::note) return;
    queue_.push_back(std::move(one));
    start_pump();
    pause_.cancel();
}

void run_recorder::output(std::string_view bytes) {
    if (!journal_ || closed_) return;
    gathered_.append(bytes);
    room_->kept += bytes.size();
    // What would not be kept is not kept here either.
    const auto most = std::max<std::uint64_t>(output_limit_, 1);
    const auto too_much = gathered_.size() - std::min<std::uint64_t>(gathered_.size(), most);
    let_go_of_output(too_much);
    make_room();
    start_pump();
}

void run_recorder::add_event(std::string kind, std::string text) {
    writing one;
    one.word = std::move(kind);
    one.text = std::move(text);
    enqueue(std::move(one));
}

void run_recorder::next_attempt(run_end last) {
    writing one;
    one.kind = what::next_attempt;
    one.how = std::move(last);
    enqueue(std::move(one));
}

awaitable<bool> run_recorder::finish(self_ptr self, run_end how, millis timeout) {
    auto& me = *self;
    if (!me.journal_) co_return true;
    if (me.closed_) co_return false;
    writing one;
    one.kind = what::finish;
    one.how = std::move(how);
    me.ending_since_ = me.pause_.now();
    me.enqueue(std::move(one));
    auto waiting = me.wait_until_idle(timeout);
    co_await std::move(waiting);
    co_return me.finished_;
}

awaitable<bool> run_recorder::finish_unstarted(self_ptr self, run_end how, millis timeout) {
    auto& me = *self;
    auto finishing = finish(self, std::move(how), timeout);
    if (co_await std::move(finishing)) co_return true;
    if (me.closed_ || me.may_have_begun_) co_return false;
    me.forget();
    co_return true;
}

async<bool> run_recorder::checkpoint(self_ptr self, std::string text) {
    auto& me = *self;
    if (!me.journal_) co_return failure{errc::unsupported, "this run has no journal"};
    for (bool asked_again = false;; asked_again = true) {
        const auto end = me.pause_.now() + record_retry_longest;
        while (me.is_beginning() && !me.closed_ && me.pause_.now() < end) {
            auto waiting = me.wait_for_news(end);
            co_await std::move(waiting);
        }
        if (me.stale_) co_return false;
        if (!me.begun_ || me.is_beginning())
            co_return failure{errc::unreachable, "the run's beginning is not written yet"};
        auto who = me.mark_;
        auto saving = me.journal_->checkpoint(std::move(who), text);
        auto saved = co_await std::move(saving);
        if (saved.has_error()) co_return saved.error();
        if (*saved) {
            me.saved_ = text;
            me.asked_again_ = false;
        }
        if (*saved || me.closed_) co_return *saved;
        // How its beginning was answered meanwhile says that the row is this run's.
        if (asked_again) {
            me.asked_again_ = false;
            co_return failure{errc::rejected, "a newer run of this job has saved a checkpoint"};
        }
        // Its row may be gone.
        me.on_stale_beat();
    }
}

}  // namespace pawl::runs
