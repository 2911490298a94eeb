// Leases in a store of records with versions: every verb reads a record, decides by the rules that
// all engines share, and writes it if its version is still the same.
//
// docs/engines.md says how a medium is written, and docs/protocol.md what the clock's bounds and a
// withdrawal rest on.
#pragma once

#include "engines/cas/store/medium.hpp"
#include "net/loop.hpp"

#include <pawl/spi/lease_store.hpp>
#include <pawl/spi/store_settings.hpp>

#include <memory>
#include <optional>

namespace pawl::cas {

struct cas_settings {
    store_settings common{};

    // How far the clocks of two answers may differ, as the URL says. Nothing: medium_traits::skew.
    std::optional<millis> skew{};
};

// Opens nothing yet: the first verb prepares the medium. REQUIRES: settings.common.name_space is
// valid.
std::shared_ptr<lease_store> make_cas_store(net::loop& where, cas_settings settings,
                                            std::shared_ptr<medium> on);

}  // namespace pawl::cas
