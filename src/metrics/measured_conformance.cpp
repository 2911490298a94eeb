#include "metrics/measured_store.hpp"
#include "stores/memory/memory_store.hpp"

#include "testing/conformance/store_laws.hpp"

#include <memory>

namespace pawl::conformance {
namespace {

// Around a store in memory, whose data is lost by leaving for another namespace.
class measured_engine {
public:
    static std::string_view name() { return "memory"; }
    static constexpr store_reach reach() { return store_reach::one_process; }
    std::string address() const { return std::to_string(losses_); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        settings.name_space += ".measured." + address;
        auto counted = std::make_shared<metrics::tally>(metrics::build_facts{});
        return metrics::make_measured_store(memory::make_memory_store(where, std::move(settings)),
                                            std::move(counted));
    }
    void restart() {}
    void lose_data() { ++losses_; }

private:
    int losses_ = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(memory_measured, StoreLaws, measured_engine);

}  // namespace
}  // namespace pawl::conformance
