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

// Asks each node for its record of the key.
std::shared_ptr<round> ask_for_records(const std::shared_ptr<quorum>& among,
                                       const std::string& key);

struct found_claim {
    // Under which the key is held with the token, or was: as a majority says, or as all of those
    // say who know of any.
    std::optional<own_claim> claim;
    // They know of several, and those that are silent may make one of them a majority's.
    bool is_uncertain = false;
};
async<found_claim> find_claim(std::shared_ptr<quorum> among, std::shared_ptr<round> records,
                              fence_token token);

}  // namespace pawl::redlock
