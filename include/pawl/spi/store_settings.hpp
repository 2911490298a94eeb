// The settings that every engine shares: the query parameters common to all store URLs.
#pragma once

#include <pawl/types.hpp>

#include <optional>
#include <string>

namespace pawl {

struct store_settings {
    std::string name_space = "pawl";  // 1 to 64 bytes of [A-Za-z0-9_.-]; keys never leave it
    millis timeout{2000};             // one operation, connecting included
    safety_class safety = safety_class::efficiency;
    // Rule 7: the longest TTL that may have been granted before a loss of data. Nothing is granted
    // until it has passed, and no longer TTL is taken. Empty: off.
    std::optional<millis> quarantine{};
    millis max_skew{60'000};  // rule 6: how far ahead of the store's clock an occurrence may be
    millis retention = retention_default;  // how long a record outlives its last use
};

}  // namespace pawl
