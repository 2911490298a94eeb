#include "pawl/exec_record.hpp"

#include "base/identity.hpp"
#include "pawl/output.hpp"
#include "pawl/silent_runs.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace pawl::app {
namespace {

using boost::asio::awaitable;

constexpr std::size_t runs_kept = 1'000;
constexpr std::size_t prune_bite = 64;

std::shared_ptr<journal> open_records(runtime::core& core, recording wanted) {
    if (wanted == recording::off) return nullptr;
    try {
        auto records = core.records();
        if (!records) log(log_level::debug, "the store keeps no journal, so the run is not kept");
        return records;
    } catch (const store_error& error) {
        log(log_level::warn, std::string{"the run is not written down: "} + error.what());
        return nullptr;
    }
}

}  // namespace

struct exec_record::pulse {
    pulse(net::loop& where, std::shared_ptr<journal> records, run_mark mark,
          std::function<void()> cancel)
        : journal{std::move(records)},
          who{std::move(mark)},
          on_cancel{std::move(cancel)},
          timer{where.get_executor()} {}

    std::shared_ptr<pawl::journal> journal;
    run_mark who;
    std::function<void()> on_cancel;
    boost::asio::steady_timer timer;
    bool over = false;
};

exec_record::exec_record(runtime::core& core, recording wanted)
    : loop_{core.loop()}, journal_{open_records(core, wanted)} {
    runtime::run_recorder::listener listener;
    listener.on_trouble = [](const failure* why) {
        if (why != nullptr)
            log(log_level::warn, "the journal does not answer: " + why->detail);
        else
            log(log_level::info, "the journal answers again");
    };
    record_ = std::make_shared<runtime::run_recorder>(loop_.get_executor(), journal_, 0,
                                                      std::move(listener));
}

beginning exec_record::begin(const run_start& start) {
    job_ = start.job;
    if (job_.size() > job_name_bytes_max) {
        log(log_level::warn, "the key is too long for the journal, so the run is not written down");
        journal_.reset();
    }
    if (journal_) {
        const auto told =
            loop_.wait_for(runtime::run_recorder::begin(record_, start, journal_patience));
        if (told) return *told;
    }
    reached_ = false;
    return beginning{begin_outcome::begun, start.id};
}

void exec_record::judge_earlier(
    const std::string& key,
    const std::function<std::optional<record>(const std::string&)>& inspect) {
    if (journal_ && reached_) judge_silent_runs(loop_, *journal_, key, inspect);
}

awaitable<bool> exec_record::beat(std::shared_ptr<pulse> state) {
    auto& me = *state;
    while (!me.over) {
        boost::system::error_code woken;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, woken);
        me.timer.expires_after(runtime::run_heartbeat_interval);
        co_await me.timer.async_wait(token);
        if (me.over) break;
        const std::vector<run_mark> marks{me.who};
        auto beating = me.journal->heartbeat(marks);
        const auto answer = co_await std::move(beating);
        if (answer.has_value() && answer->front() == pawl::beat::cancel_requested && me.on_cancel)
            std::exchange(me.on_cancel, nullptr)();
    }
    co_return true;
}

void exec_record::keep_alive(std::function<void()> on_cancel) {
    if (!journal_) return;
    pulse_ = std::make_shared<pulse>(loop_, journal_, record_->mark(), std::move(on_cancel));
    boost::asio::co_spawn(loop_.get_executor(), beat(pulse_), boost::asio::detached);
}

std::function<async<bool>(std::string)> exec_record::saver() const {
    if (!journal_) return {};
    return [record = record_](std::string text) {
        return runtime::run_recorder::checkpoint(record, std::move(text));
    };
}

void exec_record::silence() {
    if (!pulse_) return;
    boost::asio::post(loop_.get_executor(), [state = std::exchange(pulse_, nullptr)] {
        state->over = true;
        state->on_cancel = nullptr;
        state->timer.cancel();
    });
}

void exec_record::end(run_end how, millis patience, std::stop_token stop) {
    silence();
    if (!journal_) return;
    const auto id = record_->mark().id;
    const auto let_go = [this] {
        boost::asio::post(loop_.get_executor(), [record = record_] { record->forget(); });
    };
    const std::stop_callback stopping{std::move(stop), let_go};
    if (!loop_.wait_for(runtime::run_recorder::finish(record_, std::move(how), patience)))
        log(log_level::warn, "how the run ended is not written down");
    // Now and then, so that not every run pays for it.
    if (id.starts_with('0')) {
        const auto gone = loop_.wait_for(journal_->prune(job_, runs_kept, millis{0}, prune_bite));
        if (gone.has_error()) log(log_level::debug, "old runs stay: " + gone.error().detail);
    }
}

}  // namespace pawl::app
