// The laws on the core alone, over a medium in memory: one that wakes waiters and has a batch, and
// one that does neither.
#include "engines/cas/store/make_cas_store.hpp"

#include "test_support/conformance/engines/in_memory.hpp"
#include "test_support/conformance/store_laws.hpp"
#include "test_support/media/memory_medium.hpp"

#include <memory>
#include <string>

namespace pawl::conformance {
namespace {

using testing_media::record_table;

template <class Traits>
class cas_engine : public in_memory {
public:
    static std::string_view name() { return Traits::name; }

    static std::shared_ptr<record_table> table(const std::string& name_space,
                                               const std::string& address) {
        return testing_media::table_named(
            std::string{Traits::name} + " " + name_space + " " + address, Traits::traits);
    }
    static std::shared_ptr<lease_store> open_at(net::loop& where, const std::string& address,
                                                store_settings settings) {
        auto medium = testing_media::make_memory_medium(where, table(settings.name_space, address));
        return cas::make_cas_store(where, {std::move(settings)}, std::move(medium));
    }

    std::shared_ptr<void> block(const std::string& name_space, const std::string& key) {
        auto blocked = table(name_space, address());
        blocked->block(key, true);
        return {nullptr, [blocked, key](void*) { blocked->block(key, false); }};
    }
};

struct with_push {
    static constexpr const char* name = "cas";
    static constexpr cas::medium_traits traits{
        .clock_step = cas::micros{1}, .batch_max = 25, .watches = true};
};

struct with_polling {
    static constexpr const char* name = "cas_polling";
    static constexpr cas::medium_traits traits{.clock_step = cas::micros{1}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(cas, StoreLaws, cas_engine<with_push>);
INSTANTIATE_TYPED_TEST_SUITE_P(cas_polling, StoreLaws, cas_engine<with_polling>);

}  // namespace
}  // namespace pawl::conformance
