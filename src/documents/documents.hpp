// What things look like as JSON: the same in the API and with --json, so that a program which reads
// one reads the other.
//
// Names of fields are kept by docs/commands.md and by the schemas of the API's own document. Times
// are RFC 3339 in UTC, to the millisecond; tokens are numbers below 2^53.
#pragma once

#include "documents/job_terms.hpp"

#include <pawl/spi/examination.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::documents {

// JSON as it is sent and printed: UTF-8, though keys and owners may be any bytes.
std::string serialize(const boost::json::value& document);

std::string time_text(std::int64_t unix_millis);
// By the clock of the wall.
std::int64_t unix_millis_now();
std::string now_text();
// A string, or null.
boost::json::value time_or_null(const std::optional<std::int64_t>& unix_millis);

boost::json::object json_of(const record& lock);
boost::json::object json_of(const run_record& run);
// A run with its history, and who asked for it and for its end, as that tells.
boost::json::object json_of(const run_record& run, const std::vector<run_event>& history);
boost::json::object json_of(const run_event& event);
boost::json::object json_of(const node_entry& node);
boost::json::object json_of(const audit_entry& entry);
boost::json::value json_of(const job_pause* pause);  // null when there is none
boost::json::value json_of(const base::argument_rule& rule);

// live, draining or unresponsive.
std::string_view state_of(const node_entry& node);
// Agents that are alive, by name, and the version of the time zones that each goes by.
std::vector<std::pair<std::string, std::string>> zones_of(const std::vector<node_entry>& nodes);
// held, cooldown or free.
std::string_view state_of(const record& lock);

// Who asked for a run, and who for its end and why; empty where no user did.
struct run_callers {
    std::string triggered_by;
    std::string cancelled_by;
    std::string cancel_reason;
};
run_callers callers_of(const std::vector<run_event>& history);
// What a request to cancel is recorded with.
std::string cancel_words(const std::string& who, const std::string& reason);

// Who holds a busy key, and for how long, in one line.
std::string text_of(const busy& other, std::string_view key);
// The same of a semaphore, of which `other` is the slot that ends first.
std::string text_of_slots(const busy& other, std::string_view name, std::uint32_t count);
// What a forced release of the lock as it was shown force-releases: its holder's token, or the
// newest of a lock in cooldown; 0 where the lock is free.
fence_token releasable(const record& shown) noexcept;
// Such a release: what the audit keeps, and what the log says.
std::string force_release_detail(const record& shown, std::string_view reason);
std::string force_release_line(const record& shown, std::string_view reason);

// What the audit keeps of a change that may have been made: the doubt comes first, as long details
// are cut off.
std::string in_doubt(std::string detail);

// OK, WARN or FAIL.
std::string_view word_of(severity level);

// What a job's configuration says of it, for people: see agent::describe. Empty when it is not an
// object.
boost::json::object definition_of(const job_entry& job);
bool is_enabled(const job_entry& job);

// The occurrences of a job after `from`, in Unix milliseconds, at most `count`: by this machine's
// zone data, and for people. Empty when it fires never, is not enabled, or its schedule is none
// that this version reads.
std::vector<std::int64_t> occurrences_after(const job_entry& job,
                                            std::chrono::system_clock::time_point from,
                                            std::size_t count);

// `last` may be null, as may the pause. The next occurrence is null while the job is paused.
boost::json::object json_of(const job_entry& job, const job_pause* pause, const run_record* last,
                            std::chrono::system_clock::time_point now);
boost::json::object json_of(const job_entry& job, const job_terms& terms, const job_pause* pause,
                            const run_record* last, std::chrono::system_clock::time_point now);

}  // namespace pawl::documents
