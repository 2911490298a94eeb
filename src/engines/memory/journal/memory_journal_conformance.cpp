#include "engines/memory/journal/memory_journal.hpp"

#include "test_support/conformance/engines/in_memory.hpp"
#include "test_support/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

class memory_engine : public in_memory {
public:
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string&,
                                            store_settings settings) {
        const auto name = settings.name_space;
        return memory::make_memory_journal(where, name, std::move(settings));
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(memory, JournalLaws, memory_engine);

}  // namespace
}  // namespace pawl::conformance
