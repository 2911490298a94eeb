// etcd over channels of the application's, against a real server.
#include "assembly/connections_fixture.hpp"
#include "test_support/servers/etcd_server.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <latch>

namespace pawl {
namespace {

using testing_servers::certificates;
using testing_servers::etcd_options;
using testing_servers::etcd_server;
using channel = std::shared_ptr<grpc::Channel>;

constexpr const char* url = "etcd:?timeout=10s";

std::string place_of(const etcd_server& server, std::size_t member = 0) {
    return "127.0.0.1:" + std::to_string(server.port(member));
}

channel channel_to(const std::string& target) {
    return grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
}

open_options over(std::function<channel()> make) {
    return {.connections = {.etcd = std::move(make)}};
}

// Goal: everything goes over one channel, which is the application's after the end.
TEST(EtcdConnections, CarryEveryVerbAndAreLetGoOf) {
    etcd_server server;
    const auto shared = channel_to(place_of(server));
    std::atomic<int> asked{0};
    const auto give = [&] {
        ++asked;
        return shared;
    };
    {
        auto mine = locks::open(url, over(give));
        auto other = locks::open(url, over(give));
        EXPECT_TRUE(mine.traits().notifies);
        ASSERT_NO_FATAL_FAILURE(expect_all_verbs(mine, other));
        EXPECT_EQ(asked, 2);
        for (const auto& one : mine.examine().findings)
            EXPECT_EQ(one.level, severity::ok) << one.check << ": " << one.text;
    }
    // gRPC's threads let go of the last streams.
    until([&] { return shared.use_count() == 1; });
}

// TLS is the channel's, which pawl has no files for.
TEST(EtcdConnections, BringTheirTls) {
    etcd_options options;
    const auto files = std::make_shared<certificates>();
    options.tls = files;
    etcd_server server{options};
    std::ifstream file{files->ca()};
    grpc::SslCredentialsOptions trusted;
    trusted.pem_root_certs.assign(std::istreambuf_iterator<char>{file}, {});
    auto mine =
        locks::open(url, over([&] {
                        return grpc::CreateChannel("localhost:" + std::to_string(server.port()),
                                                   grpc::SslCredentials(trusted));
                    }));
    EXPECT_TRUE(takes(mine, "key"));
}

TEST(EtcdConnections, LogInAsTheUrlSays) {
    etcd_options options;
    options.root_password = "r00t";
    options.users_and_roles = {
        {"role", "add", "locker"},
        {"role", "grant-permission", "locker", "readwrite", "--prefix=true", "pawl/"},
        {"user", "add", "alice:s3cret"},
        {"user", "grant-role", "alice", "locker"}};
    etcd_server server{options};
    const auto shared = channel_to(place_of(server));
    const auto give = [&] { return shared; };
    auto mine = locks::open("etcd:?timeout=10s&user=alice&password=s3cret", over(give));
    EXPECT_TRUE(takes(mine, "key"));
    auto wrong = locks::open("etcd:?timeout=10s&user=alice&password=guess", over(give));
    expect_words(store_fault(wrong), "denied etcd: ");
    auto none = locks::open(url, over(give));
    expect_words(store_fault(none), "denied etcd: ");
}

// Goal: a channel that has come to its end is replaced by the function. Method: it leads to a
// server that is gone for good, and the application has made one to the next.
TEST(EtcdConnections, OneThatFailsIsReplaced) {
    etcd_options options;
    options.members = 3;
    etcd_server server{options};
    std::atomic<std::size_t> member{0};
    auto mine =
        locks::open("etcd:?timeout=2s", over([&] { return channel_to(place_of(server, member)); }));
    auto held = mine.try_acquire("key", minute);
    ASSERT_TRUE(held);
    member = 1;
    server.crash(0);
    until([&] {
        try {
            return takes(mine, "other");
        } catch (const store_error&) {
            return false;
        }
    });
    EXPECT_EQ(held->release(), release_outcome::released);
}

TEST(EtcdConnections, NoneIsUnreachableInOneLine) {
    auto mine = locks::open(url, over([] { return channel{}; }));
    EXPECT_EQ(store_fault(mine), "unreachable etcd: the application gave no connection");
    auto other =
        locks::open(url, over([]() -> channel { throw std::runtime_error{"no\nsee its log"}; }));
    EXPECT_EQ(store_fault(other), "unreachable etcd: the application gave no connection: no");
    auto nowhere = locks::open(url, over([] { return channel_to("127.0.0.1:1"); }));
    expect_words(store_fault(nowhere), "unreachable etcd: ");
}

// Goal: neither the caller nor the end of the store depends on a function that is slow.
TEST(EtcdConnections, OneThatComesTooLateIsReleasedUnused) {
    etcd_server server;
    const auto shared = channel_to(place_of(server));
    std::latch go{1};
    std::atomic<int> asked{0};
    {
        auto mine = locks::open("etcd:?timeout=200ms", over([&] {
                                    ++asked;
                                    go.wait();
                                    return shared;
                                }));
        expect_words(store_fault(mine), "unreachable etcd: ");
        go.count_down();
    }
    EXPECT_GE(asked, 1);
    until([&] { return shared.use_count() == 1; });
}

TEST(EtcdConnections, AChildOfAForkTouchesNone) {
    etcd_server server;
    const auto shared = channel_to(place_of(server));
    expect_dead_after_fork(std::make_unique<locks>(locks::open(url, over([&] { return shared; }))));
}

// What would be ignored, or could not hold, is rejected when the store is opened.
TEST(EtcdConnections, TheUrlSaysNothingOfHowToConnect) {
    const auto own = over([] { return channel{}; });
    for (const auto* const said : {"etcd://db1", "etcd://alice@db1", "etcds://db1", "etcds:"})
        expect_words(option_fault(said, own), "and so does connections.etcd: leave it out");
    for (const auto* const said : {"etcd:", "etcd:?user=alice&password=s3cret"})
        EXPECT_EQ(option_fault(said, own), "no fault") << said;
    for (const auto* const said : {"etcd:?quarantine=1m", "etcd:?safety=correctness"})
        expect_words(option_fault(said, own), "goes by the clock of a node");
    expect_words(option_fault("memory:", own),
                 "connections.etcd: neither the store nor its journal is at etcd");
    expect_words(option_fault("etcd:", {}), "etcd: takes the addresses of one or more members");
}

}  // namespace
}  // namespace pawl
