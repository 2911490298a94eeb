#include "assembly/parameters.hpp"
#include "assembly/planners.hpp"
#include "engines/sqlite/journal/sqlite_journal.hpp"
#include "engines/sqlite/store/sqlite_store.hpp"

namespace pawl::assembly {

store_plan plan_sqlite(const base::store_url& url) {
    parameters query{url};
    store_plan plan;
    plan.settings = take_settings(query);
    sqlite::sqlite_settings settings;
    if (query.choice("synchronous", {"full", "normal"}) == 1U)
        settings.durability = sqlite::synchronous::normal;
    if (settings.durability == sqlite::synchronous::normal &&
        plan.settings.safety == safety_class::correctness)
        throw option_error{
            "sqlite: with synchronous=normal a loss of power takes the last grants back, which "
            "safety=correctness rejects: leave it out"};
    query.finish();
    if (!url.endpoints.empty())
        throw option_error{
            "sqlite: takes a path on this machine, not a host: write sqlite:PATH or "
            "sqlite:///PATH"};
    if (url.path.empty())
        throw option_error{
            "sqlite: needs the path of a file, such as sqlite:/var/lib/pawl/pawl.db"};
    settings.common = plan.settings;
    plan.make = [settings, path = url.path](net::loop& where) {
        return sqlite::make_sqlite_store(where, path, settings).value();
    };
    plan.make_journal = [settings, path = url.path](net::loop& where) {
        return sqlite::make_sqlite_journal(where, path, settings).value();
    };
    return plan;
}

}  // namespace pawl::assembly
