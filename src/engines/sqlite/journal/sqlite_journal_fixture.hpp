// What the tests of the SQLite journal share: one at a path, and runs to record.
#pragma once

#include "engines/rules/journal/checked_journal.hpp"
#include "engines/sqlite/journal/sqlite_journal.hpp"
#include "engines/sqlite/store/sqlite_fixture.hpp"
#include "net/loop.hpp"
#include "test_support/conformance/journal/journal_client.hpp"
#include "test_support/folder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace pawl::sqlite {

using conformance::ended;
using conformance::fresh_run;
using testing_files::test_folder;

// A journal with a loop of its own.
class test_journal {
public:
    explicit test_journal(const std::string& path, sqlite_settings settings = quick_settings())
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

}  // namespace pawl::sqlite
