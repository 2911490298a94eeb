// Amazon's local server, and how it is reached in tests.
#pragma once

#include "engines/dynamodb/store/dynamodb_store.hpp"
#include "test_support/servers/dynamodb_server.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace pawl::dynamodb {

inline dynamodb_settings on_port(std::uint16_t port,
                                 millis timeout = std::chrono::milliseconds{5000}) {
    dynamodb_settings to;
    to.common.timeout = timeout;
    // One clock answers.
    to.skew = millis{0};
    to.table = "pawl-test";
    to.service.at.secure = false;
    to.service.at.host = "127.0.0.1";
    to.service.at.port = port;
    to.service.where = {"local", "dynamodb"};
    to.service.keys.keys = {"test", "secret", ""};
    return to;
}

}  // namespace pawl::dynamodb
