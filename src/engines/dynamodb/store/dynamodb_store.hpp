// Leases in a table of Amazon DynamoDB, on the core for stores that compare and swap.
//
// docs/stores/dynamodb.md says what is in the table, and what it costs.
#pragma once

#include "engines/aws/client/service.hpp"
#include "engines/cas/store/make_cas_store.hpp"
#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::dynamodb {

struct dynamodb_settings {
    store_settings common{};
    std::optional<millis> skew{};  // between the clocks of two answers
    std::string table;
    aws::service_settings service{};
};

// Opens nothing yet. REQUIRES: the names of the table and the namespace are valid.
std::shared_ptr<lease_store> make_dynamodb_store(net::loop& where,
                                                 const dynamodb_settings& settings);

// The part of it that is DynamoDB's.
std::shared_ptr<cas::medium> make_dynamodb_medium(net::loop& where,
                                                  const dynamodb_settings& settings);

// What is wrong with the name of a table, or nothing.
std::optional<std::string> table_fault(const std::string& name);

}  // namespace pawl::dynamodb
