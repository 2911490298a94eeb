// What the tests of the SQLite store share: a folder that goes away, and SQLite from outside.
#pragma once

#include "engines/sqlite/store/sqlite_store.hpp"
#include "net/loop.hpp"
#include "test_support/folder.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

namespace pawl::sqlite {

using testing_files::test_folder;

// SQLite as another program uses it.
class raw_database {
public:
    explicit raw_database(const std::string& path) { sqlite3_open(path.c_str(), &handle_); }
    ~raw_database() { sqlite3_close_v2(handle_); }
    raw_database(const raw_database&) = delete;
    raw_database& operator=(const raw_database&) = delete;

    // The first column of the last row, as text. What went wrong fails the test, unless it ends up
    // in `fault`.
    std::string run(const std::string& statements, std::string* fault = nullptr) {
        std::string answer;
        const auto keep = [](void* into, int, char** values, char**) {
            *static_cast<std::string*>(into) = values[0] == nullptr ? "" : values[0];
            return 0;
        };
        char* said = nullptr;
        sqlite3_exec(handle_, statements.c_str(), keep, &answer, &said);
        if (said != nullptr && fault == nullptr) ADD_FAILURE() << statements << ": " << said;
        if (said != nullptr && fault != nullptr) *fault = said;
        sqlite3_free(said);
        return answer;
    }
    sqlite3* handle() noexcept { return handle_; }

private:
    sqlite3* handle_ = nullptr;
};

inline sqlite_settings quick_settings() {
    sqlite_settings settings;
    settings.durability = synchronous::normal;
    settings.common.timeout = std::chrono::seconds{10};
    return settings;
}

}  // namespace pawl::sqlite
