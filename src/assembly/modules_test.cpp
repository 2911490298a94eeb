#include "assembly/modules.hpp"
#include "assembly/engines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace pawl::assembly {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Modules : public testing::Test {
protected:
    Modules() {
        setenv("PAWL_ENGINE_PATH",
               ("/nonexistent:" + own_.string() + ":" PAWL_TRIAL_MODULES).c_str(), 1);
    }
    ~Modules() override {
        unsetenv("PAWL_ENGINE_PATH");
        std::filesystem::remove_all(own_);
    }

    static std::string refusal(std::string_view url) {
        try {
            plan_store(url);
        } catch (const option_error& error) {
            return error.what();
        }
        return "";
    }

    const std::filesystem::path own_ = [] {
        std::string name = testing::TempDir() + "/pawl-modules-XXXXXX";
        return std::filesystem::path{mkdtemp(name.data())};
    }();
};

TEST_F(Modules, AreFoundByTheSchemesOfTheirEngines) {
    EXPECT_EQ(refusal("fitting:here"), "planned fitting:here");
    EXPECT_EQ(refusal("fitting+tls:here"), "planned fitting+tls:here");
    EXPECT_THAT(refusal("fitting+ssh:here"), HasSubstr("has no engine for fitting+ssh:"));
    EXPECT_THAT(refusal("misfitting:"), HasSubstr("no store engine 'misfitting'"));
}

TEST_F(Modules, AreLoadedOnce) {
    const auto file = find_module("pawl-fitting");
    ASSERT_TRUE(file);
    EXPECT_EQ(&load_module(*file), &load_module(*file));
    std::filesystem::create_symlink(*file, own_ / "pawl-fitting.so");
    EXPECT_EQ(&load_module(own_ / "pawl-fitting.so"), &load_module(*file));
}

TEST_F(Modules, ThatDoNotFitAreRejectedInOneLine) {
    std::ofstream{own_ / "pawl-text.so"} << "no library\n";
    const struct {
        const char* url;
        std::string says;
    } cases[] = {
        {"next:", "is made for version " + std::to_string(engine_interface + 1) +
                      " of the engine interface"},
        {"foreign:", "is built with pawl 0.0.9, and this is " PAWL_VERSION},
        {"entryless:", "PAWL_ENGINE_MODULE is not in it"},
        {"text:", "cannot be loaded"},
    };
    for (const auto& [url, says] : cases)
        EXPECT_THAT(refusal(url), AllOf(HasSubstr(says), HasSubstr("/pawl-"), Not(HasSubstr("\n"))))
            << url;
}

TEST_F(Modules, TheProgramsOwnEnginesComeFirst) {
    const engine_module own{.engines = {{"own", {"own"}, "", [](std::string_view) -> engine_plan {
                                             throw option_error{"the program's"};
                                         }}}};
    register_engines(own);
    EXPECT_EQ(refusal("own:"), "the program's");
    EXPECT_THROW(register_engines(own), option_error);
    EXPECT_THROW(register_engines({.engines = {{"mine", {"sqlite"}, "", nullptr}}}), option_error);
    EXPECT_THROW(register_engines({.engines = {{"one", {"twice"}, "", nullptr},
                                               {"other", {"twice"}, "", nullptr}}}),
                 option_error);
}

}  // namespace
}  // namespace pawl::assembly
