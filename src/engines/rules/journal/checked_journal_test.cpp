#include "engines/rules/journal/checked_journal.hpp"

#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <vector>

namespace pawl::journals {
namespace {

const failure unasked{errc::rejected, "this test does not ask for that"};

// A journal of a program, which answers for fewer runs than it was asked about.
class short_journal final : public journal {
public:
#include "engines/rules/journal/verbs.inc"
};

async<std::vector<heartbeat_result>> short_journal::heartbeat(std::span<const run_ref> runs) {
    co_return std::vector<heartbeat_result>(runs.size() - 1, heartbeat_result::alive);
}
async<begin_result> short_journal::begin(run_start) { co_return unasked; }
async<bool> short_journal::checkpoint(run_ref, std::string) { co_return unasked; }
async<bool> short_journal::append_output(run_ref, std::uint64_t, std::string, std::uint64_t) {
    co_return unasked;
}
async<bool> short_journal::add_event(run_ref, std::string, std::string) { co_return unasked; }
async<bool> short_journal::next_attempt(run_ref, run_end) { co_return unasked; }
async<bool> short_journal::finish(run_ref, run_end) { co_return unasked; }
async<bool> short_journal::skip(run_start, std::string) { co_return unasked; }
async<std::optional<run_record>> short_journal::find_run(std::string) { co_return unasked; }
async<std::optional<run_record>> short_journal::find_occurrence(std::string, std::uint32_t,
                                                                pawl::occurrence) {
    co_return unasked;
}
async<run_page> short_journal::list_runs(run_filter, std::string, std::size_t) {
    co_return unasked;
}
async<std::vector<run_event>> short_journal::history(std::string) { co_return unasked; }
async<std::optional<output_part>> short_journal::read_output(std::string, std::uint64_t,
                                                             std::size_t) {
    co_return unasked;
}
async<bool> short_journal::request_cancel(std::string, std::string) { co_return unasked; }
async<std::vector<run_record>> short_journal::stale_runs(std::size_t, std::size_t) {
    co_return unasked;
}
async<bool> short_journal::end_stale(run_ref, run_end) { co_return unasked; }
async<std::size_t> short_journal::prune(std::string, std::size_t, millis, std::size_t) {
    co_return unasked;
}
async<control_state> short_journal::read_control_state() { co_return unasked; }
async<bool> short_journal::add_trigger(run_trigger) { co_return unasked; }
async<bool> short_journal::remove_trigger(std::string) { co_return unasked; }
async<bool> short_journal::pause_job(std::string, std::string, std::string) { co_return unasked; }
async<bool> short_journal::resume_job(std::string) { co_return unasked; }
async<std::vector<job_entry>> short_journal::publish(std::vector<job_entry>) { co_return unasked; }
async<std::size_t> short_journal::retire(std::vector<std::string>, std::string) {
    co_return unasked;
}
async<std::vector<job_entry>> short_journal::list_jobs(std::string, std::size_t) {
    co_return unasked;
}
async<std::optional<job_entry>> short_journal::find_job(std::string) { co_return unasked; }
async<void> short_journal::node_heartbeat(node_entry) { co_return unasked; }
async<void> short_journal::node_leave(std::string) { co_return unasked; }
async<std::vector<node_entry>> short_journal::list_nodes() { co_return unasked; }
async<audit_entry> short_journal::append_audit(audit_draft) { co_return unasked; }
async<std::vector<audit_entry>> short_journal::list_audit(std::uint64_t, std::size_t) {
    co_return unasked;
}

// Callers look at the answer of each run that they have asked about.
TEST(CheckedJournal, AnAnswerForFewerRunsIsNone) {
    const auto asked = checked(std::make_shared<short_journal>());
    const std::vector<run_ref> runs(2);
    std::optional<result<std::vector<heartbeat_result>>> answer;
    boost::asio::io_context loop;
    boost::asio::co_spawn(loop, asked->heartbeat(runs),
                          [&](std::exception_ptr, auto told) { answer = std::move(told); });
    loop.run();
    ASSERT_TRUE(answer && answer->has_error());
    EXPECT_EQ(answer->error().code, errc::protocol);
    EXPECT_EQ(answer->error().detail, "the journal answered for 1 of 2 runs");
}

}  // namespace
}  // namespace pawl::journals
