#include "runtime/done_mark.hpp"

#include "runtime/inspect_keys.hpp"

#include <utility>
#include <vector>

namespace pawl::runtime {

async<std::optional<occurrence>> find_done_mark(std::shared_ptr<engine> where, std::string key,
                                                occurrence wanted, occurrence told) {
    if (!where->settings().quarantine || number(told) <= number(wanted))
        co_return std::optional{told};
    std::vector<std::string> one;
    one.push_back(std::move(key));
    auto looking = inspect_keys(std::move(where), std::move(one));
    const auto seen = co_await std::move(looking);
    if (seen.has_error()) co_return seen.error();
    const auto& lock = seen->front();
    if (!lock || !lock->last_done || number(*lock->last_done) < number(wanted))
        co_return std::optional<occurrence>{};
    co_return lock->last_done;
}

}  // namespace pawl::runtime
