#include "cli/exec/waiting_note.hpp"

#include "base/duration.hpp"
#include "cli/output/output.hpp"
#include "time/rfc3339.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace pawl::cli {
namespace {

std::string holder_text(const record& lock) {
    const auto left = base::format_duration(lock.remaining);
    if (number(lock.holder) == 0) return "in cooldown, available in " + left;
    return "held by " + lock.owner + " (token " + std::to_string(number(lock.holder)) +
           ", expires in " + left + " unless renewed)";
}

// Nothing where it is not waited for.
std::string lock_text(const std::string& key, const record& lock, const std::string& me) {
    if (lock.owner == me || lock.remaining.count() <= 0) return {};
    return "lock '" + key + "', " + holder_text(lock);
}

std::string slots_text(const std::string& key, const std::vector<std::optional<record>>& all,
                       const std::string& me) {
    for (const auto& one : all)
        if (!one || lock_text(key, *one, me).empty()) return {};
    return "one of the " + std::to_string(all.size()) + " slots of '" + key + "'";
}

}  // namespace

boost::asio::awaitable<void> tell_waiting(std::shared_ptr<lease_store> store, std::string key,
                                          std::uint32_t slots, std::string me, millis wait) {
    std::vector<std::string> keys;
    keys.reserve(slots + 1);
    for (std::uint32_t i = 0; i < slots; ++i) keys.push_back(key + "/" + std::to_string(i));
    if (slots == 0) keys.push_back(key);
    auto looking = store->inspect_many(std::move(keys));
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return;
    const auto& first = seen->front();
    const auto what = slots > 0 ? slots_text(key, *seen, me)
                      : first   ? lock_text(key, *first, me)
                                : std::string{};
    if (what.empty()) co_return;
    const auto end = std::chrono::floor<millis>(time::wall_now()).time_since_epoch() + wait;
    const auto bound = wait >= wait_unlimited ? std::string{"without a time limit"}
                                              : "until " + local_time(end.count());
    log(log_level::info, "waiting for " + what + ", " + bound);
}

}  // namespace pawl::cli
