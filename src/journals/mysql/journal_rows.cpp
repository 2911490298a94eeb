#include "journals/mysql/journal_rows.hpp"

#include "journals/rules/texts.hpp"

#include <algorithm>

namespace pawl::mysql {
namespace {

// The parts of the statement `board`, in its first column.
enum board_part : std::int64_t { pauses, triggers, cancels, orphans };

std::optional<std::int64_t> integer_or_null(const answer& row, unsigned column) {
    if (row.is_null(column)) return std::nullopt;
    return row.integer(column);
}

fence_token token_in(const answer& row, unsigned column) {
    return fence_token{static_cast<std::uint64_t>(row.integer(column))};
}

std::optional<run_trigger> trigger_in(const answer& row, unsigned first) {
    auto arguments = journals::unpack(row.text(first + 18));
    if (!arguments) return std::nullopt;
    run_trigger one;
    one.id = row.text(first + 1);
    one.job = row.text(first + 2);
    one.partition = static_cast<std::uint32_t>(row.integer(first + 3));
    one.arguments = std::move(*arguments);
    one.past = row.integer(first + 9) != 0 ? inheritance::last_saved : inheritance::none;
    one.by = row.text(first + 5);
    one.at = row.integer(first + 13);
    return one;
}

}  // namespace

std::uint64_t place_in(const answer& row) { return static_cast<std::uint64_t>(row.integer(0)); }

std::optional<journals::run_row> run_in(const answer& row, unsigned first) {
    const auto status = run_status_named(row.text(first + 11));
    if (!status) return std::nullopt;
    journals::run_row found;
    auto& one = found.record;
    one.id = row.text(first + 1);
    one.job = row.text(first + 2);
    one.partition = static_cast<std::uint32_t>(row.integer(first + 3));
    one.key = row.text(first + 4);
    one.owner = row.text(first + 5);
    one.node = row.text(first + 6);
    one.token = token_in(row, first + 7);
    if (const auto due = integer_or_null(row, first + 8)) one.firing = occurrence{*due};
    one.mode = row.integer(first + 9) != 0 ? delivery::at_least_once : delivery::at_most_once;
    one.trigger = row.text(first + 10);
    one.status = *status;
    one.reason = row.text(first + 12);
    one.started_at = row.integer(first + 13);
    one.completed_at = integer_or_null(row, first + 14);
    one.last_heartbeat = row.integer(first + 15);
    if (const auto code = integer_or_null(row, first + 16))
        one.exit_status = static_cast<int>(*code);
    one.attempt = static_cast<int>(row.integer(first + 17));
    one.checkpoint = row.text(first + 18);
    one.output_size = static_cast<std::uint64_t>(row.integer(first + 19));
    one.cancel_requested = row.integer(first + 20) != 0;
    found.silence_max = millis{row.integer(first + 21)};
    found.taken_over = row.integer(first + 22) != 0;
    return found;
}

std::optional<std::vector<run_record>> runs_in(answer& rows) {
    std::vector<run_record> all;
    while (rows.next()) {
        auto one = run_in(rows, 0);
        if (!one) return std::nullopt;
        all.push_back(std::move(one->record));
    }
    return all;
}

std::vector<run_event> events_in(answer& rows) {
    std::vector<run_event> all;
    while (rows.next()) {
        auto& one = all.emplace_back();
        one.at = rows.integer(0);
        one.kind = rows.text(1);
        one.text = rows.text(2);
        one.node = rows.text(3);
        one.token = token_in(rows, 4);
        one.attempt = static_cast<int>(rows.integer(5));
    }
    // The verbs that write one of its last events do not look for old ones.
    if (all.size() > run_events_max)
        all.erase(all.begin() + 1,
                  all.begin() + 1 + static_cast<std::ptrdiff_t>(all.size() - run_events_max));
    return all;
}

std::optional<output_part> output_in(answer& rows, std::uint64_t offset, std::size_t bytes_max) {
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

std::optional<board> board_in(answer& rows) {
    board all;
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
                auto one = trigger_in(rows, 1);
                if (!one) return std::nullopt;
                all.triggers.push_back(std::move(*one));
                break;
            }
            case cancels:
                all.cancels.emplace_back(rows.text(2));
                break;
            case orphans: {
                auto one = run_in(rows, 1);
                if (!one) return std::nullopt;
                all.orphans.push_back(std::move(one->record));
                break;
            }
            default:
                return std::nullopt;
        }
    }
    return all;
}

std::vector<job_entry> jobs_in(answer& rows) {
    std::vector<job_entry> all;
    while (rows.next()) {
        auto& one = all.emplace_back();
        one.name = rows.text(0);
        one.schedule = rows.text(1);
        one.zone = rows.text(2);
        one.partitions = static_cast<std::uint32_t>(rows.integer(3));
        one.definition = rows.text(4);
        one.node = rows.text(5);
        one.since = rows.integer(6);
        one.published_at = rows.integer(7);
    }
    return all;
}

std::vector<node_entry> nodes_in(answer& rows) {
    std::vector<node_entry> all;
    while (rows.next()) {
        auto& one = all.emplace_back();
        one.id = rows.text(0);
        one.name = rows.text(1);
        one.version = rows.text(2);
        one.address = rows.text(3);
        one.started_at = rows.integer(4);
        one.last_seen = rows.integer(5);
        one.age = millis{rows.integer(6)};
        one.running = static_cast<std::uint32_t>(rows.integer(7));
        one.running_max = static_cast<std::uint32_t>(rows.integer(8));
        one.jobs = static_cast<std::uint32_t>(rows.integer(9));
        one.draining = rows.integer(10) != 0;
    }
    return all;
}

std::vector<audit_entry> audit_in(answer& rows) {
    std::vector<audit_entry> all;
    while (rows.next()) {
        auto& one = all.emplace_back();
        one.sequence = static_cast<std::uint64_t>(rows.integer(0));
        one.at = rows.integer(1);
        one.actor = rows.text(2);
        one.action = rows.text(3);
        one.target = rows.text(4);
        one.detail = rows.text(5);
        one.previous = rows.text(6);
        one.hash = rows.text(7);
    }
    return all;
}

}  // namespace pawl::mysql
