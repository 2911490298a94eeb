// Lists of records in byte order of their keys: one index, or one for each shard of a cluster.
#pragma once

#include "engines/redis/client/resp.hpp"
#include "engines/redis/client/script.hpp"

#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::redis {

// Of the keys that begin with `prefix`, those behind `after`.
script_call list_call(std::string_view index, std::string_view lock_prefix, std::string_view prefix,
                      std::string_view after, std::size_t limit);

// Hands each record of the reply over, with the server's clock. False where it is none.
bool read_list(const reply& got,
               const std::function<void(const std::string& key, const std::string& packed,
                                        std::int64_t now_us)>& taker);
// The key behind which there may be more; empty at the end. REQUIRES: it was read.
inline const std::string& place_in_list(const reply& got) { return got.elements[1].text; }

// Moves records, whose last ones are the smallest, in byte order to `merged`, up to `limit` of
// them. False where a shard must be read further first: `merged.next` is how far all have been.
bool merge_pages(std::vector<page>& read, std::size_t limit, page& merged);

}  // namespace pawl::redis
