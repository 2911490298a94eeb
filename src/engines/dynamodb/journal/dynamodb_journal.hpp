// The journal in a table of Amazon DynamoDB, on the core for stores that compare and swap.
//
// It has connections of its own, so that a page of runs on its way never holds up a renewal.
#pragma once

#include "engines/dynamodb/store/dynamodb_store.hpp"
#include "net/loop.hpp"

#include <pawl/spi/journal.hpp>

#include <memory>

namespace pawl::dynamodb {

// Opens nothing yet. REQUIRES: as of make_dynamodb_store().
std::shared_ptr<journal> make_dynamodb_journal(net::loop& where, const dynamodb_settings& settings);

}  // namespace pawl::dynamodb
