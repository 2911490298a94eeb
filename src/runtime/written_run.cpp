#include "runtime/written_run.hpp"

#include "base/identity.hpp"
#include "time/clocks.hpp"
#include "time/rfc3339.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <array>
#include <utility>

namespace pawl::runtime {
namespace {

using boost::asio::awaitable;

constexpr std::size_t prune_bite = 64;

}  // namespace

run_start start_of(const job& what, const lease& held, const std::string& owner) {
    run_start start{base::fresh_uuid(), what.name, held.key()};
    start.owner = owner;
    start.node = host_name();
    start.token = held.token();
    start.firing = what.lease.firing;
    start.mode = what.lease.mode;
    start.trigger = "library";
    start.silence_max = run_silence_max;
    return start;
}

run order_of(const run_start& start, const beginning& begun, std::stop_token stop) {
    run order{start.key, begun.id, start.token, std::move(stop)};
    order.firing = start.firing;
    order.idempotency_key = begun.id;
    if (start.firing) {
        const time::wall_instant at{millis{number(*start.firing)}};
        order.idempotency_key = start.key + "@" + time::format_rfc3339(at);
    }
    order.attempt = begun.attempt;
    order.last_checkpoint = begun.checkpoint;
    return order;
}

written_run::written_run(core& home, run_start start)
    : home_{home},
      loop_{home.loop()},
      start_{std::move(start)},
      timer_{home.loop().get_executor()} {}

awaitable<void> written_run::open() {
    if (start_.job.size() > job_name_bytes_max) co_return;
    std::optional<failure> bad;
    try {
        auto finding = home_.find_records();
        journal_ = co_await std::move(finding);
    } catch (const store_error& error) {
        bad = failure{error.code(), error.what()};
    }
    if (bad) home_.running()->report_failure("journal", *bad);
}

awaitable<beginning> written_run::begin(self_ptr self) {
    auto& me = *self;
    auto opening = me.open();
    co_await std::move(opening);
    beginning begun{begin_outcome::begun, me.start_.id};
    if (!me.journal_) co_return begun;
    run_recorder::listener listener;
    listener.on_trouble = [home = me.home_.running()](const failure* why) {
        if (why != nullptr) home->report_failure("journal", *why);
    };
    std::weak_ptr<written_run> weak = self;
    listener.on_stale = [weak] {
        if (const auto who = weak.lock()) who->told_.request_stop();
    };
    me.recorder_ = std::make_shared<run_recorder>(me.loop_.get_executor(), me.journal_, 0,
                                                  std::move(listener));
    auto beginning_of = run_recorder::begin(me.recorder_, me.start_, library_journal_patience);
    auto told = co_await std::move(beginning_of);
    if (told) begun = std::move(*told);
    const bool ours =
        begun.outcome == begin_outcome::begun || begun.outcome == begin_outcome::resumed;
    if (ours) boost::asio::co_spawn(me.loop_.get_executor(), beat(self), boost::asio::detached);
    co_return begun;
}

awaitable<void> written_run::beat(self_ptr self) {
    auto& me = *self;
    while (!me.ended_) {
        auto waiting = me.timer_.wait_for(run_heartbeat_interval);
        co_await std::move(waiting);
        if (me.ended_ || !me.recorder_->has_begun()) continue;
        const std::array marks{me.recorder_->mark()};
        auto beating = me.journal_->heartbeat(marks);
        const auto answer = co_await std::move(beating);
        if (answer.has_error() || me.ended_) continue;
        if (answer->front() != pawl::beat::cancel_requested) continue;
        me.cancelled_ = true;
        me.told_.request_stop();
    }
}

awaitable<bool> written_run::end(self_ptr self, run_end how) {
    auto& me = *self;
    me.ended_ = true;
    me.timer_.cancel();
    if (!me.recorder_) co_return true;
    auto finishing =
        how.status == run_status::skipped
            ? run_recorder::finish_unstarted(me.recorder_, std::move(how), library_journal_patience)
            : run_recorder::finish(me.recorder_, std::move(how), library_journal_patience);
    const bool written = co_await std::move(finishing);
    // Now and then, so that not every run pays for it; and a run does not wait for it.
    if (written && me.start_.id.starts_with('0'))
        boost::asio::co_spawn(me.loop_.get_executor(), prune(self), boost::asio::detached);
    co_return written;
}

awaitable<void> written_run::prune(self_ptr self) {
    auto& me = *self;
    auto pruning = me.journal_->prune(me.start_.job, library_runs_kept, millis{0}, prune_bite);
    co_await std::move(pruning);
}

std::function<bool(std::string_view)> written_run::saver() {
    if (!recorder_) return {};
    return [self = shared_from_this()](std::string_view text) {
        return self->loop_.wait_for(run_recorder::checkpoint(self->recorder_, std::string{text}))
            .value();
    };
}

}  // namespace pawl::runtime
