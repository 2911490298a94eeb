#include "journals/memory/memory_journal.hpp"

#include "journals/memory/journal_data.hpp"
#include "journals/rules/texts.hpp"

#include <utility>

namespace pawl::memory {
namespace {

namespace rules = journals;

constexpr const char* skip_needs_firing =
    "journal: only a firing is skipped: give the run one, or leave it out";

// The verbs run on the loop; the data's mutex is for the journals on other loops.
class memory_journal : public journal, public std::enable_shared_from_this<memory_journal> {
public:
    explicit memory_journal(const std::string& name) : data_{journal_data::of(name)} {}

    async<beginning> begin(run_start start) override {
        const auto self = shared_from_this();
        if (auto fault = rules::fault_of(start)) co_return std::move(*fault);
        const auto cleaned = rules::clean(std::move(start));
        co_return data_->begin(cleaned);
    }
    async<std::vector<beat>> heartbeat(std::span<const run_mark> runs) override {
        const auto self = shared_from_this();
        co_return data_->heartbeat(runs);
    }
    async<bool> checkpoint(run_mark who, std::string text) override {
        const auto self = shared_from_this();
        if (auto fault = rules::fault_of_checkpoint(text)) co_return std::move(*fault);
        co_return data_->checkpoint(who, std::move(text));
    }
    async<bool> append_output(run_mark who, std::uint64_t offset, std::string bytes,
                              std::uint64_t limit) override {
        const auto self = shared_from_this();
        if (auto fault = rules::fault_of_chunk(offset, bytes)) co_return std::move(*fault);
        co_return data_->append_output(who, offset, std::move(bytes), limit);
    }
    async<bool> note(run_mark who, std::string kind, std::string text) override {
        const auto self = shared_from_this();
        co_return data_->note(who, kind, text);
    }
    async<bool> next_attempt(run_mark who, run_end last) override {
        const auto self = shared_from_this();
        co_return data_->next_attempt(who, last);
    }
    async<bool> finish(run_mark who, run_end how) override {
        const auto self = shared_from_this();
        if (auto fault = rules::fault_of_end(how.status)) co_return std::move(*fault);
        co_return data_->finish(who, how);
    }
    async<bool> skip(run_start what, std::string reason) override {
        const auto self = shared_from_this();
        if (auto fault = rules::fault_of(what)) co_return std::move(*fault);
        if (!what.firing) co_return failure{errc::rejected, skip_needs_firing};
        const auto cleaned = rules::clean(std::move(what));
        co_return data_->skip(cleaned, reason);
    }

    async<std::optional<run_record>> find_run(std::string id) override {
        const auto self = shared_from_this();
        co_return data_->find_run(id);
    }
    async<std::optional<run_record>> find_firing(std::string job, std::uint32_t partition,
                                                 occurrence firing) override {
        const auto self = shared_from_this();
        co_return data_->find_firing(job, partition, firing);
    }
    async<run_page> list_runs(run_filter which, std::string after, std::size_t limit) override {
        const auto self = shared_from_this();
        const auto before = rules::place_of(after);
        if (before.has_error()) co_return before.error();
        co_return data_->list_runs(which, *before, rules::within_page(limit));
    }
    async<std::vector<run_event>> history(std::string id) override {
        const auto self = shared_from_this();
        co_return data_->history(id);
    }
    async<std::optional<output_part>> read_output(std::string id, std::uint64_t offset,
                                                  std::size_t bytes_max) override {
        const auto self = shared_from_this();
        co_return data_->read_output(id, offset, bytes_max);
    }
    async<bool> request_cancel(std::string id, std::string by) override {
        const auto self = shared_from_this();
        co_return data_->request_cancel(id, by);
    }
    async<std::vector<run_record>> stale_runs(std::size_t limit, std::size_t skip) override {
        const auto self = shared_from_this();
        co_return data_->stale_runs(limit, skip);
    }
    async<bool> judge(run_mark who, run_end how) override {
        const auto self = shared_from_this();
        if (auto fault = rules::fault_of_judgement(how.status)) co_return std::move(*fault);
        co_return data_->judge(who, how);
    }
    async<std::size_t> prune(std::string job, std::size_t keep, millis keep_for,
                             std::size_t limit) override {
        const auto self = shared_from_this();
        co_return data_->prune(job, keep, keep_for, limit);
    }

    async<board> read_board() override {
        const auto self = shared_from_this();
        co_return data_->read_board();
    }
    async<bool> add_trigger(run_trigger what) override {
        const auto self = shared_from_this();
        if (auto fault = rules::fault_of(what)) co_return std::move(*fault);
        auto cleaned = rules::clean(std::move(what));
        co_return data_->add_trigger(std::move(cleaned));
    }
    async<bool> remove_trigger(std::string id) override {
        const auto self = shared_from_this();
        co_return data_->remove_trigger(id);
    }
    async<bool> pause(std::string job, std::string reason, std::string by) override {
        const auto self = shared_from_this();
        reason = rules::one_line(reason);
        by = rules::one_line(by, rules::name_bytes_max);
        co_return data_->pause(job, reason, by);
    }
    async<bool> unpause(std::string job) override {
        const auto self = shared_from_this();
        co_return data_->unpause(job);
    }

    async<std::vector<job_entry>> publish(std::vector<job_entry> jobs) override {
        const auto self = shared_from_this();
        for (auto& each : jobs) {
            if (auto fault = rules::fault_of(each)) co_return std::move(*fault);
            each = rules::clean(std::move(each));
        }
        co_return data_->publish(std::move(jobs));
    }
    async<std::size_t> retire(std::vector<std::string> names, std::string node) override {
        const auto self = shared_from_this();
        co_return data_->retire(names, node);
    }
    async<std::vector<job_entry>> list_jobs(std::string after, std::size_t limit) override {
        const auto self = shared_from_this();
        co_return data_->list_jobs(after, rules::within_page(limit));
    }
    async<std::optional<job_entry>> find_job(std::string name) override {
        const auto self = shared_from_this();
        co_return data_->find_job(name);
    }
    async<void> node_beat(node_entry me) override {
        const auto self = shared_from_this();
        auto cleaned = rules::clean(std::move(me));
        data_->node_beat(std::move(cleaned));
        co_return result<void>{};
    }
    async<void> node_leave(std::string id) override {
        const auto self = shared_from_this();
        data_->node_leave(id);
        co_return result<void>{};
    }
    async<std::vector<node_entry>> list_nodes() override {
        const auto self = shared_from_this();
        co_return data_->list_nodes();
    }

    async<audit_entry> append_audit(audit_draft what) override {
        const auto self = shared_from_this();
        const auto cleaned = rules::clean(std::move(what));
        co_return data_->append_audit(cleaned);
    }
    async<std::vector<audit_entry>> list_audit(std::uint64_t before, std::size_t limit) override {
        const auto self = shared_from_this();
        co_return data_->list_audit(before, rules::within_page(limit));
    }

private:
    // Constant after construction
    const std::shared_ptr<journal_data> data_;
};

}  // namespace

std::shared_ptr<journal> make_memory_journal(net::loop&, const std::string& name, store_settings) {
    return std::make_shared<memory_journal>(name);
}

}  // namespace pawl::memory
