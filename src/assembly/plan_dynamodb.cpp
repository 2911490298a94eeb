#include "assembly/parameters.hpp"
#include "assembly/plan_aws.hpp"
#include "assembly/planners.hpp"
#include "base/text.hpp"
#include "engines/dynamodb/journal/dynamodb_journal.hpp"
#include "engines/dynamodb/store/dynamodb_store.hpp"

namespace pawl::assembly {

store_plan plan_dynamodb(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    dynamodb::dynamodb_settings settings;
    settings.common = plan.settings;
    settings.skew = query.duration("skew");
    reject_credentials(url);
    const auto region = url.endpoints.size() == 1 && url.endpoints.front().port == 0
                            ? url.endpoints.front().host
                            : std::string{};
    if (!aws::is_region(region))
        throw option_error{
            "dynamodb: takes a region and a table; expected dynamodb://REGION/TABLE, such as "
            "dynamodb://eu-central-1/pawl"};
    settings.table = url.path;
    if (const auto fault = dynamodb::table_fault(settings.table))
        throw option_error{"invalid table '" + base::printable(settings.table) + "'; " + *fault};
    settings.service =
        take_service(query, {region, "dynamodb"}, aws::endpoint_of("dynamodb", region));
    query.finish();
    plan.make = [settings](net::loop& where) {
        return dynamodb::make_dynamodb_store(where, settings);
    };
    plan.make_journal = [settings](net::loop& where) {
        return dynamodb::make_dynamodb_journal(where, settings);
    };
    return plan;
}

}  // namespace pawl::assembly
