// SQLite, for the laws of stores and for those of journals.
#pragma once

#include "engines/sqlite/store/sqlite_store.hpp"
#include "test_support/conformance/store_engine.hpp"
#include "test_support/folder.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace pawl::conformance {

// A file in a folder of its own. Its restart is that all of its connections are gone. `make` opens
// a client of the file.
template <auto make>
class sqlite_file {
public:
    static std::string_view name() { return "sqlite"; }
    static constexpr store_reach reach() { return store_reach::many_processes; }
    std::string address() const { return folder_ / "pawl.db"; }
    static auto open_at(net::loop& where, const std::string& address, store_settings common) {
        sqlite::sqlite_settings chosen;
        chosen.common = std::move(common);
        return make(where, address, std::move(chosen)).value();
    }
    void restart() {}
    void lose_data() {
        for (const std::string suffix : {"", "-wal", "-shm", "-wake"})
            std::filesystem::remove(address() + suffix);
    }

private:
    testing_files::test_folder folder_;
};

}  // namespace pawl::conformance
