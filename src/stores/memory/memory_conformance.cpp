#include "stores/memory/memory_store.hpp"

#include "testing/conformance/store_laws.hpp"

namespace pawl::conformance {
namespace {

// The data lives as long as this process, so losing it means to leave for another namespace.
class memory_engine {
public:
    static std::string_view name() { return "memory"; }
    static constexpr store_reach reach() { return store_reach::one_process; }
    std::string address() const { return std::to_string(losses_); }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        settings.name_space += "." + address;
        return memory::make_memory_store(where, std::move(settings));
    }
    void restart() {}
    void lose_data() { ++losses_; }

private:
    int losses_ = 0;
};

INSTANTIATE_TYPED_TEST_SUITE_P(memory, StoreLaws, memory_engine);

}  // namespace
}  // namespace pawl::conformance
