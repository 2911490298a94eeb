// Looking at what the nodes hold: one key, or pages of keys in the order of their bytes.
#pragma once

#include "engines/redlock/store/held_leases.hpp"
#include "engines/redlock/store/quorum.hpp"

#include <pawl/spi/async.hpp>
#include <pawl/spi/lease_store.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace pawl::redlock {

async<std::optional<record>> look_at(std::shared_ptr<quorum> among, std::string key);

// REQUIRES: 1 <= limit <= page_limit_max.
async<page> read_page(std::shared_ptr<quorum> among, std::string prefix, std::string after,
                      std::size_t limit);

// Under which claim a majority holds, or held, the key with this token; empty if none does.
async<std::optional<own_claim>> find_claim(std::shared_ptr<quorum> among, std::string key,
                                           fence_token token);

}  // namespace pawl::redlock
