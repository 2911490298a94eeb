// From a URL to a plan, one function for each engine, in plan_NAME.cpp. Each is defined only where
// its engine is built in.
#pragma once

#include "assembly/engines.hpp"
#include "base/url.hpp"

namespace pawl::assembly {

// Throws option_error. The caller fills in the engine's name and the URL to show.
using planner = store_plan (*)(const base::store_url&);

store_plan plan_memory(const base::store_url& url);
store_plan plan_sqlite(const base::store_url& url);
store_plan plan_redis(const base::store_url& url);
store_plan plan_redlock(const base::store_url& url);
store_plan plan_postgresql(const base::store_url& url);
store_plan plan_mysql(const base::store_url& url);
store_plan plan_etcd(const base::store_url& url);
store_plan plan_zookeeper(const base::store_url& url);

}  // namespace pawl::assembly
