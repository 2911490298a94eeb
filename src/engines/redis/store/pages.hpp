// Lists of records in byte order of their keys: one index, or one for each shard of a cluster.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <vector>

namespace pawl::redis {

// Moves records, whose last ones are the smallest, in byte order to `merged`. False when a shard
// must be read further first.
bool merge_pages(std::vector<page>& read, std::size_t limit, page& merged);

}  // namespace pawl::redis
