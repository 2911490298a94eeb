// Leases as blobs of an Azure storage account, on the core for stores that compare and swap.
//
// docs/stores/azblob.md says what is in the container, and what it costs.
#pragma once

#include "engines/azblob/client/service.hpp"
#include "engines/cas/store/make_cas_store.hpp"
#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pawl::azblob {

struct azblob_settings {
    store_settings common{};
    std::optional<millis> skew{};  // between the clocks of two answers
    std::string container;
    std::string prefix;  // of the names of all blobs; empty: none
    service_settings service{};
};

// Opens nothing yet. REQUIRES: no name of the settings has a fault, and the namespace ends in no
// dot.
std::shared_ptr<lease_store> make_azblob_store(net::loop& where, const azblob_settings& settings);

// The part of it that is Azure's.
std::shared_ptr<cas::medium> make_azblob_medium(net::loop& where, const azblob_settings& settings);

// What is wrong with such a name, or nothing.
std::optional<std::string> account_fault(const std::string& name);
std::optional<std::string> container_fault(const std::string& name);
std::optional<std::string> prefix_fault(const std::string& prefix);

}  // namespace pawl::azblob
