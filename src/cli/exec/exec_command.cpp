// pawl exec KEY -- COMMAND…: runs a command on one node at a time.
#include "agent/environment.hpp"
#include "agent/lost_grace.hpp"
#include "agent/run_socket.hpp"
#include "base/duration.hpp"
#include "base/identity.hpp"
#include "base/text.hpp"
#include "cli/clients/actor.hpp"
#include "cli/clients/orphaned_exec_runs.hpp"
#include "cli/exec/exec_claim.hpp"
#include "cli/exec/exec_options.hpp"
#include "cli/exec/exec_run.hpp"
#include "cli/exec/footprint.hpp"
#include "cli/exec/unrecorded_run.hpp"
#include "cli/exec/waiting_note.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/given_options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/push_warning.hpp"
#include "documents/documents.hpp"
#include "exec/launcher.hpp"
#include "exec/signal_relay.hpp"
#include "exec/terminal.hpp"
#include "runs/session.hpp"
#include "runs/unrun_occurrence.hpp"
#include "runtime/bodies.hpp"
#include "runtime/checks.hpp"
#include "runtime/done_mark.hpp"
#include "runtime/engine.hpp"
#include "runtime/slots.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <csignal>
#include <future>
#include <memory>

namespace pawl::cli {
namespace {

constexpr millis last_withdrawal{2'000};
// How long the end waits for the rows of others to be judged: by then their journal has answered.
constexpr millis judging_after_max = runs::journal_timeout;

// The key that is held: with --slots it is that of a slot.
struct held_key {
    std::string key;
    std::optional<std::uint32_t> slot{};

    std::string slot_text() const { return slot ? std::to_string(*slot) : ""; }
    std::string count_text(std::optional<std::uint32_t> slots) const {
        return slot && slots ? std::to_string(*slots) : "";
    }
};

exec::command command_for(const exec_options& what, const held_key& mine, const std::string& store,
                          const std::string& journal, const std::string& owner, fence_token token,
                          const begin_result& begun, const std::string& socket) {
    exec::command wanted{what.command};
    std::vector<std::pair<std::string, std::string>> variables{
        {"PAWL_KEY", mine.key},
        {"PAWL_SLOT", mine.slot_text()},
        {"PAWL_SLOT_COUNT", mine.count_text(what.slots)},
        {"PAWL_FENCE_TOKEN", number(token) == 0 ? "" : std::to_string(number(token))},
        {"PAWL_OWNER", owner},
        {"PAWL_RUN_ID", begun.id},
        {"PAWL_OCCURRENCE", what.occurrence},
        {"PAWL_STORE", agent::url_for_command(store)},
        {"PAWL_RUN_SOCKET", socket},
        {"PAWL_CHECKPOINT", begun.checkpoint},
    };
    if (!journal.empty()) variables.emplace_back("PAWL_JOURNAL", agent::url_for_command(journal));
    wanted.environment = exec::environment_with(variables);
    // Who has it acts as its user at every agent. Inside a run pawl uses the store, and needs none.
    std::erase_if(wanted.environment,
                  [](const std::string& one) { return one.starts_with("PAWL_TOKEN="); });
    if (exec::holds_terminal()) wanted.place = exec::placement::foreground;
    return wanted;
}

// What people should know while the command runs.
class renewal_warning_log : public observer {
public:
    void on_renewal_failures(std::string_view key, int failures, millis left) override {
        log(log_level::warn, "renewal failed key=" + std::string{key} + " consecutive=" +
                                 std::to_string(failures) + ": the command is stopped in " +
                                 base::format_duration(left) + " unless a renewal succeeds");
    }
};

// Null where the run is not to be recorded, or cannot be.
std::shared_ptr<journal> open_records(runtime::core& core, const exec_options& what) {
    if (what.no_journal) return nullptr;
    try {
        auto records = core.run_journal();
        if (!records) log(log_level::debug, "run not recorded: the store keeps no journal");
        if (!records || what.key.size() <= job_name_bytes_max) return records;
        log(log_level::warn, "run not recorded: the key is too long for the journal");
    } catch (const store_error& error) {
        log(log_level::warn, std::string{"run not recorded: "} + error.what());
    }
    return nullptr;
}

class execution {
public:
    execution(const globals& options, const exec_options& what, exec_plan how,
              exec::launcher& guards)
        : what_{what},
          mine_{what.key},
          plan_{how},
          guards_{guards},
          store_url_{choose_store(options).url},
          journal_url_{choose_journal(options).url},
          core_{open_core(options,
                          {.owner = {},
                           .observer = warning_of_pushes(std::make_shared<renewal_warning_log>())})
                    .release()},
          store_{std::unique_ptr<runtime::core>{core_}},
          claim_{*core_, what.key, how.lease},
          journal_{open_records(*core_, what)},
          run_{std::make_shared<exec_run>(core_->loop(), guards, how.lease.grace, how.timeout)} {}

    status go() {
        boost::asio::co_spawn(store_.get_executor(), give_text_back_later(), boost::asio::detached);
        on_loop([this] {
            relay_ = std::make_unique<exec::signal_relay>(
                core_->loop(), [run = run_](int signal) { run->on_signal(signal); });
        });
        // Beside the claim. With --wait it could be days until a command needs it.
        if (what_.wait.empty()) on_loop([&] { run_->prepare(); });
        if (!what_.wait.empty()) {
            auto telling =
                tell_waiting(core_->running()->shared_store(), what_.key, what_.slots.value_or(0),
                             store_.owner(), plan_.waiting.wait);
            boost::asio::co_spawn(store_.get_executor(), std::move(telling), boost::asio::detached);
        }
        const auto code = claim_and_run();
        // Rows of others. The key has been released, and who waits for this process is not kept.
        if (judged_.valid()) judged_.wait_for(judging_after_max);
        return code;
    }

    // The pieces that live on the loop go there. The launcher ends while the store is closed.
    ~execution() {
        bool is_told_to_end = false;
        on_loop([&] {
            relay_.reset();
            is_told_to_end = run_->early_signal().has_value();
            socket_.reset();
            run_.reset();
        });
        guards_.end();
        if (!is_told_to_end) wait_for_log_reader();
    }
    execution(const execution&) = delete;
    execution& operator=(const execution&) = delete;

private:
    // This thread drives the loop meanwhile: another one would have to wake for it.
    template <class Do>
    void on_loop(Do what) {
        auto doing = [](Do todo) -> boost::asio::awaitable<void> {
            todo();
            co_return;
        };
        core_->loop().wait_for(doing(std::move(what)));
    }

    status claim_and_run() {
        std::optional<acquire_result<lease>> tried;
        try {
            tried = what_.slots ? acquire_slot(*what_.slots)
                                : claim_.ask(plan_.waiting, run_->gives_up());
        } catch (const store_error& error) {
            if (!error.is_outage() || what_.on_store_down != "run") {
                give_claim_up(error.what());
                throw;
            }
            if (const auto signal = caught()) {
                give_claim_up(error.what());
                return as_status(128 + *signal);
            }
            log(log_level::warn,
                "store unreachable, running without a lease (--on-store-down run) key=" +
                    what_.key + ": another node may run it too: " + error.what());
            // What the claim may have left is withdrawn meanwhile; an occurrence that it may have
            // marked, when it is known whether that has run.
            if (!claim_.marks()) claim_.withdraw();
            const auto ended = run_without_lease(error.what());
            give_claim_up();
            return ended;
        }
        if (auto* held = std::get_if<lease>(&*tried)) return run_with(std::move(*held));
        give_claim_up();
        if (const auto signal = caught()) return as_status(128 + *signal);
        if (const auto* other = std::get_if<busy>(&*tried))
            return skip(status::busy, describe_busy(*other));
        const auto& done = std::get<already_done>(*tried);
        if (done.answer_lost) return settle_unrun(runs::answer_lost_text, status::unavailable);
        const auto mark = core_->loop().wait_for(runtime::find_done_mark(
            core_->running(), what_.key, *plan_.lease.occurrence, done.last));
        if (!mark.value())
            return settle_unrun(runs::forgotten_text, what_.skip_status
                                                          ? as_status(*what_.skip_status)
                                                          : status::already_done);
        return settle_done(**mark);
    }

    status settle_done(occurrence last) {
        std::optional<std::string> doubt;
        if (journal_ && claim_.marks() && last == plan_.lease.occurrence)
            doubt = core_->loop().wait_for(doubt_about_run(journal_, new_start(nullptr)));
        if (!doubt)
            return skip(status::already_done,
                        "'" + what_.key + "' has already run for " + local_time(number(last)));
        return skip(status::already_done,
                    "'" + what_.key + "' may not have run for " + what_.occurrence +
                        ", and will not any more: " + *doubt,
                    log_level::warn);
    }

    // The occurrence counts as done, and nothing may have run for it. The journal knows of others'
    // runs; where it knows of none, it is told why.
    status settle_unrun(std::string_view why, status ends_with) {
        if (journal_) {
            const auto run =
                core_->loop().wait_for(runs::record_unrun(journal_, new_start(nullptr), why));
            if (run.has_error())
                log(log_level::warn, "run not recorded: " + run.error().detail);
            else if (*run)
                return has_run((*run)->id, (*run)->status);
        }
        log(log_level::error, "'" + what_.key + "' may not have run for " + what_.occurrence +
                                  ", and will not any more: " + std::string{why} +
                                  "; run it without --occurrence if it is needed");
        return ends_with;
    }

    acquire_result<lease> acquire_slot(std::uint32_t slots) {
        runtime::slot_request wanted{what_.key, slots, plan_.lease, plan_.waiting.wait};
        runtime::check_claim(*core_->running(), wanted.key_of(slots - 1), plan_.lease,
                             plan_.waiting);
        auto answer = core_->loop().wait_for(
            runtime::slot_claimer::claim(core_->slots(), std::move(wanted), run_->gives_up()));
        if (auto* won = std::get_if<runtime::slot_grant>(&answer.value())) {
            lease held{std::move(won->held)};
            mine_ = {held.key(), won->index};
            return held;
        }
        const auto* other = std::get_if<busy>(&*answer);
        return other != nullptr ? *other : busy{};
    }

    // An answer that was lost may have been a grant: the key and its occurrence are given back
    // before this process ends, or no other node could have them.
    void give_claim_up(const std::string& why = {}) {
        claim_.withdraw();
        if (store_.drain(millis{0})) return;
        log(log_level::info, "claim unanswered, withdrawal pending key=" + what_.key +
                                 " for_at_most=" + base::format_duration(withdrawal_longest()) +
                                 (why.empty() ? "" : ": " + why));
        if (store_.drain(withdrawal_longest(), run_->gives_up())) return;
        // Told to stop: a store that answers still has the time for it.
        store_.drain(last_withdrawal);
    }

    millis withdrawal_longest() const {
        return std::max(plan_.lease.ttl, runtime::withdraw_occurrence_min);
    }

    std::optional<int> caught() {
        std::optional<int> signal;
        on_loop([&] { signal = run_->early_signal(); });
        return signal;
    }

    std::string describe_busy(const busy& other) const {
        return what_.slots ? documents::text_of_slots(other, what_.key, *what_.slots)
                           : documents::text_of(other, what_.key);
    }

    status skip(status why, const std::string& line, log_level how = log_level::info) const {
        log(how, line);
        return what_.skip_status ? as_status(*what_.skip_status) : why;
    }

    run_start new_start(const lease* held) {
        run_start start{base::fresh_uuid(), what_.key, mine_.key};
        start.partition = mine_.slot.value_or(0);
        start.owner = store_.owner();
        start.node = start.owner.substr(0, start.owner.find(':'));
        if (held != nullptr) start.token = held->token();
        start.occurrence = plan_.lease.occurrence;
        start.delivery = plan_.lease.delivery;
        start.trigger = "exec";
        start.starts_from = checkpoint_source::last_saved;
        start.heartbeat_timeout = runs::run_heartbeat_timeout;
        return start;
    }

    begin_result begin_run(const lease* held) {
        auto start = new_start(held);
        session_ = runs::run_session::make(core_->loop(), how_to_write());
        begin_result unwritten{begin_outcome::begun, start.id};
        auto begun = core_->loop().wait_for(runs::run_session::begin(session_, std::move(start)));
        journal_answers_ = begun.has_value();
        return begun ? std::move(*begun) : unwritten;
    }

    // The rows of runs of this key whose process was killed. Beside the command and its release,
    // which it must not delay.
    boost::asio::awaitable<void> judge_others() {
        const auto inspect = [store = core_->running()->shared_store()](std::string key) {
            return store->inspect(std::move(key));
        };
        return judge_orphaned_exec_runs(journal_, mine_.key, inspect);
    }

    runs::run_session::settings how_to_write() {
        runs::run_session::settings how;
        how.where = journal_;
        how.holds = runs::lease_look(core_->running());
        how.who.on_renewal_failures = [this](const failure* why) {
            journal_fails_ = why != nullptr;
            if (why != nullptr)
                log(log_level::warn, "journal unreachable: " + why->detail);
            else
                log(log_level::info, "journal reachable again");
        };
        // Told again with the next heartbeat where there is no command yet.
        how.who.on_told = [run = run_](runs::stop_cause why) {
            if (why == runs::stop_cause::cancelled) run->cancel();
        };
        return how;
    }

    run_end end_of(const ended& how, const lease* held) const {
        runs::run_context under;
        under.is_at_least_once = plan_.lease.delivery == delivery::at_least_once;
        // It counts as done when the command says so by 0.
        under.failed = runs::failing::reopens;
        under.has_lease = held != nullptr;
        if (held != nullptr) {
            under.trusted = held->valid();
            under.loss = held->lost();
        }
        under.cause = how.stopped_by();
        under.shutdown = "a signal stopped it";
        return runs::judge(how.as_work(), under);
    }

    void open_socket(fence_token token, const begin_result& begun) {
        agent::run_verbs verbs;
        if (journal_)
            verbs.save_checkpoint = [session = session_](std::string text) {
                return runs::run_session::checkpoint(session, std::move(text));
            };
        verbs.check_fence = [store = core_->running()->shared_store()](
                                std::string resource, fence_token shown, fence_rule rule) {
            return store->fence(std::move(resource), shown, rule);
        };
        on_loop([&] {
            auto opened =
                agent::run_socket::open(store_.get_executor(), guards_.folder(), {begun.id, token},
                                        std::move(verbs), std::nullopt);
            if (opened)
                socket_ = std::move(*opened);
            else
                log(log_level::warn,
                    "run without its socket key=" + mine_.key +
                        ": it cannot save checkpoints or check fences: " + opened.error());
        });
    }

    ended run_to_the_end(fence_token token, const begin_result& begun) {
        open_socket(token, begun);
        auto wanted = command_for(what_, mine_, store_url_, journal_url_, store_.owner(), token,
                                  begun, socket_ ? socket_->path() : "");
        auto running = [&]() -> boost::asio::awaitable<ended> {
            // It begins when the command has been asked for.
            if (journal_ && journal_answers_)
                judged_ = boost::asio::co_spawn(store_.get_executor(), judge_others(),
                                                boost::asio::use_future);
            auto command = exec_run::run(run_, std::move(wanted));
            co_return co_await std::move(command);
        };
        auto how = core_->loop().wait_for(running());
        if (!how.fault.empty() && !how.by_lease()) log(log_level::error, how.fault);
        return how;
    }

    std::future<void> audit_fail_open(const std::string& why) {
        if (!journal_) return {};
        audit_draft what;
        what.actor = actor_name();
        what.action = "exec.fail_open";
        what.target = mine_.key;
        what.detail = why;
        auto writing = [](std::shared_ptr<journal> where,
                          audit_draft entry) -> boost::asio::awaitable<void> {
            auto appending = where->append_audit(entry);
            const auto written = co_await std::move(appending);
            if (written.has_error())
                log(log_level::warn, "not audited action=" + entry.action +
                                         " target=" + entry.target + ": " + written.error().detail);
        };
        return boost::asio::co_spawn(store_.get_executor(), writing(journal_, std::move(what)),
                                     boost::asio::use_future);
    }

    status run_without_lease(const std::string& why) {
        const auto begun = begin_run(nullptr);
        // The journal may answer where the store does not.
        if (!runs::may_begin(begun)) {
            // What its own claim may have marked stays, as with a lease, unless it is to run again.
            if (begun.outcome == begin_outcome::already_run &&
                begun.status != run_status::abandoned)
                claim_.has_run();
            return turned_back(begun);
        }
        // Beside the command, which a journal that is away does not delay.
        const auto audited = audit_fail_open(why);
        const auto how = run_to_the_end(fence_token{}, begun);
        if (how.started) claim_.has_run();
        if (audited.valid()) audited.wait();
        write_end(end_of(how, nullptr));
        claim_.withdraw();
        if (how.started) wait_to_be_read();
        return status_of(how);
    }

    // Nothing is held any more. A reader that stands still is waited for, and signals end that, as
    // they would end any other process.
    void wait_to_be_read() {
        on_loop([this] { relay_.reset(); });
        // One that came behind the command's end, while the lease was released.
        if (const auto signal = caught()) std::raise(*signal);
        wait_for_log_reader();
    }

    status status_of(const ended& how) const {
        if (how.cause == exec::ending::guard_lost)
            log(log_level::error, "guard killed, and the command with it key=" + mine_.key);
        if (!how.timed_out) return as_status(how.status);
        log(log_level::error, std::string{how.started ? "timed out, stopped the command"
                                                      : "timed out before the command began"} +
                                  " key=" + mine_.key +
                                  " timeout=" + base::format_duration(*plan_.timeout));
        return status::timed_out;
    }

    // The journal knows of this occurrence what the store does not: its runner was lost before it
    // could say that it was done, or another holder, with a newer token, runs it.
    status turn_back(lease held, const begin_result& begun) {
        if (begun.outcome == begin_outcome::already_run && is_finished(begun.status))
            held.mark_done();
        held.release();
        return turned_back(begun);
    }

    status turned_back(const begin_result& begun) const {
        if (begun.outcome == begin_outcome::superseded)
            return skip(status::busy,
                        "'" + what_.key + "' is running elsewhere under a newer token");
        return has_run(begun.id, begun.status);
    }

    status has_run(const std::string& run, run_status how) const {
        return skip(status::already_done, "'" + what_.key + "' has already run for " +
                                              what_.occurrence + ": run " + run + " " +
                                              std::string{name_of(how)});
    }

    // After a force release the key is in cooldown; the store says for how long.
    void stop_taken(fence_token token) {
        const auto grace = std::min(plan_.lease.grace, agent::forced_release_grace_max);
        run_->stop(grace);
        const auto read = [store = core_->running()->shared_store()](std::string key) {
            return store->inspect(std::move(key));
        };
        boost::asio::co_spawn(
            store_.get_executor(),
            stop_within(run_, agent::grace_after_loss(read, mine_.key, token, grace)),
            boost::asio::detached);
    }

    static boost::asio::awaitable<void> stop_within(std::shared_ptr<exec_run> run,
                                                    boost::asio::awaitable<millis> asking) {
        const millis grace = co_await std::move(asking);
        run->stop(grace);
    }

    // The lease ended first, as when the journal was waited for. The row says so before the
    // occurrence is given back, or the node that claims it next would find it begun.
    status lost_before_the_start(lease held, const ended& how) {
        log(log_level::error, "lease expired before the command started key=" + mine_.key);
        const auto timeout = plan_.lease.occurrence ? withdrawal_longest() : runs::journal_timeout;
        settle(held, end_of(how, &held), timeout, run_->gives_up());
        held.release();
        give_claim_up();
        return status::lost;
    }

    // Told to stop before there was a command, or there was nothing to start it with.
    status stopped_before_the_start(lease held, const ended& how) {
        settle(held, end_of(how, &held));
        held.release();
        give_claim_up();
        return status_of(how);
    }

    // False where the journal does not have it in time. Waits until `stop` at most.
    bool write_end(run_end how, millis timeout = runs::journal_timeout, std::stop_token stop = {}) {
        const auto let_go = [this] {
            boost::asio::post(store_.get_executor(), [session = session_] { session->forget(); });
        };
        const std::stop_callback stopping{std::move(stop), let_go};
        auto& loop = core_->loop();
        const bool written =
            loop.wait_for(runs::run_session::end(session_, std::move(how), timeout));
        if (!written) log(log_level::warn, "result of the run not recorded");
        if (written && journal_ && runs::is_one_to_prune_after(session_->mark().id))
            loop.wait_for(runs::prune_own(journal_, what_.key));
        return written;
    }

    // Writes down how the run ended, and tells the lease what the store is to know of it.
    void settle(lease& held, run_end how, millis timeout = runs::journal_timeout,
                std::stop_token stop = {}) {
        const auto status = how.status;
        const bool written = write_end(std::move(how), timeout, std::move(stop));
        runs::tell(held, runs::settle(status, written));
    }

    // As long as the journal answers, the end is recorded first: runs of a key do not overlap in
    // its rows. One that fails delays the next holder only where it has a say: of an occurrence,
    // the release tells whether it is done.
    release_outcome let_go(lease& held, run_end how) {
        if (!journal_fails_ || plan_.lease.occurrence) {
            settle(held, std::move(how));
            return held.release();
        }
        const auto released = held.release();
        write_end(std::move(how));
        return released;
    }

    ended run_while_trusted(lease& held, const begin_result& begun) {
        ended how;
        how.started = false;
        how.cause = exec::ending::deadline;
        if (!runtime::may_start(held, plan_.lease.ttl, core_->loop().now())) return how;
        held.watch_deadline([this, run = run_, ttl = plan_.lease.ttl, token = held.token()](
                                instant stop_at, instant valid_until) {
            // Lost: the store knows how long the key has no other holder.
            if (run->is_running() && valid_until <= core_->loop().now())
                stop_taken(token);
            else
                run->on_deadline(stop_at, valid_until, ttl);
        });
        return run_to_the_end(held.token(), begun);
    }

    status run_with(lease held) {
        log(log_level::debug,
            "acquired '" + mine_.key + "', token " + std::to_string(number(held.token())));
        const auto begun = begin_run(&held);
        if (!runs::may_begin(begun)) return turn_back(std::move(held), begun);
        const auto how = run_while_trusted(held, begun);
        if (!how.started && how.by_lease()) return lost_before_the_start(std::move(held), how);
        if (!how.started) return stopped_before_the_start(std::move(held), how);
        const bool lost = !held.valid();
        const auto why = held.lost();
        held.watch_deadline({});
        const auto released = let_go(held, end_of(how, &held));
        wait_to_be_read();
        if (how.by_lease()) {
            log(log_level::error, "lease lost, stopped the command key=" + mine_.key + " reason=" +
                                      std::string{why ? name_of(*why) : "validity_ended"});
            return status::lost;
        }
        if (lost)
            log(log_level::warn, "lease lost before the command ended key=" + mine_.key);
        else if (released == release_outcome::unknown)
            log(log_level::warn, "release not confirmed key=" + mine_.key +
                                     ": the key becomes free when its TTL expires");
        return status_of(how);
    }

    const exec_options& what_;
    held_key mine_;
    exec_plan plan_;
    exec::launcher& guards_;
    std::string store_url_;
    std::string journal_url_;
    std::atomic<bool> journal_fails_ = false;  // set on the loop, so it outlives that
    runtime::core* core_;                      // of store_
    locks store_;
    exec_claim claim_;                  // unless it is of slots
    std::shared_ptr<journal> journal_;  // null: the run is not recorded
    bool journal_answers_ = false;
    runs::run_session::self_ptr session_;  // of the run, once it has been begun
    std::shared_ptr<exec_run> run_;
    std::unique_ptr<agent::run_socket> socket_;
    std::unique_ptr<exec::signal_relay> relay_;
    std::future<void> judged_;  // of judge_others(), once it has begun
};

status execute(const globals& options, const exec_options& what) {
    const auto how = plan_of(what);
    if (what.command.empty())
        throw CLI::ValidationError{"COMMAND", "is missing: pawl exec KEY [options] -- COMMAND…"};
    if (const auto bad = base::key_fault(what.key)) throw CLI::ValidationError{"KEY", *bad};
    if (what.on_store_down == "run" &&
        choose_store(options).url.find("safety=correctness") != std::string::npos)
        throw CLI::ValidationError{"--on-store-down",
                                   "run is fail-open, which safety=correctness rejects"};
    // Before the store is opened, because that starts a thread, and only one without threads can
    // fork.
    auto guards = exec::launcher::start();
    outlive_log_reader();
    execution all{options, what, how, guards};
    return all.go();
}

}  // namespace

void add_exec(context& all) {
    auto* one = all.app.add_subcommand("exec", "run a command on one node at a time");
    auto what = std::make_shared<exec_options>();
    one->add_option("KEY", what->key, "the lock's key")->required();
    add_words(*one, "COMMAND", what->command, "the command and its arguments, after --");
    one->add_option("--ttl", what->ttl, "lease duration; renewed while the command runs")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_option("--at-least", what->min_hold, "minimum hold time, from the grant")
        ->type_name("DUR");
    one->add_flag("--hold", what->hold_until_expiry, "do not release, let the lease expire");
    one->add_option("--wait", what->wait,
                    "wait for the lock, without a limit or up to DUR (--wait=DUR)")
        ->type_name("[=DUR]");
    one->add_option("--slots", what->slots, "hold one of N slots: at most N nodes run it at a time")
        ->check(number_within(1, slots_max))
        ->type_name("N");
    one->add_option("--occurrence", what->occurrence,
                    "scheduled time, run at most once for it over all nodes; minute, hour or day: "
                    "the start of the current one, for cron")
        ->type_name("RFC3339|minute|hour|day");
    one->add_flag("--at-least-once", what->at_least_once,
                  "another node may resume a failed occurrence");
    one->add_option("--grace", what->grace, "time from SIGTERM to SIGKILL")
        ->type_name("DUR")
        ->capture_default_str();
    one->add_option("--timeout", what->timeout,
                    "how long the command may run, with a lease or without; exit status 124")
        ->type_name("DUR");
    one->add_option("--skip-status", what->skip_status, "exit status when skipped (75 or 76)")
        ->check(number_within(0, 255))
        ->type_name("N");
    one->add_option("--on-store-down", what->on_store_down, "skip (exit 69) or run without a lease")
        ->check(CLI::IsMember({"skip", "run"}))
        ->type_name("skip|run");
    one->add_flag("--no-journal", what->no_journal, "do not record the run");
    one->footer(
        "Example: pawl exec invoices/nightly --ttl 30s --occurrence 2026-11-20T02:00:00Z -- "
        "/usr/local/bin/send-invoices\n"
        "The command sees PAWL_KEY, PAWL_SLOT, PAWL_SLOT_COUNT, PAWL_FENCE_TOKEN, PAWL_OWNER, "
        "PAWL_RUN_ID, PAWL_OCCURRENCE,\n"
        "PAWL_STORE, PAWL_JOURNAL, PAWL_RUN_SOCKET and PAWL_CHECKPOINT. Exit status: its own, or "
        "64 "
        "usage, 69 store down,\n"
        "70 lease lost, 74 store rejects writes, 75 busy, 76 already run, 77 denied, 78 "
        "configuration, 124 timed out.");
    one->callback([&all, what] {
        what->occurrence = named_occurrence(std::move(what->occurrence));
        all.chosen = [&all, what] { return execute(all.options, *what); };
    });
}

}  // namespace pawl::cli
