#include "api/route_caches.hpp"

namespace pawl::api {

std::shared_ptr<route_caches> make_route_caches() { return std::make_shared<route_caches>(); }

std::shared_ptr<const documents::job_terms> terms_of(const context& around,
                                                     const job_entry& entry) {
    auto& all = around.remembered->terms;
    if (all.size() >= terms_remembered_max && !all.contains(entry.name)) all.clear();
    auto& known = all[entry.name];
    const bool same = known.terms && known.definition == entry.definition &&
                      known.schedule == entry.schedule && known.zone == entry.zone &&
                      known.partitions == entry.partitions;
    if (!same)
        known = {entry.schedule, entry.zone, entry.definition, entry.partitions,
                 std::make_shared<const documents::job_terms>(entry)};
    return known.terms;
}

}  // namespace pawl::api
