#include "engines/cas/journal/journal_text.hpp"

#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "engines/cas/journal/journal_keys.hpp"
#include "engines/cas/store/record_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace pawl::cas {
namespace {

namespace json = boost::json;

constexpr std::string_view run_kind{"run"};
constexpr std::string_view trigger_kind{"trigger"};
constexpr std::string_view elsewhere_kind{"elsewhere"};
constexpr std::string_view entry_kind{"entry"};
constexpr std::string_view saved_kind{"saved"};
constexpr std::string_view output_kind{"output"};
constexpr std::string_view events_kind{"events"};
constexpr std::string_view checkpoint_kind{"checkpoint"};
constexpr std::string_view pause_kind{"pause"};
constexpr std::string_view job_kind{"job"};
constexpr std::string_view node_kind{"node"};
constexpr std::string_view audit_kind{"audit"};

constexpr std::string_view once{"at_most_once"};
constexpr std::string_view again{"at_least_once"};

std::string line(std::string_view kind, std::string_view nonce, const json::object& body) {
    return std::to_string(layout_version) + " " + std::string{kind} +
           " nonce=" + std::string{nonce} + " " + json::serialize(body);
}

// How many bytes JSON needs for it between the quotes.
std::size_t escaped_size(std::string_view text) {
    std::size_t size = 0;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        const bool has_letter = letter >= '\b' && letter <= '\r' && letter != '\v';
        if (byte < 0x20 && !has_letter)
            size += 6;
        else
            size += has_letter || letter == '"' || letter == '\\' ? 2 : 1;
    }
    return size;
}

json::value bytes(std::string_view text) {
    const auto as_base64 = (text.size() + 2) / 3 * 4;
    if (base::is_utf8(text) && escaped_size(text) <= std::max(as_base64, text.size() + 64))
        return json::value(json::string_view{text.data(), text.size()});
    return json::object{{"base64", base::to_base64(text)}};
}

std::uint64_t plain(fence_token token) { return number(token); }

// Reads members of one object; after the first that is wrong nothing is right.
class members {
public:
    explicit members(const json::object& from) : from_{&from} {}
    explicit members(const json::value& from) : from_{from.if_object()} {}

    const json::value* find(std::string_view name) const {
        return from_ == nullptr ? nullptr : from_->if_contains({name.data(), name.size()});
    }
    std::string bytes(std::string_view name) {
        const auto* value = find(name);
        if (value != nullptr && value->is_string()) return std::string{value->get_string()};
        if (value != nullptr && value->is_object()) {
            const auto* encoded = value->get_object().if_contains("base64");
            if (encoded != nullptr && encoded->is_string()) {
                const auto& text = encoded->get_string();
                if (auto decoded = base::from_base64({text.data(), text.size()}))
                    return std::move(*decoded);
            }
        }
        is_wrong_ = true;
        return {};
    }
    template <class Number>
    Number integer(std::string_view name) {
        const auto* value = find(name);
        boost::system::error_code error;
        const auto found = value == nullptr ? Number{} : value->to_number<Number>(error);
        if (value == nullptr || error) is_wrong_ = true;
        return found;
    }
    template <class Number>
    std::optional<Number> maybe(std::string_view name) {
        if (find(name) == nullptr) return std::nullopt;
        return integer<Number>(name);
    }
    fence_token token(std::string_view name) { return fence_token{integer<std::uint64_t>(name)}; }
    // What is true is written, and what is not is left out.
    bool flag(std::string_view name) const { return find(name) != nullptr; }
    const json::array& list(std::string_view name) {
        static const json::array none;
        const auto* value = find(name);
        if (value == nullptr || !value->is_array()) is_wrong_ = true;
        return value == nullptr || !value->is_array() ? none : value->get_array();
    }
    void wrong() { is_wrong_ = true; }
    bool is_good() const { return from_ != nullptr && !is_wrong_; }

private:
    const json::object* from_;
    bool is_wrong_ = false;
};

failure unreadable(std::string_view text, std::string_view kind) {
    return no_record(text, "record of a journal's " + std::string{kind});
}

std::string_view kind_of(std::string_view text) {
    const auto begin = std::to_string(layout_version) + " ";
    if (!text.starts_with(begin)) return {};
    return text.substr(begin.size(), text.find(' ', begin.size()) - begin.size());
}

// The object of a record of this kind; nothing where it is none.
std::optional<json::object> body_of(std::string_view text, std::string_view kind) {
    const auto begin = std::to_string(layout_version) + " " + std::string{kind} + " nonce=";
    const auto end = text.find(' ', begin.size());
    if (!text.starts_with(begin) || end == std::string_view::npos) return std::nullopt;
    boost::system::error_code error;
    auto value = json::parse({text.data() + end + 1, text.size() - end - 1}, error);
    if (error || !value.is_object()) return std::nullopt;
    return std::move(value.get_object());
}

// `read` fills a Record from members.
template <class Record, class Read>
result<Record> parsed(std::string_view text, std::string_view kind, Read read) {
    const auto body = body_of(text, kind);
    if (!body) return unreadable(text, kind);
    members from{*body};
    Record record;
    read(from, record);
    if (!from.is_good()) return unreadable(text, kind);
    return record;
}

json::object json_of(const run_event& event) {
    return {{"at", event.at},
            {"kind", bytes(event.kind)},
            {"text", bytes(event.text)},
            {"node", bytes(event.node)},
            {"token", plain(event.token)},
            {"attempt", event.attempt}};
}

json::array json_of(const std::vector<run_event>& events) {
    json::array list;
    for (const auto& each : events) list.push_back(json_of(each));
    return list;
}

run_event read_event(const json::value& value, members& whole) {
    members from{value};
    run_event event;
    event.at = from.integer<std::int64_t>("at");
    event.kind = from.bytes("kind");
    event.text = from.bytes("text");
    event.node = from.bytes("node");
    event.token = from.token("token");
    event.attempt = from.integer<int>("attempt");
    if (!from.is_good()) whole.wrong();
    return event;
}

std::vector<run_event> read_events(members& whole) {
    std::vector<run_event> events;
    for (const auto& each : whole.list("events")) events.push_back(read_event(each, whole));
    return events;
}

void read_runner(members& from, run_record& run) {
    run.id = from.bytes("id");
    run.job = from.bytes("job");
    run.partition = from.integer<std::uint32_t>("partition");
    run.key = from.bytes("key");
    run.owner = from.bytes("owner");
    run.node = from.bytes("node");
    run.token = from.token("token");
    if (const auto when = from.maybe<std::int64_t>("occurrence"))
        run.occurrence = occurrence{*when};
    const auto mode = from.bytes("mode");
    run.delivery = mode == again ? delivery::at_least_once : delivery::at_most_once;
    if (mode != again && mode != once) from.wrong();
    run.trigger = from.bytes("trigger");
    const auto status = run_status_named(from.bytes("status"));
    if (!status) from.wrong();
    run.status = status.value_or(run_status::started);
    run.reason = from.bytes("reason");
}

void read_state(members& from, run_state& into) {
    auto& run = into.row.record;
    read_runner(from, run);
    run.started_at = from.integer<std::int64_t>("started_at");
    run.completed_at = from.maybe<std::int64_t>("completed_at");
    run.last_heartbeat = from.integer<std::int64_t>("last_heartbeat");
    run.exit_status = from.maybe<int>("exit_status");
    run.attempt = from.integer<int>("attempt");
    run.cancel_requested = from.flag("cancel_requested");
    into.row.heartbeat_timeout = millis{from.integer<std::int64_t>("silence_max")};
    into.row.taken_over = from.flag("taken_over");
    into.number = from.integer<std::uint64_t>("number");
    if (from.flag("checkpoint_apart")) into.apart = from.bytes("checkpoint_apart");
    if (from.flag("checkpoint")) run.checkpoint = from.bytes("checkpoint");
    if (from.flag("saved")) into.saved = from.bytes("saved");
    run.output_size = from.integer<std::uint64_t>("output_size");
    if (run.output_size != 0) {
        into.output_floor = from.integer<std::uint64_t>("output_floor");
        for (const auto& each : from.list("output")) {
            members range{each};
            into.output.push_back({range.token("token"), range.integer<std::uint64_t>("from"),
                                   range.integer<std::uint64_t>("to")});
            if (!range.is_good()) from.wrong();
        }
    }
    into.event_count = from.integer<std::uint64_t>("event_count");
    if (const auto* begun = from.find("begun")) into.begun = read_event(*begun, from);
    into.events = read_events(from);
}

json::object json_of_runner(const run_record& run) {
    json::object body{{"id", bytes(run.id)},        {"job", bytes(run.job)},
                      {"partition", run.partition}, {"key", bytes(run.key)},
                      {"owner", bytes(run.owner)},  {"node", bytes(run.node)},
                      {"token", plain(run.token)}};
    if (run.occurrence) body["occurrence"] = number(*run.occurrence);
    const auto status = name_of(run.status);
    body["mode"] = run.delivery == delivery::at_least_once ? again : once;
    body["trigger"] = bytes(run.trigger);
    body["status"] = json::string_view{status.data(), status.size()};
    body["reason"] = bytes(run.reason);
    return body;
}

json::object json_of(const journals::saved_checkpoint& saved) {
    return {{"token", plain(saved.token)}, {"text", bytes(saved.text)}};
}

journals::saved_checkpoint read_saved(const json::value* value, members& whole) {
    journals::saved_checkpoint saved;
    if (value == nullptr) return saved;
    members from{*value};
    saved.token = from.token("token");
    saved.text = from.bytes("text");
    if (!from.is_good()) whole.wrong();
    return saved;
}

}  // namespace

std::string key_of(const run_state& state) {
    const auto& run = state.row.record;
    return run.occurrence ? keys::due(run.job, run.partition, *run.occurrence) : keys::run(run.id);
}

std::string encode(const run_state& state, std::string_view nonce) {
    const auto& run = state.row.record;
    auto body = json_of_runner(run);
    body["started_at"] = run.started_at;
    if (run.completed_at) body["completed_at"] = *run.completed_at;
    body["last_heartbeat"] = run.last_heartbeat;
    if (run.exit_status) body["exit_status"] = *run.exit_status;
    body["attempt"] = run.attempt;
    if (run.cancel_requested) body["cancel_requested"] = true;
    body["silence_max"] = state.row.heartbeat_timeout.count();
    if (state.row.taken_over) body["taken_over"] = true;
    body["number"] = state.number;
    if (!state.apart.empty())
        body["checkpoint_apart"] = bytes(state.apart);
    else if (!run.checkpoint.empty())
        body["checkpoint"] = bytes(run.checkpoint);
    if (!state.saved.empty()) body["saved"] = bytes(state.saved);
    body["output_size"] = run.output_size;
    if (run.output_size != 0) {
        body["output_floor"] = state.output_floor;
        json::array ranges;
        for (const auto& each : state.output)
            ranges.push_back(
                json::object{{"token", plain(each.token)}, {"from", each.from}, {"to", each.to}});
        body["output"] = std::move(ranges);
    }
    body["event_count"] = state.event_count;
    if (state.begun) body["begun"] = json_of(*state.begun);
    body["events"] = json_of(state.events);
    return line(run_kind, nonce, body);
}

std::string encode(const waiting_trigger& waiting, std::string_view nonce) {
    const auto& what = waiting.what;
    json::array arguments;
    for (const auto& each : what.arguments) arguments.push_back(bytes(each));
    json::object body{{"id", bytes(what.id)},        {"job", bytes(what.job)},
                      {"partition", what.partition}, {"arguments", std::move(arguments)},
                      {"by", bytes(what.by)},        {"at", what.at},
                      {"number", waiting.number}};
    if (what.starts_from == checkpoint_source::last_saved) body["from_last_saved"] = true;
    return line(trigger_kind, nonce, body);
}

std::string encode_elsewhere(std::string_view key, std::string_view nonce) {
    return line(elsewhere_kind, nonce, {{"key", bytes(key)}});
}

std::string encode(const index_entry& entry, std::string_view nonce) {
    return line(entry_kind, nonce,
                {{"key", bytes(entry.key)},
                 {"id", bytes(entry.id)},
                 {"job", bytes(entry.job)},
                 {"number", entry.number},
                 {"silent_after", entry.stale_after},
                 {"at", entry.at}});
}

std::string encode(const saved_state& state, std::string_view nonce) {
    json::object body{{"newest", json_of(state.newest)}};
    if (!state.ref.empty()) {
        body["before"] = json_of(state.before);
        body["key"] = bytes(state.key);
        body["ref"] = bytes(state.ref);
    }
    return line(saved_kind, nonce, body);
}

std::string encode(const output_chunk& chunk, std::string_view nonce) {
    return line(
        output_kind, nonce,
        {{"offset", chunk.offset}, {"token", plain(chunk.token)}, {"bytes", bytes(chunk.bytes)}});
}

std::string encode(const event_page& page, std::string_view nonce) {
    return line(events_kind, nonce, {{"first", page.first}, {"events", json_of(page.events)}});
}

std::string encode_checkpoint(std::string_view text, std::string_view nonce) {
    return line(checkpoint_kind, nonce, {{"text", bytes(text)}});
}

std::string encode(const job_pause& pause, std::string_view nonce) {
    return line(pause_kind, nonce,
                {{"job", bytes(pause.job)},
                 {"reason", bytes(pause.reason)},
                 {"by", bytes(pause.by)},
                 {"at", pause.at}});
}

std::string encode(const job_entry& job, std::string_view nonce) {
    return line(job_kind, nonce,
                {{"name", bytes(job.name)},
                 {"schedule", bytes(job.schedule)},
                 {"zone", bytes(job.zone)},
                 {"partitions", job.partitions},
                 {"definition", bytes(job.definition)},
                 {"node", bytes(job.node)},
                 {"since", job.since},
                 {"published_at", job.published_at}});
}

std::string encode(const node_entry& node, std::string_view nonce) {
    json::object body{{"id", bytes(node.id)},
                      {"name", bytes(node.name)},
                      {"version", bytes(node.version)},
                      {"address", bytes(node.address)},
                      {"started_at", node.started_at},
                      {"last_seen", node.last_seen},
                      {"running", node.running},
                      {"running_max", node.running_max},
                      {"jobs", node.jobs}};
    if (node.draining) body["draining"] = true;
    return line(node_kind, nonce, body);
}

std::string encode(const audit_entry& entry, std::string_view nonce) {
    return line(audit_kind, nonce,
                {{"sequence", entry.sequence},
                 {"at", entry.at},
                 {"actor", bytes(entry.actor)},
                 {"action", bytes(entry.action)},
                 {"target", bytes(entry.target)},
                 {"detail", bytes(entry.detail)},
                 {"previous", entry.previous},
                 {"hash", entry.hash}});
}

result<run_place> parse_run_place(const seen& stands) {
    if (stands.at.empty()) return run_place{};
    if (kind_of(stands.text) == elsewhere_kind)
        return parsed<run_place>(stands.text, elsewhere_kind, [](members& from, run_place& into) {
            into.elsewhere = from.bytes("key");
            if (into.elsewhere.empty()) from.wrong();
        });
    if (kind_of(stands.text) == trigger_kind)
        return parsed<run_place>(stands.text, trigger_kind, [](members& from, run_place& into) {
            auto& waiting = into.trigger.emplace();
            waiting.what.id = from.bytes("id");
            waiting.what.job = from.bytes("job");
            waiting.what.partition = from.integer<std::uint32_t>("partition");
            for (const auto& each : from.list("arguments")) {
                const json::object one{{"argument", each}};
                members argument{one};
                waiting.what.arguments.push_back(argument.bytes("argument"));
                if (!argument.is_good()) from.wrong();
            }
            waiting.what.by = from.bytes("by");
            waiting.what.at = from.integer<std::int64_t>("at");
            waiting.number = from.integer<std::uint64_t>("number");
            if (from.flag("from_last_saved"))
                waiting.what.starts_from = checkpoint_source::last_saved;
        });
    return parsed<run_place>(stands.text, run_kind, [](members& from, run_place& into) {
        read_state(from, into.run.emplace());
    });
}

result<index_entry> parse_index_entry(std::string_view text) {
    return parsed<index_entry>(text, entry_kind, [](members& from, index_entry& into) {
        into.key = from.bytes("key");
        into.id = from.bytes("id");
        into.job = from.bytes("job");
        into.number = from.integer<std::uint64_t>("number");
        into.stale_after = from.integer<std::int64_t>("silent_after");
        into.at = from.integer<std::int64_t>("at");
    });
}

result<saved_state> parse_saved(const seen& stands) {
    if (stands.at.empty()) return saved_state{};
    return parsed<saved_state>(stands.text, saved_kind, [](members& from, saved_state& into) {
        if (!from.flag("newest")) from.wrong();
        into.newest = read_saved(from.find("newest"), from);
        if (!from.flag("ref")) return;
        into.before = read_saved(from.find("before"), from);
        into.key = from.bytes("key");
        into.ref = from.bytes("ref");
    });
}

result<output_chunk> parse_chunk(std::string_view text) {
    return parsed<output_chunk>(text, output_kind, [](members& from, output_chunk& into) {
        into.offset = from.integer<std::uint64_t>("offset");
        into.token = from.token("token");
        into.bytes = from.bytes("bytes");
    });
}

result<event_page> parse_events(std::string_view text) {
    return parsed<event_page>(text, events_kind, [](members& from, event_page& into) {
        into.first = from.integer<std::uint64_t>("first");
        into.events = read_events(from);
    });
}

result<std::string> parse_checkpoint(std::string_view text) {
    return parsed<std::string>(text, checkpoint_kind,
                               [](members& from, std::string& into) { into = from.bytes("text"); });
}

result<job_pause> parse_pause(std::string_view text) {
    return parsed<job_pause>(text, pause_kind, [](members& from, job_pause& into) {
        into.job = from.bytes("job");
        into.reason = from.bytes("reason");
        into.by = from.bytes("by");
        into.at = from.integer<std::int64_t>("at");
    });
}

result<job_entry> parse_job(std::string_view text) {
    return parsed<job_entry>(text, job_kind, [](members& from, job_entry& into) {
        into.name = from.bytes("name");
        into.schedule = from.bytes("schedule");
        into.zone = from.bytes("zone");
        into.partitions = from.integer<std::uint32_t>("partitions");
        into.definition = from.bytes("definition");
        into.node = from.bytes("node");
        into.since = from.integer<std::int64_t>("since");
        into.published_at = from.integer<std::int64_t>("published_at");
    });
}

result<node_entry> parse_node(std::string_view text) {
    return parsed<node_entry>(text, node_kind, [](members& from, node_entry& into) {
        into.id = from.bytes("id");
        into.name = from.bytes("name");
        into.version = from.bytes("version");
        into.address = from.bytes("address");
        into.started_at = from.integer<std::int64_t>("started_at");
        into.last_seen = from.integer<std::int64_t>("last_seen");
        into.running = from.integer<std::uint32_t>("running");
        into.running_max = from.integer<std::uint32_t>("running_max");
        into.jobs = from.integer<std::uint32_t>("jobs");
        into.draining = from.flag("draining");
    });
}

result<audit_entry> parse_audit(std::string_view text) {
    return parsed<audit_entry>(text, audit_kind, [](members& from, audit_entry& into) {
        into.sequence = from.integer<std::uint64_t>("sequence");
        into.at = from.integer<std::int64_t>("at");
        into.actor = from.bytes("actor");
        into.action = from.bytes("action");
        into.target = from.bytes("target");
        into.detail = from.bytes("detail");
        into.previous = from.bytes("previous");
        into.hash = from.bytes("hash");
    });
}

}  // namespace pawl::cas
