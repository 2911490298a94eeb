// Every key that the file may have: how it is read, and what the reference says of it.
//
// The one place where keys are listed. Reading, suggestions for misspelt keys, the names of what a
// reload changed and the check of docs/configuration.md all come from here.
#pragma once

#include "config/settings.hpp"
#include "config/values.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::config {

template <class T>
struct field {
    std::string name;
    std::string type;      // in words
    std::string fallback;  // as the file would say it; "required"; empty: nothing
    std::string bound;     // in words; empty: none
    // Changes `into` unless the value is wrong, and then says why.
    std::function<void(const value_reader&, const toml::node&, T& into)> read;
    std::function<bool(const T&, const T&)> same;
    std::string before{};  // what the key was called before, which is read all the same; empty:
                           // nothing else
};

template <class T>
using field_list = std::vector<field<T>>;

// Of the file as a whole, without its tables.
const field_list<settings>& file_fields();
const field_list<agent_settings>& agent_fields();
const field_list<user_settings>& user_fields();
const field_list<job_settings>& job_fields();

// One row of the reference; keys of a table within a table have dotted names.
struct key_reference {
    std::string section;  // "the file", "[agent]", "[[user]]" or "[[job]]"
    std::string name;
    std::string type;
    std::string fallback;
    std::string bound;
};

std::vector<key_reference> known_keys();

// A key that is in none of `names`, told with the nearest, with what others call it, or with the
// section it belongs to.
void add_unknown_key(const reading_scope& scope, const toml::key& key, const std::string& prefix,
                     const std::vector<std::string_view>& names);

// A key that stands in one table under its name and, as `old`, under the one before.
void add_key_under_both_names(const reading_scope& scope, const toml::key& old,
                              const std::string& name, const std::string& prefix);

// Reads what `fields` know, and tells what they do not. `prefix` is that of dotted names.
template <class T>
void read_table(const reading_scope& scope, const toml::table& table, const std::string& prefix,
                const field_list<T>& fields, T& into) {
    std::vector<std::string_view> names;
    for (const auto& one : fields) names.push_back(one.name);
    for (const auto& [key, value] : table) {
        std::size_t at = 0;
        while (at < names.size() && names[at] != key.str() &&
               (fields[at].before.empty() || fields[at].before != key.str()))
            ++at;
        if (at == names.size()) {
            add_unknown_key(scope, key, prefix, names);
            continue;
        }
        const auto name = prefix + fields[at].name;
        if (!scope.keys.emplace(name, place_of(key.source().begin)).second) {
            add_key_under_both_names(scope, table.find(fields[at].before)->first, name, prefix);
            continue;
        }
        const value_reader reader{scope, prefix + std::string{key.str()}};
        fields[at].read(reader, value, into);
    }
}

}  // namespace pawl::config
