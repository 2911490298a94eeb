#include "agent/lost_grace.hpp"

#include <algorithm>
#include <utility>

namespace pawl::agent {
namespace {

// SIGKILL takes a moment to be carried out.
constexpr millis kill_lead{20};

}  // namespace

boost::asio::awaitable<millis> grace_after_loss(lease_reader read, std::string key,
                                                fence_token mine, millis grace) {
    const auto sent = lease_clock::now();
    auto reading = read(std::move(key));
    const auto found = co_await std::move(reading);
    // Another client may hold the key, and nothing can say that it does not.
    if (found.has_error()) co_return millis{0};
    const auto& seen = *found;
    if (seen && seen->holder == mine) co_return grace;
    if (!seen || number(seen->holder) != 0) co_return millis{0};
    // Counted from before the question, as the store may have answered at any moment since.
    const auto passed = std::chrono::ceil<millis>(lease_clock::now() - sent);
    co_return std::clamp(seen->remaining - passed - kill_lead, millis{0}, grace);
}

}  // namespace pawl::agent
