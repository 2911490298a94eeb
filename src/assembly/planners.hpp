// From a URL to a plan, one function for each engine of this source, in plan_NAME.cpp; and what
// makes of them an engine as the others see it.
#pragma once

#include "assembly/engines.hpp"
#include "base/url.hpp"

#include <string_view>

namespace pawl::assembly {

// Throws option_error. The caller fills in the engine's name and the URL to show.
using planner = store_plan (*)(const base::store_url&);

store_plan plan_memory(const base::store_url& url);
store_plan plan_sqlite(const base::store_url& url);
store_plan plan_redlock(const base::store_url& url);
store_plan plan_zookeeper(const base::store_url& url);
store_plan plan_kubernetes(const base::store_url& url);
store_plan plan_dynamodb(const base::store_url& url);
store_plan plan_azblob(const base::store_url& url);
store_plan plan_s3(const base::store_url& url);
store_plan plan_mongodb(const base::store_url& url);

// Of engines that may work over connections of the application's.
engine_plan plan_postgresql(const base::store_url& url);
engine_plan plan_mysql(const base::store_url& url);
engine_plan plan_redis(const base::store_url& url);
engine_plan plan_etcd(const base::store_url& url);

// Throws option_error with the column.
base::store_url parse_or_reject(std::string_view text);

template <planner Plan>
engine_plan plan_by(std::string_view url) {
    auto made = Plan(parse_or_reject(url));
    engine_plan plan{
        std::move(made.settings),
        [make = std::move(made.make)](const engine_context& where) { return make(*where.loop); }};
    if (made.make_journal)
        plan.make_journal = [make = std::move(made.make_journal)](const engine_context& where) {
            return make(*where.loop);
        };
    return plan;
}

template <engine_plan (*Plan)(const base::store_url&)>
engine_plan plan_by(std::string_view url) {
    return Plan(parse_or_reject(url));
}

}  // namespace pawl::assembly
