#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "engines/memory/journal/memory_journal.hpp"
#include "engines/memory/store/memory_store.hpp"

namespace pawl::assembly {

store_plan plan_memory(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    query.finish();
    if (!url.path.empty() || !url.endpoints.empty())
        throw option_error{"memory: takes neither a path nor a host"};
    plan.make = [settings = plan.settings](net::loop& where) {
        return memory::make_memory_store(where, settings);
    };
    plan.make_journal = [settings = plan.settings](net::loop& where) {
        return memory::make_memory_journal(where, settings.name_space, settings);
    };
    return plan;
}

}  // namespace pawl::assembly
