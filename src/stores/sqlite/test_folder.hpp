// What the tests of the SQLite store share: a folder that goes away, and SQLite from outside.
#pragma once

#include "net/loop.hpp"
#include "stores/sqlite/sqlite_store.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace pawl::sqlite {

class test_folder {
public:
    test_folder() {
        auto name = (std::filesystem::temp_directory_path() / "pawl-sqlite-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder: " + name};
        path_ = name;
    }
    ~test_folder() { std::filesystem::remove_all(path_); }
    test_folder(const test_folder&) = delete;
    test_folder& operator=(const test_folder&) = delete;

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

// SQLite as another program uses it.
class outsider {
public:
    explicit outsider(const std::string& path) { sqlite3_open(path.c_str(), &handle_); }
    ~outsider() { sqlite3_close_v2(handle_); }
    outsider(const outsider&) = delete;
    outsider& operator=(const outsider&) = delete;

    // The first column of the last row, as text.
    std::string run(const std::string& statements) {
        std::string answer;
        const auto keep = [](void* into, int, char** values, char**) {
            *static_cast<std::string*>(into) = values[0] == nullptr ? "" : values[0];
            return 0;
        };
        char* fault = nullptr;
        sqlite3_exec(handle_, statements.c_str(), keep, &answer, &fault);
        if (fault != nullptr) ADD_FAILURE() << statements << ": " << fault;
        sqlite3_free(fault);
        return answer;
    }

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
