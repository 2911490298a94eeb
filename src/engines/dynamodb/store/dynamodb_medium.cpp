// One namespace of a table, for the core.
#include "engines/dynamodb/store/dynamodb_store.hpp"
#include "engines/dynamodb/store/items.hpp"
#include "engines/dynamodb/store/pages.hpp"
#include "engines/dynamodb/store/table.hpp"

#include "base/ascii.hpp"
#include "base/identity.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <utility>

namespace pawl::dynamodb {
namespace {

namespace json = boost::json;
using cas::write_answer;

// What one BatchExecuteStatement takes.
constexpr std::size_t batch_max = 25;
// Two front ends of one region follow the same time service; the Date field has whole seconds.
constexpr cas::micros skew_default = std::chrono::seconds{2};
constexpr millis ttl_min{1'000};

class medium final : public cas::medium {
public:
    medium(net::loop& where, std::shared_ptr<table> on, place_of_items place)
        : on_{std::move(on)}, place_{std::move(place)}, ids_{where.ids()} {}

    cas::medium_traits traits() const noexcept override {
        cas::medium_traits traits;
        traits.skew = skew_default;
        traits.batch_max = batch_max;
        traits.ttl_min = ttl_min;
        return traits;
    }
    std::string place() const override { return on_->place(); }
    async<std::string> prepare(instant until) override { return on_->prepare(until); }
    bool has_answered() const noexcept override { return on_->has_answered(); }

    async<cas::seen> read(cas::record_name name, instant until) override;
    async<std::vector<cas::seen>> read_many(std::vector<cas::record_name> names,
                                            instant until) override {
        return read_records(on_, place_, std::move(names), until);
    }
    async<write_answer> write(cas::change what, instant until) override;
    async<std::vector<result<write_answer>>> write_many(std::span<const cas::change> changes,
                                                        instant until) override;
    async<write_answer> erase(cas::record_name name, cas::version expected, instant until) override;
    async<cas::listing> list(cas::list_order what, instant until) override {
        return list_records(on_, place_, std::move(what), until);
    }
    async<examination> examine(instant until) override;

private:
    cas::conflict conflict_of(const json::object& says, std::optional<cas::stamp> clock) const;
    result<write_answer> answer_of(const json::value& says, const cas::version& next,
                                   const std::optional<cas::stamp>& clock) const;

    // Constant after construction
    const std::shared_ptr<table> on_;
    const place_of_items place_;
    // On the loop only
    base::id_source ids_;
};

async<cas::seen> medium::read(cas::record_name name, instant until) {
    const auto self = shared_from_this();
    auto asking = on_->ask("GetItem", read_request(place_, name), effect::none, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    cas::seen stands;
    if (const auto* item = got->body.if_contains("Item")) {
        auto found = read_item(*item);
        if (!found)
            co_return failure{errc::rejected,
                              place() + ": an item of the namespace is not a record of pawl"};
        stands = std::move(found->stands);
    }
    stands.clock = got->clock;
    co_return stands;
}

// What stands there comes with the rejection, but not from every server.
cas::conflict medium::conflict_of(const json::object& says, std::optional<cas::stamp> clock) const {
    cas::conflict met;
    met.clock = clock;
    if (const auto* item = says.if_contains("Item"))
        if (auto found = read_item(*item)) {
            found->stands.clock = clock;
            met.now = std::move(found->stands);
        }
    return met;
}

async<write_answer> medium::write(cas::change what, instant until) {
    const auto self = shared_from_this();
    const auto next = ids_.next();
    auto asking = on_->ask("PutItem", put_request(place_, what, next), effect::writes, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->failed_condition) co_return write_answer{conflict_of(got->body, got->clock)};
    co_return write_answer{cas::written{next, got->clock}};
}

async<write_answer> medium::erase(cas::record_name name, cas::version expected, instant until) {
    const auto self = shared_from_this();
    auto asking =
        on_->ask("DeleteItem", delete_request(place_, name, expected), effect::writes, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    if (got->failed_condition) co_return write_answer{conflict_of(got->body, got->clock)};
    co_return write_answer{cas::written{{}, got->clock}};
}

// One answer of a batch.
result<write_answer> medium::answer_of(const json::value& says, const cas::version& next,
                                       const std::optional<cas::stamp>& clock) const {
    const auto* object = says.if_object();
    const auto* error = object == nullptr ? nullptr : object->if_contains("Error");
    if (error == nullptr) return write_answer{cas::written{next, clock}};
    const auto* details = error->if_object();
    const auto* code = details == nullptr ? nullptr : details->if_contains("Code");
    if (code == nullptr || !code->is_string())
        return failure{errc::outcome_unknown, place() + ": an error without a code in a batch"};
    const std::string_view word{code->get_string().data(), code->get_string().size()};
    if (word == "ConditionalCheckFailed") {
        auto met = conflict_of(*object, clock);
        if (!met.now) met = conflict_of(*details, clock);
        return write_answer{std::move(met)};
    }
    return explain_statement(place(), word);
}

async<std::vector<result<write_answer>>> medium::write_many(std::span<const cas::change> changes,
                                                            instant until) {
    const auto self = shared_from_this();
    const bool all_exist = std::none_of(changes.begin(), changes.end(),
                                        [](const auto& one) { return one.expected.empty(); });
    if (!all_exist || changes.size() == 1) {
        auto writing = cas::medium::write_many(changes, until);
        co_return co_await std::move(writing);
    }
    std::vector<cas::version> next;
    json::array statements;
    for (const auto& each : changes) {
        next.push_back(ids_.next());
        statements.push_back(update_statement(place_, each, next.back()));
    }
    json::object body{{"Statements", std::move(statements)}};
    auto asking = on_->ask("BatchExecuteStatement", std::move(body), effect::writes, until);
    const auto got = co_await std::move(asking);
    if (got.has_error()) co_return got.error();
    const auto* answers = got->body.if_contains("Responses");
    if (answers == nullptr || !answers->is_array() || answers->get_array().size() != next.size())
        co_return failure{errc::outcome_unknown, place() + ": a batch without its answers"};
    std::vector<result<write_answer>> made;
    made.reserve(next.size());
    for (std::size_t i = 0; i < next.size(); ++i)
        made.push_back(answer_of(answers->get_array()[i], next[i], got->clock));
    co_return made;
}

async<examination> medium::examine(instant until) {
    const auto self = shared_from_this();
    // The first look finds no table: it is made, as for any other verb.
    if (!on_->is_known()) {
        auto preparing = on_->prepare(until);
        const auto ready = co_await std::move(preparing);
        if (ready.has_error() && ready.error().code != errc::unsupported) co_return ready.error();
    }
    auto describing = on_->describe(until);
    const auto facts = co_await std::move(describing);
    if (facts.has_error()) co_return facts.error();
    examination found;
    found.version = "Amazon DynamoDB";
    found.fence_statement =
        "PutItem with the condition rev = (the version that was read) on " + place();
    found.findings = on_->service().examine();
    if (facts->replicated)
        found.findings.push_back({severity::fail, "replication",
                                  "this is a global table, where the last writer wins in each "
                                  "region: use a table of one region"});
    else
        found.findings.push_back({severity::ok, "replication", "a table of one region"});
    if (facts->billing == "PROVISIONED")
        found.findings.push_back(
            {severity::warn, "limits",
             "the table is provisioned for " + std::to_string(facts->write_units) +
                 " writes a second: an acquire or renewal beyond that is delayed; PAY_PER_REQUEST "
                 "has no such bound"});
    else
        found.findings.push_back({severity::ok, "limits", "the table is billed by the request"});
    if (facts->protects_deletion)
        found.findings.push_back(
            {severity::ok, "persistence", "the table is protected from deletion"});
    else
        found.findings.push_back({severity::warn, "persistence",
                                  "the table can be deleted by one request: turn deletion "
                                  "protection on"});
    co_return found;
}

}  // namespace

std::optional<std::string> table_fault(const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
        return base::is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
    });
    if (plain && name.size() >= 3 && name.size() <= 255) return std::nullopt;
    return "expected 3 to 255 letters, digits, '_', '-' or '.'";
}

std::shared_ptr<cas::medium> make_dynamodb_medium(net::loop& where,
                                                  const dynamodb_settings& settings) {
    auto service = aws::service::make(where, settings.service);
    auto on = std::make_shared<table>(where, std::move(service), settings.service.where.region,
                                      settings.table);
    return std::make_shared<medium>(where, std::move(on),
                                    place_of_items{settings.table, settings.common.name_space});
}

std::shared_ptr<lease_store> make_dynamodb_store(net::loop& where,
                                                 const dynamodb_settings& settings) {
    return cas::make_cas_store(where, {settings.common, settings.skew},
                               make_dynamodb_medium(where, settings));
}

}  // namespace pawl::dynamodb
