// Leases as documents of a MongoDB, on the core for stores that compare and swap.
//
// docs/stores/mongodb.md says what is in the collection.
#pragma once

#include "engines/cas/store/make_cas_store.hpp"
#include "engines/cas/store/medium.hpp"
#include "engines/mongodb/client/client.hpp"
#include "net/loop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::mongodb {

struct mongodb_settings {
    store_settings common{};
    std::optional<millis> skew{};  // between the clocks of two primaries
    std::string uri;               // of libmongoc; it may hold a password
    std::string database;
    std::string collection = "pawl";
    std::string place;  // mongodb://HOSTS/DATABASE, without a secret
};

// Opens nothing yet. REQUIRES: no name of the settings has a fault, nor has the URI.
std::shared_ptr<lease_store> make_mongodb_store(net::loop& where, const mongodb_settings& settings);

// The part of it that is MongoDB's.
std::shared_ptr<cas::medium> make_mongodb_medium(net::loop& where,
                                                 const mongodb_settings& settings);

// What is wrong with such a name, or nothing.
std::optional<std::string> database_fault(const std::string& name);
std::optional<std::string> collection_fault(const std::string& name);

}  // namespace pawl::mongodb
