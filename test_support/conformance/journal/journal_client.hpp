// One client of a journal as a test uses it: a loop of its own, and verbs that block.
#pragma once

#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>
#include <pawl/spi/store_settings.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::conformance {

using namespace std::chrono_literals;

// Opens the journal of an engine on a loop.
using journal_opener = std::function<std::shared_ptr<journal>(net::loop&)>;

// Thread-safe, as a loop is: verbs may be asked from several threads at once.
class journal_client {
public:
    explicit journal_client(const journal_opener& open);
    ~journal_client();
    journal_client(journal_client&&) noexcept;

    // The verbs, for ask() and its sisters: mine.get(mine->history(id)).
    journal* operator->() const noexcept { return journal_.get(); }

    template <class T>
    result<T> ask(async<T> verb) {
        return loop_->wait_for(std::move(verb));
    }
    // The answer; a failure of the journal fails the test and is an empty answer.
    template <class T>
    T get(async<T> verb) {
        auto answer = ask(std::move(verb));
        if (answer.has_value()) return std::move(*answer);
        ADD_FAILURE() << name_of(answer.error().code) << ": " << answer.error().detail;
        return T{};
    }
    // For verbs that answer with nothing.
    void done(async<void> verb);
    // The failure, which must be there, in one line that begins with the place.
    template <class T>
    failure rejection(async<T> verb) {
        const auto answer = ask(std::move(verb));
        if (answer.has_value()) {
            ADD_FAILURE() << "expected a failure";
            return {errc::protocol, ""};
        }
        const auto& why = answer.error();
        EXPECT_FALSE(why.detail.empty());
        EXPECT_EQ(why.detail.find('\n'), std::string::npos) << why.detail;
        return why;
    }

    // The answer, which must have this outcome.
    begin_result begin(const run_start& start, begin_outcome expected = begin_outcome::begun);
    // The row, which must be there.
    run_record show(const std::string& id);
    std::vector<run_record> all(const run_filter& which, std::size_t limit);
    std::vector<std::string> kinds_of_events(const std::string& id);
    // All of the output that is kept, from its first byte.
    std::string output_of(const std::string& id);
    // Every entry of the audit, the oldest first.
    std::vector<audit_entry> whole_audit(std::size_t limit);
    // Until the run has been silent for longer than it said; gives up after 10 s.
    void until_stale(const std::string& id);
    // Until the journal's clock shows another millisecond than `at`.
    void until_later_than(std::int64_t at);

private:
    std::unique_ptr<net::loop> loop_;
    std::shared_ptr<journal> journal_;
};

// A run under a fresh id.
run_start fresh_run(const std::string& job, std::uint64_t token);
// The same for an occurrence; `due` is any number.
run_start fresh_occurrence_run(const std::string& job, std::int64_t due, std::uint64_t token,
                               delivery mode = delivery::at_most_once);
run_ref mark_of(const run_start& start);
run_ref mark_of(const std::string& id, std::uint64_t token);
run_end ended(run_status status, const std::string& reason = {},
              std::optional<int> exit_status = {});
// The same, with the number of the attempt that ended.
run_end failed_attempt(int attempt, const std::string& reason);
run_trigger trigger_for(const std::string& job);
job_entry entry_for(const std::string& name, const std::string& schedule, const std::string& node);
node_entry node_named(const std::string& id, const std::string& name);
audit_draft draft_of(const std::string& actor, const std::string& target);

}  // namespace pawl::conformance
