// What a store knows of some keys, for callers that count on an answer for each of them.
#pragma once

#include "runtime/engine.hpp"

#include <pawl/spi/lease_store.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pawl::runtime {

// A store may be a program's own, and answer for another number.
inline async<std::vector<std::optional<record>>> inspect_keys(std::shared_ptr<engine> where,
                                                              std::vector<std::string> keys) {
    const auto asked = keys.size();
    auto looking = where->store().inspect_many(std::move(keys));
    auto seen = co_await std::move(looking);
    if (seen.has_value() && seen->size() != asked)
        co_return failure{errc::protocol, "the store answered for " + std::to_string(seen->size()) +
                                              " of " + std::to_string(asked) + " keys"};
    co_return seen;
}

}  // namespace pawl::runtime
