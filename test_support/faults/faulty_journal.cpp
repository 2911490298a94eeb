#include "test_support/faults/faulty_journal.hpp"

#include "test_support/faults/take_one.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace pawl::testing_faults {
namespace {

class faulty_journal final : public journal {
public:
    faulty_journal(std::shared_ptr<journal> inner, std::shared_ptr<journal_plan> faults)
        : inner_{std::move(inner)}, faults_{std::move(faults)} {}

    async<begin_result> begin(run_start start) override {
        if (faults_->on_begin) faults_->on_begin();
        auto beginning_of = lossy(inner_->begin(std::move(start)));
        auto told = co_await std::move(beginning_of);
        if (faults_->on_begun) faults_->on_begun();
        co_await pass(faults_->begin_delay);
        co_return told;
    }
    async<std::vector<heartbeat_result>> heartbeat(std::span<const run_ref> runs) override {
        if (faults_->heartbeats_lost) return nobody(runs.size());
        return strict(inner_->heartbeat(runs));
    }
    async<bool> checkpoint(run_ref who, std::string text) override {
        return lossy(inner_->checkpoint(std::move(who), std::move(text)));
    }
    async<bool> append_output(run_ref who, std::uint64_t offset, std::string bytes,
                              std::uint64_t limit) override {
        if (faults_->on_output) faults_->on_output();
        auto appending =
            lossy(inner_->append_output(std::move(who), offset, std::move(bytes), limit));
        const auto late = faults_->reject_output_after.exchange(millis{0});
        if (late.count() == 0) co_return co_await std::move(appending);
        ++faults_->operations;
        boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor, late};
        co_await timer.async_wait(boost::asio::use_awaitable);
        co_return failure{errc::rejected, "the chunk was rejected, as planned"};
    }
    async<bool> add_event(run_ref who, std::string kind, std::string text) override {
        return lossy(inner_->add_event(std::move(who), std::move(kind), std::move(text)));
    }
    async<bool> next_attempt(run_ref who, run_end last) override {
        return lossy(inner_->next_attempt(std::move(who), std::move(last)));
    }
    async<bool> finish(run_ref who, run_end how) override {
        return lossy(inner_->finish(std::move(who), std::move(how)));
    }
    async<bool> skip(run_start what, std::string reason) override {
        return lossy(inner_->skip(std::move(what), std::move(reason)));
    }

    async<std::optional<run_record>> find_run(std::string id) override {
        return strict(inner_->find_run(std::move(id)));
    }
    async<std::optional<run_record>> find_occurrence(std::string job, std::uint32_t partition,
                                                     pawl::occurrence occurrence) override {
        ++faults_->occurrence_reads;
        return strict(inner_->find_occurrence(std::move(job), partition, occurrence));
    }
    async<run_page> list_runs(run_filter which, std::string after, std::size_t limit) override {
        const bool never_ends =
            which.status && is_finished(*which.status) && take_one(faults_->pages_before_the_last);
        auto listing = strict(inner_->list_runs(std::move(which), std::move(after), limit));
        auto page = co_await std::move(listing);
        if (never_ends && page.has_value() && page->next.empty()) page->next = "1";
        if (faults_->on_runs_read) faults_->on_runs_read();
        co_return page;
    }
    async<std::vector<run_event>> history(std::string id) override {
        return strict(inner_->history(std::move(id)));
    }
    async<std::optional<output_part>> read_output(std::string id, std::uint64_t offset,
                                                  std::size_t bytes_max) override {
        return strict(inner_->read_output(std::move(id), offset, bytes_max));
    }
    async<bool> request_cancel(std::string id, std::string by) override {
        return change(inner_->request_cancel(std::move(id), std::move(by)));
    }
    async<std::vector<run_record>> stale_runs(std::size_t limit, std::size_t skip) override {
        auto asking = strict(inner_->stale_runs(limit, skip));
        auto stale = co_await std::move(asking);
        if (faults_->on_stale_read) faults_->on_stale_read();
        co_return stale;
    }
    async<bool> end_stale(run_ref who, run_end how) override {
        return strict(inner_->end_stale(std::move(who), std::move(how)));
    }
    async<std::size_t> prune(std::string job, std::size_t keep, millis keep_for,
                             std::size_t limit) override {
        ++faults_->prunes;
        co_await pass(faults_->prune_delay);
        auto pruning = strict(inner_->prune(std::move(job), keep, keep_for, limit));
        co_return co_await std::move(pruning);
    }

    async<control_state> read_control_state() override {
        ++faults_->control_reads;
        if (faults_->on_control_read) faults_->on_control_read();
        return unless(faults_->fail_control_state, strict(inner_->read_control_state()));
    }
    async<bool> add_trigger(run_trigger what) override {
        return change(inner_->add_trigger(std::move(what)));
    }
    async<bool> remove_trigger(std::string id) override {
        return change(inner_->remove_trigger(std::move(id)));
    }
    async<bool> pause_job(std::string job, std::string reason, std::string by) override {
        return change(inner_->pause_job(std::move(job), std::move(reason), std::move(by)));
    }
    async<bool> resume_job(std::string job) override {
        return change(inner_->resume_job(std::move(job)));
    }

    async<std::vector<job_entry>> publish(std::vector<job_entry> jobs) override {
        ++faults_->publications;
        if (faults_->on_publication) faults_->on_publication();
        auto publishing = unless(faults_->fail_publish, strict(inner_->publish(std::move(jobs))));
        co_return older(co_await std::move(publishing));
    }
    async<std::size_t> retire(std::vector<std::string> names, std::string node) override {
        std::optional<errc> why;
        if (take_one(faults_->retires_to_fail)) why = errc::unreachable;
        return unless(why, strict(inner_->retire(std::move(names), std::move(node))));
    }
    async<std::vector<job_entry>> list_jobs(std::string after, std::size_t limit) override {
        auto listing = strict(inner_->list_jobs(std::move(after), limit));
        co_return older(co_await std::move(listing));
    }
    async<std::optional<job_entry>> find_job(std::string name) override {
        std::optional<errc> why;
        if (take_one(faults_->find_jobs_to_fail)) why = errc::unreachable;
        return unless(why, strict(inner_->find_job(std::move(name))));
    }
    async<void> node_heartbeat(node_entry me) override {
        return strict(inner_->node_heartbeat(std::move(me)));
    }
    async<void> node_leave(std::string id) override {
        return strict(inner_->node_leave(std::move(id)));
    }
    async<std::vector<node_entry>> list_nodes() override { return strict(inner_->list_nodes()); }

    async<audit_entry> append_audit(audit_draft what) override {
        ++faults_->audits;
        auto appending = strict(inner_->append_audit(std::move(what)));
        auto appended = co_await std::move(appending);
        if (appended.has_value() && take_one(faults_->audits_to_lose))
            co_return failure{errc::outcome_unknown, "the answer was lost, as planned"};
        co_return appended;
    }
    async<std::vector<audit_entry>> list_audit(std::uint64_t before, std::size_t limit) override {
        auto listing = strict(inner_->list_audit(before, limit));
        auto listed = co_await std::move(listing);
        co_await pass(faults_->audit_delay);
        co_return listed;
    }

private:
    result<std::vector<job_entry>> older(result<std::vector<job_entry>> jobs) const {
        if (jobs.has_value())
            for (auto& one : *jobs) one.since -= faults_->jobs_older_by.load().count();
        return jobs;
    }
    static boost::asio::awaitable<void> pass(millis time) {
        if (time.count() == 0) co_return;
        boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor, time};
        co_await timer.async_wait(boost::asio::use_awaitable);
    }
    std::optional<failure> planned() {
        ++faults_->operations;
        if (const auto code = faults_->fail_all.load())
            return failure{*code, "the journal failed, as planned"};
        return std::nullopt;
    }

    // A coroutine that is not awaited has no effect, so that the verb may be made first. This
    // object is kept alive by the test.
    template <class T>
    static async<T> unless(std::optional<errc> why, async<T> verb) {
        if (why) co_return failure{*why, "a fault of the test"};
        co_return co_await std::move(verb);
    }
    template <class T>
    async<T> strict(async<T> verb) {
        if (auto bad = planned()) co_return *bad;
        auto answer = co_await std::move(verb);
        for (int left = faults_->turns_late; left > 0; --left)
            co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                                       boost::asio::use_awaitable);
        co_return answer;
    }
    template <class T>
    async<T> lossy(async<T> verb) {
        if (auto bad = planned()) co_return *bad;
        auto answer = co_await std::move(verb);
        if (take_one(faults_->answers_to_lose))
            co_return failure{errc::outcome_unknown, "the answer was lost, as planned"};
        co_return answer;
    }
    async<bool> change(async<bool> verb) {
        auto asking = strict(std::move(verb));
        auto answer = co_await std::move(asking);
        if (answer.has_value() && take_one(faults_->changes_to_lose))
            co_return failure{errc::outcome_unknown, "the answer was lost, as planned"};
        co_return answer;
    }
    static async<std::vector<heartbeat_result>> nobody(std::size_t how_many) {
        co_return std::vector<heartbeat_result>(how_many, heartbeat_result::alive);
    }

    std::shared_ptr<journal> inner_;
    std::shared_ptr<journal_plan> faults_;
};

}  // namespace

std::shared_ptr<journal> make_faulty_journal(std::shared_ptr<journal> inner,
                                             std::shared_ptr<journal_plan> faults) {
    return std::make_shared<faulty_journal>(std::move(inner), std::move(faults));
}

}  // namespace pawl::testing_faults
