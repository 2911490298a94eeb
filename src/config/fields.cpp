#include "config/fields.hpp"

#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "config/field_kinds.hpp"
#include "config/texts.hpp"

#include <array>

namespace pawl::config {
namespace {

// Some know these by other names.
struct synonym {
    std::string_view others;
    std::string_view ours;
};
constexpr std::array<synonym, 16> synonyms{{{"cron", "schedule"},
                                            {"timezone", "zone"},
                                            {"tz", "zone"},
                                            {"cmd", "command"},
                                            {"args", "command"},
                                            {"exec", "command"},
                                            {"cwd", "working_directory"},
                                            {"workdir", "working_directory"},
                                            {"environment", "env"},
                                            {"environment_file", "env_file"},
                                            {"run_as", "user"},
                                            {"lock_at_most_for", "ttl"},
                                            {"lock_at_least_for", "min_hold"},
                                            {"lease", "ttl"},
                                            {"id", "name"},
                                            {"retry", "retries"}}};
// Longer words are no misspelt keys, and cost too much to compare.
constexpr std::size_t misspelt_bytes_max = 64;
constexpr std::string_view file_fields_section = "the file";

const field_list<retry_settings>& retry_fields() {
    using r = retry_settings;
    static const field_list<r> all{
        integer_field("max", &r::max, "0", 0, retries_max),
        duration_field("backoff", &r::backoff, "\"10s\"", millis{0}, wait_max),
        number_field("factor", &r::factor, "2.0", 1, 100),
        duration_field("max_backoff", &r::max_backoff, "\"10m\"", millis{0}, wait_max),
    };
    return all;
}

const field_list<limit_settings>& limit_fields() {
    using l = limit_settings;
    static const field_list<l> all{
        count_field("open_files", &l::open_files),
        count_field("processes", &l::processes),
        size_field("memory", &l::memory, "", no_limit),
        duration_field("cpu_time", &l::cpu_time, "", millis{1000}, timeout_max),
        size_field("file_size", &l::file_size, "", no_limit),
        size_field("core_size", &l::core_size, "", no_limit),
    };
    return all;
}

const field_list<tls_files>& tls_fields() {
    static const field_list<tls_files> all{
        text_field("cert", &tls_files::cert, "", "a PEM file", path_fault),
        text_field("key", &tls_files::key, "", "a PEM file", path_fault),
    };
    return all;
}

field<agent_settings> tls_field() {
    const auto read = [](const value_reader& reader, const toml::node& value,
                         agent_settings& into) {
        const auto* table = value.as_table();
        if (table == nullptr) {
            reader.add_wrong_type(value, "a table, such as { cert = \"…\", key = \"…\" }");
            return;
        }
        tls_files files;
        read_table(reader.scope(), *table, "tls.", tls_fields(), files);
        for (const char* needed : {"cert", "key"})
            if (!table->contains(needed))
                reader.add_fault(value, std::string{"lacks "} + needed +
                                            "; a certificate and its key go together");
        into.tls = std::move(files);
    };
    return {"tls", "table", "", "", read, same_member(&agent_settings::tls)};
}

field<agent_settings> hosts_field() {
    return make_field(
        "hosts", &agent_settings::hosts, "array of texts", "[]", "names without a port",
        [](const value_reader& reader,
           const toml::node& value) -> std::optional<std::vector<std::string>> {
            const auto* found = value.as_array();
            if (found == nullptr) {
                reader.add_wrong_type(value, "an array of texts, such as [\"pawl.example.com\"]");
                return std::nullopt;
            }
            std::vector<std::string> all;
            for (const toml::node& one : *found) {
                auto host = reader.text(one, host_fault);
                if (!host) return std::nullopt;
                all.push_back(std::move(*host));
            }
            return all;
        });
}

field<job_settings> schedule_field() {
    return make_field(
        "schedule", &job_settings::schedule, "text", "",
        "5 or 6 fields, a macro such as @daily, or @every 90s",
        [](const value_reader& reader, const toml::node& value) -> std::optional<schedule_setting> {
            const auto text = reader.text(value);
            if (!text) return std::nullopt;
            auto when = time::cron::parse(*text);
            if (when.has_value()) return schedule_setting{*text, std::move(*when)};
            reader.add_fault(value, {when.error().column, "is wrong here: " + when.error().what});
            return std::nullopt;
        });
}

field<job_settings> zone_field() {
    return make_field(
        "zone", &job_settings::zone, "text", "\"UTC\"", "a zone of the IANA database",
        [](const value_reader& reader, const toml::node& value) -> std::optional<time::zone> {
            const auto text = reader.text(value);
            if (!text) return std::nullopt;
            const auto found = time::zone::find(*text);
            if (found.has_value()) return *found;
            reader.add_fault(value, {found.error().column, "is wrong: " + found.error().what});
            return std::nullopt;
        });
}

// Only what a job names itself takes the place of what [defaults] says.
field<job_settings> env_field() {
    const auto read = [](const value_reader& reader, const toml::node& value, job_settings& into) {
        auto named = reader.variables(value);
        if (!named) return;
        for (auto& one : into.env) named->try_emplace(one.name, one.value);
        into.env.clear();
        for (auto& [name, content] : *named) into.env.push_back({name, content});
    };
    return {"env", "table",
            "",    "names of letters, digits and _",
            read,  same_member(&job_settings::env)};
}

field<job_settings> env_file_field() {
    auto made =
        text_field("env_file", &job_settings::env_file, "", "a file of at most 1 MiB", path_fault);
    made.same = [](const job_settings& left, const job_settings& right) {
        return left.env_file == right.env_file && left.secrets == right.secrets;
    };
    return made;
}

field<job_settings> command_field() {
    return make_field("command", &job_settings::command, "array of texts", "required",
                      "1 to 10,000 texts", [](const value_reader& reader, const toml::node& value) {
                          return reader.arguments(value);
                      });
}

field<job_settings> arguments_field() {
    return make_field("arguments", &job_settings::arguments, "boolean or array of texts", "false",
                      "true, or patterns with `*`, `?` and `[…]` as in a shell",
                      [](const value_reader& reader, const toml::node& value) {
                          return reader.argument_rule(value);
                      });
}

field<job_settings> umask_field() {
    return make_field("umask", &job_settings::umask, "text", "", "\"000\" to \"777\"",
                      [](const value_reader& reader, const toml::node& value) {
                          return reader.file_mode(value);
                      });
}

}  // namespace

const field_list<settings>& file_fields() {
    static const field_list<settings> all{
        text_field("store", &settings::store, "", "a store's URL", url_fault),
        text_field("journal", &settings::journal, "", "a store's URL", url_fault),
    };
    return all;
}

const field_list<agent_settings>& agent_fields() {
    using a = agent_settings;
    static const field_list<a> all{
        text_field("name", &a::name, "", "1 to 128 bytes", agent_name_fault),
        make_field("listen", &a::listen, "text", "\"127.0.0.1:7295\"", "HOST:PORT",
                   [](const value_reader& reader,
                      const toml::node& value) -> std::optional<base::endpoint> {
                       const auto text = reader.text(value, listen_fault);
                       return text ? std::optional{parse_listen(*text).value()} : std::nullopt;
                   }),
        choice_field("metrics", &a::metrics, "\"open\"", {"open", "viewer"}),
        integer_field("max_concurrent_runs", &a::max_concurrent_runs, "8", 1, concurrent_runs_max),
        duration_field("shutdown_grace", &a::shutdown_grace, "\"30s\"", millis{0}, wait_max),
        tls_field(),
        hosts_field(),
    };
    return all;
}

const field_list<user_settings>& user_fields() {
    using u = user_settings;
    static const field_list<u> all{
        text_field("name", &u::name, "required", "1 to 64 bytes", user_name_fault),
        choice_field("role", &u::role, "required", {"viewer", "client", "operator", "admin"}),
        text_field("token_hash", &u::token_hash, "required", "what `pawl token new` prints",
                   token_hash_fault),
    };
    return all;
}

const field_list<job_settings>& job_fields() {
    using j = job_settings;
    static const field_list<j> all{
        text_field("name", &j::name, "required", "1 to 200 bytes without / and white space",
                   job_name_fault),
        text_field("description", &j::description, "\"\""),
        boolean_field("enabled", &j::enabled, "true"),
        schedule_field(),
        zone_field(),
        choice_field("gap", &j::gap, "\"end\"", {"end", "skip"}),
        choice_field("repeat", &j::repeat, "\"once\"", {"once", "twice"}),
        duration_field("jitter", &j::jitter, "\"0s\"", millis{0}, wait_max),
        choice_field("misfire", &j::misfire, "\"run-once\"", {"skip", "run-once"}),
        duration_field("misfire_window", &j::misfire_window, "\"1h\"", millis{0}, timeout_max),
        choice_field("overlap", &j::overlap, "\"skip\"", {"skip", "queue"}),
        command_field(),
        arguments_field(),
        env_field(),
        env_file_field(),
        boolean_field("clean_environment", &j::clean_environment, "false"),
        boolean_field("store_access", &j::store_access, "false"),
        text_field("working_directory", &j::working_directory, "", "an absolute path",
                   absolute_path_fault),
        text_field("user", &j::user, "", "a name, or a number", account_fault),
        text_field("group", &j::group, "", "a name, or a number", account_fault),
        umask_field(),
        integer_field("nice", &j::nice, "", -20, 19),
        table_field("limits", &j::limits, limit_fields()),
        duration_field("soft_timeout", &j::soft_timeout, "\"0s\"", millis{0}, timeout_max),
        duration_field("timeout", &j::timeout, "\"0s\"", millis{0}, timeout_max),
        duration_field("grace", &j::grace, "\"10s\"", millis{0}, wait_max),
        size_field("output_limit", &j::output_limit, "\"1MiB\"", output_bytes_max),
        integer_field("keep_runs", &j::keep_runs, "1000", 1, runs_kept_max),
        table_field("retries", &j::retries, retry_fields()),
        boolean_field("lease", &j::lease_is_shared, "true"),
        duration_field("ttl", &j::ttl, "\"30s\"", job_ttl_min, ttl_max),
        spelled_before("at_least",
                       duration_field("min_hold", &j::min_hold, "\"0s\"", millis{0}, ttl_max)),
        spelled_before("hold", boolean_field("hold_until_expiry", &j::hold_until_expiry, "false")),
        spelled_before("occurrence", choice_field("delivery", &j::delivery, "\"at-most-once\"",
                                                  {"at-most-once", "at-least-once", "off"})),
        integer_field("max_renew_failures", &j::max_renew_failures, "3", 1, 100),
        number_field("renew_fraction", &j::renew_fraction, "0.3", renew_fraction_min,
                     renew_fraction_max),
        choice_field("on_store_down", &j::on_store_down, "\"skip\"", {"skip", "run"}),
        integer_field("partitions", &j::partitions, "1", 1, partitions_max),
        integer_field("slots", &j::slots, "1", 1, slots_max),
        integer_field("max_concurrent_runs", &j::max_concurrent_runs, "0", 0, concurrent_runs_max),
    };
    return all;
}

namespace {

template <class T>
void add_references(std::vector<key_reference>& all, const std::string& section,
                    const std::string& prefix, const field_list<T>& fields) {
    for (const auto& one : fields)
        all.push_back({section, prefix + one.name, one.type, one.fallback, one.bound});
}

std::string section_of(std::string_view key) {
    for (const auto& one : known_keys())
        if (one.name == key) return one.section;
    return {};
}

}  // namespace

std::vector<key_reference> known_keys() {
    std::vector<key_reference> all;
    add_references(all, std::string{file_fields_section}, "", file_fields());
    add_references(all, "[agent]", "", agent_fields());
    add_references(all, "[agent]", "tls.", tls_fields());
    add_references(all, "[[user]]", "", user_fields());
    add_references(all, "[[job]]", "", job_fields());
    add_references(all, "[[job]]", "limits.", limit_fields());
    add_references(all, "[[job]]", "retries.", retry_fields());
    return all;
}

void add_key_under_both_names(const reading_scope& scope, const toml::key& old,
                              const std::string& name, const std::string& prefix) {
    scope.found.add_fault(place_of(old.source().begin),
                          name + " stands here twice, once as " + prefix + std::string{old.str()} +
                              ", as it was called before; keep " + name);
}

void add_unknown_key(const reading_scope& scope, const toml::key& key, const std::string& prefix,
                     const std::vector<std::string_view>& names) {
    std::string what = "unknown key " + quoted(prefix + std::string{key.str()}) + " in " +
                       std::string{scope.section};
    const auto is_ours = [&](std::string_view name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::optional<std::string_view> meant;
    for (const auto& [others, ours] : synonyms)
        if (others == key.str() && is_ours(ours)) meant = ours;
    if (!meant && key.length() <= misspelt_bytes_max && !key.str().empty())
        meant = base::nearest(key.str(), names);
    const std::string other = meant ? "" : section_of(key.str());
    if (meant) {
        what += "; did you mean '" + prefix + std::string{*meant} + "'?";
    } else if (!other.empty()) {
        what += "; it belongs to " + other;
        if (other == file_fields_section) what += ", above its first [table]";
    } else {
        std::string all;
        for (const auto name : names) base::add_to_list(all, prefix + std::string{name});
        what += names.size() > 10 ? "; docs/configuration.md lists its keys" : "; there are " + all;
    }
    scope.found.add_fault(place_of(key.source().begin), what);
}

}  // namespace pawl::config
