// Records as items, and requests about them, in the JSON of DynamoDB. Pure functions.
//
//     n       S  NAMESPACE#l7: the partition; l, f or m, and one of sixteen buckets by the key.
//                NAMESPACE#j/SCOPE of a journal's
//     k       B  the key's bytes, which sort as bytes; of the marker "-". What is behind the scope
//                of a journal's key
//     rev     S  fresh and random with every write
//     record  S  what the core wrote
#pragma once

#include "engines/cas/store/medium.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::dynamodb {

// One partition takes a thousand writes a second, which many agents can exceed.
constexpr std::size_t buckets = 16;

struct place_of_items {
    std::string table;
    std::string name_space;
};

std::string partition_of(const place_of_items& where, const cas::record_name& name);
std::string partition_of(const place_of_items& where, cas::record_kind kind, std::size_t bucket);

boost::json::object read_request(const place_of_items& where, const cas::record_name& name);
boost::json::object put_request(const place_of_items& where, const cas::change& what,
                                const cas::version& next);
boost::json::object delete_request(const place_of_items& where, const cas::record_name& name,
                                   const cas::version& expected);
// One of a batch. REQUIRES: what.expected is not empty.
boost::json::object update_statement(const place_of_items& where, const cas::change& what,
                                     const cas::version& next);

// A page of one bucket. `from` is the first key that may be in it; nothing: there is no such.
std::optional<boost::json::object> list_request(const place_of_items& where, cas::record_kind kind,
                                                std::size_t bucket, const std::string& prefix,
                                                const std::string& after, std::size_t limit);

// The same of a scope of a journal; `prefix` and `after` are whole keys.
std::optional<boost::json::object> list_scope_request(const place_of_items& where,
                                                      const std::string& prefix,
                                                      const std::string& after, std::size_t limit);
// Up to the ':' of a journal's key, with it.
std::string_view scope_of(std::string_view key);

// Many at once, 100 at most, and the keys of those that it did not get to, for the next request.
boost::json::object read_many_request(const place_of_items& where, boost::json::array keys);
boost::json::array keys_of(const place_of_items& where, const std::vector<cas::record_name>& names);
// Which item it is, to compare.
std::string identity_of(const boost::json::value& item);

struct keyed_record {
    std::string key;
    cas::seen stands;
};
// Nothing: it is no record of ours.
std::optional<keyed_record> read_item(const boost::json::value& item);
// The same for a list: of an item that the core did not write, its key and a foreign record.
// Nothing: not even a key can be read.
std::optional<keyed_record> read_listed_item(const boost::json::value& item);

}  // namespace pawl::dynamodb
