#include "assembly/engines.hpp"

#include "assembly/planners.hpp"
#include "base/text.hpp"
#include "journals/rules/checked_journal.hpp"

#include <algorithm>

namespace pawl::assembly {
namespace {

// What was not built in has no planner.
#ifdef PAWL_STORE_SQLITE
constexpr planner sqlite_planner = plan_sqlite;
#else
constexpr planner sqlite_planner = nullptr;
#endif
#ifdef PAWL_STORE_REDIS
constexpr planner redis_planner = plan_redis;
#else
constexpr planner redis_planner = nullptr;
#endif
#ifdef PAWL_STORE_REDLOCK
constexpr planner redlock_planner = plan_redlock;
#else
constexpr planner redlock_planner = nullptr;
#endif
#ifdef PAWL_STORE_POSTGRESQL
constexpr planner postgresql_planner = plan_postgresql;
#else
constexpr planner postgresql_planner = nullptr;
#endif
#ifdef PAWL_STORE_MYSQL
constexpr planner mysql_planner = plan_mysql;
#else
constexpr planner mysql_planner = nullptr;
#endif
#ifdef PAWL_STORE_ETCD
constexpr planner etcd_planner = plan_etcd;
#else
constexpr planner etcd_planner = nullptr;
#endif
#ifdef PAWL_STORE_ZOOKEEPER
constexpr planner zookeeper_planner = plan_zookeeper;
#else
constexpr planner zookeeper_planner = nullptr;
#endif

struct known_engine {
    known_engine(std::string_view name, std::vector<std::string_view> schemes,
                 std::string_view option, planner plan, std::string_view library)
        : info{name, std::move(schemes), option, plan != nullptr, library}, plan{plan} {}

    engine_info info;
    planner plan;
};

const std::vector<known_engine>& engines() {
    static const std::vector<known_engine> all{
        {"memory", {"memory"}, "", plan_memory, ""},
        {"sqlite", {"sqlite"}, "PAWL_STORE_SQLITE", sqlite_planner, PAWL_LIBRARY_SQLITE},
        {"redis",
         {"redis", "rediss", "redis+unix", "redis+sentinel", "redis+cluster"},
         "PAWL_STORE_REDIS",
         redis_planner,
         PAWL_LIBRARY_REDIS},
        {"redlock", {"redlock"}, "PAWL_STORE_REDLOCK", redlock_planner, PAWL_LIBRARY_REDIS},
        {"postgresql",
         {"postgresql", "postgres"},
         "PAWL_STORE_POSTGRESQL",
         postgresql_planner,
         PAWL_LIBRARY_POSTGRESQL},
        {"mysql", {"mysql"}, "PAWL_STORE_MYSQL", mysql_planner, PAWL_LIBRARY_MYSQL},
        {"etcd", {"etcd", "etcds"}, "PAWL_STORE_ETCD", etcd_planner, PAWL_LIBRARY_ETCD},
        {"zookeeper",
         {"zookeeper"},
         "PAWL_STORE_ZOOKEEPER",
         zookeeper_planner,
         PAWL_LIBRARY_ZOOKEEPER},
    };
    return all;
}

// Whatever engine keeps it, a journal is asked through the checks that all have in common.
runtime::journal_maker checked(runtime::journal_maker make) {
    if (!make) return make;
    return [make = std::move(make)](net::loop& where) { return journals::checked(make(where)); };
}

[[noreturn]] void refuse_scheme(const std::string& scheme) {
    std::vector<std::string_view> known;
    std::string list;
    for (const auto& [info, plan] : engines())
        for (const auto one : info.schemes) {
            known.push_back(one);
            list += (list.empty() ? "" : ", ") + std::string{one};
        }
    const auto meant = base::nearest(scheme, known);
    throw option_error{
        "no store engine '" + base::printable(scheme) + "': " +
        (meant ? "did you mean '" + std::string{*meant} + "'? There are " : "there are ") + list};
}

}  // namespace

const std::vector<engine_info>& known_engines() {
    static const std::vector<engine_info> infos = [] {
        std::vector<engine_info> all;
        for (const auto& one : engines()) all.push_back(one.info);
        return all;
    }();
    return infos;
}

store_plan plan_store(std::string_view text) {
    const auto parsed = base::parse_store_url(text);
    if (parsed.has_error())
        throw option_error{"the store URL is malformed at column " +
                           std::to_string(parsed.error().column + 1) + ": " + parsed.error().what};
    for (const auto& [info, plan] : engines()) {
        if (std::find(info.schemes.begin(), info.schemes.end(), parsed->scheme) ==
            info.schemes.end())
            continue;
        if (plan == nullptr)
            throw option_error{"this pawl was built without " + std::string{info.name} +
                               ": build it with -D" + std::string{info.option} + "=ON"};
        auto made = plan(*parsed);
        made.make_journal = checked(std::move(made.make_journal));
        made.engine = info.name;
        made.shown = base::redact_url(text);
        return made;
    }
    refuse_scheme(parsed->scheme);
}

runtime::journal_maker plan_journal(std::string_view store, std::string_view journal) {
    if (journal.empty()) return plan_store(store).make_journal;
    auto plan = plan_store(journal);
    if (plan.make_journal) return plan.make_journal;
    throw option_error{"the engine " + plan.engine +
                       " keeps no journal of runs: sqlite, postgresql, mysql and redis do"};
}

std::unique_ptr<runtime::core> open_core(
    std::string_view store, std::string_view journal, open_options options,
    const std::function<runtime::store_maker(runtime::store_maker)>& around) {
    auto plan = plan_store(store);
    if (around) plan.make = around(std::move(plan.make));
    auto records = journal.empty() ? plan.make_journal : plan_journal(store, journal);
    return std::make_unique<runtime::core>(plan.make, std::move(plan.settings), std::move(options),
                                           std::move(records));
}

}  // namespace pawl::assembly
