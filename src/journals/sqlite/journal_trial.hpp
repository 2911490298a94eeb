// What the tests of the SQLite journal share: one at a path, and runs to write down.
#pragma once

#include "base/identity.hpp"
#include "journals/rules/checked_journal.hpp"
#include "journals/sqlite/sqlite_journal.hpp"
#include "net/loop.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace pawl::sqlite {

class journal_folder {
public:
    journal_folder() {
        auto name = (std::filesystem::temp_directory_path() / "pawl-journal-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder: " + name};
        path_ = name;
    }
    ~journal_folder() { std::filesystem::remove_all(path_); }
    journal_folder(const journal_folder&) = delete;
    journal_folder& operator=(const journal_folder&) = delete;

    std::string file() const { return (path_ / "pawl.db").string(); }
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

inline sqlite_settings trial_settings() {
    sqlite_settings settings;
    settings.durability = synchronous::normal;
    settings.common.timeout = millis{10'000};
    return settings;
}

// A journal with a loop of its own.
class trial_journal {
public:
    explicit trial_journal(const std::string& path, sqlite_settings settings = trial_settings())
        : journal_{
              journals::checked(make_sqlite_journal(loop_, path, std::move(settings)).value())} {}

    net::loop& loop() noexcept { return loop_; }
    journal* operator->() const noexcept { return journal_.get(); }
    template <class T>
    result<T> ask(async<T> verb) {
        return loop_.wait_for(std::move(verb));
    }
    template <class T>
    T get(async<T> verb) {
        return loop_.wait_for(std::move(verb)).value();
    }

private:
    net::loop loop_;
    std::shared_ptr<journal> journal_;
};

inline run_start trial_run(const std::string& job, std::uint64_t token) {
    run_start start{base::fresh_uuid(), job, "job/" + job};
    start.owner = "host:1:2:x";
    start.node = "node-a";
    start.token = fence_token{token};
    start.trigger = "schedule";
    return start;
}

inline run_end trial_end(run_status status) {
    run_end how;
    how.status = status;
    return how;
}

// SQLite as another program uses it.
class other_program {
public:
    explicit other_program(const std::string& path) { sqlite3_open(path.c_str(), &handle_); }
    ~other_program() { sqlite3_close_v2(handle_); }
    other_program(const other_program&) = delete;
    other_program& operator=(const other_program&) = delete;

    // The first column of the last row; what went wrong ends up in `fault`.
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

}  // namespace pawl::sqlite
