// What the tests of the ZooKeeper store share: settings, and the tree as an operator sees it.
#pragma once

#include "engines/zookeeper/store/make_zookeeper_store.hpp"

#include "test_support/conformance/client.hpp"
#include "test_support/conformance/expectations.hpp"
#include "test_support/servers/zookeeper_server.hpp"

#include <poll.h>
#include <sys/time.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace pawl::zookeeper {

using namespace std::chrono_literals;
using conformance::expect_failure;
using conformance::until;

inline zookeeper_settings on_port(std::uint16_t port, millis timeout = 10s) {
    zookeeper_settings settings;
    settings.servers.front().port = port;
    settings.common.timeout = timeout;
    return settings;
}

inline conformance::client open(const zookeeper_settings& settings) {
    return conformance::client{
        [&](net::loop& where) { return make_zookeeper_store(where, settings); }};
}

// The bare C client, as a person with zkCli.sh: driven while a caller waits for an answer of it, so
// its session ends where no caller asks it anything for several seconds.
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
        drive_until([&] { return zoo_state(handle_) == ZOO_CONNECTED_STATE; });
    }
    ~bare_tree() { zookeeper_close(handle_); }
    bare_tree(const bare_tree&) = delete;
    bare_tree& operator=(const bare_tree&) = delete;

    int create(const std::string& path, const std::string& text, int flags = 0) {
        return ask([&](reply& to) {
                   return zoo_acreate(handle_, path.c_str(), text.data(),
                                      static_cast<int>(text.size()), &ZOO_OPEN_ACL_UNSAFE, flags,
                                      &got_text, &to);
               })
            .code;
    }
    int set(const std::string& path, const std::string& text) {
        return ask([&](reply& to) {
                   return zoo_aset(handle_, path.c_str(), text.data(),
                                   static_cast<int>(text.size()), -1, &got_stat, &to);
               })
            .code;
    }
    int remove(const std::string& path) {
        return ask([&](reply& to) {
                   return zoo_adelete(handle_, path.c_str(), -1, &got_nothing, &to);
               })
            .code;
    }
    bool has(const std::string& path) {
        return ask([&](reply& to) {
                   return zoo_aexists(handle_, path.c_str(), 0, &got_stat, &to);
               }).code == ZOK;
    }
    std::string get(const std::string& path, Stat* stat = nullptr) {
        const auto& got =
            ask([&](reply& to) { return zoo_aget(handle_, path.c_str(), 0, &got_data, &to); });
        if (got.code != ZOK) throw std::runtime_error{path + ": " + zerror(got.code)};
        if (stat != nullptr) *stat = got.stat;
        return got.text;
    }
    std::vector<std::string> children(const std::string& path) {
        return ask([&](reply& to) {
                   return zoo_aget_children(handle_, path.c_str(), 0, &got_names, &to);
               })
            .names;
    }

private:
    struct reply {
        bool done = false;
        int code = ZOK;
        std::string text;
        Stat stat{};
        std::vector<std::string> names;
    };

    static reply& settled(const void* data, int code) {
        auto& to = *const_cast<reply*>(static_cast<const reply*>(data));
        to.done = true;
        to.code = code;
        return to;
    }
    static void got_nothing(int code, const void* data) { settled(data, code); }
    static void got_text(int code, const char*, const void* data) { settled(data, code); }
    static void got_stat(int code, const Stat*, const void* data) { settled(data, code); }
    static void got_data(int code, const char* text, int size, const Stat* stat, const void* data) {
        auto& to = settled(data, code);
        if (code != ZOK) return;
        to.text.assign(text, static_cast<std::size_t>(std::max(size, 0)));
        to.stat = *stat;
    }
    static void got_names(int code, const String_vector* names, const void* data) {
        auto& to = settled(data, code);
        if (code == ZOK) to.names.assign(names->data, names->data + names->count);
    }

    template <class Ask>
    const reply& ask(Ask begin) {
        // Kept: one that was not waited for to the end may come later.
        auto& to = replies_.emplace_back();
        to.code = begin(to);
        if (to.code == ZOK) drive_until([&] { return to.done; });
        return to;
    }

    template <class Condition>
    void drive_until(Condition reached) {
        until([&] {
            pollfd socket{-1, 0, 0};
            int directions = 0;
            timeval left{};
            zookeeper_interest(handle_, &socket.fd, &directions, &left);
            socket.events = static_cast<short>(((directions & ZOOKEEPER_READ) != 0 ? POLLIN : 0) |
                                               ((directions & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0));
            if (poll(&socket, 1, 10) > 0)
                zookeeper_process(handle_,
                                  ((socket.revents & ~POLLOUT) != 0 ? ZOOKEEPER_READ : 0) |
                                      ((socket.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0));
            return reached();
        });
    }

    zhandle_t* handle_;
    std::deque<reply> replies_;
};

}  // namespace pawl::zookeeper
