#include "agent/systemd_notice.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "net/boot_timer.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace pawl::agent {
namespace {

using boost::asio::awaitable;

// Below it are the three streams.
constexpr int first_inherited = 3;
constexpr int inherited_max = 64;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

template <class Number>
std::optional<Number> number_in(const char* name) {
    return base::parse_number<Number>(variable(name));
}

// A variable that says which process it is meant for may have come from our parent's.
bool is_for_us(const char* name) {
    const auto meant = number_in<pid_t>(name);
    return meant && *meant == getpid();
}

// Empty for what is no socket of this kind.
std::string address_in(const std::string& written) {
    sockaddr_un to{};
    if (written.size() < 2 || written.size() >= sizeof to.sun_path) return {};
    if (written[0] == '@') return std::string(1, '\0') + written.substr(1);
    return written[0] == '/' ? written : "";
}

std::optional<millis> period_of_watchdog() {
    const auto limit = number_in<std::int64_t>("WATCHDOG_USEC");
    if (!limit || *limit < 2000) return std::nullopt;
    if (!variable("WATCHDOG_PID").empty() && !is_for_us("WATCHDOG_PID")) return std::nullopt;
    return std::chrono::duration_cast<millis>(std::chrono::microseconds{*limit / 2});
}

// Fields of a notice end with their line.
std::string status_line(std::string_view text) {
    return "STATUS=" + base::printable(text.substr(0, status_bytes_max));
}

std::vector<std::string> split_by_colon(const std::string& text) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
        if (c == ':')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

}  // namespace

systemd_notice::systemd_notice()
    : address_{address_in(variable("NOTIFY_SOCKET"))}, watchdog_period_{period_of_watchdog()} {
    if (address_.empty()) return;
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    timeval expiry{};
    expiry.tv_usec = std::chrono::microseconds{notice_wait_max}.count();
    if (socket_ >= 0) setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &expiry, sizeof expiry);
}

systemd_notice::~systemd_notice() {
    if (socket_ >= 0) ::close(socket_);
}

bool systemd_notice::send(const std::string& text) const {
    if (!is_heard()) return false;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    const auto* address = reinterpret_cast<const sockaddr*>(&to);
    return ::sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL, address, size) ==
           static_cast<ssize_t>(text.size());
}

bool systemd_notice::ready(std::string_view text) const {
    return send("READY=1\n" + status_line(text));
}

bool systemd_notice::reloading(std::chrono::microseconds since) const {
    return send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(since.count()));
}

bool systemd_notice::stopping(std::string_view text) const {
    return send("STOPPING=1\n" + status_line(text));
}

bool systemd_notice::status(std::string_view text) const { return send(status_line(text)); }

bool systemd_notice::alive() const { return send("WATCHDOG=1"); }

bool systemd_notice::takes_longer(millis by) const {
    return send("EXTEND_TIMEOUT_USEC=" + std::to_string(std::chrono::microseconds{by}.count()));
}

awaitable<void> systemd_notice::keep_alive(std::shared_ptr<const systemd_notice> self,
                                           net::loop& where) {
    const auto period = self->watchdog_period();
    if (!period || !self->is_heard()) co_return;
    net::boot_timer timer{where.get_executor()};
    for (;;) {
        self->alive();
        timer.set(lease_clock::now() + *period);
        auto waiting = timer.wait();
        co_await std::move(waiting);
    }
}

std::vector<inherited_socket> take_inherited_sockets() {
    std::vector<inherited_socket> all;
    const int count = is_for_us("LISTEN_PID") ? number_in<int>("LISTEN_FDS").value_or(0) : 0;
    const auto names = split_by_colon(variable("LISTEN_FDNAMES"));
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(name);
    for (int i = 0; i < std::clamp(count, 0, inherited_max); ++i) {
        const int descriptor = first_inherited + i;
        const int flags = fcntl(descriptor, F_GETFD);
        if (flags < 0 || fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) != 0) continue;
        const auto at = static_cast<std::size_t>(i);
        const bool is_named = at < names.size() && !names[at].empty();
        all.push_back({descriptor, is_named ? names[at] : "unknown"});
    }
    return all;
}

std::optional<base::endpoint> place_of(const inherited_socket& socket) {
    sockaddr_storage where{};
    socklen_t bytes = sizeof where;
    if (getsockname(socket.descriptor, reinterpret_cast<sockaddr*>(&where), &bytes) != 0) return {};
    if (where.ss_family != AF_INET && where.ss_family != AF_INET6) return {};
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    if (getnameinfo(reinterpret_cast<const sockaddr*>(&where), bytes, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return {};
    return base::endpoint{host, base::parse_number<std::uint16_t>(port).value_or(0)};
}

}  // namespace pawl::agent
