// Results for people and for programs, on stdout. Logs are on stderr and never mix with them.
#pragma once

#include "documents/documents.hpp"

#include <pawl/policies.hpp>
#include <pawl/spi/journal.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

// One JSON document and a line end.
void print_json(const boost::json::value& document);

// Columns as wide as their widest cell; the first row is the heading.
void print_table(std::vector<std::vector<std::string>> rows);

// What a table shows where there is no value.
inline constexpr std::string_view no_value = "–";

// A time for people: on the clock of this machine's time zone, with its offset, to the second.
// Documents for programs keep UTC and milliseconds.
std::string local_time(std::int64_t unix_millis);
std::string local_time(std::string_view rfc3339);  // as it is where it is no time

// The status of a run for people: `running`, where documents for programs say `started`.
std::string_view word_of(run_status status);

// A log line; in JSON when the logs are.
void log(log_level level, std::string_view message);
void log_as_json(bool json);
// For who holds leases. From now on a log whose reader has gone is written to nowhere; it would end
// this process. Where its reader stands still, lines are lost, and counted, rather than waited for:
// renewals would wait with them. Nor does a limit on the sizes of files end it: such a write fails.
// Commands are not to inherit that: call it behind exec::launcher::start().
void outlive_log_reader();
// For who has no lease any more: from now on lines are waited for again. Says what was lost.
void wait_for_log_reader();

// "held by OWNER for another 12s", for messages.
std::string describe(const busy& other, std::string_view key);
using documents::time_text;

}  // namespace pawl::cli
