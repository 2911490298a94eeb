#include "engines/redis/journal/journal_text.hpp"

#include "base/number.hpp"
#include "engines/rules/journal/texts.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace pawl::redis {
namespace {

constexpr std::string_view once{"at_most_once"};
constexpr std::string_view again{"at_least_once"};

template <class Number>
bool read(std::string_view text, Number& into) {
    const auto value = base::parse_number<Number>(text);
    into = value.value_or(into);
    return value.has_value();
}

template <class Number>
bool read(std::string_view text, std::optional<Number>& into) {
    return read(text, into.emplace());
}

bool read(std::string_view text, fence_token& into) {
    std::uint64_t value = 0;
    if (!read(text, value)) return false;
    into = fence_token{value};
    return true;
}

// What stands in a row beside the record.
struct run_fields {
    run_record run;
    std::int64_t silence = 0;
    std::optional<std::int64_t> due{};  // of the next heartbeat, while it is started
};

struct run_field {
    std::string_view name;
    bool (*take)(run_fields& into, const std::string& value);
};

template <auto Member>
bool take_text(run_fields& into, const std::string& value) {
    into.run.*Member = value;
    return true;
}

template <auto Member>
bool take_number(run_fields& into, const std::string& value) {
    return read(value, into.run.*Member);
}

bool take_occurrence(run_fields& into, const std::string& value) {
    std::int64_t due = 0;
    if (!read(value, due)) return false;
    into.run.occurrence = occurrence{due};
    return true;
}

bool take_mode(run_fields& into, const std::string& value) {
    into.run.delivery = value == once ? delivery::at_most_once : delivery::at_least_once;
    return value == once || value == again;
}

bool take_status(run_fields& into, const std::string& value) {
    const auto status = run_status_named(value);
    if (status) into.run.status = *status;
    return status.has_value();
}

bool take_exit(run_fields& into, const std::string& value) {
    return value.empty() || read(value, into.run.exit_status);
}

bool take_cancel(run_fields& into, const std::string&) {
    into.run.cancel_requested = true;
    return true;
}

bool take_silence(run_fields& into, const std::string& value) { return read(value, into.silence); }
bool take_due(run_fields& into, const std::string& value) { return read(value, into.due); }

// Sorted by name.
constexpr std::array run_columns{run_field{"attempt", take_number<&run_record::attempt>},
                                 run_field{"cancel", take_cancel},
                                 run_field{"checkpoint", take_text<&run_record::checkpoint>},
                                 run_field{"due", take_due},
                                 run_field{"ended", take_number<&run_record::completed_at>},
                                 run_field{"exit", take_exit},
                                 run_field{"firing", take_occurrence},
                                 run_field{"heard", take_number<&run_record::last_heartbeat>},
                                 run_field{"id", take_text<&run_record::id>},
                                 run_field{"job", take_text<&run_record::job>},
                                 run_field{"key", take_text<&run_record::key>},
                                 run_field{"mode", take_mode},
                                 run_field{"node", take_text<&run_record::node>},
                                 run_field{"output", take_number<&run_record::output_size>},
                                 run_field{"owner", take_text<&run_record::owner>},
                                 run_field{"partition", take_number<&run_record::partition>},
                                 run_field{"reason", take_text<&run_record::reason>},
                                 run_field{"silence", take_silence},
                                 run_field{"started", take_number<&run_record::started_at>},
                                 run_field{"status", take_status},
                                 run_field{"token", take_number<&run_record::token>},
                                 run_field{"trigger", take_text<&run_record::trigger>}};

bool is_row(const reply& row) { return row.is_array() && row.elements.size() % 2 == 0; }

// The parts of a text, if there are at least so many.
std::optional<std::vector<std::string>> parts_of(std::string_view text, std::size_t least) {
    auto parts = journals::unpack(text);
    if (parts && parts->size() < least) parts.reset();
    return parts;
}

}  // namespace

std::string_view word_of(delivery mode) noexcept {
    return mode == delivery::at_most_once ? once : again;
}

std::string_view value_in(const reply& row, std::string_view field) noexcept {
    for (std::size_t i = 0; i + 1 < row.elements.size(); i += 2)
        if (row.elements[i].text == field) return row.elements[i + 1].text;
    return {};
}

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
    std::uint64_t value = 0;
    if (!read(text, value)) return std::nullopt;
    return value;
}

std::optional<run_record> read_run(const reply& row) {
    if (!is_row(row)) return std::nullopt;
    run_fields found;
    for (std::size_t i = 0; i < row.elements.size(); i += 2) {
        const auto& name = row.elements[i].text;
        const auto known = std::lower_bound(
            run_columns.begin(), run_columns.end(), name,
            [](const run_field& one, const std::string& wanted) { return one.name < wanted; });
        // Others are the scripts' own.
        if (known == run_columns.end() || known->name != name) continue;
        if (!known->take(found, row.elements[i + 1].text)) return std::nullopt;
    }
    if (found.run.job.empty() || found.run.id.empty()) return std::nullopt;
    if (found.due) found.run.last_heartbeat = *found.due - found.silence;
    return std::move(found.run);
}

std::optional<job_entry> read_job(const std::string& name, const reply& row) {
    if (!is_row(row)) return std::nullopt;
    job_entry found;
    found.name = name;
    found.schedule = value_in(row, "schedule");
    found.zone = value_in(row, "zone");
    found.definition = value_in(row, "definition");
    found.node = value_in(row, "node");
    if (read(value_in(row, "partitions"), found.partitions) &&
        read(value_in(row, "since"), found.since) &&
        read(value_in(row, "published"), found.published_at))
        return found;
    return std::nullopt;
}

std::optional<node_entry> read_node(const std::string& id, const reply& row, std::int64_t now) {
    if (!is_row(row)) return std::nullopt;
    node_entry found;
    found.id = id;
    found.name = value_in(row, "name");
    found.version = value_in(row, "version");
    found.address = value_in(row, "address");
    found.draining = !value_in(row, "draining").empty();
    if (!read(value_in(row, "started"), found.started_at) ||
        !read(value_in(row, "seen"), found.last_seen) ||
        !read(value_in(row, "running"), found.running) ||
        !read(value_in(row, "running_max"), found.running_max) ||
        !read(value_in(row, "jobs"), found.jobs))
        return std::nullopt;
    found.age = millis{std::max<std::int64_t>(now - found.last_seen, 0)};
    return found;
}

std::optional<run_event> read_event(std::string_view text) {
    const auto parts = parts_of(text, 6);
    if (!parts) return std::nullopt;
    run_event found;
    found.kind = (*parts)[1];
    found.text = (*parts)[2];
    found.node = (*parts)[3];
    if (read((*parts)[0], found.at) && read((*parts)[4], found.token) &&
        read((*parts)[5], found.attempt))
        return found;
    return std::nullopt;
}

std::string text_of(const run_trigger& what) {
    std::vector<std::string> parts{
        what.job, std::to_string(what.partition),
        what.starts_from == checkpoint_source::last_saved ? "last_saved" : "none", what.by};
    parts.insert(parts.end(), what.arguments.begin(), what.arguments.end());
    return journals::pack(parts);
}

std::optional<run_trigger> read_trigger(const std::string& id, std::string_view text) {
    const auto parts = parts_of(text, 5);
    if (!parts) return std::nullopt;
    run_trigger found;
    found.id = id;
    found.job = (*parts)[1];
    found.starts_from =
        (*parts)[3] == "last_saved" ? checkpoint_source::last_saved : checkpoint_source::none;
    found.by = (*parts)[4];
    found.arguments.assign(parts->begin() + 5, parts->end());
    if (read((*parts)[0], found.at) && read((*parts)[2], found.partition)) return found;
    return std::nullopt;
}

std::string text_of(const job_pause& what) { return journals::pack({what.reason, what.by}); }

std::optional<job_pause> read_pause(const std::string& job, std::string_view text) {
    const auto parts = parts_of(text, 3);
    if (!parts) return std::nullopt;
    job_pause found;
    found.job = job;
    found.reason = (*parts)[1];
    found.by = (*parts)[2];
    if (!read((*parts)[0], found.at)) return std::nullopt;
    return found;
}

std::string text_of(const audit_entry& entry) {
    return journals::pack({std::to_string(entry.sequence), std::to_string(entry.at), entry.actor,
                           entry.action, entry.target, entry.detail, entry.previous, entry.hash});
}

std::optional<audit_entry> read_audit(std::string_view text) {
    const auto parts = parts_of(text, 8);
    if (!parts) return std::nullopt;
    audit_entry found;
    found.actor = (*parts)[2];
    found.action = (*parts)[3];
    found.target = (*parts)[4];
    found.detail = (*parts)[5];
    found.previous = (*parts)[6];
    found.hash = (*parts)[7];
    if (read((*parts)[0], found.sequence) && read((*parts)[1], found.at)) return found;
    return std::nullopt;
}

}  // namespace pawl::redis
