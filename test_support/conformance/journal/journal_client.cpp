#include "test_support/conformance/journal/journal_client.hpp"

#include "base/identity.hpp"
#include "engines/rules/journal/checked_journal.hpp"
#include "test_support/conformance/pause.hpp"

#include <pawl/clock.hpp>

#include <algorithm>

namespace pawl::conformance {
namespace {

constexpr auto timeout = 10s;

}  // namespace

journal_client::journal_client(const journal_opener& open)
    : loop_{std::make_unique<net::loop>()}, journal_{journals::checked(open(*loop_))} {}
journal_client::journal_client(journal_client&&) noexcept = default;
journal_client::~journal_client() = default;

void journal_client::done(async<void> verb) {
    const auto answer = loop_->wait_for(std::move(verb));
    if (answer.has_error())
        ADD_FAILURE() << name_of(answer.error().code) << ": " << answer.error().detail;
}

begin_result journal_client::begin(const run_start& start, begin_outcome expected) {
    auto answer = get(journal_->begin(start));
    EXPECT_EQ(static_cast<int>(answer.outcome), static_cast<int>(expected)) << start.job;
    return answer;
}

run_record journal_client::show(const std::string& id) {
    auto found = get(journal_->find_run(id));
    if (!found) ADD_FAILURE() << "there is no run " << id;
    return found.value_or(run_record{});
}

std::vector<run_record> journal_client::all(const run_filter& which, std::size_t limit) {
    std::vector<run_record> found;
    std::string after;
    do {
        const auto page = get(journal_->list_runs(which, after, limit));
        EXPECT_LE(page.records.size(), limit);
        found.insert(found.end(), page.records.begin(), page.records.end());
        after = page.next;
    } while (!after.empty());
    return found;
}

std::vector<std::string> journal_client::kinds_of_events(const std::string& id) {
    std::vector<std::string> kinds;
    for (const auto& event : get(journal_->history(id))) kinds.push_back(event.kind);
    return kinds;
}

std::string journal_client::output_of(const std::string& id) {
    std::string all;
    std::uint64_t offset = 0;
    for (;;) {
        const auto part = get(journal_->read_output(id, offset, output_chunk_bytes_max));
        if (!part || part->bytes.empty()) return all;
        all += part->bytes;
        offset = part->offset + part->bytes.size();
    }
}

std::vector<audit_entry> journal_client::whole_audit(std::size_t limit) {
    std::vector<audit_entry> found;
    std::uint64_t before = 0;
    do {
        const auto page = get(journal_->list_audit(before, limit));
        EXPECT_LE(page.size(), limit);
        found.insert(found.end(), page.begin(), page.end());
        before = page.empty() ? 0 : page.back().sequence;
    } while (before > 1);
    std::reverse(found.begin(), found.end());
    return found;
}

void journal_client::until_stale(const std::string& id) {
    const auto give_up = lease_clock::now() + timeout;
    while (lease_clock::now() < give_up) {
        const auto stale = get(journal_->stale_runs(page_limit_max, 0));
        if (std::any_of(stale.begin(), stale.end(),
                        [&](const run_record& run) { return run.id == id; }))
            return;
        pass_time(*loop_, 2ms);
    }
    ADD_FAILURE() << "the run " << id << " never counted as stale";
}

void journal_client::until_later_than(std::int64_t at) {
    const auto probe = node_named("probe", "probe");
    const auto give_up = lease_clock::now() + timeout;
    bool later = false;
    while (!later && lease_clock::now() < give_up) {
        done(journal_->node_heartbeat(probe));
        for (const auto& node : get(journal_->list_nodes()))
            later = later || (node.id == probe.id && node.last_seen > at);
        if (!later) pass_time(*loop_, 1ms);
    }
    done(journal_->node_leave(probe.id));
    EXPECT_TRUE(later) << "the journal's clock stands";
}

run_start fresh_run(const std::string& job, std::uint64_t token) {
    run_start start{base::fresh_uuid(), job, "job/" + job};
    start.owner = "host:1:2:x";
    start.node = "node-a";
    start.token = fence_token{token};
    start.trigger = "schedule";
    return start;
}

run_start fresh_occurrence_run(const std::string& job, std::int64_t due, std::uint64_t token,
                               delivery mode) {
    auto start = fresh_run(job, token);
    start.occurrence = occurrence{due};
    start.delivery = mode;
    return start;
}

run_ref mark_of(const run_start& start) { return {start.id, start.token}; }
run_ref mark_of(const std::string& id, std::uint64_t token) { return {id, fence_token{token}}; }

run_end ended(run_status status, const std::string& reason, std::optional<int> exit_status) {
    run_end how;
    how.status = status;
    how.reason = reason;
    how.exit_status = exit_status;
    return how;
}

run_end failed_attempt(int attempt, const std::string& reason) {
    auto how = ended(run_status::failed, reason, 1);
    how.attempt = attempt;
    return how;
}

run_trigger trigger_for(const std::string& job) {
    run_trigger what;
    what.id = base::fresh_uuid();
    what.job = job;
    what.by = "somebody";
    return what;
}

job_entry entry_for(const std::string& name, const std::string& schedule, const std::string& node) {
    job_entry entry;
    entry.name = name;
    entry.schedule = schedule;
    entry.zone = "UTC";
    entry.definition = R"({"command":["true"]})";
    entry.node = node;
    return entry;
}

node_entry node_named(const std::string& id, const std::string& name) {
    node_entry node;
    node.id = id;
    node.name = name;
    node.version = "0.1.0";
    return node;
}

audit_draft draft_of(const std::string& actor, const std::string& target) {
    audit_draft what;
    what.actor = actor;
    what.action = "job.pause";
    what.target = target;
    what.detail = "because";
    return what;
}

}  // namespace pawl::conformance
