// A server that speaks as MongoDB does, and how it is reached in tests.
#pragma once

#include "engines/mongodb/store/mongodb_store.hpp"
#include "test_support/servers/mongodb_server.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace pawl::mongodb {

inline mongodb_settings on_port(std::uint16_t port,
                                millis timeout = std::chrono::milliseconds{5000}) {
    mongodb_settings to;
    to.common.timeout = timeout;
    // One clock answers.
    to.skew = millis{0};
    to.uri = "mongodb://127.0.0.1:" + std::to_string(port) + "/pawl";
    to.database = "pawl";
    to.place = to.uri;
    return to;
}

}  // namespace pawl::mongodb
