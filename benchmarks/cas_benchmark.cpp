// Acquire and release on the stores of the clouds, beside their requests alone: two writes, each
// under the version of the one before. The servers are those of the tests; a real service adds its
// way.
#include "benchmarks/measure.hpp"
#include "benchmarks/pairs.hpp"
#include "engines/azblob/store/azblob_fixture.hpp"
#include "engines/cas/store/medium.hpp"
#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "engines/s3/store/s3_fixture.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>

namespace pawl::benchmarks {
namespace {

// As long as what pawl writes.
const std::string granted_text =
    "1 lease token=1795184283285672 claim=0123456789abcdef0123456789abcdef owner=host:1:1:bare "
    "until=1795184313285672 last=1795184283285672";
const std::string released_text = "1 lease token=0 last=1795184283285672";

class bare_medium {
public:
    bare_medium(net::loop& where, std::shared_ptr<cas::medium> on)
        : where_{where}, on_{std::move(on)} {
        static_cast<void>(where_.wait_for(on_->prepare(later())).value());
    }

    void pair() {
        at_ = write(granted_text, std::move(at_));
        at_ = write(released_text, std::move(at_));
    }

private:
    static instant later() { return lease_clock::now() + std::chrono::seconds{10}; }
    static cas::record_name name() { return {cas::record_kind::lease, "bare"}; }

    cas::version write(const std::string& text, cas::version expected) {
        cas::change wanted{name(), text, std::move(expected)};
        const auto got = where_.wait_for(on_->write(std::move(wanted), later())).value();
        if (const auto* done = std::get_if<cas::written>(&got)) return done->at;
        throw std::runtime_error{"another one wrote"};
    }

    net::loop& where_;
    std::shared_ptr<cas::medium> on_;
    cas::version at_;  // nothing: there is no record yet
};

template <class Settings, class MakeMedium>
void compare_on(const std::string& name, Settings settings, MakeMedium make_medium,
                const std::string& url) {
    settings.common.name_space = "bare";
    net::loop where;
    bare_medium bare{where, make_medium(where, settings)};
    auto store = locks::open(url);
    // Servers compile what they run often, and a namespace is made once.
    for (int i = 0; i < 100; ++i) bare.pair();
    static_cast<void>(pairs_per_second(store, 4, 25));
    compare_one_caller(
        store, 200,
        name + ", acquire + release, one caller that blocks; bare: two writes under their versions",
        [&] { bare.pair(); });
    compare_one_coroutine(store, 10, 20, [&] { bare.pair(); });
}

constexpr millis timeout{10'000};

// Where the library looks for credentials.
void export_keys(const char* id, const char* secret) {
    setenv("AWS_ACCESS_KEY_ID", id, 1);
    setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    unsetenv("AWS_SESSION_TOKEN");
}

std::string endpoint(std::uint16_t port, const std::string& path = "") {
    return "endpoint=http://127.0.0.1:" + std::to_string(port) + path;
}

void benchmark_dynamodb() {
    const testing_servers::dynamodb_server server;
    export_keys("test", "secret");
    compare_on("DynamoDB (local server)", dynamodb::on_port(server.port(), timeout),
               dynamodb::make_dynamodb_medium,
               "dynamodb://local/pawl-test?" + endpoint(server.port()));
}

void benchmark_azblob() {
    using testing_servers::azurite_server;
    const azurite_server server;
    setenv("AZURE_STORAGE_KEY", azurite_server::key, 1);
    const std::string account = azurite_server::account;
    compare_on("Azure Blob (Azurite)", azblob::on_port(server.port(), timeout),
               azblob::make_azblob_medium,
               "azblob://" + account + "/pawl-test?" + endpoint(server.port(), "/" + account));
}

void benchmark_s3() {
    using testing_servers::s3_server;
    const s3_server server;
    export_keys(s3_server::key_id, s3_server::key_secret);
    compare_on("S3 (Versity gateway)", s3::on_port(server.port(), timeout), s3::make_s3_medium,
               std::string{"s3://"} + s3_server::bucket + "/leases?region=us-east-1&" +
                   endpoint(server.port()));
}

void benchmark_mongodb() {
    const testing_servers::mongodb_server server;
    compare_on("MongoDB (mongo-java-server)", mongodb::on_port(server.port(), timeout),
               mongodb::make_mongodb_medium,
               "mongodb://127.0.0.1:" + std::to_string(server.port()) + "/pawl");
}

const benchmark dynamodb_registered{91, "dynamodb", benchmark_dynamodb, asked::by_name};
const benchmark azblob_registered{92, "azblob", benchmark_azblob, asked::by_name};
const benchmark s3_registered{93, "s3", benchmark_s3, asked::by_name};
const benchmark mongodb_registered{94, "mongodb", benchmark_mongodb, asked::by_name};

}  // namespace
}  // namespace pawl::benchmarks
