#include "engines/kubernetes/store/lease_object.hpp"

#include "base/digest.hpp"
#include "base/number.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "engines/kubernetes/store/object_names.hpp"
#include "time/rfc3339.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace pawl::kubernetes {
namespace {

namespace json = boost::json;

constexpr std::string_view key_annotation = "pawl.dev/key";
constexpr std::string_view text_annotation = "pawl.dev/record";
constexpr std::string_view mark_annotation = "pawl.dev/spec";
// Beside a spec that is another program's: no spec has it.
constexpr std::string_view foreign_mark = "foreign";
// Of a key that no process holds, and that is not free yet.
constexpr std::string_view cooldown_holder = "pawl:cooldown";
constexpr std::string_view nameless_holder = "pawl";
constexpr std::size_t holder_bytes_max = 256;
constexpr std::int64_t duration_s_max = 86'400;
// The year 2100, about: as far as others' times are believed.
constexpr micros time_max{std::chrono::hours{24} * 365 * 130};

const json::object* object_in(const json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    return value != nullptr && value->is_object() ? &value->get_object() : nullptr;
}

std::string text_in(const json::object* of, std::string_view name) {
    const auto* value = of == nullptr ? nullptr : of->if_contains(name);
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

std::int64_t number_in(const json::object* of, std::string_view name) {
    const auto* value = of == nullptr ? nullptr : of->if_contains(name);
    return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

lease_object read_object(const json::object& from) {
    lease_object object;
    const auto* metadata = object_in(from, "metadata");
    object.name = text_in(metadata, "name");
    object.uid = text_in(metadata, "uid");
    object.resource_version = text_in(metadata, "resourceVersion");
    const auto* annotations = metadata ? object_in(*metadata, "annotations") : nullptr;
    object.key = key_of(text_in(annotations, key_annotation)).value_or("");
    object.text = text_in(annotations, text_annotation);
    object.wrote = text_in(annotations, mark_annotation);
    const auto* spec = object_in(from, "spec");
    object.spec = {text_in(spec, "holderIdentity"), number_in(spec, "leaseDurationSeconds"),
                   text_in(spec, "acquireTime"), text_in(spec, "renewTime"),
                   number_in(spec, "leaseTransitions")};
    return object;
}

std::optional<json::object> parse_kind(std::string_view text, std::string_view kind) {
    boost::system::error_code error;
    auto document = json::parse(text, error);
    if (error || !document.is_object()) return std::nullopt;
    if (!kind.empty() && text_in(&document.get_object(), "kind") != kind) return std::nullopt;
    return std::move(document.get_object());
}

// Of another program's making, so it may be anything.
micros micros_of(const std::string& time) {
    const auto when = time::parse_rfc3339(time);
    return when ? std::min(when->time_since_epoch(), time_max) : micros{0};
}

// Tells a spec of ours from one that others wrote after it. Every writer moves renewTime.
std::string mark_of(const lease_spec& spec) {
    return spec.renewed + " " + base::percent_encode(spec.holder);
}

lease_spec spec_of(const cas::lease_record& record, micros now) {
    lease_spec spec;
    spec.renewed = micro_time(now);
    spec.acquired = spec.renewed;
    // As client-go leaves a Lease that it has released.
    spec.duration_s = 1;
    const auto& state = record.state;
    if (record.term.count() <= 0) return spec;
    spec.duration_s = std::chrono::ceil<std::chrono::seconds>(record.term).count();
    if (number(state.holder) == 0) {
        spec.holder = cooldown_holder;
        return spec;
    }
    spec.holder = state.owner.empty() ? std::string{nameless_holder} : base::to_utf8(state.owner);
    spec.acquired = micro_time(state.acquired_wall);
    return spec;
}

json::object json_of(const lease_spec& spec) {
    return {{"holderIdentity", spec.holder},
            {"leaseDurationSeconds",
             std::min<std::int64_t>(spec.duration_s, std::numeric_limits<std::int32_t>::max())},
            {"acquireTime", spec.acquired},
            {"renewTime", spec.renewed},
            {"leaseTransitions", spec.transitions}};
}

// Whether it says no more than that another program holds the object, as the core was told.
bool is_held_elsewhere(const cas::lease_record& record, const object_version* before) {
    return before && before->is_taken_over && number(record.state.holder) != 0 &&
           record.state.claim_id.empty();
}

// What a write says of a record, beside the metadata that tells it from others.
json::object contents(std::string_view name_space, const cas::record_name& record,
                      const std::string& text, const object_version* before, micros now) {
    json::object annotations{{key_annotation, annotation_of(record.key)}, {text_annotation, text}};
    json::object body;
    const auto lease = record.kind == cas::record_kind::lease
                           ? cas::parse_lease(text)
                           : result<cas::lease_record>{failure{errc::rejected, {}}};
    if (lease && is_held_elsewhere(*lease, before)) {
        annotations[mark_annotation] = foreign_mark;
    } else if (lease) {
        auto spec = spec_of(*lease, now);
        const bool passed_on = before && !spec.holder.empty() && spec.holder != before->holder;
        spec.transitions = (before ? before->transitions : 0) + (passed_on ? 1 : 0);
        annotations[mark_annotation] = mark_of(spec);
        body["spec"] = json_of(spec);
    }
    body["metadata"] = {{"labels",
                         {{"app.kubernetes.io/managed-by", "pawl"},
                          {"pawl.dev/namespace", label_of(name_space)},
                          {"pawl.dev/kind", label_of(record.kind)}}},
                        {"annotations", std::move(annotations)}};
    return body;
}

}  // namespace

std::optional<lease_object> parse_object(std::string_view text) {
    const auto document = parse_kind(text, "Lease");
    if (!document) return std::nullopt;
    auto object = read_object(*document);
    if (object.uid.empty() || object.resource_version.empty()) return std::nullopt;
    return object;
}

std::optional<object_list> parse_list(std::string_view text) {
    const auto document = parse_kind(text, "LeaseList");
    if (!document) return std::nullopt;
    object_list list;
    const auto* metadata = object_in(*document, "metadata");
    list.resource_version = text_in(metadata, "resourceVersion");
    list.more = text_in(metadata, "continue");
    if (const auto* items = document->if_contains("items"); items && items->is_array())
        for (const auto& item : items->get_array())
            if (item.is_object()) list.objects.push_back(read_object(item.get_object()));
    return list;
}

std::optional<object_event> parse_event(std::string_view text) {
    const auto document = parse_kind(text, {});
    if (!document) return std::nullopt;
    object_event event;
    event.type = text_in(&*document, "type");
    if (event.type.empty()) return std::nullopt;
    if (const auto* object = object_in(*document, "object")) {
        const auto* metadata = object_in(*object, "metadata");
        event.name = text_in(metadata, "name");
        event.resource_version = text_in(metadata, "resourceVersion");
    }
    return event;
}

cas::version version_of(const lease_object& object) {
    return object.resource_version + " " + object.uid + " " +
           std::to_string(object.spec.transitions) +
           (is_taken_over(object) ? " foreign " : " own ") +
           base::percent_encode(object.spec.holder);
}

std::optional<object_version> parse_version(const cas::version& text) {
    std::array<std::string, 5> words;
    std::string_view rest{text};
    for (auto& word : words) {
        const auto end = std::min(rest.find(' '), rest.size());
        word = rest.substr(0, end);
        const bool is_last = &word == &words.back();
        if ((end == rest.size()) != is_last) return std::nullopt;
        if (!is_last) rest.remove_prefix(end + 1);
    }
    const auto& [resource_version, uid, transitions, whose, holder] = words;
    const auto count = base::parse_number<std::int64_t>(transitions);
    const auto decoded = base::percent_decode(holder);
    if (!count || !decoded) return std::nullopt;
    return object_version{resource_version, uid, *count, *decoded, whose == "foreign"};
}

bool is_taken_over(const lease_object& object) {
    const auto& spec = object.spec;
    if (object.text.empty()) return !spec.holder.empty();
    return !object.wrote.empty() && object.wrote != mark_of(spec);
}

std::string text_for_core(const lease_object& object, const std::optional<cas::stamp>& clock,
                          std::optional<millis> trusted) {
    if (!object.text.empty() && !is_taken_over(object)) return object.text;
    cas::lease_record record;
    if (!object.text.empty()) {
        auto ours = cas::parse_lease(object.text);
        // The core says what is wrong with it.
        if (!ours) return object.text;
        record = *std::move(ours);
    }
    auto& state = record.state;
    state.holder = fence_token{};
    state.claim_id.clear();
    state.owner.clear();
    state.until = micros{0};
    record.term = millis{0};
    record.nonce = "taken." + base::sha256_hex(version_of(object)).substr(0, 16);
    const auto renewed = micros_of(object.spec.renewed);
    record.used = renewed;
    if (object.spec.holder.empty()) return cas::encode(record);
    // No token of a holder of ours fits any more.
    state.last_token = fence_token{number(state.last_token) + 1};
    state.holder = state.last_token;
    state.owner = base::printable(object.spec.holder.substr(0, holder_bytes_max));
    state.acquired = micros_of(object.spec.acquired);
    state.acquired_wall = state.acquired;
    const auto duration =
        std::chrono::seconds{std::clamp<std::int64_t>(object.spec.duration_s, 1, duration_s_max)};
    record.term = duration;
    const auto seen = clock ? clock->at + clock_step + clock_step : renewed;
    state.until = seen + duration;
    if (trusted) state.until = std::min(state.until, renewed + duration + micros{*trusted});
    return cas::encode(record);
}

std::string micro_time(micros since_epoch) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(since_epoch);
    auto text = time::format_rfc3339(time::wall_instant{whole});
    const auto point = text.find_first_of(".Z");
    return text.substr(0, point) + "." +
           base::padded(static_cast<std::uint64_t>((since_epoch - whole).count()), 6) + "Z";
}

std::string body_of_create(std::string_view name_space, const cas::record_name& record,
                           const std::string& name, const std::string& text, micros now) {
    auto body = contents(name_space, record, text, nullptr, now);
    body["apiVersion"] = "coordination.k8s.io/v1";
    body["kind"] = "Lease";
    body["metadata"].as_object()["name"] = name;
    return json::serialize(body);
}

std::string body_of_patch(std::string_view name_space, const cas::record_name& record,
                          const std::string& text, const object_version& expected, micros now) {
    auto body = contents(name_space, record, text, &expected, now);
    auto& metadata = body["metadata"].as_object();
    metadata["uid"] = expected.uid;
    metadata["resourceVersion"] = expected.resource_version;
    return json::serialize(body);
}

std::string body_of_delete(const object_version& expected) {
    return json::serialize(
        json::object{{"apiVersion", "v1"},
                     {"kind", "DeleteOptions"},
                     {"preconditions",
                      {{"uid", expected.uid}, {"resourceVersion", expected.resource_version}}}});
}

}  // namespace pawl::kubernetes
