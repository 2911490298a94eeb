#include "engines/kubernetes/store/kubernetes_store.hpp"

#include "engines/cas/store/make_cas_store.hpp"
#include "engines/kubernetes/store/lease_medium.hpp"

#include <utility>

namespace pawl::kubernetes {

std::shared_ptr<lease_store> make_kubernetes_store(net::loop& where, kubernetes_settings settings) {
    medium_settings of_medium;
    of_medium.name_space = settings.common.name_space;
    of_medium.timeout = settings.common.timeout;
    of_medium.trusted = settings.renew_time_skew;
    auto medium = std::make_shared<lease_medium>(
        where, api::make(where, std::move(settings.access)), std::move(of_medium));
    cas::cas_settings of_core;
    of_core.common = std::move(settings.common);
    of_core.skew = settings.skew;
    return cas::make_cas_store(where, std::move(of_core), std::move(medium));
}

}  // namespace pawl::kubernetes
