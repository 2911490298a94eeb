#include "assembly/engines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::assembly {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal(std::string_view url) {
    try {
        plan_store(url);
    } catch (const option_error& error) {
        return error.what();
    }
    return "";
}

TEST(Engines, SettingsCommonToAllComeFromTheQuery) {
    const auto plan = plan_store(
        "memory:?namespace=billing&timeout=500ms&safety=correctness&quarantine=2m&max_skew=5s&"
        "retention=1d");
    EXPECT_EQ(plan.engine, "memory");
    EXPECT_EQ(plan.settings.name_space, "billing");
    EXPECT_EQ(plan.settings.timeout, millis{500});
    EXPECT_EQ(plan.settings.safety, safety_class::correctness);
    EXPECT_EQ(plan.settings.quarantine, millis{120'000});
    EXPECT_EQ(plan.settings.max_skew, millis{5000});
    EXPECT_EQ(plan.settings.retention, millis{86'400'000});
}

// Rule 7: on under correctness, off elsewhere, so that a first use on a fresh server works at once.
TEST(Engines, QuarantineIsAutomaticUnderCorrectnessOnly) {
    EXPECT_FALSE(plan_store("memory:").settings.quarantine.has_value());
    EXPECT_TRUE(plan_store("memory:?safety=correctness").settings.quarantine.has_value());
    EXPECT_THAT(refusal("memory:?safety=correctness&quarantine=off"),
                HasSubstr("needs a quarantine"));
}

// Each line says what is wrong, where, and what would be right.
TEST(Engines, RefusesBadUrlsInOneClearLine) {
    const struct {
        const char* url;
        const char* says;
    } cases[] = {
        {"", "column 1"},
        {"redis", "begins with its engine"},
        {"memry:", "did you mean 'memory'"},
        {"oracle://x", "there are memory"},
        {"memory:?timeout=fast", "timeout=fast"},
        {"memory:?timeout=0", "expected 10ms to 10m"},
        {"memory:?tiemout=1s", "did you mean 'timeout'"},
        {"memory:?safety=high", "efficiency, correctness"},
        {"memory:?namespace=a/b", "namespace 'a/b'"},
        {"memory:?quarantine=0", "above 0"},
        {"memory:/x", "neither a path nor a host"},
        {"memory:?namespace", "NAME=VALUE"},
        {"memory:?a=%zz", "hexadecimal"},
#ifdef PAWL_STORE_SQLITE
        {"sqlite:", "needs the path"},
        {"sqlite://host/x", "not a host"},
#endif
#ifdef PAWL_STORE_REDIS
        {"redis://h:99999", "1 to 65535"},
        {"redis://", "takes one host"},
        {"redis://a,b", "redis+cluster"},
        {"redis://h/x", "number from 0"},
        {"rediss://h?cert=/x", "go together"},
        {"redis://h?password_file=/nonexistent/secret", "No such file"},
        {"redis://h?wait=few", "wait=few: expected a number of replicas"},
        {"redis+sentinel://a,b", "the name of a master"},
        {"redis+sentinel://a/orders/x", "number from 0"},
        {"redis+sentinel://a/orders?sentinel_password_file=/nonexistent/secret", "No such file"},
        {"redis+cluster://a,b/1", "a cluster has no databases"},
        {"redis+cluster:", "takes nodes of the cluster"},
        {"redis+cluster://a?tls=yes", "expected one of off, on"},
        {"redis+cluster://a?ca=/x", "unknown to redis+cluster"},
#endif
    };
    for (const auto& [url, says] : cases) {
        const auto line = refusal(url);
        EXPECT_THAT(line, AllOf(HasSubstr(says), Not(HasSubstr("\n")))) << url;
    }
}

TEST(Engines, NeverQuoteASecret) {
    EXPECT_THAT(refusal("redis://user:hunter2@h:x"), Not(HasSubstr("hunter2")));
    EXPECT_THAT(refusal("redis://user:hunter2@h?bad=1"), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace pawl::assembly
