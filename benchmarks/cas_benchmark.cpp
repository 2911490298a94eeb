// Acquire and release on the stores of the clouds, beside their requests alone. The servers are
// those of the tests; a real service adds its way.
#include "benchmarks/cas_pairs.hpp"
#include "benchmarks/measure.hpp"
#include "engines/azblob/store/azblob_fixture.hpp"
#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "engines/s3/store/s3_fixture.hpp"

#include <cstdlib>
#include <string>

namespace pawl::benchmarks {
namespace {

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
