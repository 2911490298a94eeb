#include "engines/redis/store/index_sweep.hpp"

#include "base/identity.hpp"
#include "engines/redis/store/scripts.hpp"

namespace pawl::redis {
namespace {

// Two looks for each grant: of the names at most about half are of dead records.
constexpr std::uint32_t grants_per_sweep = 64;
constexpr std::int64_t records_per_sweep = 128;

}  // namespace

// From any number on: of programs that each claim one key, one in 64 sweeps too.
index_sweep::index_sweep() : grants_{base::fresh_seed() % grants_per_sweep} {}

std::optional<script_call> index_sweep::granted(std::string_view index,
                                                std::string_view lock_prefix,
                                                std::string_view key) {
    if (++grants_ % grants_per_sweep != 0 || under_way_) return std::nullopt;
    under_way_ = true;
    // Those programs look at other names each.
    if (!begun_) behind_ = key;
    begun_ = true;
    script_call call{scripts::all().sweep, 1};
    call.add(index).add(lock_prefix).add(behind_).add(records_per_sweep);
    call.while_unconnected(store_down::fail);
    return call;
}

void index_sweep::ended(const answer& got) {
    under_way_ = false;
    if (got.has_value() && got->is_text()) behind_ = got->text;
}

}  // namespace pawl::redis
