// A proxy between a client and a server on 127.0.0.1 that can cut, stall and delay.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace pawl::testing_faults {

enum class direction { to_server, to_client };

// Thread-safe; runs on a thread of its own until its end.
class tcp_proxy {
public:
    explicit tcp_proxy(std::uint16_t server_port);
    // Listens there.
    tcp_proxy(std::uint16_t server_port, const std::string& address, std::uint16_t port);
    ~tcp_proxy();
    tcp_proxy(const tcp_proxy&) = delete;
    tcp_proxy& operator=(const tcp_proxy&) = delete;

    std::uint16_t port() const noexcept;

    // Closes every connection, with a reset; new ones are taken as before.
    void cut();
    // Rejects new connections until accept_again(); those that stand are cut, or stay.
    void reject();
    void reject_new();
    void accept_again();
    // Bytes of one direction are held back, in order, until resume(). Returns when it holds.
    void stall(direction which);
    void resume(direction which);
    // From now on whatever arrives is passed on so much later, in both directions; zero: at once.
    void delay(std::chrono::milliseconds one_way);

    // Every client is told this, as if its server had said it unasked.
    void tell_clients(const std::string& bytes);

    // For servers that tell their clients where the others are: from now on these ports, where one
    // stands by itself in what the server says, are told as those that they map to. Both have the
    // same number of digits.
    void tell_ports_as(std::map<std::uint16_t, std::uint16_t> ports);

    // How many connections have been taken so far.
    int connections() const;
    // Returns when at least so many bytes are held back in a stalled direction; false after 10 s.
    bool wait_for_held_bytes(direction which, std::uint64_t bytes) const;
    // How many have been held back since the beginning.
    std::uint64_t held_bytes(direction which) const;

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace pawl::testing_faults
