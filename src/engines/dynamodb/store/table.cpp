#include "engines/dynamodb/store/table.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace pawl::dynamodb {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds look_again_after = 200ms;
constexpr std::string_view service_name = "DynamoDB";
constexpr std::string_view no_table = "ResourceNotFoundException";

std::string member(const json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

const json::object* object_in(const json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    return value == nullptr ? nullptr : value->if_object();
}

const json::array* array_in(const json::object& of, std::string_view name) {
    const auto* value = of.if_contains(name);
    return value == nullptr ? nullptr : value->if_array();
}

bool has_our_keys(const json::object& description) {
    const auto* schema = array_in(description, "KeySchema");
    const auto* types = array_in(description, "AttributeDefinitions");
    if (schema == nullptr || types == nullptr || schema->size() != 2) return false;
    const auto has = [](const json::array& all, std::string_view name, std::string_view field,
                        std::string_view value) {
        for (const auto& one : all)
            if (const auto* object = one.if_object();
                object != nullptr && member(*object, "AttributeName") == name)
                return member(*object, field) == value;
        return false;
    };
    return has(*schema, "n", "KeyType", "HASH") && has(*schema, "k", "KeyType", "RANGE") &&
           has(*types, "n", "AttributeType", "S") && has(*types, "k", "AttributeType", "B");
}

}  // namespace

table_facts read_table(const json::object& description) {
    table_facts facts;
    facts.status = member(description, "TableStatus");
    facts.identity = member(description, "TableId");
    facts.billing = "PROVISIONED";
    if (const auto* billing = object_in(description, "BillingModeSummary"))
        facts.billing = member(*billing, "BillingMode");
    if (const auto* units = object_in(description, "ProvisionedThroughput"))
        if (const auto* write = units->if_contains("WriteCapacityUnits");
            write != nullptr && write->is_int64())
            facts.write_units = write->get_int64();
    const auto* replicas = array_in(description, "Replicas");
    facts.replicated = (replicas != nullptr && !replicas->empty()) ||
                       !member(description, "GlobalTableVersion").empty();
    facts.has_our_keys = has_our_keys(description);
    const auto* kept = description.if_contains("DeletionProtectionEnabled");
    facts.protects_deletion = kept != nullptr && kept->is_bool() && kept->get_bool();
    return facts;
}

table::table(net::loop& where, std::shared_ptr<aws::service> service, std::string region,
             std::string name)
    : where_{where},
      service_{std::move(service)},
      region_{std::move(region)},
      name_{std::move(name)},
      place_{"dynamodb://" + region_ + "/" + name_} {}

async<reply> table::send(const char* operation, json::object body, effect what, instant until) {
    const auto self = shared_from_this();
    net::https_request request{"POST", "/", json::serialize(body)};
    request.fields = {{"Content-Type", "application/x-amz-json-1.0"},
                      {"X-Amz-Target", std::string{"DynamoDB_20120810."} + operation}};
    request.only_reads = what == effect::none;
    auto asking = service_->ask(std::move(request), until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return failure{got.error().code, got.error().detail};
    has_answered_ = true;
    reply made;
    if (got->date) made.clock = cas::stamp{*got->date, got->asked, got->answered};
    if (got->status != 200) {
        const auto rejected = read_rejection(got->status, got->body);
        if (rejected.type == no_table) {
            doubtful_ = true;
            made.no_table = aws::explain_rejection(place_, service_name, rejected, what);
            co_return made;
        }
        made.failed_condition = rejected.type == "ConditionalCheckFailedException";
        if (!made.failed_condition)
            co_return aws::explain_rejection(place_, service_name, rejected, what);
    }
    boost::system::error_code error;
    auto parsed = json::parse(got->body, error);
    if (error || !parsed.is_object()) {
        // It was carried out all the same.
        const auto code =
            what == effect::writes && got->status == 200 ? errc::outcome_unknown : errc::protocol;
        co_return failure{code, place_ + ": this is not DynamoDB: an answer that is not JSON"};
    }
    made.body = std::move(parsed.get_object());
    co_return made;
}

async<reply> table::ask(const char* operation, json::object body, effect what, instant until) {
    const auto self = shared_from_this();
    for (;;) {
        if (doubtful_) {
            auto making_sure = make_sure(until);
            const auto sure = co_await std::move(making_sure);
            if (sure.has_error()) co_return sure.error();
        }
        auto sending = send(operation, body, what, until);
        auto got = co_await std::move(sending);
        // Told before anything was done. A table that has just been made is not found everywhere at
        // once: where it stands nevertheless, and is the same, it is asked again.
        if (got.has_error() || !got->no_table) co_return got;
        if (identity_.empty() || where_.now() + look_again_after >= until)
            co_return std::move(*got->no_table);
        auto looking = make_sure(until);
        const auto stands = co_await std::move(looking);
        if (stands.has_error()) co_return std::move(*got->no_table);
        auto pausing = net::sleep_for(look_again_after);
        co_await std::move(pausing);
    }
}

async<table_facts> table::describe(instant until) {
    auto looking = look(until);
    auto found = co_await std::move(looking);
    if (found.has_error()) co_return found.error();
    if (found->no_table) co_return std::move(*found->no_table);
    co_return std::move(found->facts);
}

async<table::table_status> table::look(instant until) {
    const auto self = shared_from_this();
    json::object body{{"TableName", name_}};
    auto asking = send("DescribeTable", std::move(body), effect::none, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->no_table) co_return table_status{{}, got->no_table};
    const auto* description = object_in(got->body, "Table");
    if (description == nullptr)
        co_return failure{errc::protocol, place_ + ": this is not DynamoDB: it describes no table"};
    co_return table_status{read_table(*description), std::nullopt};
}

// A table that was deleted and made again, or restored, has old records or none under this name.
async<void> table::make_sure(instant until) {
    auto describing = describe(until);
    const auto facts = co_await std::move(describing);
    if (facts.has_error()) co_return facts.error();
    if (facts->identity != identity_)
        co_return failure{errc::rejected, place_ +
                                              ": the table was replaced by another of this name; "
                                              "restart what uses it"};
    doubtful_ = false;
    co_return result<void>{};
}

failure table::reject(const table_facts& facts) const {
    if (facts.replicated)
        return {errc::unsupported,
                place_ +
                    ": this is a global table, where the last writer wins in each region; "
                    "expected a table of one region"};
    return {errc::unsupported,
            place_ + ": the table has other keys; expected n (S) as hash and k (B) as range key"};
}

async<std::string> table::prepare(instant until) {
    const auto self = shared_from_this();
    doubtful_ = false;
    for (bool created = false;;) {
        auto looking = look(until);
        const auto found = co_await std::move(looking);
        if (found.has_error()) co_return found.error();
        if (!found->no_table) {
            const auto& facts = found->facts;
            if (facts.replicated || !facts.has_our_keys) co_return reject(facts);
            if (facts.status == "ACTIVE" || facts.status == "UPDATING") {
                identity_ = facts.identity;
                doubtful_ = false;
                co_return facts.identity;
            }
        } else if (!std::exchange(created, true)) {
            auto creating = create(until);
            const auto made = co_await std::move(creating);
            if (made.has_error()) co_return made.error();
        }
        if (where_.now() + look_again_after >= until)
            co_return failure{errc::unreachable, place_ + ": the table is not ready yet"};
        auto pausing = net::sleep_for(look_again_after);
        co_await std::move(pausing);
    }
}

async<void> table::create(instant until) {
    json::object body{
        {"TableName", name_},
        {"BillingMode", "PAY_PER_REQUEST"},
        {"AttributeDefinitions",
         json::array{json::object{{"AttributeName", "n"}, {"AttributeType", "S"}},
                     json::object{{"AttributeName", "k"}, {"AttributeType", "B"}}}},
        {"KeySchema", json::array{json::object{{"AttributeName", "n"}, {"KeyType", "HASH"}},
                                  json::object{{"AttributeName", "k"}, {"KeyType", "RANGE"}}}}};
    auto asking = send("CreateTable", std::move(body), effect::writes, until);
    const auto got = co_await std::move(asking);
    if (got.has_value() && !got->no_table) co_return result<void>{};
    const auto& why = got.has_value() ? *got->no_table : got.error();
    // Another process makes it, or this one has: it is looked for again.
    if (why.code == errc::outcome_unknown || may_pass(why.code) ||
        why.detail.find("ResourceInUseException") != std::string::npos)
        co_return result<void>{};
    co_return failure{why.code, why.detail + "; there is no table '" + name_ +
                                    "', and it cannot be made: docs/stores/dynamodb.md shows how"};
}

}  // namespace pawl::dynamodb
