#include "test_support/simulation/schedule/remote.hpp"

#include "test_support/simulation/line.hpp"
#include "test_support/simulation/schedule/node.hpp"

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::simulation::schedules {
namespace {

using schedule::skip_reason;
using std::chrono::milliseconds;
using std::chrono::seconds;

// One way through the network. Both together may take longer than anybody waits for the answer; one
// does not, as a connection that was given up carries nothing any more.
nanos draw_way(world& all) {
    auto& random = all.random;
    if (random.happens(all.plan.slow_way))
        return random.between(milliseconds{100}, milliseconds{1'500});
    return random.between(milliseconds{1}, milliseconds{20});
}

// Between this life of a node and one server.
class node_wire final : public wire {
public:
    node_wire(node& home, side which) : home_{home}, life_{home.life()}, side_{which} {}

    boost::asio::any_io_executor executor() const override { return home_.executor(); }
    nanos timeout() const override { return seconds{2}; }
    void on_timeout() override {}
    bool is_open() const override { return home_.reaches(side_); }
    void on_lost(std::weak_ptr<std::function<void()>> who) override {
        home_.on_lost_connection(side_, std::move(who));
    }
    void tell(std::function<void()> what) override { home_.tell(life_, std::move(what)); }

    int carry_there(std::function<void()> deliver, copies how_many) override {
        auto& all = home();
        all.count_request(side_);
        all.time.after(draw_way(all), deliver);
        if (how_many != copies::perhaps_more || !all.random.happens(all.plan.repeated)) return 1;
        all.time.after(draw_way(all), deliver);
        return 2;
    }
    void carry_back(std::function<void()> deliver) override {
        auto& all = home();
        all.time.after(draw_way(all), [&node = home_, which = side_, deliver = std::move(deliver)] {
            if (node.hears(which)) deliver();
        });
    }
    reception arrive() override {
        if (home_.reaches(side_)) return reception::served;
        // Nothing is there: a host that stands says so at once.
        const bool says_so = !home().is_up(side_) && home().random.happens(0.5);
        return says_so ? reception::rejected : reception::unheard;
    }

    world& home() const { return home_.home(); }
    node& here() const { return home_; }
    bool lives() const { return home_.lives(life_); }

private:
    node& home_;
    const std::uint64_t life_;
    const side side_;
};

class remote_store final : public lease_store {
public:
    explicit remote_store(node& home)
        : wire_{std::make_shared<node_wire>(home, side::store)}, line_{wire_} {}

    store_traits traits() const noexcept override { return wire_->home().store->traits(); }

    async<acquire_result<grant>> acquire(claim wanted) override {
        const auto asked_for = wanted.occurrence;
        const auto bug = wire_->home().plan.bug;
        if (bug == plant::occurrence_unsent) wanted.occurrence.reset();
        if (bug == plant::used_up_by_grant) wanted.delivery = delivery::at_most_once;
        if (bug == plant::new_id) wanted.id += "-" + std::to_string(++asked_);
        const auto rejected = std::make_shared<bool>(false);
        return line_.ask<acquire_result<grant>>([where = wire_, wanted, asked_for, rejected] {
            auto answer = grant_or_not(*where, wanted, asked_for);
            const bool granted = answer.has_value() && std::holds_alternative<grant>(*answer);
            // Its node has been told that the key is busy, and knows nothing of the copy.
            const bool was_rejected = std::exchange(*rejected, answer.has_value() && !granted);
            if (was_rejected && granted && asked_for)
                where->home().judge.on_copy_granted(wanted.key, *asked_for);
            return answer;
        });
    }

    async<bool> withdraw(withdrawal given_up) override {
        if (wire_->home().plan.bug == plant::mark_stays) given_up.occurrence.reset();
        return line_.ask<bool>([&all = wire_->home(), given_up] {
            auto answer = freed(all, given_up.key, all.serve(all.store->withdraw(given_up)));
            if (answer.has_value()) all.judge.on_withdrawn(given_up.key, given_up.id);
            return answer;
        });
    }

    async<std::vector<renewal>> renew(std::span<const held_lease> leases) override {
        return line_.ask<std::vector<renewal>>(
            [&all = wire_->home(), asked = std::vector<held_lease>(leases.begin(), leases.end())] {
                return all.serve(all.store->renew(asked));
            });
    }

    async<bool> release(std::string key, fence_token token, release_options how) override {
        return line_.ask<bool>([&all = wire_->home(), key, token, how] {
            auto answer = freed(all, key, all.serve(all.store->release(key, token, how)));
            if (answer.has_value() && *answer && how.done) all.judge.on_done(key, *how.done);
            remember(all, key);
            return answer;
        });
    }

    async<bool> force_release(std::string key, fence_token token, millis delay) override {
        return line_.ask<bool>([&all = wire_->home(), key, token, delay] {
            return freed(all, key, all.serve(all.store->force_release(key, token, delay)));
        });
    }

    async<std::optional<record>> inspect(std::string key) override {
        return line_.ask<std::optional<record>>(
            [&all = wire_->home(), key] { return all.serve(all.store->inspect(key)); });
    }

    async<std::vector<std::optional<record>>> inspect_many(std::vector<std::string> keys) override {
        return line_.ask<std::vector<std::optional<record>>>(
            [&all = wire_->home(), keys] { return all.serve(all.store->inspect_many(keys)); });
    }

    async<page> list(std::string prefix, std::string after, std::size_t limit) override {
        return line_.ask<page>([&all = wire_->home(), prefix, after, limit] {
            return all.serve(all.store->list(prefix, after, limit));
        });
    }

    async<void> wait_change(std::string key, fence_token seen) override {
        return line_.listen([&all = wire_->home(), key, seen](std::function<void()> told) {
            all.serve_long(all.store->wait_change(key, seen), std::move(told));
        });
    }

    async<fence_result> fence(std::string resource, fence_token token, fence_rule rule) override {
        return line_.ask<fence_result>([&all = wire_->home(), resource, token, rule] {
            return all.serve(all.store->fence(resource, token, rule));
        });
    }

private:
    static result<acquire_result<grant>> grant_or_not(const node_wire& where, const claim& wanted,
                                                      std::optional<occurrence> asked_for) {
        auto& all = where.home();
        const auto before = all.leases().inspect(wanted.key);
        auto answer = all.serve(all.store->acquire(wanted));
        remember(all, wanted.key);
        if (answer.has_error()) return answer;
        all.judge.note(where.here().name(), " asks for ", wanted.key, " as ",
                       wanted.id.substr(0, 6), ": ", name_of(*answer));
        if (const auto* no = std::get_if<busy>(&*answer);
            no != nullptr && no->reason == busy_reason::early)
            all.judge.happened(fact::early);
        if (std::holds_alternative<already_done>(*answer)) all.judge.happened(fact::already_done);
        const auto* won = std::get_if<grant>(&*answer);
        if (won == nullptr) return answer;
        if (!before || before->holder != won->token) {
            all.judge.on_grant(wanted.key, wanted.id, asked_for);
            all.on_granted(where.here());
        }
        if (asked_for)
            all.judge.on_granted(wanted.key, *asked_for, where.here().index(), where.lives(),
                                 where.here().hears(side::store));
        return answer;
    }

    static std::string_view name_of(const acquire_result<grant>& answer) {
        constexpr std::string_view words[]{"busy: held", "busy: cooldown", "busy: quarantined",
                                           "busy: early"};
        if (const auto* no = std::get_if<busy>(&answer))
            return words[static_cast<std::size_t>(no->reason)];
        return std::holds_alternative<grant>(answer) ? "granted" : "done";
    }

    static result<bool> freed(world& all, const std::string& key, result<bool> answer) {
        if (answer.has_value() && *answer) all.judge.on_free(key);
        return answer;
    }

    static void remember(world& all, const std::string& key) {
        const auto seen = all.leases().inspect(key);
        if (seen && seen->last_done) all.judge.on_remembered(key, *seen->last_done);
    }

    const std::shared_ptr<node_wire> wire_;
    line line_;
    std::size_t asked_ = 0;  // claims
};

// Of the journal a schedule uses all but what people ask for.
class remote_journal final : public journal {
public:
    explicit remote_journal(node& home)
        : wire_{std::make_shared<node_wire>(home, side::journal)}, line_{wire_} {}

    async<begin_result> begin(run_start start) override {
        return line_.ask<begin_result>(
            [&where = wire_->home(), start] { return begin_or_not(where, start); });
    }
    async<std::vector<heartbeat_result>> heartbeat(std::span<const run_ref> runs) override {
        const std::vector<run_ref> all(runs.begin(), runs.end());
        return line_.ask<std::vector<heartbeat_result>>(
            [&where = wire_->home(), all] { return where.serve(where.records->heartbeat(all)); });
    }
    async<bool> checkpoint(run_ref who, std::string text) override {
        return ask<bool>([=](journal& at) { return at.checkpoint(who, text); });
    }
    async<bool> append_output(run_ref who, std::uint64_t offset, std::string bytes,
                              std::uint64_t limit) override {
        return ask<bool>([=](journal& at) { return at.append_output(who, offset, bytes, limit); });
    }
    async<bool> add_event(run_ref who, std::string kind, std::string text) override {
        return ask<bool>([=](journal& at) { return at.add_event(who, kind, text); });
    }
    async<bool> next_attempt(run_ref who, run_end last) override {
        return ask<bool>([=](journal& at) { return at.next_attempt(who, last); });
    }
    async<bool> finish(run_ref who, run_end how) override {
        return ask<bool>([=](journal& at) { return at.finish(who, how); });
    }
    async<bool> skip(run_start what, std::string reason) override {
        return line_.ask<bool>(
            [&where = wire_->home(), what, reason, here = wire_->here().index()]() -> result<bool> {
                if (where.plan.bug == plant::skips_untold) return true;
                auto answer = where.serve(where.records->skip(what, reason));
                const auto row = where.row_of(what.job, what.partition, *what.occurrence);
                if (row && row->status == run_status::skipped)
                    where.judge.note("row of ", what.key, " skipped: ", reason),
                        where.judge.on_skip(what.key, *what.occurrence, reason_of(reason), here);
                return answer;
            });
    }

    async<std::optional<run_record>> find_run(std::string id) override {
        return ask<std::optional<run_record>>([=](journal& at) { return at.find_run(id); });
    }
    async<std::optional<run_record>> find_occurrence(std::string job, std::uint32_t partition,
                                                     pawl::occurrence occurrence) override {
        return ask<std::optional<run_record>>(
            [=](journal& at) { return at.find_occurrence(job, partition, occurrence); });
    }
    async<run_page> list_runs(run_filter which, std::string after, std::size_t limit) override {
        return ask<run_page>([=](journal& at) { return at.list_runs(which, after, limit); });
    }
    async<std::vector<run_event>> history(std::string id) override {
        return ask<std::vector<run_event>>([=](journal& at) { return at.history(id); });
    }
    async<std::optional<output_part>> read_output(std::string id, std::uint64_t offset,
                                                  std::size_t bytes_max) override {
        return ask<std::optional<output_part>>(
            [=](journal& at) { return at.read_output(id, offset, bytes_max); });
    }
    async<bool> request_cancel(std::string id, std::string by) override {
        return ask<bool>([=](journal& at) { return at.request_cancel(id, by); });
    }
    async<std::vector<run_record>> stale_runs(std::size_t limit, std::size_t skip) override {
        return ask<std::vector<run_record>>(
            [=](journal& at) { return at.stale_runs(limit, skip); });
    }
    async<bool> end_stale(run_ref who, run_end how) override {
        return ask<bool>([=](journal& at) { return at.end_stale(who, how); });
    }
    async<std::size_t> prune(std::string job, std::size_t keep, millis keep_for,
                             std::size_t limit) override {
        return ask<std::size_t>([=](journal& at) { return at.prune(job, keep, keep_for, limit); });
    }

    async<control_state> read_control_state() override {
        return line_.ask<control_state>([&where = wire_->home()]() -> result<control_state> {
            auto seen = where.serve(where.records->read_control_state());
            if (seen.has_error()) return seen;
            if (where.plan.bug == plant::pause_unheard) seen->pauses.clear();
            if (where.plan.bug == plant::orphans_left) seen->orphans.clear();
            return seen;
        });
    }
    async<bool> add_trigger(run_trigger what) override {
        return ask<bool>([=](journal& at) { return at.add_trigger(what); });
    }
    async<bool> remove_trigger(std::string id) override {
        return ask<bool>([=](journal& at) { return at.remove_trigger(id); });
    }
    async<bool> pause_job(std::string job, std::string reason, std::string by) override {
        return ask<bool>([=](journal& at) { return at.pause_job(job, reason, by); });
    }
    async<bool> resume_job(std::string job) override {
        return ask<bool>([=](journal& at) { return at.resume_job(job); });
    }

    async<std::vector<job_entry>> publish(std::vector<job_entry> jobs) override {
        return ask<std::vector<job_entry>>([=](journal& at) { return at.publish(jobs); });
    }
    async<std::size_t> retire(std::vector<std::string> names, std::string by) override {
        return ask<std::size_t>([=](journal& at) { return at.retire(names, by); });
    }
    async<std::vector<job_entry>> list_jobs(std::string after, std::size_t limit) override {
        return ask<std::vector<job_entry>>([=](journal& at) { return at.list_jobs(after, limit); });
    }
    async<std::optional<job_entry>> find_job(std::string name) override {
        return ask<std::optional<job_entry>>([=](journal& at) { return at.find_job(name); });
    }
    async<void> node_heartbeat(node_entry me) override {
        return ask<void>([=](journal& at) { return at.node_heartbeat(me); });
    }
    async<void> node_leave(std::string id) override {
        return ask<void>([=](journal& at) { return at.node_leave(id); });
    }
    async<std::vector<node_entry>> list_nodes() override {
        const auto owner = wire_->here().owner();
        return line_.ask<std::vector<node_entry>>(
            [&where = wire_->home(), owner]() -> result<std::vector<node_entry>> {
                return where.registry_told(owner);
            });
    }

    async<audit_entry> append_audit(audit_draft what) override {
        return ask<audit_entry>([=](journal& at) { return at.append_audit(what); });
    }
    async<std::vector<audit_entry>> list_audit(std::uint64_t before, std::size_t limit) override {
        return ask<std::vector<audit_entry>>(
            [=](journal& at) { return at.list_audit(before, limit); });
    }

private:
    template <class T, class Verb>
    async<T> ask(Verb verb) {
        return line_.ask<T>(
            [&where = wire_->home(), verb] { return where.serve(verb(*where.records)); });
    }

    static result<begin_result> begin_or_not(world& where, const run_start& start) {
        const auto before = start.occurrence
                                ? where.row_of(start.job, start.partition, *start.occurrence)
                                : std::nullopt;
        auto answer = where.serve(where.records->begin(start));
        const bool begins = answer.has_value() && (answer->outcome == begin_outcome::begun ||
                                                   answer->outcome == begin_outcome::resumed);
        const bool is_other = before && before->token != start.token;
        if (begins && before &&
            (before->status == run_status::cancelled || (is_other && before->cancel_requested)))
            where.judge.broken(law::cancel_heard, start.key + " begins again, though cancelled");
        return answer;
    }

    static skip_reason reason_of(std::string_view words) {
        for (const auto each :
             {skip_reason::overlap, skip_reason::too_late, skip_reason::superseded,
              skip_reason::forgotten, skip_reason::answer_lost})
            if (words.starts_with(schedule::text_of(each))) return each;
        return skip_reason::overlap;
    }

    const std::shared_ptr<node_wire> wire_;
    line line_;
};

}  // namespace

std::shared_ptr<lease_store> make_remote_store(node& home) {
    return std::make_shared<remote_store>(home);
}

std::shared_ptr<journal> make_remote_journal(node& home) {
    return std::make_shared<remote_journal>(home);
}

}  // namespace pawl::simulation::schedules
