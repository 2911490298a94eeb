// What every journal decides about a run, as functions of its row, what is asked, and an instant.
//
// An engine that reads, decides and writes in one exclusive transaction needs nothing else; one
// whose scripts decide (Redis, single SQL statements) says the same in its own language. A function
// that changes a row is given it, and says whether anything is to be written back.
#pragma once

#include <pawl/errors.hpp>
#include <pawl/spi/journal.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::journals {

// A row: what is shown, and what only decides.
struct run_row {
    run_record record;
    millis heartbeat_timeout{60'000};
    bool taken_over = false;  // by a newer token since it began: a repetition was `resumed`
};

// The last checkpoint of a job and partition, and the token that saved it.
struct saved_checkpoint {
    std::string text;
    fence_token token{};
};

// What a function left to do: an answer, and with `written` a row to write, with an event if there
// is one.
struct change {
    bool answer = false;
    bool written = false;
    std::optional<run_event> event{};
};

enum class begin_write { nothing, insert, update };

struct begin_decision {
    begin_result answer;
    begin_write write = begin_write::nothing;
    run_row row;                       // to be written
    std::optional<run_event> event{};  // to be added, with what is written
};

// `known` is the row of the occurrence, or without an occurrence the row with the id.
// `trigger_waits`: a trigger with this id is in the control state; whatever comes of it, it is to
// be removed. `last_saved` is looked at only for checkpoint_source::last_saved. Fails where the row
// belongs to something else.
result<begin_decision> begin(const std::optional<run_row>& known, const run_start& start,
                             bool trigger_waits, std::string_view last_saved, std::int64_t now);
// The row of an occurrence that does not run. Its event is that of begin_decision.
begin_decision skip(const run_start& what, std::string_view reason, std::int64_t now);
// What is wrong with a row that has the id of a run that is to be added, for the failure.
failure id_taken(const std::string& id);
// Why a run that has had attempts_max of them begins no further one.
failure attempts_used_up(const std::string& id);

heartbeat_result heartbeat(run_row& row, fence_token token, std::int64_t now);
// `saved` is what was saved for its job and partition; both are to be written.
change checkpoint(run_row& row, fence_token token, std::string text, saved_checkpoint& saved,
                  std::int64_t now);
change add_event(const run_row& row, fence_token token, std::string_view kind,
                 std::string_view text, std::int64_t now);
// Fails beyond attempts_max.
result<change> next_attempt(run_row& row, fence_token token, const run_end& last, std::int64_t now);
change finish(run_row& row, fence_token token, const run_end& how, std::int64_t now);
change judge(run_row& row, fence_token token, const run_end& how, std::int64_t now);
// Of a run that no runner has, it is the end.
change request_cancel(run_row& row, std::string_view by, std::int64_t now);
// Of a run that ended by a request to cancel it.
std::string cancel_reason(std::string_view by);
// Of a run that was to be cancelled when another attempt would have begun.
inline constexpr std::string_view called_off_reason = "cancelled before another attempt";

bool is_writable(const run_row& row, fence_token token);
bool is_stale(const run_row& row, std::int64_t now);
bool is_orphan(const run_record& run);
// Whether this event is not to be added behind the newest.
bool repeats(const run_event& newest, const run_event& event);

// Where a chunk goes: its bytes from `skip` on, at `offset`; chunks that end at `floor` or before
// it are let go of. With no bytes left it has been added before.
struct output_plan {
    std::size_t skip = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;  // of all that was written, afterwards
    std::uint64_t floor = 0;
};
output_plan plan_output(std::uint64_t size_before, std::uint64_t offset, std::size_t bytes,
                        std::uint64_t limit);

}  // namespace pawl::journals
