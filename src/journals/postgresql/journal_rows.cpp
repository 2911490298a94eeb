#include "journals/postgresql/journal_rows.hpp"

#include "journals/rules/texts.hpp"

#include <algorithm>

namespace pawl::postgresql {
namespace {

constexpr int run_columns = 22;

// The parts of journal_board_v1, in its first column.
enum board_part : std::int64_t { pauses, triggers, cancels, orphans };

std::string text_in(const rows& got, int row, int column) {
    return std::string{got.bytes(row, column)};
}

std::optional<std::int64_t> integer_or_null(const rows& got, int row, int column) {
    if (got.is_null(row, column)) return std::nullopt;
    return got.integer(row, column);
}

// From the column `first` on; nothing for a status that this pawl does not know.
std::optional<run_record> run_in(const rows& got, int row, int first) {
    const auto status = run_status_named(got.bytes(row, first + 11));
    if (!status) return std::nullopt;
    run_record one;
    one.id = got.bytes(row, first + 1);
    one.job = got.bytes(row, first + 2);
    one.partition = static_cast<std::uint32_t>(got.integer(row, first + 3));
    one.key = got.bytes(row, first + 4);
    one.owner = got.bytes(row, first + 5);
    one.node = got.bytes(row, first + 6);
    one.token = token_of(got.integer(row, first + 7));
    if (const auto due = integer_or_null(got, row, first + 8)) one.firing = occurrence{*due};
    one.mode = got.flag(row, first + 9) ? delivery::at_least_once : delivery::at_most_once;
    one.trigger = got.bytes(row, first + 10);
    one.status = *status;
    one.reason = got.bytes(row, first + 12);
    one.started_at = got.integer(row, first + 13);
    one.completed_at = integer_or_null(got, row, first + 14);
    one.last_heartbeat = got.integer(row, first + 15);
    if (const auto code = integer_or_null(got, row, first + 16))
        one.exit_status = static_cast<int>(*code);
    one.attempt = static_cast<int>(got.integer(row, first + 17));
    one.checkpoint = got.bytes(row, first + 18);
    one.output_size = static_cast<std::uint64_t>(got.integer(row, first + 19));
    one.cancel_requested = got.flag(row, first + 20);
    return one;
}

std::optional<run_trigger> trigger_in(const rows& got, int row, int first) {
    auto arguments = journals::unpack(got.bytes(row, first + 18));
    if (!arguments) return std::nullopt;
    run_trigger one;
    one.id = got.bytes(row, first + 1);
    one.job = got.bytes(row, first + 2);
    one.partition = static_cast<std::uint32_t>(got.integer(row, first + 3));
    one.arguments = std::move(*arguments);
    one.past = got.flag(row, first + 9) ? inheritance::last_saved : inheritance::none;
    one.by = got.bytes(row, first + 5);
    one.at = got.integer(row, first + 13);
    return one;
}

}  // namespace

std::uint64_t place_in(const rows& got, int row) {
    return static_cast<std::uint64_t>(got.integer(row, 0));
}

std::optional<std::vector<run_record>> runs_in(const rows& got) {
    if (got.columns() != run_columns) return std::nullopt;
    std::vector<run_record> all;
    all.reserve(static_cast<std::size_t>(got.count()));
    for (int row = 0; row < got.count(); ++row) {
        auto one = run_in(got, row, 0);
        if (!one) return std::nullopt;
        all.push_back(std::move(*one));
    }
    return all;
}

std::optional<std::vector<run_event>> events_in(const rows& got) {
    if (got.columns() != 6) return std::nullopt;
    std::vector<run_event> all;
    for (int row = 0; row < got.count(); ++row) {
        auto& one = all.emplace_back();
        one.at = got.integer(row, 0);
        one.kind = got.bytes(row, 1);
        one.text = got.bytes(row, 2);
        one.node = got.bytes(row, 3);
        one.token = token_of(got.integer(row, 4));
        one.attempt = static_cast<int>(got.integer(row, 5));
    }
    return all;
}

std::optional<output_part> output_in(const rows& got, std::uint64_t offset, std::size_t bytes_max) {
    if (got.columns() != 4 || got.count() < 1) return std::nullopt;
    output_part part;
    part.size = static_cast<std::uint64_t>(got.integer(0, 0));
    part.over = got.flag(0, 1);
    part.offset = std::max(offset, part.size);
    for (int row = 0; row < got.count() && !got.is_null(row, 2); ++row) {
        const auto starts = static_cast<std::uint64_t>(got.integer(row, 2));
        const auto piece = got.bytes(row, 3);
        if (part.bytes.empty()) part.offset = std::max(offset, starts);
        const auto next = part.offset + part.bytes.size();
        if (starts > next || starts + piece.size() <= next || part.bytes.size() >= bytes_max) break;
        part.bytes +=
            piece.substr(static_cast<std::size_t>(next - starts), bytes_max - part.bytes.size());
    }
    return part;
}

std::optional<board> board_in(const rows& got) {
    if (got.columns() != 1 + run_columns) return std::nullopt;
    board all;
    for (int row = 0; row < got.count(); ++row) {
        switch (got.integer(row, 0)) {
            case pauses:
                all.pauses.push_back({text_in(got, row, 3), text_in(got, row, 13),
                                      text_in(got, row, 6), got.integer(row, 14)});
                break;
            case triggers: {
                auto one = trigger_in(got, row, 1);
                if (!one) return std::nullopt;
                all.triggers.push_back(std::move(*one));
                break;
            }
            case cancels:
                all.cancels.push_back(text_in(got, row, 2));
                break;
            case orphans: {
                auto one = run_in(got, row, 1);
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

std::optional<std::vector<job_entry>> jobs_in(const rows& got) {
    if (got.columns() != 8) return std::nullopt;
    std::vector<job_entry> all;
    for (int row = 0; row < got.count(); ++row) {
        auto& one = all.emplace_back();
        one.name = got.bytes(row, 0);
        one.schedule = got.bytes(row, 1);
        one.zone = got.bytes(row, 2);
        one.partitions = static_cast<std::uint32_t>(got.integer(row, 3));
        one.definition = got.bytes(row, 4);
        one.node = got.bytes(row, 5);
        one.since = got.integer(row, 6);
        one.published_at = got.integer(row, 7);
    }
    return all;
}

std::optional<std::vector<node_entry>> nodes_in(const rows& got) {
    if (got.columns() != 11) return std::nullopt;
    std::vector<node_entry> all;
    for (int row = 0; row < got.count(); ++row) {
        auto& one = all.emplace_back();
        one.id = got.bytes(row, 0);
        one.name = got.bytes(row, 1);
        one.version = got.bytes(row, 2);
        one.address = got.bytes(row, 3);
        one.started_at = got.integer(row, 4);
        one.last_seen = got.integer(row, 5);
        one.age = millis{got.integer(row, 6)};
        one.running = static_cast<std::uint32_t>(got.integer(row, 7));
        one.running_max = static_cast<std::uint32_t>(got.integer(row, 8));
        one.jobs = static_cast<std::uint32_t>(got.integer(row, 9));
        one.draining = got.flag(row, 10);
    }
    return all;
}

std::optional<std::vector<audit_entry>> audit_in(const rows& got) {
    if (got.columns() != 8) return std::nullopt;
    std::vector<audit_entry> all;
    for (int row = 0; row < got.count(); ++row) {
        auto& one = all.emplace_back();
        one.sequence = static_cast<std::uint64_t>(got.integer(row, 0));
        one.at = got.integer(row, 1);
        one.actor = got.bytes(row, 2);
        one.action = got.bytes(row, 3);
        one.target = got.bytes(row, 4);
        one.detail = got.bytes(row, 5);
        one.previous = got.bytes(row, 6);
        one.hash = got.bytes(row, 7);
    }
    return all;
}

}  // namespace pawl::postgresql
