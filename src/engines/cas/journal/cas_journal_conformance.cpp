// The laws of journals on the core alone, over a medium in memory: one with a batch and a fine
// clock, and one that has neither.
#include "engines/cas/journal/make_cas_journal.hpp"

#include "test_support/conformance/engines/in_memory.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"
#include "test_support/media/memory_medium.hpp"

#include <memory>
#include <string>

namespace pawl::conformance {
namespace {

using testing_media::record_table;

template <class Traits>
class cas_journal_engine : public in_memory {
public:
    static std::string_view name() { return Traits::name; }
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string&,
                                            store_settings settings) {
        cas::medium_traits traits;
        traits.clock_step = Traits::clock_step;
        traits.batch_max = Traits::batch_max;
        auto table = testing_media::table_named(
            std::string{Traits::name} + " " + settings.name_space, traits);
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
