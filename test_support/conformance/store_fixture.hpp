// The ground that all laws stand on: one engine for all tests, one namespace for each.
#pragma once

#include "base/identity.hpp"
#include "test_support/conformance/client.hpp"
#include "test_support/conformance/contender.hpp"
#include "test_support/conformance/store_engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace pawl::conformance {

template <store_engine Engine>
class StoreLaws : public testing::Test {
protected:
    StoreLaws() {
        static std::atomic<int> tests{0};
        static const auto run = base::fresh_id().substr(0, 8);
        settings_.name_space = "law-" + run + "-" + std::to_string(++tests);
        // A law asks once, and is to be answered though the server stands still for a while.
        settings_.timeout = std::chrono::seconds{20};
        static_cast<void>(known_to_children_);
    }

    static void SetUpTestSuite() { engine_ = std::make_unique<Engine>(); }
    static void TearDownTestSuite() { engine_.reset(); }

    static Engine& engine() { return *engine_; }
    // The settings of this test: a namespace that no other test has.
    const store_settings& settings() const { return settings_; }

    // False: this engine cannot lose what it has, and the test is left out.
    static bool lose_data() {
        if constexpr (may_keep_data<Engine>)
            if (!engine_->can_lose_data()) return false;
        engine_->lose_data();
        return true;
    }

    client open() const { return open(settings_); }
    client open(const store_settings& settings) const { return client{opener(settings)}; }
    store_opener opener() const { return opener(settings_); }

private:
    static store_opener opener(const store_settings& settings) {
        return [settings](net::loop& where) {
            return Engine::open_at(where, engine_->address(), settings);
        };
    }

    static inline std::unique_ptr<Engine> engine_;
    static inline const bool known_to_children_ =
        register_opener(std::string{Engine::name()}, &Engine::open_at);

    store_settings settings_;
};

TYPED_TEST_SUITE_P(StoreLaws);

}  // namespace pawl::conformance
