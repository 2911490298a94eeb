// How records are documents:
//
//     _id     text    NAMESPACE/l/KEY of a lease, NAMESPACE/f/KEY of a fence, NAMESPACE/j/KEY of a
//                     journal's, NAMESPACE/m; KEY in hexadecimal digits, so that ids are in byte
//                     order of the keys (binary fields are not: MongoDB puts the shorter one first)
//     rev     int64   begins at random, so that a record that was deleted and made again has no
//                     version twice; one more with every write
//     record  text    what the core wrote
//     key     text    for people
#pragma once

#include "engines/cas/store/medium.hpp"
#include "engines/mongodb/client/documents.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::mongodb {

std::string id_of(const std::string& name_space, const cas::record_name& name);
// Nothing where the id is none of this kind.
std::optional<std::string> key_of(const std::string& name_space, cas::record_kind kind,
                                  std::string_view id);

// The filter of a list: ids of keys that begin with `prefix` and come after `after`.
document ids_between(const std::string& name_space, cas::record_kind kind, std::string_view prefix,
                     std::string_view after);

std::int64_t fresh_revision();
cas::version version_of(std::int64_t revision);
// Nothing for a text that is none.
std::optional<std::int64_t> revision_of(const cas::version& text);

// What is inserted for a record that is not there.
document new_record(const std::string& id, const cas::change& what, std::int64_t revision);
// An entry of an update command: writes the text if the revision is still the same.
document update_of(const std::string& id, const cas::change& what, std::int64_t expected);
// Nothing for a document that pawl has not written.
std::optional<cas::seen> read_record(const document& found);

}  // namespace pawl::mongodb
