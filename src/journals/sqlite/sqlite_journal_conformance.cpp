#include "journals/sqlite/sqlite_journal.hpp"

#include "testing/conformance/journal/journal_laws.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace pawl::conformance {
namespace {

// A file in a folder of its own. Its restart is that all of its connections are gone.
class sqlite_engine {
public:
    sqlite_engine() {
        auto name = (std::filesystem::temp_directory_path() / "pawl-journal-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder: " + name};
        folder_ = name;
    }
    ~sqlite_engine() { std::filesystem::remove_all(folder_); }
    sqlite_engine(const sqlite_engine&) = delete;
    sqlite_engine& operator=(const sqlite_engine&) = delete;

    static std::string_view name() { return "sqlite"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return (folder_ / "pawl.db").string(); }
    static std::shared_ptr<journal> open_at(net::loop& where, const std::string& address,
                                            store_settings settings) {
        sqlite::sqlite_settings chosen;
        chosen.common = std::move(settings);
        return sqlite::make_sqlite_journal(where, address, std::move(chosen)).value();
    }
    void restart() {}

private:
    std::filesystem::path folder_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(sqlite, JournalLaws, sqlite_engine);

}  // namespace
}  // namespace pawl::conformance
