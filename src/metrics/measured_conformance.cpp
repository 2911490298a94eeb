#include "engines/memory/store/memory_store.hpp"
#include "metrics/measured_store.hpp"

#include "test_support/conformance/engines/in_memory.hpp"
#include "test_support/conformance/store_laws.hpp"

#include <memory>

namespace pawl::conformance {
namespace {

// Around a store in memory.
class measured_engine : public in_memory {
public:
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        settings.name_space += ".measured." + address;
        auto counted = std::make_shared<metrics::metrics_registry>(metrics::build_facts{});
        return metrics::make_measured_store(memory::make_memory_store(where, std::move(settings)),
                                            std::move(counted));
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(memory_measured, StoreLaws, measured_engine);

}  // namespace
}  // namespace pawl::conformance
