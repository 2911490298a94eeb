// For whom `pawl exec --wait` waits, and until when, as a line of the log.
#pragma once

#include <pawl/spi/lease_store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace pawl::cli {

// What a bare --wait stands for.
constexpr millis wait_unlimited = std::chrono::days{3'650};

// It looks beside the claim, which it must not delay, so that the holder may be this process (`me`)
// by then. What fails here fails for the claim as well, which says so. `slots`: one of the keys
// KEY/0 to KEY/(slots-1) is waited for; 0: KEY itself.
boost::asio::awaitable<void> tell_waiting(std::shared_ptr<lease_store> store, std::string key,
                                          std::uint32_t slots, std::string me, millis wait);

}  // namespace pawl::cli
