// The two halves of an engine under the laws: the server that runs, and what is opened on it. A
// store and the journal beside it differ in the second only.
#pragma once

#include "net/loop.hpp"
#include "test_support/conformance/store_engine.hpp"

#include <pawl/spi/store_settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace pawl::conformance {

// A server of the tests, which starts with this and whose data other processes reach.
template <class Server>
class running {
public:
    running() = default;
    template <class Options>
    explicit running(const Options& options) : server_{options} {}

    static constexpr store_reach reach() { return store_reach::many_processes; }
    void restart() { server_.restart(); }
    void lose_data() { server_.lose_data(); }

protected:
    Server server_;
};

// The same, where its port is all that one needs to find it.
template <class Server>
class running_on_port : public running<Server> {
public:
    using running<Server>::running;
    std::string address() const { return std::to_string(this->server_.port()); }
};

// A server of the clouds' stores, on this machine: it takes its time beside other tests, and pushes
// nothing, so that a waiter looks now and then. `on_port` makes the settings for its port.
template <class Server, auto on_port>
class running_for_cloud : public running_on_port<Server> {
public:
    static constexpr std::uint64_t contested_grants = 10;
    static auto settings_at(const std::string& address, store_settings common) {
        auto to = on_port(static_cast<std::uint16_t>(std::stoi(address)), millis{20'000});
        to.common = std::move(common);
        to.common.timeout = std::chrono::seconds{20};
        return to;
    }
};

// `Server` has a name and the settings for an address; `make` opens a client with them.
template <class Server, auto make>
class engine_on : public Server {
public:
    static auto open_at(net::loop& where, const std::string& address, store_settings settings) {
        return make(where, Server::settings_at(address, std::move(settings)));
    }
};

}  // namespace pawl::conformance
