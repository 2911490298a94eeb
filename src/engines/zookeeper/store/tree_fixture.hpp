// What the tests of the ZooKeeper store share: settings, and the tree as an operator sees it.
#pragma once

#include "engines/zookeeper/store/zookeeper_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/servers/zookeeper_server.hpp"

#include <zookeeper/zookeeper.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::zookeeper {

using namespace std::chrono_literals;
using conformance::expect_failure;
using conformance::until;

inline zookeeper_settings on_port(std::uint16_t port, millis timeout = 2s) {
    zookeeper_settings settings;
    settings.servers.front().port = port;
    settings.common.timeout = timeout;
    return settings;
}

inline conformance::client open(const zookeeper_settings& settings) {
    return conformance::client{
        [&](net::loop& where) { return make_zookeeper_store(where, settings); }};
}

// The bare C client, as a person with zkCli.sh.
class bare_tree {
public:
    explicit bare_tree(std::uint16_t port, const std::string& login = {}) {
        const auto hosts = "127.0.0.1:" + std::to_string(port);
        handle_ = zookeeper_init2(
            hosts.c_str(), [](zhandle_t*, int, int, const char*, void*) {}, 10'000, nullptr,
            nullptr, ZOO_NO_LOG_CLIENTENV, [](const char*) {});
        if (!login.empty())
            zoo_add_auth(handle_, "digest", login.data(), static_cast<int>(login.size()), nullptr,
                         nullptr);
        until([&] { return zoo_state(handle_) == ZOO_CONNECTED_STATE; });
    }
    ~bare_tree() { zookeeper_close(handle_); }
    bare_tree(const bare_tree&) = delete;
    bare_tree& operator=(const bare_tree&) = delete;

    int create(const std::string& path, const std::string& text, int flags = 0) {
        return zoo_create(handle_, path.c_str(), text.data(), static_cast<int>(text.size()),
                          &ZOO_OPEN_ACL_UNSAFE, flags, nullptr, 0);
    }
    int set(const std::string& path, const std::string& text) {
        return zoo_set(handle_, path.c_str(), text.data(), static_cast<int>(text.size()), -1);
    }
    int remove(const std::string& path) { return zoo_delete(handle_, path.c_str(), -1); }
    bool has(const std::string& path) {
        return zoo_exists(handle_, path.c_str(), 0, nullptr) == ZOK;
    }
    std::string get(const std::string& path, Stat* stat = nullptr) {
        char bytes[4096];
        int size = sizeof bytes;
        Stat own;
        const auto code =
            zoo_get(handle_, path.c_str(), 0, bytes, &size, stat != nullptr ? stat : &own);
        if (code != ZOK) throw std::runtime_error{path + ": " + zerror(code)};
        return {bytes, static_cast<std::size_t>(std::max(size, 0))};
    }
    std::vector<std::string> children(const std::string& path) {
        String_vector names{};
        if (zoo_get_children(handle_, path.c_str(), 0, &names) != ZOK) return {};
        std::vector<std::string> found{names.data, names.data + names.count};
        deallocate_String_vector(&names);
        return found;
    }

private:
    zhandle_t* handle_;
};

}  // namespace pawl::zookeeper
