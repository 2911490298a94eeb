#include "assembly/engines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::assembly {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string rejection(std::string_view url) {
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
    EXPECT_THAT(rejection("memory:?safety=correctness&quarantine=off"),
                HasSubstr("needs a quarantine"));
}

// Each line says what is wrong, where, and what would be right.
TEST(Engines, RejectsBadUrlsInOneClearLine) {
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
#ifdef PAWL_STORE_POSTGRESQL
        {"postgresql://h/db?sslmoed=require", "did you mean 'sslmode'"},
        {"postgresql://h/db?schema=Locks", "schema= must be"},
        {"postgresql://h/db?connections=0", "from 1 to 64"},
        {"postgresql://h/db?prepare=on", "auto, off"},
        {"postgresql://h/db?notify=on", "notify= must be off"},
        {"postgresql://h/db?notify=postgresql%3A%2F%2Fi%2Fdb%3Fshcema%3Dx",
         "unknown to postgresql"},
        {"postgresql://h/db?host=i", "not in both"},
        {"postgresql:///db?host=a,b&hostaddr=127.0.0.1", "different numbers"},
        {"postgresql:///db?host=a,b&port=1,2,3", "one for each server"},
        {"postgresql://h/db?ca=/a&sslrootcert=/b", "keep one"},
#endif
#ifdef PAWL_STORE_REDIS
        {"redis://h:99999", "1 to 65535"},
        {"redis://", "takes one host"},
        {"redis://a,b", "redis+cluster"},
        {"redis://h/x", "integer from 0"},
        {"rediss://h?cert=/x", "go together"},
        {"rediss:", "takes one host"},
        {"rediss:///0", "takes one host"},
        {"valkeys:/2", "takes one host"},
        {"redis://h?password_file=/nonexistent/secret", "No such file"},
        {"redis://h?password_file=/", "a folder: name a file"},
        {"redis://h?wait=few", "wait=few: expected a number of replicas"},
        {"redis+sentinel://a,b", "the name of a master"},
        {"redis+sentinel://a/orders/x", "integer from 0"},
        {"redis+sentinel://a/orders?sentinel_password_file=/nonexistent/secret", "No such file"},
        {"redis+cluster://a,b/1", "a cluster has no databases"},
        {"redis+cluster:", "takes nodes of the cluster"},
        {"valkey://a,b", "there are valkey+sentinel, valkey+cluster and redlock"},
        {"valkey://h/x", "integer from 0"},
        {"valkeys://h?cert=/x", "go together"},
        {"valkey+sentinel://a,b", "valkey+sentinel://a,b,c/orders"},
        {"valkey+cluster:", "valkey+cluster://a,b,c"},
        {"valkey+tls://h", "did you mean 'valkeys'"},
        {"redis+cluster://a?tls=yes", "expected one of off, on"},
        {"redis+cluster://a?ca=/x", "unknown to redis+cluster"},
#endif
#ifdef PAWL_STORE_ZOOKEEPER
        {"zookeeper:", "needs a host"},
        {"zookeeper://h?ca=%2Fca.pem", "has no TLS"},
        {"zookeeper://h?cert=%2Fc&key=%2Fk", "tunnel such as stunnel"},
        {"zookeeper://h/a//b", "is not the path of a znode"},
        {"zookeeper://h/..", "is not the path of a znode"},
        {"zookeeper://h/zookeeper/x", "server's own"},
        {"zookeeper://h?namespace=zookeeper", "server's own"},
        {"zookeeper://h?acl=creator", "expected user:password@"},
        {"zookeeper://h?acl=all", "open, creator"},
#endif
#ifdef PAWL_STORE_S3
        {"s3:", "takes a bucket; expected s3://BUCKET[/PREFIX]"},
        {"s3://bucket:443/a?region=eu-west-1", "takes a bucket"},
        {"s3://id:secret@bucket?region=eu-west-1", "keys have no place in the URL"},
        {"s3://Bucket?region=eu-west-1", "invalid bucket 'Bucket'"},
        {"s3://b--use1-az4--x-s3?region=us-east-1", "no directory bucket"},
        {"s3://bucket/a//b?region=eu-west-1", "invalid prefix 'a//b'"},
        {"s3://bucket?region=eu/west", "invalid region 'eu/west'"},
        {"s3://bucket?endpoint=ftp%3A%2F%2Fhost", "invalid endpoint 'ftp://host'"},
#endif
#ifdef PAWL_STORE_KUBERNETES
        {"kubernetes://Jobs", "invalid namespace of Kubernetes 'Jobs'"},
        {"kubernetes://jobs:6443", "the address is in the kubeconfig"},
        {"kubernetes://jobs?kubeconfig=/nonexistent/config", "cannot read the kubeconfig"},
        {"kubernetes://jobs?skew=long", "skew=long"},
        {"kubernetes://jobs?ca=%2Fca.pem", "unknown to kubernetes"},
#endif
#ifdef PAWL_STORE_AZBLOB
        {"azblob:", "expected azblob://ACCOUNT/CONTAINER[/PREFIX]"},
        {"azblob://mine:443/locks", "takes an account and a container"},
        {"azblob://My-Account/locks", "invalid account 'My-Account'"},
        {"azblob://mine-secondary/locks", "invalid account 'mine-secondary'"},
        {"azblob://mine", "invalid container ''"},
        {"azblob://mine/My_Locks", "invalid container 'My_Locks'"},
        {"azblob://mine/locks/", "invalid prefix ''"},
        {"azblob://mine/locks/a..//b", "invalid prefix 'a..//b'"},
        {"azblob://mine/locks?namespace=a.", "expected no dot at its end"},
        {"azblob://mine/locks?endpoint=mine", "invalid endpoint 'mine'"},
        {"azblob://mine/locks?endpoint=https://mine-secondary.blob.core.windows.net",
         "the secondary endpoint answers what was"},
        {"azblob://user:pw@mine/locks", "keys have no place in the URL"},
        {"azblob://mine/locks?sas=sv%3D1", "keys have no place in the URL"},
        {"azblob://mine/locks?region=a", "unknown to azblob"},
#endif
#ifdef PAWL_STORE_MONGODB
        {"mongodb:", "needs a host and a database"},
        {"mongodb://h", "invalid database ''"},
        {"mongodb://h/a/b", "invalid database 'a/b'"},
        {"mongodb://h/db?collection=system.users", "invalid collection 'system.users'"},
        {"mongodb://h/db?w=1", "invalid w '1'; expected majority"},
        {"mongodb://h/db?readPreference=secondary", "expected primary"},
        {"mongodb://h/db?journal=false", "expected true"},
        {"mongodb://h/db?skew=long", "skew=long"},
        {"mongodb://h/db?tlsFile=a", "unknown to mongodb"},
        {"mongodb+srv://one,two/db", "mongodb: "},
#endif
#ifdef PAWL_STORE_ETCD
        {"etcd://", "one or more members"},
        {"etcd://h/x", "no path"},
        {"etcd://:pw@h", "needs a user"},
        {"etcds://h?key=/x", "go together"},
        {"etcd://h?ca=/x", "unknown"},
#endif
    };
    for (const auto& [url, says] : cases) {
        const auto line = rejection(url);
        EXPECT_THAT(line, AllOf(HasSubstr(says), Not(HasSubstr("\n")))) << url;
    }
}

#ifdef PAWL_STORE_POSTGRESQL
// What libpq takes, pawl takes: no host, sockets, many hosts, keywords of its own.
TEST(Engines, TakesEveryUriOfLibpq) {
    for (const auto* url :
         {"postgresql:", "postgresql://", "postgres:///db", "postgresql://user@/db",
          "postgresql://user:p%40ss@a:1,b,[::1]:3/db?target_session_attrs=read-write",
          "postgresql:///db?host=%2Frun%2Fpostgresql&port=5433", "postgresql:///?service=billing",
          "postgresql://h/db?sslmode=verify-full&sslrootcert=%2Fca&sslcert=%2Fc&sslkey=%2Fk",
          "postgresql://h/db?passfile=%2Fp&application_name=x&connect_timeout=3&ssl=true",
          "postgresql:///db?host=a,b&hostaddr=127.0.0.1,127.0.0.2&port=1",
          "postgresql://h/db?ca=%2Fca&tls_server_name=db.example&namespace=x&timeout=1s",
          "postgresql://h:6432/db?schema=locks&connections=8&prepare=off&notify=off",
          "postgresql://h:6432/db?notify=postgresql%3A%2F%2Fh%3A5432"})
        EXPECT_EQ(rejection(url), "") << url;
}
#endif

TEST(Engines, NeverQuoteASecret) {
    EXPECT_THAT(rejection("redis://user:hunter2@h:x"), Not(HasSubstr("hunter2")));
    EXPECT_THAT(rejection("redis://user:hunter2@h?bad=1"), Not(HasSubstr("hunter2")));
    EXPECT_THAT(rejection("postgresql://h/?notify=postgresql%3A%2F%2Fu%3Ahunter2%40h%3Fbad%3D1"),
                Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace pawl::assembly
