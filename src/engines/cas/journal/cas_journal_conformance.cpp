// The laws of journals on the core alone, over a medium in memory: one with a batch and a fine
// clock, and one that has neither.
#include "engines/cas/journal/cas_journal.hpp"

#include "test_support/conformance/engines/in_memory.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"
#include "test_support/media/memory_medium.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace pawl::conformance {
namespace {

using testing_media::record_table;

template <class Traits>
class cas_journal_engine : public in_memory {
public:
    static std::string_view name() { return Traits::name; }
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string&,
                                            store_settings settings) {
        static std::mutex registry_mutex;
        static std::map<std::string, std::shared_ptr<record_table>> registry;
        std::shared_ptr<record_table> table;
        {
            const std::lock_guard lock{registry_mutex};
            auto& found = registry[settings.name_space];
            if (!found) {
                found = std::make_shared<record_table>();
                found->traits.clock_step = Traits::clock_step;
                found->traits.batch_max = Traits::batch_max;
            }
            table = found;
        }
        return cas::make_cas_journal(where, settings,
                                     testing_media::make_memory_medium(where, std::move(table)));
    }
};

struct by_batches {
    static constexpr const char* name = "cas";
    static constexpr cas::micros clock_step{1};
    static constexpr std::size_t batch_max = 25;
};

struct one_by_one {
    static constexpr const char* name = "cas_seconds";
    static constexpr cas::micros clock_step{1'000'000};
    static constexpr std::size_t batch_max = 1;
};

INSTANTIATE_TYPED_TEST_SUITE_P(cas, JournalLaws, cas_journal_engine<by_batches>);
INSTANTIATE_TYPED_TEST_SUITE_P(cas_seconds, JournalLaws, cas_journal_engine<one_by_one>);

}  // namespace
}  // namespace pawl::conformance
