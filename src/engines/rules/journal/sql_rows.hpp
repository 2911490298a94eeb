// What the rows of an SQL engine's journal say, as values: the columns stand in the same order in
// all of them.
//
// Row: text(column), integer(column) and is_null(column), of the row that it has been moved to.
// Rows: a Row that next() moves on, until that is false.
#pragma once

#include "engines/rules/journal/run_rules.hpp"
#include "engines/rules/journal/texts.hpp"

#include <pawl/spi/journal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::journals {

template <class Row>
std::optional<std::int64_t> integer_or_null(const Row& row, unsigned column) {
    if (row.is_null(column)) return std::nullopt;
    return row.integer(column);
}

template <class Row>
fence_token token_at(const Row& row, unsigned column) {
    return fence_token{static_cast<std::uint64_t>(row.integer(column))};
}

template <class Row>
std::uint32_t count_at(const Row& row, unsigned column) {
    return static_cast<std::uint32_t>(row.integer(column));
}

// From the column behind `first` on, which numbers the row.
template <class Row>
run_record run_with(const Row& row, unsigned first, run_status status) {
    run_record run;
    run.id = row.text(first + 1);
    run.job = row.text(first + 2);
    run.partition = count_at(row, first + 3);
    run.key = row.text(first + 4);
    run.owner = row.text(first + 5);
    run.node = row.text(first + 6);
    run.token = token_at(row, first + 7);
    if (const auto due = integer_or_null(row, first + 8)) run.occurrence = occurrence{*due};
    run.delivery = row.integer(first + 9) != 0 ? delivery::at_least_once : delivery::at_most_once;
    run.trigger = row.text(first + 10);
    run.status = status;
    run.reason = row.text(first + 12);
    run.started_at = row.integer(first + 13);
    run.completed_at = integer_or_null(row, first + 14);
    run.last_heartbeat = row.integer(first + 15);
    if (const auto code = integer_or_null(row, first + 16))
        run.exit_status = static_cast<int>(*code);
    run.attempt = static_cast<int>(row.integer(first + 17));
    run.checkpoint = row.text(first + 18);
    run.output_size = static_cast<std::uint64_t>(row.integer(first + 19));
    run.cancel_requested = row.integer(first + 20) != 0;
    return run;
}

// Nothing for a status that this pawl does not know.
template <class Row>
std::optional<run_record> run_at(const Row& row, unsigned first) {
    const auto status = run_status_named(row.text(first + 11));
    if (!status) return std::nullopt;
    return run_with(row, first, *status);
}

// A run with what only decides.
template <class Row>
run_row row_of(const Row& row, unsigned first, run_record run) {
    run_row found;
    found.record = std::move(run);
    found.heartbeat_timeout = millis{row.integer(first + 21)};
    found.taken_over = row.integer(first + 22) != 0;
    return found;
}

template <class Row>
run_event event_at(const Row& row) {
    run_event one;
    one.at = row.integer(0);
    one.kind = row.text(1);
    one.text = row.text(2);
    one.node = row.text(3);
    one.token = token_at(row, 4);
    one.attempt = static_cast<int>(row.integer(5));
    return one;
}

template <class Row>
job_entry job_at(const Row& row) {
    job_entry one;
    one.name = row.text(0);
    one.schedule = row.text(1);
    one.zone = row.text(2);
    one.partitions = count_at(row, 3);
    one.definition = row.text(4);
    one.node = row.text(5);
    one.since = row.integer(6);
    one.published_at = row.integer(7);
    return one;
}

template <class Row>
node_entry node_at(const Row& row) {
    node_entry one;
    one.id = row.text(0);
    one.name = row.text(1);
    one.version = row.text(2);
    one.address = row.text(3);
    one.started_at = row.integer(4);
    one.last_seen = row.integer(5);
    one.age = millis{row.integer(6)};
    one.running = count_at(row, 7);
    one.running_max = count_at(row, 8);
    one.jobs = count_at(row, 9);
    one.draining = row.integer(10) != 0;
    return one;
}

template <class Row>
audit_entry audit_at(const Row& row) {
    audit_entry one;
    one.sequence = static_cast<std::uint64_t>(row.integer(0));
    one.at = row.integer(1);
    one.actor = row.text(2);
    one.action = row.text(3);
    one.target = row.text(4);
    one.detail = row.text(5);
    one.previous = row.text(6);
    one.hash = row.text(7);
    return one;
}

// All that are left, as `read` has them.
template <class Rows, class Read>
auto all_of(Rows& rows, Read read) {
    std::vector<decltype(read(rows))> all;
    while (rows.next()) all.push_back(read(rows));
    return all;
}

template <class Rows>
std::optional<std::vector<run_record>> runs_in(Rows& rows) {
    std::vector<run_record> all;
    while (rows.next()) {
        auto one = run_at(rows, 0);
        if (!one) return std::nullopt;
        all.push_back(std::move(*one));
    }
    return all;
}

// Bytes from `offset` up to a gap or to `bytes_max`; nothing when there is no such run.
template <class Rows>
std::optional<output_part> output_in(Rows& rows, std::uint64_t offset, std::size_t bytes_max) {
    if (!rows.next()) return std::nullopt;
    output_part part;
    part.size = static_cast<std::uint64_t>(rows.integer(0));
    part.over = rows.integer(1) != 0;
    part.offset = std::max(offset, part.size);
    bool more = !rows.is_null(2);
    while (more) {
        const auto starts = static_cast<std::uint64_t>(rows.integer(2));
        const auto piece = rows.text(3);
        if (part.bytes.empty()) part.offset = std::max(offset, starts);
        const auto next = part.offset + part.bytes.size();
        if (starts > next || starts + piece.size() <= next || part.bytes.size() >= bytes_max) break;
        part.bytes +=
            piece.substr(static_cast<std::size_t>(next - starts), bytes_max - part.bytes.size());
        more = rows.next();
    }
    return part;
}

// One list of several parts: which one stands in the first column, and behind it the columns of a
// run, where what is no run has its reason, arguments, who and when in the columns reason,
// checkpoint, owner and started_at.
template <class Rows>
std::optional<control_state> control_state_in(Rows& rows) {
    enum control_part : std::int64_t { pauses, triggers, cancels, orphans };
    control_state all;
    while (rows.next()) {
        switch (rows.integer(0)) {
            case pauses: {
                auto& one = all.pauses.emplace_back();
                one.job = rows.text(3);
                one.reason = rows.text(13);
                one.by = rows.text(6);
                one.at = rows.integer(14);
                break;
            }
            case triggers: {
                auto arguments = unpack(rows.text(19));
                if (!arguments) return std::nullopt;
                auto& one = all.triggers.emplace_back();
                one.id = rows.text(2);
                one.job = rows.text(3);
                one.partition = count_at(rows, 4);
                one.arguments = std::move(*arguments);
                one.starts_from =
                    rows.integer(10) != 0 ? checkpoint_source::last_saved : checkpoint_source::none;
                one.by = rows.text(6);
                one.at = rows.integer(14);
                break;
            }
            case cancels:
                all.cancels.emplace_back(rows.text(2));
                break;
            case orphans: {
                auto one = run_at(rows, 1);
                if (!one) return std::nullopt;
                all.orphans.push_back(std::move(*one));
                break;
            }
            default:
                return std::nullopt;
        }
    }
    return all;
}

}  // namespace pawl::journals
