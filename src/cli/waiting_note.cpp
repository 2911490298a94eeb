#include "cli/waiting_note.hpp"

#include "base/duration.hpp"
#include "cli/output.hpp"
#include "time/rfc3339.hpp"

#include <utility>

namespace pawl::cli {
namespace {

std::string holder_text(const record& lock) {
    const auto left = base::format_duration(lock.remaining);
    if (number(lock.holder) == 0) return "in cooldown, available in " + left;
    return "held by " + lock.owner + " (token " + std::to_string(number(lock.holder)) +
           ", expires in " + left + " unless renewed)";
}

}  // namespace

boost::asio::awaitable<void> tell_waiting(std::shared_ptr<lease_store> store, std::string key,
                                          std::string me, millis wait) {
    auto looking = store->inspect(key);
    const auto seen = co_await std::move(looking);
    if (seen.has_error() || !*seen) co_return;
    const auto& lock = **seen;
    if (lock.owner == me || lock.remaining.count() <= 0) co_return;
    const auto end = std::chrono::floor<millis>(time::wall_now()).time_since_epoch() + wait;
    const auto bound = wait >= wait_unlimited ? std::string{"without a time limit"}
                                              : "until " + local_time(end.count());
    log(log_level::info, "waiting for lock '" + key + "', " + holder_text(lock) + ", " + bound);
}

}  // namespace pawl::cli
