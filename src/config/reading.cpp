#include "config/reading.hpp"

#include "base/text.hpp"
#include "config/env_file.hpp"
#include "config/fields.hpp"
#include "config/file_keys.hpp"
#include "config/regular_file.hpp"
#include "config/rules.hpp"

#include <toml++/toml.h>

#include <unistd.h>

#include <array>
#include <unordered_map>
#include <utility>

namespace pawl::config {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string host_name() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
    return name.data();
}

// One reading from beginning to end.
class reading {
public:
    reading(std::string_view text, const std::string& file_name, std::string_view store,
            std::string_view node)
        : source_{text}, files_{file_name}, store_{store}, node_{node} {}

    void read(const toml::table& root) {
        sets_nothing_ = root.empty();
        read_file_keys(root);
        read_agent(root);
        read_users(root);
        read_defaults(root);
        read_jobs(root);
        check_agent(values_, agent_keys_, found_);
    }

    parsed_configuration finish() {
        parsed_configuration done;
        done.values = std::move(values_);
        done.faults = found_.take_faults();
        done.warnings = found_.take_warnings();
        done.fault_count = found_.fault_count();
        done.sets_nothing = sets_nothing_;
        return done;
    }

    findings& found() noexcept { return found_; }

private:
    void read_file_keys(const toml::table& root) {
        const reading_scope scope{source_, found_, file_keys_, "the file"};
        std::vector<std::string_view> names(file_tables.begin(), file_tables.end());
        for (const auto& one : file_fields()) names.push_back(one.name);
        for (const auto& [key, value] : root) {
            const field<settings>* known = nullptr;
            for (const auto& one : file_fields())
                if (one.name == key.str()) known = &one;
            if (known != nullptr)
                known->read(value_reader{scope, known->name}, value, values_);
            else if (std::find(names.begin(), names.end(), key.str()) == names.end())
                add_unknown_key(scope, key, "", names);
        }
        if (store_.empty()) store_ = values_.store;
    }

    // Null, and a fault, when it is there and is no table.
    const toml::table* table_at(const toml::table& root, std::string_view name) {
        const toml::node* node = root.get(name);
        if (node == nullptr) return nullptr;
        const auto* table = node->as_table();
        if (table == nullptr)
            found_.add_fault(place_of(*node), std::string{name} + " is not a table; expected [" +
                                                  std::string{name} +
                                                  "] once, on a line of its own");
        return table;
    }

    // Every table of [[name]].
    std::vector<const toml::table*> tables_at(const toml::table& root, std::string_view name,
                                              std::size_t count_max) {
        std::vector<const toml::table*> all;
        const toml::node* node = root.get(name);
        if (node == nullptr) return all;
        const auto shown = "[[" + std::string{name} + "]]";
        const auto* array = node->as_array();
        if (array == nullptr) {
            found_.add_fault(place_of(*node), std::string{name} +
                                                  " is not a list of tables; expected " + shown +
                                                  " with two brackets on each side");
            return all;
        }
        for (const toml::node& one : *array) {
            if (const auto* table = one.as_table()) {
                all.push_back(table);
            } else {
                found_.add_fault(place_of(one),
                                 std::string{name} +
                                     " has something in it that is not a table; expected " + shown +
                                     " for each");
            }
            if (all.size() <= count_max) continue;
            found_.add_fault(place_of(one),
                             "more than " + format_count(static_cast<std::int64_t>(count_max)) +
                                 " " + shown + "; share them out over several agents");
            all.pop_back();
            break;
        }
        return all;
    }

    void read_agent(const toml::table& root) {
        if (const auto* table = table_at(root, "agent")) {
            const reading_scope scope{source_, found_, agent_keys_, "[agent]"};
            read_table(scope, *table, "", agent_fields(), values_.agent);
        }
        if (values_.agent.name.empty()) values_.agent.name = host_name();
        if (auto& tls = values_.agent.tls)
            for (auto* path : {&tls->cert, &tls->key}) *path = files_.absolute(*path);
    }

    void read_users(const toml::table& root) {
        std::unordered_map<std::string, place> seen;
        for (const auto* table : tables_at(root, "user", users_max)) {
            origins keys;
            user_settings user;
            read_table({source_, found_, keys, "[[user]]"}, *table, "", user_fields(), user);
            for (const char* needed : {"name", "role", "token_hash"})
                if (!table->contains(needed))
                    found_.add_fault(place_of(*table), "a [[user]] has no " + std::string{needed} +
                                                           "; it needs name, role and token_hash");
            user.at = keys.contains("name") ? keys.find("name")->second : place_of(*table);
            check_is_new(seen, user.name, user.at, "user");
            values_.users.push_back(std::move(user));
        }
    }

    void read_defaults(const toml::table& root) {
        const auto* table = table_at(root, "defaults");
        if (table == nullptr) return;
        read_table({source_, found_, default_keys_, "[defaults]"}, *table, "", job_fields(),
                   defaults_);
        if (const auto name = default_keys_.find("name"); name != default_keys_.end())
            found_.add_fault(name->second,
                             "name stands in [defaults]; give each [[job]] a name of its own");
        defaults_.name.clear();
    }

    void read_jobs(const toml::table& root) {
        const auto tables = tables_at(root, "job", jobs_max);
        values_.jobs.reserve(tables.size());
        std::unordered_map<std::string, place> seen;
        for (const auto* table : tables) {
            job_settings job = defaults_;
            origins keys;
            read_table({source_, found_, keys, "[[job]]"}, *table, "", job_fields(), job);
            const job_origins where{keys, default_keys_, place_of(*table)};
            job.at = where.is_own("name") ? where.of("name") : where.table;
            if (!where.is_own("name"))
                found_.add_fault(where.table,
                                 "a [[job]] has no name; add one, such as name = "
                                 "\"daily-report\"");
            if (job.command.empty() && !keys.contains("command") &&
                !default_keys_.contains("command"))
                found_.add_fault(where.table,
                                 (job.name.empty() ? "a [[job]]" : "the job " + quoted(job.name)) +
                                     " has no command; add one, such as command = [\"/bin/true\"]");
            name_for_node(job, node_.empty() ? values_.agent.name : node_, where, found_);
            check_is_new(seen, job.name, job.at, "job");
            check_job(job, where, found_);
            check_outage(job, where, store_, found_);
            check_memory(job, where, store_, found_);
            read_secrets(job, where);
            check_published(job, where, found_);
            values_.jobs.push_back(std::move(job));
        }
    }

    void check_is_new(std::unordered_map<std::string, place>& seen, const std::string& name,
                      place at, std::string_view what) {
        if (name.empty()) return;
        const auto [first, is_new] = seen.try_emplace(name, at);
        if (!is_new)
            found_.add_fault(at, "a second " + std::string{what} + " is named " + quoted(name) +
                                     "; the first one is at line " +
                                     std::to_string(first->second.line) +
                                     ", so give this one another name");
    }

    void read_secrets(job_settings& job, const job_origins& where) {
        job.secrets.clear();
        if (job.env_file.empty()) return;
        const auto& content = files_.read(job.env_file);
        const place at = where.of("env_file");
        if (!content.fault.empty())
            found_.add_fault(at, "env_file " + quoted(job.env_file) + " " + content.fault);
        else if (content.readable_by_all)
            found_.add_warning(at, "env_file " + quoted(job.env_file) +
                                       " can be read by every user; chmod o-r it, as it is there "
                                       "for secrets");
        job.secrets = content.variables;
    }

    const source_text source_;
    findings found_;
    env_files files_;
    std::string store_;
    const std::string node_;
    origins file_keys_, agent_keys_, default_keys_;
    job_settings defaults_;
    settings values_;
    bool sets_nothing_ = false;
};

parsed_configuration about_the_file(const std::string& file, const std::string& what) {
    parsed_configuration done;
    done.file = file;
    done.faults.push_back({{}, what});
    done.fault_count = 1;
    return done;
}

std::string line_for(const std::string& file, const fault& one) {
    std::string line = base::printable(file);
    if (one.at.line > 0)
        line += ":" + std::to_string(one.at.line) + ":" + std::to_string(one.at.column);
    return line + ": " + one.what;
}

}  // namespace

parsed_configuration read_configuration(std::string_view text, const std::string& file_name,
                                        std::string_view store, std::string_view node) {
    if (text.size() > file_bytes_max)
        return about_the_file(file_name,
                              "has more than 16 MiB; share the jobs out over several "
                              "agents");
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    reading now{text, file_name, store, node};
    if (const auto deep = nesting_fault(text)) {
        now.found().add_fault(deep->at, deep->what);
    } else {
        try {
            now.read(toml::parse(text, std::string_view{}));
        } catch (const toml::parse_error& bad) {
            now.found().add_fault(place_of(bad.source().begin), syntax_fault(bad.description()));
        }
    }
    auto done = now.finish();
    done.file = file_name;
    return done;
}

parsed_configuration read_configuration_file(const std::string& path, std::string_view store,
                                             std::string_view node) {
    const auto file = read_regular_file(path, file_bytes_max);
    if (!file.fault.empty()) return about_the_file(path, file.fault);
    return read_configuration(file.text, path, store, node);
}

std::vector<std::string> describe(const parsed_configuration& read, std::size_t limit) {
    std::vector<std::string> lines;
    for (const fault& one : read.faults) {
        if (lines.size() == limit) break;
        lines.push_back(line_for(read.file, one));
    }
    const auto left = read.fault_count - lines.size();
    if (left > 0)
        lines.push_back(base::printable(read.file) + ": " + std::to_string(read.fault_count) +
                        " faults, of which the first " + std::to_string(lines.size()) +
                        " are shown");
    return lines;
}

std::vector<std::string> describe_warnings(const parsed_configuration& read) {
    std::vector<std::string> lines;
    lines.reserve(read.warnings.size());
    for (const fault& one : read.warnings) lines.push_back(line_for(read.file, one));
    return lines;
}

}  // namespace pawl::config
