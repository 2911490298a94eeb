#include "assembly/modules.hpp"
#include "assembly/engines.hpp"
#include "net/loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <variant>

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

    static std::string rejection(std::string_view url) {
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
    EXPECT_EQ(rejection("fitting:here"), "planned fitting:here");
    EXPECT_EQ(rejection("fitting+tls:here"), "planned fitting+tls:here");
    EXPECT_THAT(rejection("fitting+ssh:here"), HasSubstr("has no engine for fitting+ssh:"));
    EXPECT_THAT(rejection("misfitting:"), HasSubstr("no store engine 'misfitting'"));
}

TEST_F(Modules, AreLoadedOnce) {
    const auto file = find_module("pawl-fitting");
    ASSERT_TRUE(file);
    EXPECT_EQ(&load_module(*file), &load_module(*file));
    std::filesystem::create_symlink(*file, own_ / "pawl-fitting.so");
    EXPECT_EQ(&load_module(own_ / "pawl-fitting.so"), &load_module(*file));
}

boost::asio::awaitable<std::shared_ptr<lease_store>> open_on(net::loop& where, std::string url) {
    co_return plan_store(url).make(where);
}

// What a module throws is the program's: by its type, by typeid and by dynamic_cast. Its Asio is
// the program's as well, and what it has of another library is not the other module's.
TEST_F(Modules, TwoInOneProcessShareTheCoreAndNothingElse) {
    net::loop where;
    for (const std::string name : {"fitting", "second"}) {
        try {
            plan_store(name + ":here");
            ADD_FAILURE() << name;
        } catch (const std::exception& error) {
            EXPECT_EQ(typeid(error), typeid(option_error));
            EXPECT_NE(dynamic_cast<const option_error*>(&error), nullptr);
        }
        try {
            where.wait_for(open_on(where, name + ":denied"));
            ADD_FAILURE() << name;
        } catch (const std::exception& error) {
            EXPECT_EQ(typeid(error), typeid(store_error));
            const auto* denied = dynamic_cast<const store_error*>(&error);
            ASSERT_NE(denied, nullptr);
            EXPECT_EQ(denied->code(), errc::denied);
            EXPECT_EQ(error.what(), name + " on its loop");
        }
        EXPECT_THROW(where.wait_for(open_on(where, name + ":denied")), store_error);
    }
}

boost::asio::awaitable<bool> outlives_its_lease(std::shared_ptr<lease_store> store) {
    claim wanted{"key", "id", "owner", millis{50}};
    auto asking = store->acquire(std::move(wanted));
    const auto answer = co_await std::move(asking);
    const auto* granted = answer.has_value() ? std::get_if<grant>(&*answer) : nullptr;
    if (granted == nullptr) co_return false;
    auto waiting = store->wait_change("key", granted->token);
    const auto ended = co_await std::move(waiting);
    co_return ended.has_value();
}

// Both wait on timers of Asio's, whose service whichever comes first has made.
TEST_F(Modules, TwoRunCoroutinesOnOneLoop) {
    net::loop where;
    auto first = plan_store("fitting:store").make(where);
    auto second = plan_store("second:store").make(where);
    auto one = boost::asio::co_spawn(where.get_executor(), outlives_its_lease(std::move(first)),
                                     boost::asio::use_future);
    EXPECT_TRUE(where.wait_for(outlives_its_lease(std::move(second))));
    EXPECT_TRUE(one.get());
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
        EXPECT_THAT(rejection(url),
                    AllOf(HasSubstr(says), HasSubstr("/pawl-"), Not(HasSubstr("\n"))))
            << url;
}

TEST_F(Modules, TheProgramsOwnEnginesComeFirst) {
    const engine_module own{.engines = {{"own", {"own"}, "", [](std::string_view) -> engine_plan {
                                             throw option_error{"the program's"};
                                         }}}};
    register_engines(own);
    EXPECT_EQ(rejection("own:"), "the program's");
    EXPECT_THROW(register_engines(own), option_error);
    EXPECT_THROW(register_engines({.engines = {{"mine", {"sqlite"}, "", nullptr}}}), option_error);
    EXPECT_THROW(register_engines({.engines = {{"one", {"twice"}, "", nullptr},
                                               {"other", {"twice"}, "", nullptr}}}),
                 option_error);
}

}  // namespace
}  // namespace pawl::assembly
