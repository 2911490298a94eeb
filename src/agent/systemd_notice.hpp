// What systemd is told about this agent, and what it hands over at the start.
//
// The protocol of sd_notify(3) and sd_listen_fds(3), spoken directly: a datagram and two variables
// are no reason for every user of the library to link libsystemd. Without systemd all of it does
// nothing.
#pragma once

#include "base/url.hpp"
#include "net/loop.hpp"

#include <pawl/types.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::agent {

// A manager that does not read must not stop the loop.
constexpr millis notice_wait_max{250};
constexpr std::size_t status_bytes_max = 500;

// Thread-safe; the environment is read by the constructor alone.
class systemd_notice {
public:
    systemd_notice();
    ~systemd_notice();
    systemd_notice(const systemd_notice&) = delete;
    systemd_notice& operator=(const systemd_notice&) = delete;

    // Whether a service manager waits for notices at all.
    bool is_heard() const noexcept { return socket_ >= 0; }

    // Each returns false when the notice did not get through. `status` is one line for people.
    bool ready(std::string_view status) const;
    // `since`: time::monotonic_now() when it began. ready() ends it.
    bool reloading(std::chrono::microseconds since) const;
    bool stopping(std::string_view status) const;
    bool status(std::string_view text) const;
    bool alive() const;
    // The start, or the stop, takes longer: `by` more from now.
    bool takes_longer(millis by) const;

    // How often alive() has to be said: half of the time after which systemd would kill us. Nothing
    // when no service manager watches.
    std::optional<millis> watchdog_period() const noexcept { return watchdog_period_; }

    // Says alive() in time for as long as the loop runs, so that a loop that hangs is noticed. Ends
    // at once when no service manager watches.
    static boost::asio::awaitable<void> keep_alive(std::shared_ptr<const systemd_notice> self,
                                                   net::loop& where);

private:
    bool send(const std::string& text) const;

    int socket_ = -1;
    std::string address_;  // as in sockaddr_un: an abstract one begins with a NUL
    std::optional<millis> watchdog_period_;
};

struct inherited_socket {
    int descriptor = -1;
    std::string name;  // FileDescriptorName= of the socket unit, or "unknown"
};

// The sockets that systemd has opened for us, closed on exec from now on. The variables that name
// them are taken out of the environment, so call it once, before there are other threads.
std::vector<inherited_socket> take_inherited_sockets();

// Where it listens; nothing where it is no TCP socket.
std::optional<base::endpoint> place_of(const inherited_socket& socket);

}  // namespace pawl::agent
