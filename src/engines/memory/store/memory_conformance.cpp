#include "engines/memory/store/memory_store.hpp"

#include "test_support/conformance/engines/in_memory.hpp"
#include "test_support/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

class memory_engine : public in_memory {
public:
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        settings.name_space += "." + address;
        return memory::make_memory_store(where, std::move(settings));
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(memory, StoreLaws, memory_engine);

}  // namespace
}  // namespace pawl::conformance
