// Acquire and release on the stores of the clouds, beside their requests alone. The servers are
// those of the tests; a real service adds its way.
#include "benchmarks/cas_pairs.hpp"
#include "benchmarks/measure.hpp"
#include "engines/azblob/store/azblob_fixture.hpp"
#include "engines/dynamodb/store/dynamodb_fixture.hpp"
#include "engines/mongodb/store/mongodb_fixture.hpp"
#include "engines/s3/store/s3_fixture.hpp"
#include "test_support/servers/cloud_urls.hpp"

namespace pawl::benchmarks {
namespace {

constexpr millis timeout{10'000};

void benchmark_dynamodb() {
    const testing_servers::dynamodb_server server;
    compare_on("DynamoDB (local server)", dynamodb::on_port(server.port(), timeout),
               dynamodb::make_dynamodb_medium, url_of(server));
}

void benchmark_azblob() {
    const testing_servers::azurite_server server;
    compare_on("Azure Blob (Azurite)", azblob::on_port(server.port(), timeout),
               azblob::make_azblob_medium, url_of(server));
}

void benchmark_s3() {
    const testing_servers::s3_server server;
    compare_on("S3 (Versity gateway)", s3::on_port(server.port(), timeout), s3::make_s3_medium,
               url_of(server));
}

void benchmark_mongodb() {
    const testing_servers::mongodb_server server;
    compare_on("MongoDB (mongo-java-server)", mongodb::on_port(server.port(), timeout),
               mongodb::make_mongodb_medium, url_of(server));
}

const benchmark dynamodb_registered{91, "dynamodb", benchmark_dynamodb, asked::by_name};
const benchmark azblob_registered{92, "azblob", benchmark_azblob, asked::by_name};
const benchmark s3_registered{93, "s3", benchmark_s3, asked::by_name};
const benchmark mongodb_registered{94, "mongodb", benchmark_mongodb, asked::by_name};

}  // namespace
}  // namespace pawl::benchmarks
