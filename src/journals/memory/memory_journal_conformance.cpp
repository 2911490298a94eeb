#include "journals/memory/memory_journal.hpp"

#include "testing/conformance/journal/journal_laws.hpp"

namespace pawl::conformance {
namespace {

class memory_engine {
public:
    static std::string_view name() { return "memory"; }
    static constexpr store_reach reach() { return store_reach::one_process; }
    static std::string address() { return {}; }
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string&,
                                            store_settings settings) {
        const auto name = settings.name_space;
        return memory::make_memory_journal(where, name, std::move(settings));
    }
    void restart() {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(memory, JournalLaws, memory_engine);

}  // namespace
}  // namespace pawl::conformance
