// How long a command may still take to end when the store has said that its lease is no longer its
// own, though trust in it had not ended.
//
// After a force-release no process holds the key for a while, so that its holder can stop. Where
// the store knows of no such while, another process may hold the key, or get it at any moment.
#pragma once

#include <pawl/clock.hpp>
#include <pawl/spi/lease_store.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>
#include <string>

namespace pawl::agent {

// The longest that a key stays without a holder after it was taken by force (rule 5).
constexpr millis forced_release_grace_max{10'000};

using lease_reader = std::function<async<std::optional<record>>(std::string key)>;

// Asks the store. No longer than `grace`, and nothing when the store does not answer.
boost::asio::awaitable<millis> grace_after_loss(lease_reader read, std::string key,
                                                fence_token mine, millis grace);

}  // namespace pawl::agent
