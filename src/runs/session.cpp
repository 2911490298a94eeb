#include "runs/session.hpp"

#include "net/attachment.hpp"
#include "net/unattended.hpp"
#include "runtime/engine.hpp"
#include "runtime/lease_state.hpp"

#include <boost/asio/co_spawn.hpp>

#include <array>
#include <utility>

namespace pawl::runs {
namespace {

using boost::asio::awaitable;

constexpr std::size_t prune_bite = 64;

}  // namespace

run_session::run_session(net::loop& loop, settings how)
    : loop_{loop},
      journal_{how.where},
      listener_{std::move(how.who)},
      says_that_it_lives_{how.says_that_it_lives},
      timer_{loop.get_executor()} {}

run_session::self_ptr run_session::make(net::loop& loop, settings how) {
    const auto limit = how.output_limit;
    auto room = std::move(how.room);
    auto holds = std::move(how.holds);
    self_ptr made{new run_session{loop, std::move(how)},
                  net::deleted_on_loop{net::attach(loop.get_executor())}};
    run_recorder::listener hearing;
    hearing.on_renewal_failures = made->listener_.on_renewal_failures;
    hearing.holds = std::move(holds);
    hearing.on_stale = [weak = made->weak_from_this()] {
        if (const auto who = weak.lock()) who->tell(stop_cause::lost);
    };
    made->recorder_ = std::make_shared<run_recorder>(loop.get_executor(), made->journal_, limit,
                                                     std::move(hearing), std::move(room));
    return made;
}

awaitable<std::optional<begin_result>> run_session::begin(self_ptr self, run_start start,
                                                          millis timeout) {
    auto& me = *self;
    auto beginning_of = run_recorder::begin(me.recorder_, std::move(start), timeout);
    auto told = co_await std::move(beginning_of);
    if (me.journal_ && me.says_that_it_lives_ && !me.over_ && (!told || may_begin(*told)))
        boost::asio::co_spawn(me.loop_.get_executor(), live(self), net::unattended{});
    co_return told;
}

void run_session::add_event(std::string kind, std::string text) {
    recorder_->add_event(std::move(kind), std::move(text));
}

void run_session::next_attempt(run_end last) { recorder_->next_attempt(std::move(last)); }

async<bool> run_session::checkpoint(self_ptr self, std::string text) {
    return run_recorder::checkpoint(self->recorder_, std::move(text));
}

awaitable<bool> run_session::end(self_ptr self, run_end how, millis timeout) {
    auto& me = *self;
    me.over_ = true;
    me.timer_.cancel();
    auto finishing = how.status == run_status::skipped
                         ? run_recorder::finish_unstarted(me.recorder_, std::move(how), timeout)
                         : run_recorder::finish(me.recorder_, std::move(how), timeout);
    co_return co_await std::move(finishing);
}

void run_session::forget() {
    over_ = true;
    timer_.cancel();
    recorder_->forget();
}

awaitable<void> run_session::take_back(self_ptr self, run_end how) {
    auto& me = *self;
    me.over_ = true;
    me.timer_.cancel();
    auto taking = run_recorder::take_back(me.recorder_, std::move(how));
    co_await std::move(taking);
}

awaitable<void> run_session::live(self_ptr self) {
    auto& me = *self;
    while (!me.over_) {
        auto waiting = me.timer_.wait_for(run_heartbeat_interval);
        co_await std::move(waiting);
        if (me.over_ || !me.has_begun()) continue;
        const std::array marks{me.mark()};
        auto beating = me.journal_->heartbeat(marks);
        const auto answer = co_await std::move(beating);
        if (answer.has_value()) me.heed(answer->front());
    }
}

void run_session::heed(heartbeat_result answer) {
    // What has ended is answered for as if it were another node's.
    if (answer == heartbeat_result::alive) recorder_->on_beat();
    if (over_ || answer == heartbeat_result::alive) return;
    if (answer == heartbeat_result::cancel_requested) return tell(stop_cause::cancelled);
    if (recorder_->is_stale()) return tell(stop_cause::lost);
    recorder_->on_stale_beat();
}

void run_session::tell(stop_cause why) {
    if (why == stop_cause::cancelled) cancelled_ = true;
    if (listener_.on_told) listener_.on_told(why);
}

std::function<bool(const std::string& key, fence_token under)> lease_look(
    const std::shared_ptr<runtime::engine>& engine) {
    return [engine = std::weak_ptr{engine}](const std::string& key, fence_token under) {
        const auto here = engine.lock();
        const auto held = here ? here->held(key) : nullptr;
        return held && held->token == under && held->valid(held->now());
    };
}

awaitable<bool> is_left_to_resume(std::shared_ptr<journal> where, run_start start,
                                  begin_result told) {
    const bool may_be = where && start.occurrence && start.delivery == delivery::at_most_once &&
                        told.outcome == begin_outcome::already_run && !is_finished(told.status);
    if (!may_be) co_return false;
    auto finding = where->find_run(told.id);
    const auto row = co_await std::move(finding);
    co_return row.has_value() && *row && !is_finished((*row)->status) &&
        (*row)->delivery == delivery::at_least_once;
}

bool is_one_to_prune_after(std::string_view id) noexcept { return id.starts_with('0'); }

async<std::size_t> prune(std::shared_ptr<journal> where, std::string job, std::size_t kept) {
    auto pruning = where->prune(std::move(job), kept, millis{0}, prune_bite);
    co_return co_await std::move(pruning);
}

awaitable<void> prune_own(std::shared_ptr<journal> where, std::string job) {
    auto finding = where->find_job(job);
    const auto known = co_await std::move(finding);
    if (known.has_error() || *known) co_return;
    auto pruning = prune(std::move(where), std::move(job), runs_kept);
    co_await std::move(pruning);
}

}  // namespace pawl::runs
