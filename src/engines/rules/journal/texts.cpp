#include "engines/rules/journal/texts.hpp"

#include "base/number.hpp"
#include "base/terminal_text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace pawl::journals {
namespace {

// How many bytes the character takes that begins here; 0 where none does.
// Source: The Unicode Standard, table 3-7 (well-formed UTF-8).
std::size_t character_at(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const auto first = byte(0);
    if (first < 0x80) return 1;
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned lowest = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned highest = first == 0xed ? 0x9f : 0xbf;
        return byte(1) >= lowest && byte(1) <= highest && follows(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned lowest = first == 0xf0 ? 0x90 : 0x80;
        const unsigned highest = first == 0xf4 ? 0x8f : 0xbf;
        return byte(1) >= lowest && byte(1) <= highest && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

failure rejected(std::string detail) { return {errc::rejected, std::move(detail)}; }

std::optional<failure> too_long(std::string_view what, std::size_t size, std::size_t bytes_max) {
    if (size <= bytes_max) return std::nullopt;
    return rejected(std::string{what} + " has " + std::to_string(size) + " bytes: at most " +
                    std::to_string(bytes_max) + " are kept");
}

std::optional<failure> fault_of_names(std::string_view what, std::string_view id,
                                      std::string_view job) {
    const std::string begin = "journal: a " + std::string{what};
    if (id.empty() || id.size() > id_bytes_max)
        return rejected(begin + " needs an id of 1 to 64 bytes");
    if (job.empty() || job.size() > job_name_bytes_max)
        return rejected(begin + " needs the name of a job, of 1 to 500 bytes");
    return std::nullopt;
}

}  // namespace

std::string one_line(std::string_view text, std::size_t bytes_max) {
    std::string line;
    line.reserve(std::min(text.size(), bytes_max));
    while (!text.empty()) {
        const auto size = character_at(text);
        if (line.size() + std::max<std::size_t>(size, 1) > bytes_max) break;
        if (size == 0)
            line += '?';
        else if (base::find_unprintable(text.substr(0, size)) == 0)
            line += ' ';
        else
            line += text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return line;
}

std::optional<failure> fault_of(const run_start& start) {
    if (auto fault = fault_of_names("run", start.id, start.job)) return fault;
    if (auto fault = too_long("journal: the key of a run", start.key.size(), key_bytes_max))
        return fault;
    if (start.heartbeat_timeout.count() < 1)
        return rejected("journal: invalid heartbeat_timeout " +
                        std::to_string(start.heartbeat_timeout.count()) +
                        "ms; expected 1ms or more");
    return std::nullopt;
}

std::optional<failure> fault_of_skip(const run_start& what) {
    if (what.occurrence) return fault_of(what);
    return rejected("journal: only an occurrence is skipped: give the run one, or leave it out");
}

std::optional<failure> fault_of_end(run_status status) {
    if (status != run_status::started) return std::nullopt;
    return rejected(
        "journal: a run cannot end as started: give completed, failed, cancelled, "
        "lost, timed_out, abandoned or skipped");
}

std::optional<failure> fault_of(run_status status) {
    if (status != run_status::skipped) return fault_of_end(status);
    return rejected(
        "journal: only its own runner can say that a run never started: give lost or "
        "abandoned");
}

std::optional<failure> fault_of_checkpoint(std::string_view text) {
    return too_long("journal: a checkpoint", text.size(), checkpoint_bytes_max);
}

std::optional<failure> fault_of_chunk(std::uint64_t offset, std::string_view bytes) {
    if (offset > output_bytes_max)
        return rejected("journal: output at " + std::to_string(offset) +
                        " is further than any run writes");
    return too_long("journal: a chunk of output", bytes.size(), output_chunk_bytes_max);
}

std::size_t bytes_of(const std::vector<std::string>& arguments) {
    std::size_t bytes = 0;
    for (const auto& one : arguments) bytes += one.size() + 1;
    return bytes;
}

std::optional<failure> fault_of(const run_trigger& what) {
    if (auto fault = fault_of_names("trigger", what.id, what.job)) return fault;
    return too_long("journal: the list of arguments of a trigger", bytes_of(what.arguments),
                    argument_bytes_max);
}

std::optional<failure> fault_of(const job_entry& what) {
    if (auto fault = fault_of_names("published job", "id", what.name)) return fault;
    return too_long("journal: the definition of a job", what.definition.size(),
                    definition_bytes_max);
}

std::optional<failure> fault_of(const node_entry& what) {
    if (!what.id.empty()) return std::nullopt;
    return rejected("journal: a node needs an id, the owner of its leases");
}

run_start clean(run_start start) {
    start.owner = one_line(start.owner, owner_bytes_max);
    start.node = one_line(start.node, name_bytes_max);
    start.trigger = one_line(start.trigger, name_bytes_max);
    return start;
}

run_end clean(run_end how) {
    how.reason = one_line(how.reason);
    return how;
}

run_trigger clean(run_trigger what) {
    what.by = one_line(what.by, name_bytes_max);
    return what;
}

job_entry clean(job_entry what) {
    what.schedule = one_line(what.schedule);
    what.zone = one_line(what.zone, name_bytes_max);
    what.node = one_line(what.node, name_bytes_max);
    return what;
}

node_entry clean(node_entry what) {
    what.id = one_line(what.id, owner_bytes_max);
    what.name = one_line(what.name, name_bytes_max);
    what.version = one_line(what.version, name_bytes_max);
    what.address = one_line(what.address, name_bytes_max);
    return what;
}

audit_draft clean(audit_draft what) {
    what.actor = one_line(what.actor);
    what.action = one_line(what.action);
    what.target = one_line(what.target);
    what.detail = one_line(what.detail);
    return what;
}

std::string pack(const std::vector<std::string>& list) {
    std::string text;
    for (const auto& each : list) text += std::to_string(each.size()) + ":" + each;
    return text;
}

std::optional<std::vector<std::string>> unpack(std::string_view text) {
    std::vector<std::string> list;
    while (!text.empty()) {
        const auto [size, digits, too_large] = base::read_number<std::size_t>(text);
        if (digits == 0 || too_large || !text.substr(digits).starts_with(':')) return std::nullopt;
        text.remove_prefix(digits + 1);
        if (size > text.size()) return std::nullopt;
        list.emplace_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return list;
}

std::string cursor_at(std::uint64_t place) { return std::to_string(place); }

result<std::uint64_t> place_of(std::string_view cursor) {
    constexpr auto above_all = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (cursor.empty()) return above_all;
    const auto place = base::parse_number_within<std::uint64_t>(cursor, 1, above_all);
    if (place) return *place;
    return rejected("journal: invalid cursor '" + one_line(cursor, id_bytes_max) +
                    "'; expected the `next` of a page, or nothing");
}

}  // namespace pawl::journals
