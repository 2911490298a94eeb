#include "engines/dynamodb/store/items.hpp"

#include "base/base64.hpp"
#include "base/digest.hpp"
#include "base/hex.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <utility>

namespace pawl::dynamodb {
namespace {

namespace json = boost::json;

// The key of the marker is empty, which a sort key may not be.
constexpr std::string_view marker_key = "-";

json::object text(std::string_view value) { return {{"S", value}}; }
json::object bytes(std::string_view value) { return {{"B", base::to_base64(value)}}; }

std::string_view sort_key(const cas::record_name& name) {
    const std::string_view key{name.key};
    if (name.kind == cas::record_kind::journal) return key.substr(scope_of(key).size());
    return name.kind == cas::record_kind::marker ? marker_key : std::string_view{name.key};
}

json::object key_of(const place_of_items& where, const cas::record_name& name) {
    return {{"n", text(partition_of(where, name))}, {"k", bytes(sort_key(name))}};
}

// Conditions on the version, as three kinds of request have them.
void expect(json::object& request, const cas::version& expected) {
    request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD";
    request["ExpressionAttributeNames"] = {{"#rev", "rev"}};
    if (expected.empty()) {
        request["ConditionExpression"] = "attribute_not_exists(#rev)";
        return;
    }
    request["ConditionExpression"] = "#rev = :expected";
    request["ExpressionAttributeValues"] = {{":expected", text(expected)}};
}

// The first key that is behind all those with this prefix; empty: there is none.
std::string end_of(std::string prefix) {
    while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
    if (!prefix.empty())
        prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
    return prefix;
}

const json::string* string_in(const json::object& item, std::string_view name,
                              std::string_view type) {
    const auto* attribute = item.if_contains(name);
    const auto* typed = attribute == nullptr ? nullptr : attribute->if_object();
    const auto* value = typed == nullptr ? nullptr : typed->if_contains(type);
    return value == nullptr ? nullptr : value->if_string();
}

std::optional<std::string> key_in(const json::object& item) {
    const auto* key = string_in(item, "k", "B");
    if (key == nullptr) return std::nullopt;
    return base::from_base64({key->data(), key->size()});
}

}  // namespace

std::string partition_of(const place_of_items& where, cas::record_kind kind, std::size_t bucket) {
    constexpr std::string_view digits = "0123456789abcdef";
    const char letter = kind == cas::record_kind::lease ? 'l' : 'f';
    return where.name_space + "#" + letter + digits[bucket];
}

std::string_view scope_of(std::string_view key) { return key.substr(0, key.find(':') + 1); }

std::string partition_of(const place_of_items& where, const cas::record_name& name) {
    if (name.kind == cas::record_kind::journal) {
        const auto scope = scope_of(name.key);
        return where.name_space + "#j/" + std::string{scope.substr(0, scope.size() - 1)};
    }
    if (name.kind == cas::record_kind::marker) return where.name_space + "#m";
    const auto digit = base::hex_value(base::sha256_hex(name.key).front());
    return partition_of(where, name.kind, static_cast<std::size_t>(digit));
}

json::object read_request(const place_of_items& where, const cas::record_name& name) {
    return {{"TableName", where.table}, {"Key", key_of(where, name)}, {"ConsistentRead", true}};
}

json::object put_request(const place_of_items& where, const cas::change& what,
                         const cas::version& next) {
    auto item = key_of(where, what.name);
    item["rev"] = text(next);
    item["record"] = text(what.text);
    json::object request{{"TableName", where.table}, {"Item", std::move(item)}};
    expect(request, what.expected);
    return request;
}

json::object delete_request(const place_of_items& where, const cas::record_name& name,
                            const cas::version& expected) {
    json::object request{{"TableName", where.table}, {"Key", key_of(where, name)}};
    expect(request, expected);
    return request;
}

json::object update_statement(const place_of_items& where, const cas::change& what,
                              const cas::version& next) {
    json::array parameters{text(next), text(what.text), text(partition_of(where, what.name)),
                           bytes(sort_key(what.name)), text(what.expected)};
    return {{"Statement", "UPDATE \"" + where.table +
                              "\" SET \"rev\"=? SET \"record\"=? WHERE \"n\"=? AND \"k\"=? AND "
                              "\"rev\"=?"},
            {"Parameters", std::move(parameters)},
            {"ReturnValuesOnConditionCheckFailure", "ALL_OLD"}};
}

namespace {

std::optional<json::object> query(const place_of_items& where, const std::string& partition,
                                  const std::string& prefix, const std::string& after,
                                  std::size_t limit) {
    const auto from = std::max(prefix, after.empty() ? std::string{} : after + '\0');
    const auto end = end_of(prefix);
    if (!end.empty() && from >= end) return std::nullopt;
    json::object values{{":n", text(partition)}};
    std::string condition = "#n = :n";
    if (!from.empty()) values[":from"] = bytes(from);
    // What is equal to the end is left out where the page is read.
    if (!end.empty()) {
        values[":end"] = bytes(end);
        condition += " AND #k BETWEEN :from AND :end";
    } else if (!from.empty()) {
        condition += " AND #k >= :from";
    }
    json::object names{{"#n", "n"}};
    if (condition.size() > 7) names["#k"] = "k";
    return json::object{{"TableName", where.table},
                        {"ConsistentRead", true},
                        {"Limit", limit},
                        {"KeyConditionExpression", condition},
                        {"ExpressionAttributeNames", std::move(names)},
                        {"ExpressionAttributeValues", std::move(values)}};
}

}  // namespace

std::optional<json::object> list_request(const place_of_items& where, cas::record_kind kind,
                                         std::size_t bucket, const std::string& prefix,
                                         const std::string& after, std::size_t limit) {
    return query(where, partition_of(where, kind, bucket), prefix, after, limit);
}

std::optional<json::object> list_scope_request(const place_of_items& where,
                                               const std::string& prefix, const std::string& after,
                                               std::size_t limit) {
    const auto size = scope_of(prefix).size();
    return query(where, partition_of(where, {cas::record_kind::journal, prefix}),
                 prefix.substr(size), after.empty() ? after : after.substr(size), limit);
}

json::array keys_of(const place_of_items& where, const std::vector<cas::record_name>& names) {
    json::array keys;
    for (const auto& name : names) keys.push_back(key_of(where, name));
    return keys;
}

json::object read_many_request(const place_of_items& where, json::array keys) {
    json::object of_table{{"Keys", std::move(keys)}, {"ConsistentRead", true}};
    return {{"RequestItems", json::object{{where.table, std::move(of_table)}}}};
}

std::string identity_of(const json::value& item) {
    const auto* object = item.if_object();
    if (object == nullptr) return {};
    const auto* partition = string_in(*object, "n", "S");
    const auto* key = string_in(*object, "k", "B");
    if (partition == nullptr || key == nullptr) return {};
    return std::string{*partition} + " " + std::string{*key};
}

std::optional<keyed_record> read_item(const json::value& item) {
    const auto* object = item.if_object();
    if (object == nullptr) return std::nullopt;
    auto key = key_in(*object);
    const auto* rev = string_in(*object, "rev", "S");
    const auto* record = string_in(*object, "record", "S");
    if (!key || rev == nullptr || record == nullptr || rev->empty()) return std::nullopt;
    keyed_record made;
    made.key = std::move(*key);
    made.stands.text = std::string{*record};
    made.stands.at = std::string{*rev};
    return made;
}

std::optional<keyed_record> read_listed_item(const json::value& item) {
    if (auto made = read_item(item)) return made;
    const auto* object = item.if_object();
    auto key = object == nullptr ? std::nullopt : key_in(*object);
    if (!key) return std::nullopt;
    return keyed_record{std::move(*key), cas::foreign_record()};
}

}  // namespace pawl::dynamodb
