#include "assembly/engines.hpp"

#include "assembly/modules.hpp"
#include "assembly/planners.hpp"
#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "engines/rules/journal/checked_journal.hpp"
#include "net/loop.hpp"
#include "runtime/own_connections.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <set>

// Engines that are linked in, by the function that tells of them. Where one is not, the reference
// stays empty and the engine is looked for as a module; a static library of an engine tells the
// linker to take the function in (pawl_engine() in cmake/PawlEngines.cmake).
extern "C" {
const pawl::engine_module* pawl_engines_memory();
#ifdef PAWL_STORE_SQLITE
const pawl::engine_module* pawl_engines_sqlite();
#else
__attribute__((weak)) const pawl::engine_module* pawl_engines_sqlite();
#endif
__attribute__((weak)) const pawl::engine_module* pawl_engines_redis();
__attribute__((weak)) const pawl::engine_module* pawl_engines_postgresql();
__attribute__((weak)) const pawl::engine_module* pawl_engines_mysql();
__attribute__((weak)) const pawl::engine_module* pawl_engines_etcd();
__attribute__((weak)) const pawl::engine_module* pawl_engines_zookeeper();
__attribute__((weak)) const pawl::engine_module* pawl_engines_kubernetes();
__attribute__((weak)) const pawl::engine_module* pawl_engines_dynamodb();
__attribute__((weak)) const pawl::engine_module* pawl_engines_azblob();
__attribute__((weak)) const pawl::engine_module* pawl_engines_s3();
__attribute__((weak)) const pawl::engine_module* pawl_engines_mongodb();
}

namespace pawl::assembly {
namespace {

struct known_engine {
    std::string_view name;
    std::vector<std::string_view> schemes;
    std::string_view option;
    std::string_view module;
    const engine_module* (*linked)();
};

const std::vector<known_engine>& table() {
    static const std::vector<known_engine> all{
        {"memory", {"memory"}, "", "", pawl_engines_memory},
        {"sqlite", {"sqlite"}, "PAWL_STORE_SQLITE", "", pawl_engines_sqlite},
        {"redis",
         {"redis", "rediss", "redis+unix", "redis+sentinel", "redis+cluster", "valkey", "valkeys",
          "valkey+unix", "valkey+sentinel", "valkey+cluster"},
         "PAWL_STORE_REDIS",
         "pawl-redis",
         pawl_engines_redis},
        {"redlock", {"redlock"}, "PAWL_STORE_REDLOCK", "pawl-redis", pawl_engines_redis},
        {"postgresql",
         {"postgresql", "postgres"},
         "PAWL_STORE_POSTGRESQL",
         "pawl-postgresql",
         pawl_engines_postgresql},
        {"mysql", {"mysql"}, "PAWL_STORE_MYSQL", "pawl-mysql", pawl_engines_mysql},
        {"etcd", {"etcd", "etcds"}, "PAWL_STORE_ETCD", "pawl-etcd", pawl_engines_etcd},
        {"zookeeper",
         {"zookeeper"},
         "PAWL_STORE_ZOOKEEPER",
         "pawl-zookeeper",
         pawl_engines_zookeeper},
        {"kubernetes",
         {"kubernetes"},
         "PAWL_STORE_KUBERNETES",
         "pawl-kubernetes",
         pawl_engines_kubernetes},
        {"dynamodb", {"dynamodb"}, "PAWL_STORE_DYNAMODB", "pawl-dynamodb", pawl_engines_dynamodb},
        {"azblob", {"azblob"}, "PAWL_STORE_AZBLOB", "pawl-azblob", pawl_engines_azblob},
        {"s3", {"s3"}, "PAWL_STORE_S3", "pawl-s3", pawl_engines_s3},
        {"mongodb",
         {"mongodb", "mongodb+srv"},
         "PAWL_STORE_MONGODB",
         "pawl-mongodb",
         pawl_engines_mongodb},
    };
    return all;
}

template <class Engines, class Wanted>
auto with_scheme(Engines& engines, const Wanted& scheme) {
    return std::find_if(engines.begin(), engines.end(), [&](const auto& one) {
        return std::find(one.schemes.begin(), one.schemes.end(), scheme) != one.schemes.end();
    });
}

const engine_entry* entry_in(const engine_module* brings, std::string_view scheme) {
    if (brings == nullptr) return nullptr;
    const auto found = with_scheme(brings->engines, scheme);
    return found != brings->engines.end() ? &*found : nullptr;
}

// What programs bring themselves, by register_engines(). Entries stay where they are.
struct registered_engines {
    std::mutex adding;
    std::list<engine_module> all;
};
registered_engines& registered() {
    static registered_engines own;
    return own;
}

// REQUIRES: its mutex is held.
const engine_entry* entry_among(const registered_engines& own, std::string_view scheme) {
    for (const auto& one : own.all)
        if (const auto* entry = entry_in(&one, scheme)) return entry;
    return nullptr;
}

const engine_entry* registered_entry(std::string_view scheme) {
    auto& own = registered();
    const std::lock_guard guard{own.adding};
    return entry_among(own, scheme);
}

// Whatever engine keeps it, a journal is asked through the checks that all have in common.
runtime::journal_maker checked(runtime::journal_maker make) {
    if (!make) return make;
    return [make = std::move(make)](net::loop& where) {
        auto made = make(where);
        if (!made) throw option_error{"the function that is to make the journal has made none"};
        return journals::checked(std::move(made));
    };
}

[[noreturn]] void reject_scheme(const std::string& scheme) {
    std::vector<std::string_view> known;
    std::string list;
    for (const auto& one : table())
        for (const auto name : one.schemes) {
            known.push_back(name);
            base::add_to_list(list, name);
        }
    const auto meant = base::nearest(scheme, known);
    throw option_error{
        "no store engine '" + base::printable(scheme) + "': " +
        (meant ? "did you mean '" + std::string{*meant} + "'? There are " : "there are ") + list};
}

[[noreturn]] void reject_missing(const known_engine& one) {
    std::string folders;
    for (const auto& folder : module_folders())
        base::add_to_list(folders, base::printable(folder.string()));
    throw option_error{one.module.empty()
                           ? "this pawl was built without " + std::string{one.name} +
                                 ": build it with -D" + std::string{one.option} + "=ON"
                           : std::string{one.name} + " comes as a module, and " +
                                 std::string{one.module} + ".so is in none of " + folders +
                                 ": install the package " + std::string{one.module} +
                                 ", or name its folder in PAWL_ENGINE_PATH; a program that is "
                                 "linked with a static pawl links pawl::" +
                                 std::string{one.module.substr(5)} + " instead"};
}

// A scheme is letters, digits, '+', '-' and '.', so it is safe as a part of a file's name.
const engine_entry& find_entry(const std::string& scheme) {
    if (const auto* own = registered_entry(scheme)) return *own;
    const auto known = with_scheme(table(), scheme);
    if (known != table().end()) {
        if (known->linked != nullptr)
            if (const auto* entry = entry_in(known->linked(), scheme)) return *entry;
        const auto file = known->module.empty() ? std::nullopt : find_module(known->module);
        if (!file) reject_missing(*known);
        if (const auto* entry = entry_in(&load_module(*file), scheme)) return *entry;
        reject_missing(*known);
    }
    const auto file = find_module("pawl-" + scheme.substr(0, scheme.find('+')));
    if (!file) reject_scheme(scheme);
    if (const auto* entry = entry_in(&load_module(*file), scheme)) return *entry;
    throw option_error{"the engine module " + base::printable(file->string()) +
                       " has no engine for " + base::printable(scheme) + ":"};
}

std::string_view engine_at(std::string_view url) {
    return find_entry(parse_or_reject(url).scheme).name;
}

}  // namespace

const std::vector<engine_info>& known_engines() {
    static const std::vector<engine_info> infos = [] {
        std::vector<engine_info> all;
        for (const auto& one : table()) {
            const auto* entry =
                one.linked != nullptr ? entry_in(one.linked(), one.schemes.front()) : nullptr;
            all.push_back({one.name, one.schemes, one.option, one.module, entry != nullptr,
                           entry != nullptr ? entry->library : std::string_view{}});
        }
        return all;
    }();
    return infos;
}

base::store_url parse_or_reject(std::string_view text) {
    auto parsed = base::parse_store_url(text);
    if (parsed.has_error())
        throw option_error{"the store URL is malformed at column " +
                           std::to_string(parsed.error().column + 1) + ": " + parsed.error().what};
    return *std::move(parsed);
}

store_plan plan_store(std::string_view text, const connection_factories& own) {
    const auto& entry = find_entry(parse_or_reject(text).scheme);
    auto made = entry.plan(text);
    store_plan plan;
    plan.engine = entry.name;
    plan.shown = base::redact_url(text);
    const auto lent = runtime::engines_of(own);
    const bool is_lent = std::find(lent.begin(), lent.end(), plan.engine) != lent.end();
    if (!is_lent && !made.lacks.empty()) throw option_error{made.lacks};
    if (is_lent && !made.connects_by.empty())
        throw option_error{"the store URL says how to connect (" +
                           base::printable(made.connects_by) + "), and so does connections." +
                           plan.engine + ": leave it out of the URL"};
    plan.settings = std::move(made.settings);
    plan.make = [make = std::move(made.make), own](net::loop& where) {
        return make(engine_context{where.get_executor(), &where, own});
    };
    if (made.make_journal)
        plan.make_journal = checked([make = std::move(made.make_journal), own](net::loop& where) {
            return make(engine_context{where.get_executor(), &where, own});
        });
    return plan;
}

runtime::journal_maker plan_journal(std::string_view store, std::string_view journal,
                                    const connection_factories& own) {
    if (journal.empty()) return plan_store(store, own).make_journal;
    auto plan = plan_store(journal, own);
    if (plan.make_journal) return plan.make_journal;
    throw option_error{"the engine " + plan.engine +
                       " keeps no journal of runs: sqlite, postgresql, mysql, redis, mongodb and "
                       "dynamodb do"};
}

std::unique_ptr<runtime::core> open_core(
    std::string_view store, std::string_view journal, open_options options,
    const std::function<runtime::store_maker(runtime::store_maker)>& around) {
    auto plan = plan_store(store, options.connections);
    const bool has_journal = journal != "none";
    for (const auto engine : runtime::engines_of(options.connections))
        if (engine != plan.engine &&
            (!has_journal || journal.empty() || engine != engine_at(journal)))
            throw option_error{"connections." + std::string{engine} +
                               ": neither the store nor its journal is at " + std::string{engine}};
    if (around) plan.make = around(std::move(plan.make));
    runtime::journal_maker records;
    if (journal.empty())
        records = plan.make_journal;
    else if (has_journal)
        records = plan_journal(store, journal, options.connections);
    return std::make_unique<runtime::core>(plan.make, std::move(plan.settings), std::move(options),
                                           std::move(records));
}

}  // namespace pawl::assembly

namespace pawl {

void register_engines(const engine_module& module) {
    using namespace assembly;
    auto& own = registered();
    const std::lock_guard guard{own.adding};
    std::set<std::string_view> added;
    for (const auto& one : module.engines)
        for (const std::string_view scheme : one.schemes)
            if (!added.insert(scheme).second || entry_among(own, scheme) != nullptr ||
                with_scheme(table(), scheme) != table().end())
                throw option_error{"register_engines(): the scheme " + base::printable(scheme) +
                                   ": is taken"};
    own.all.push_back(module);
}

}  // namespace pawl
