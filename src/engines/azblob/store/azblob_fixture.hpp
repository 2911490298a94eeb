// Microsoft's local server, and how it is reached in tests.
#pragma once

#include "engines/azblob/store/azblob_store.hpp"
#include "test_support/servers/azurite_server.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace pawl::azblob {

inline azblob_settings on_port(std::uint16_t port,
                               millis timeout = std::chrono::milliseconds{5000}) {
    using testing_servers::azurite_server;
    azblob_settings to;
    to.common.timeout = timeout;
    // One clock answers.
    to.skew = millis{0};
    to.container = "pawl-test";
    to.service.at.secure = false;
    to.service.at.host = "127.0.0.1";
    to.service.at.port = port;
    to.service.account = azurite_server::account;
    to.service.path = "/" + to.service.account;
    to.service.keys.key = azurite_server::key;
    return to;
}

}  // namespace pawl::azblob
