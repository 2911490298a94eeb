#include "engines/mongodb/store/records.hpp"

#include "base/hex.hpp"
#include "base/identity.hpp"
#include "base/number.hpp"
#include "base/percent.hpp"

namespace pawl::mongodb {
namespace {

// As many again can be written before it has no successor.
constexpr std::uint64_t revision_mask = (std::uint64_t{1} << 62) - 1;

std::string begin_of(const std::string& name_space, cas::record_kind kind) {
    if (kind == cas::record_kind::journal) return name_space + "/j/";
    return name_space + (kind == cas::record_kind::lease ? "/l/" : "/f/");
}

bool is_plain(char letter) { return letter > ' ' && letter <= '~' && letter != '%'; }

}  // namespace

std::string id_of(const std::string& name_space, const cas::record_name& name) {
    if (name.kind == cas::record_kind::marker) return name_space + "/m";
    return begin_of(name_space, name.kind) + base::to_hex(name.key);
}

std::optional<std::string> key_of(const std::string& name_space, cas::record_kind kind,
                                  std::string_view id) {
    const auto begin = begin_of(name_space, kind);
    if (!id.starts_with(begin)) return std::nullopt;
    auto key = base::from_hex(id.substr(begin.size()));
    if (!key || key->empty()) return std::nullopt;
    return key;
}

document ids_between(const std::string& name_space, cas::record_kind kind, std::string_view prefix,
                     std::string_view after) {
    const auto begin = begin_of(name_space, kind);
    document bounds;
    if (after >= prefix && !after.empty())
        bounds.text("$gt", begin + base::to_hex(after));
    else
        bounds.text("$gte", begin + base::to_hex(prefix));
    // The letter behind the last digit.
    bounds.text("$lt", begin + base::to_hex(prefix) + "g");
    return document{}.nested("_id", bounds);
}

std::int64_t fresh_revision() {
    std::uint64_t bits = 0;
    for (const char digit : base::fresh_id().substr(0, 16))
        bits = bits << 4 | static_cast<std::uint64_t>(base::hex_value(digit));
    return static_cast<std::int64_t>(bits & revision_mask);
}

cas::version version_of(std::int64_t revision) { return std::to_string(revision); }

std::optional<std::int64_t> revision_of(const cas::version& text) {
    return base::parse_number_within<std::int64_t>(text, 0, INT64_MAX);
}

document new_record(const std::string& id, const cas::change& what, std::int64_t revision) {
    document made;
    made.text("_id", id).number("rev", revision).text("record", what.text);
    if (!what.name.key.empty()) made.text("key", base::percent_encode(what.name.key, is_plain));
    return made;
}

document update_of(const std::string& id, const cas::change& what, std::int64_t expected) {
    document filter, set, operators, made;
    filter.text("_id", id).number("rev", expected);
    set.text("record", what.text);
    operators.nested("$set", set).nested("$inc", document{}.number("rev", 1));
    made.nested("q", filter).nested("u", operators);
    return made;
}

std::optional<cas::seen> read_record(const document& found) {
    const auto revision = found.find_number("rev");
    auto text = found.find_text("record");
    if (!revision || !text) return std::nullopt;
    cas::seen stands;
    stands.text = std::move(*text);
    stands.at = version_of(*revision);
    return stands;
}

}  // namespace pawl::mongodb
