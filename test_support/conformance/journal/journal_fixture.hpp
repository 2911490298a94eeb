// The ground that all laws of journals stand on: one engine for all tests, one namespace for each.
#pragma once

#include "test_support/conformance/journal/journal_client.hpp"
#include "test_support/conformance/journal/journal_engine.hpp"
#include "test_support/conformance/journal/racer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace pawl::conformance {

template <journal_engine Engine>
class JournalLaws : public testing::Test {
protected:
    JournalLaws() {
        static std::atomic<int> tests{0};
        settings_.name_space = "runs-" + std::to_string(getpid()) + "-" + std::to_string(++tests);
        settings_.timeout = 10s;
        static_cast<void>(known_to_children_);
    }

    static void SetUpTestSuite() { engine_ = std::make_unique<Engine>(); }
    static void TearDownTestSuite() { engine_.reset(); }

    static Engine& engine() { return *engine_; }
    // The settings of this test: a namespace that no other test has.
    const store_settings& settings() const { return settings_; }

    journal_client open() const { return open(settings_); }
    journal_client open(const store_settings& settings) const {
        return journal_client{
            [&](net::loop& where) { return Engine::open_at(where, engine_->address(), settings); }};
    }

private:
    static inline std::unique_ptr<Engine> engine_;
    static inline const bool known_to_children_ =
        register_journal_opener(std::string{Engine::name()}, &Engine::open_at);

    store_settings settings_;
};

TYPED_TEST_SUITE_P(JournalLaws);

}  // namespace pawl::conformance
