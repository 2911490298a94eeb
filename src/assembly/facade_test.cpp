// What the library builds of ordinary keys, on a store of each kind: a mutex, a semaphore, several
// keys at once. What they decide is tested in src/runtime.
#include <pawl/pawl.hpp>

#include "test_support/folder.hpp"
#include "test_support/servers/cloud_urls.hpp"

#ifdef PAWL_STORE_ETCD
#include "test_support/servers/etcd_server.hpp"
#endif
#ifdef PAWL_STORE_MYSQL
#include "test_support/servers/mysql_server.hpp"
#endif
#ifdef PAWL_STORE_REDIS
#include "test_support/servers/redis_server.hpp"
#endif
#ifdef PAWL_STORE_REDLOCK
#include "test_support/servers/redlock_servers.hpp"
#endif
#ifdef PAWL_STORE_POSTGRESQL
#include "test_support/servers/postgresql_server.hpp"
#endif
#ifdef PAWL_STORE_ZOOKEEPER
#include "test_support/servers/zookeeper_server.hpp"
#endif

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr lease_options plain{.ttl = 1min};

template <class Held>
bool rejected(const acquired<Held>& what) {
    return !what;
}

// A store of one kind, for as long as a test takes.
struct place {
    std::string url;
    std::shared_ptr<void> alive;
};

struct kind {
    const char* name;
    std::function<place()> make;
};

// On a server of its own, whose port stands between the two.
template <class Server>
kind on_server(const char* name, std::string before_port, std::string behind_port = {}) {
    return {name, [=] {
                auto server = std::make_shared<Server>();
                return place{before_port + std::to_string(server->port()) + behind_port, server};
            }};
}

// On a server that stands for a cloud.
template <class Server>
kind on_cloud(const char* name) {
    return {name, [] {
                auto server = std::make_shared<Server>();
                return place{url_of(*server), server};
            }};
}

std::vector<kind> kinds() {
    std::vector<kind> all{{"memory", [] { return place{"memory:?namespace=facade", nullptr}; }},
                          {"sqlite", [] {
                               auto folder = std::make_shared<testing_files::test_folder>();
                               return place{"sqlite:" + *folder / "pawl.db", folder};
                           }}};
    using namespace testing_servers;
#ifdef PAWL_STORE_REDIS
    all.push_back(on_server<redis_server>("redis", "redis://127.0.0.1:"));
#endif
#ifdef PAWL_STORE_POSTGRESQL
    all.push_back(on_server<postgresql_server>("postgresql",
                                               "postgresql://postgres@127.0.0.1:", "/postgres"));
#endif
#ifdef PAWL_STORE_MYSQL
    all.push_back(on_server<mysql_server>("mysql", "mysql://locker:s3cret@127.0.0.1:", "/pawl"));
#endif
#ifdef PAWL_STORE_ETCD
    all.push_back(on_server<etcd_server>("etcd", "etcd://127.0.0.1:"));
#endif
#ifdef PAWL_STORE_ZOOKEEPER
    all.push_back(on_server<zookeeper_server>("zookeeper", "zookeeper://127.0.0.1:"));
#endif
#ifdef PAWL_STORE_REDLOCK
    all.push_back({"redlock", [] {
                       auto nodes = std::make_shared<redlock_servers>();
                       return place{"redlock://" + nodes->hosts() + "?quarantine=off", nodes};
                   }});
#endif
// What is pushed nowhere but on Kubernetes.
#ifdef PAWL_SERVER_MONGODB
    all.push_back(on_cloud<mongodb_server>("mongodb"));
#endif
#ifdef PAWL_SERVER_DYNAMODB
    all.push_back(on_cloud<dynamodb_server>("dynamodb"));
#endif
#ifdef PAWL_SERVER_AZBLOB
    all.push_back(on_cloud<azurite_server>("azblob"));
#endif
#ifdef PAWL_SERVER_S3
    all.push_back(on_cloud<s3_server>("s3"));
#endif
#ifdef PAWL_SERVER_KUBERNETES
    all.push_back(on_cloud<kube_server>("kubernetes"));
#endif
    return all;
}

class Facade : public ::testing::TestWithParam<kind> {
protected:
    // A server that stands still for a while, as those of the clouds do beside other tests, is to
    // answer all the same.
    locks open() {
        const auto* more = where_.url.find('?') == std::string::npos ? "?" : "&";
        return locks::open(where_.url + more + "timeout=20s", {.journal = "none"});
    }

private:
    const place where_ = GetParam().make();
};

TEST_P(Facade, AMutexExcludesOtherProcesses) {
    auto a = open(), b = open();
    mutex here{a, "door", plain}, there{b, "door", plain};
    {
        const std::lock_guard hold{here};
        EXPECT_FALSE(there.try_lock());
        EXPECT_NO_THROW(here.check());
    }
    std::unique_lock hold{there, 30s};
    ASSERT_TRUE(hold);
    EXPECT_GT(number(there.lease().token()), 0U);
    hold.release();
    EXPECT_EQ(there.unlock_and_wait(), release_outcome::released);
}

TEST_P(Facade, ASemaphoreHasSoManyHoldersAndWakesWhoWaits) {
    auto a = open(), b = open();
    auto first = a.try_acquire_slot("gpu", 2, plain);
    auto second = b.try_acquire_slot("gpu", 2, plain);
    ASSERT_TRUE(first && second);
    EXPECT_NE(first->index(), second->index());
    EXPECT_TRUE(rejected(a.try_acquire_slot("gpu", 2, plain)));
    std::optional<slot> got;
    std::thread waiter{[&] { got = b.acquire_slot("gpu", 2, plain, 1min); }};
    const auto freed = first->index();
    const auto token = first->token();
    EXPECT_EQ(first->release(), release_outcome::released);
    waiter.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), freed);
    EXPECT_GT(number(got->token()), number(token));
}

TEST_P(Facade, ASemaphoreUnderLoadIsNeverFullerThanItsSlots) {
    std::vector<locks> processes;
    for (int i = 0; i < 2; ++i) processes.push_back(open());
    std::atomic<int> inside{0}, turns{0};
    std::atomic<bool> too_many{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 5; ++round) {
                auto mine = processes[i % 2].acquire_slot("gpu", 2, plain, 1min);
                if (!mine) return;
                if (++inside > 2) too_many = true;
                std::this_thread::yield();
                --inside;
                ++turns;
            }
        });
    for (auto& one : threads) one.join();
    EXPECT_FALSE(too_many);
    EXPECT_EQ(turns, 30);
}

TEST_P(Facade, SeveralKeysAreHeldTogetherOrNotAtAll) {
    auto a = open(), b = open();
    auto all = a.acquire_all({"x", "y"}, plain);
    ASSERT_TRUE(all);
    EXPECT_TRUE(rejected(b.acquire_all({"y", "z"}, plain)));
    EXPECT_TRUE(rejected(b.acquire_all({"w", "x"}, plain)));
    EXPECT_TRUE(b.drain(30s));
    EXPECT_TRUE(a.acquire_all({"w", "z"}, plain, 30s));
    std::optional<lease_set> next;
    std::thread waiter{[&] { next = b.acquire_all({"y", "x"}, plain, 1min); }};
    EXPECT_EQ(all->release(), release_outcome::released);
    waiter.join();
    ASSERT_TRUE(next);
    EXPECT_TRUE(next->valid());
}

INSTANTIATE_TEST_SUITE_P(Stores, Facade, ::testing::ValuesIn(kinds()),
                         [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
}  // namespace pawl
