// Stores whose name no name server answers for: no caller waits for longer than for one that is
// away.
#include <pawl/pawl.hpp>

#include "test_support/faults/known_names.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing_faults::known_names;

std::vector<std::string> urls() {
    return {
#ifdef PAWL_STORE_REDIS
        "redis://hung.test:1/?",
        "redis+sentinel://hung.test:1/main?",
#endif
#ifdef PAWL_STORE_REDLOCK
        "redlock://hung.test:1,127.0.0.1:1,127.0.0.1:2?",
#endif
#ifdef PAWL_STORE_POSTGRESQL
        "postgresql://postgres@hung.test:1/postgres?",
#endif
#ifdef PAWL_STORE_MYSQL
        "mysql://pawl@hung.test:1/pawl?",
#endif
#ifdef PAWL_STORE_ETCD
        "etcd://hung.test:1?",
#endif
#ifdef PAWL_STORE_ZOOKEEPER
        "zookeeper://hung.test:1?",
#endif
#ifdef PAWL_STORE_MONGODB
        "mongodb://hung.test:1/pawl?",
#endif
#ifdef PAWL_STORE_DYNAMODB
        "dynamodb://local/pawl?endpoint=https://hung.test:1&",
#endif
#ifdef PAWL_STORE_AZBLOB
        "azblob://account/pawl?endpoint=https://hung.test:1/account&",
#endif
#ifdef PAWL_STORE_S3
        "s3://bucket/leases?region=us-east-1&endpoint=https://hung.test:1&",
#endif
    };
}

class HungName : public ::testing::TestWithParam<std::string> {
protected:
    HungName() {
        names_.set("hung.test", "127.0.0.1");
        names_.hang("hung.test");
        for (const auto* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"})
            setenv(name, "test", 1);
        setenv("AZURE_STORAGE_KEY", "a2V5", 1);
    }
    ~HungName() override { names_.go_on(); }

private:
    known_names& names_ = known_names::instance();
};

// Goal: an outage of a name server is one of the store, with its bounds. Method: the name is never
// found; a claim that may not wait ends by its timeout, and so does the end of the store.
TEST_P(HungName, AClaimAndTheEndOfTheStoreDoNotWaitForIt) {
    const auto begun = lease_clock::now();
    {
        auto store = locks::open(GetParam() + "timeout=500ms", {.journal = "none"});
        try {
            static_cast<void>(
                store.try_acquire("key", {.ttl = 1min, .on_store_down = store_down::fail}));
            ADD_FAILURE() << "granted";
        } catch (const store_error& error) {
            EXPECT_EQ(error.code(), errc::unreachable) << error.what();
        }
    }
    EXPECT_LT(lease_clock::now() - begun, 10s);
}

std::string scheme_of(const ::testing::TestParamInfo<std::string>& url) {
    auto scheme = url.param.substr(0, url.param.find(':'));
    std::erase(scheme, '+');
    return scheme;
}

INSTANTIATE_TEST_SUITE_P(Stores, HungName, ::testing::ValuesIn(urls()), scheme_of);

}  // namespace
}  // namespace pawl
