// The journal in documents of a MongoDB, on the core for stores that compare and swap.
//
// It has connections of its own, so that a page of runs on its way never holds up a renewal.
#pragma once

#include "engines/mongodb/store/mongodb_store.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>

namespace pawl::mongodb {

// Opens nothing yet. REQUIRES: as of make_mongodb_store().
std::shared_ptr<journal> make_mongodb_journal(net::loop& where, const mongodb_settings& settings);

}  // namespace pawl::mongodb
