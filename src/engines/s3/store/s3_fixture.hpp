// A server of S3 on this machine, and how it is reached in tests.
#pragma once

#include "engines/s3/store/s3_store.hpp"
#include "test_support/servers/s3_server.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace pawl::s3 {

inline s3_settings on_port(std::uint16_t port, millis timeout = std::chrono::milliseconds{5000}) {
    using testing_servers::s3_server;
    s3_settings to;
    to.common.timeout = timeout;
    // One clock answers.
    to.skew = millis{0};
    to.bucket = s3_server::bucket;
    to.prefix = "leases-of/tests";
    to.how = addressing::path;
    to.service.at.secure = false;
    to.service.at.host = "127.0.0.1";
    to.service.at.port = port;
    to.service.where = {"us-east-1", "s3"};
    to.service.keys.keys = {s3_server::key_id, s3_server::key_secret, ""};
    return to;
}

}  // namespace pawl::s3
