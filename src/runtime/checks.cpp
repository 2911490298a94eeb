#include "runtime/checks.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "runtime/slot_search.hpp"

#include <pawl/errors.hpp>
#include <pawl/slot.hpp>

namespace pawl::runtime {

void check_key(std::string_view key) {
    if (auto bad = base::key_fault(key)) throw option_error{*bad};
}

void check_claim(const engine& what, std::string_view key, const lease_options& options,
                 const wait_policy& how_long) {
    check_key(key);
    if (auto bad = validate(options, what.store().traits(), what.settings().safety))
        throw option_error{*bad};
    if (options.ttl > what.settings().quarantine.value_or(ttl_max))
        throw option_error{
            "the ttl is longer than the store's quarantine: raise quarantine=DUR in its URL"};
    if (how_long.wait.count() < 0) throw option_error{"the wait cannot be negative"};
    if (how_long.retries < 0 || how_long.backoff.count() < 0)
        throw option_error{"retries and backoff cannot be negative"};
    if (how_long.backoff > wait_longest)
        throw option_error{"the backoff " + base::format_duration(how_long.backoff) +
                           " is too long: at most " + base::format_duration(wait_longest)};
}

void check_slots(const engine& what, const std::string& name, std::int64_t count,
                 const lease_options& options, const wait_policy& how_long) {
    if (count < 1 || count > slots_max)
        throw option_error{"invalid number of slots '" + std::to_string(count) +
                           "'; expected 1 to " + std::to_string(slots_max)};
    if (options.occurrence)
        throw option_error{"a slot takes no occurrence: each slot would run it once"};
    if (options.reentrancy != reentrancy::none)
        throw option_error{"a slot takes no reentrancy: one slot would have two holders"};
    check_key(name);
    check_claim(what, key_of_slot(name, static_cast<std::uint32_t>(count - 1)), options, how_long);
}

}  // namespace pawl::runtime
