#include "http/server.hpp"

#include "http/certificate.hpp"
#include "http/connections.hpp"
#include "net/boot_timer.hpp"
#include "net/unattended.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace pawl::http {
namespace {

using boost::asio::ip::tcp;

constexpr int backlog = 4'096;
// So many are accepted before anybody else has a turn.
constexpr int accepted_at_once = 64;
// Until descriptors or memory may be there again.
constexpr millis accept_pause{100};

std::string place_text(const std::string& host, std::uint16_t port) {
    const bool bracketed = host.find(':') != std::string::npos;
    return (bracketed ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

failure cannot_listen(const std::string& place, int code) {
    // Its present owner may end soon, as the agent that another one replaces.
    const auto kind = code == EADDRINUSE ? errc::unreachable : errc::denied;
    return {kind, place + ": " + std::generic_category().message(code)};
}

void set_option(int descriptor, int level, int name, int value) {
    // A kernel without the option works as well, only less promptly.
    ::setsockopt(descriptor, level, name, &value, sizeof value);
}

// What is accepted inherits all of it. A peer that has vanished, or that takes nothing any more, is
// given up by the kernel as well, with what it was to be sent.
void tune(int descriptor, millis write_wait) {
    set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(write_wait.count()));
}

// Errors of one connection, which are no reason to stop accepting.
bool concerns_one_connection(int code) {
    return code == ECONNABORTED || code == EINTR || code == EPROTO || code == EPERM ||
           code == ENETDOWN || code == ENOPROTOOPT || code == EHOSTDOWN || code == ENONET ||
           code == EHOSTUNREACH || code == EOPNOTSUPP || code == ENETUNREACH;
}

bool is_want_of_descriptors(int code) { return code == EMFILE || code == ENFILE; }

// The kernel looks for a descriptor first, and only then whether there is anybody to have it.
bool a_client_waits(int listening) {
    pollfd asked{listening, POLLIN, 0};
    return ::poll(&asked, 1, 0) > 0;
}

struct listener {
    listener(const boost::asio::any_io_executor& executor, tcp::acceptor made)
        : acceptor{std::move(made)}, pause{executor} {
        boost::system::error_code error;
        const auto where = acceptor.local_endpoint(error).address();
        on_loopback = !error && where.is_loopback();
    }
    tcp::acceptor acceptor;
    bool on_loopback = false;
    net::boot_timer pause;
};

}  // namespace

class server::state : public std::enable_shared_from_this<server::state> {
public:
    explicit state(server_parts made_of)
        : all_{std::make_shared<connections>(std::move(made_of))}, timeout_{all_->executor()} {}

    result<void> use_tls(tls_identity files);
    result<std::uint16_t> listen(const std::string& host, std::uint16_t port);
    result<void> listen_on(int descriptor);
    server_counts counts() const noexcept { return all_->counts; }
    static boost::asio::awaitable<void> stop(std::shared_ptr<state> self, millis timeout);
    void abandon();

private:
    static boost::asio::awaitable<void> ring(std::shared_ptr<connections> all);
    static boost::asio::awaitable<void> accept(std::shared_ptr<state> self,
                                               std::shared_ptr<listener> from);
    bool accept_some(listener& from);
    void take_over(tcp::acceptor acceptor);
    tcp::acceptor bind(const tcp::endpoint& where, boost::system::error_code& error);
    result<std::vector<boost::asio::ip::address>> addresses_of(const std::string& host,
                                                               const std::string& place);
    void close_listeners();

    std::shared_ptr<connections> all_;
    std::vector<std::shared_ptr<listener>> listeners_;
    net::boot_timer timeout_;  // of stop()
    bool rings_ = false;
    bool short_of_room_ = false;
    bool stopped_ = false;
};

result<void> server::state::use_tls(tls_identity files) {
    auto opened = certificate::open(std::move(files), lease_clock::now());
    if (opened.has_error()) return opened.error();
    all_->identity = std::move(*opened);
    return {};
}

tcp::acceptor server::state::bind(const tcp::endpoint& where, boost::system::error_code& error) {
    tcp::acceptor acceptor{all_->executor()};
    acceptor.open(where.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
    // An address such as :: stands for those of IPv4 as well, whatever the system's default is.
    if (!error && where.address().is_v6())
        acceptor.set_option(boost::asio::ip::v6_only{!where.address().is_unspecified()}, error);
    if (!error) acceptor.bind(where, error);
    if (!error) acceptor.listen(backlog, error);
    return acceptor;
}

result<std::vector<boost::asio::ip::address>> server::state::addresses_of(
    const std::string& host, const std::string& place) {
    std::vector<boost::asio::ip::address> addresses;
    boost::system::error_code error;
    if (const auto address = boost::asio::ip::make_address(host, error); !error) {
        addresses.push_back(address);
        return addresses;
    }
    tcp::resolver resolver{all_->executor()};
    const auto found = resolver.resolve(host, "", tcp::resolver::passive, error);
    if (error) return failure{errc::denied, place + ": the host is not known: " + error.message()};
    for (const auto& one : found) {
        const auto address = one.endpoint().address();
        if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
            addresses.push_back(address);
    }
    return addresses;
}

result<std::uint16_t> server::state::listen(const std::string& host, std::uint16_t port) {
    const auto place = place_text(host, port);
    const auto addresses = addresses_of(host, place);
    if (addresses.has_error()) return addresses.error();
    std::vector<tcp::acceptor> bound;
    boost::system::error_code missing;
    for (const auto& address : *addresses) {
        boost::system::error_code error;
        auto acceptor = bind({address, port}, error);
        // A name may stand for addresses that this machine does not have, as ::1 without IPv6.
        if (error.value() == EADDRNOTAVAIL || error.value() == EAFNOSUPPORT) {
            missing = error;
            continue;
        }
        if (error) return cannot_listen(place, error.value());
        port = acceptor.local_endpoint(error).port();
        bound.push_back(std::move(acceptor));
    }
    if (bound.empty()) return cannot_listen(place, missing.value());
    for (auto& one : bound) take_over(std::move(one));
    return port;
}

result<void> server::state::listen_on(int descriptor) {
    const auto place = "descriptor " + std::to_string(descriptor);
    const auto ask = [&](int name, int& value) {
        socklen_t bytes = sizeof value;
        return ::getsockopt(descriptor, SOL_SOCKET, name, &value, &bytes) == 0;
    };
    int family = 0, listens = 0;
    if (!ask(SO_DOMAIN, family) || !ask(SO_ACCEPTCONN, listens)) return cannot_listen(place, errno);
    if ((family != AF_INET && family != AF_INET6) || listens == 0)
        return failure{errc::denied, place + ": it is not a listening TCP socket"};
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    tcp::acceptor acceptor{all_->executor()};
    boost::system::error_code error;
    acceptor.assign(family == AF_INET ? tcp::v4() : tcp::v6(), descriptor, error);
    if (error) return cannot_listen(place, error.value());
    take_over(std::move(acceptor));
    return {};
}

void server::state::take_over(tcp::acceptor acceptor) {
    tune(acceptor.native_handle(), all_->bounds().write_wait);
    boost::system::error_code error;
    acceptor.non_blocking(true, error);
    auto one = std::make_shared<listener>(all_->executor(), std::move(acceptor));
    listeners_.push_back(one);
    auto accepting = accept(shared_from_this(), one);
    boost::asio::co_spawn(all_->executor(), std::move(accepting), net::unattended{});
    if (std::exchange(rings_, true)) return;
    auto ringing = ring(all_);
    boost::asio::co_spawn(all_->executor(), std::move(ringing), net::unattended{});
}

boost::asio::awaitable<void> server::state::ring(std::shared_ptr<connections> all) {
    auto ringing = all->deadlines.run();
    co_await std::move(ringing);
}

// True where some connection could not be accepted for want of room, which may be there soon.
bool server::state::accept_some(listener& from) {
    for (int i = 0; i < accepted_at_once; ++i) {
        sockaddr_storage address{};
        socklen_t bytes = sizeof address;
        const int accepted =
            ::accept4(from.acceptor.native_handle(), reinterpret_cast<sockaddr*>(&address), &bytes,
                      SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
            if (concerns_one_connection(errno)) continue;
            const int code = errno;
            if (is_want_of_descriptors(code) && !a_client_waits(from.acceptor.native_handle()))
                return false;
            // The longest idle makes way, and its descriptor is free at once.
            if (is_want_of_descriptors(code) && all_->make_way()) continue;
            if (!std::exchange(short_of_room_, true))
                all_->warn("no connection can be accepted: " +
                           std::generic_category().message(code));
            return true;
        }
        short_of_room_ = false;
        tcp::endpoint peer;
        std::memcpy(peer.data(), &address, std::min<std::size_t>(bytes, peer.capacity()));
        peer.resize(std::min<std::size_t>(bytes, peer.capacity()));
        tcp::socket socket{all_->executor()};
        boost::system::error_code error;
        socket.assign(peer.protocol(), accepted, error);
        if (error)
            ::close(accepted);
        else
            all_->welcome(std::move(socket), peer, from.on_loopback);
    }
    return false;
}

boost::asio::awaitable<void> server::state::accept(std::shared_ptr<state> self,
                                                   std::shared_ptr<listener> from) {
    boost::system::error_code error;
    auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    while (!self->stopped_) {
        co_await from->acceptor.async_wait(tcp::acceptor::wait_read, token);
        if (error || self->stopped_) break;
        if (!self->accept_some(*from)) continue;
        from->pause.set(lease_clock::now() + accept_pause);
        auto pausing = from->pause.wait();
        co_await std::move(pausing);
    }
}

void server::state::close_listeners() {
    stopped_ = true;
    for (const auto& one : listeners_) {
        boost::system::error_code ignored;
        one->acceptor.close(ignored);
        one->pause.wake();
    }
    listeners_.clear();
}

boost::asio::awaitable<void> server::state::stop(std::shared_ptr<state> self, millis timeout) {
    if (self->stopped_) co_return;
    self->close_listeners();
    auto all = self->all_;
    all->when_empty = [self] { self->timeout_.wake(); };
    all->begin_stop();
    self->timeout_.set(lease_clock::now() + timeout);
    if (!all->is_empty()) {
        auto waiting = self->timeout_.wait();
        co_await std::move(waiting);
    }
    all->when_empty = nullptr;
    all->cut_all();
    all->deadlines.stop();
}

void server::state::abandon() {
    if (stopped_) return;
    close_listeners();
    all_->begin_stop();
    all_->cut_all();
    all_->deadlines.stop();
}

server::server(server_parts made_of) : state_{std::make_shared<state>(std::move(made_of))} {}

server::~server() { state_->abandon(); }

result<void> server::use_tls(tls_identity files) { return state_->use_tls(std::move(files)); }

// A timer for each place takes a descriptor, which may not be there.
result<std::uint16_t> server::listen(const std::string& host, std::uint16_t port) try {
    return state_->listen(host, port);
} catch (const boost::system::system_error& error) {
    return cannot_listen(place_text(host, port), error.code().value());
}

result<void> server::listen_on(int descriptor) try {
    return state_->listen_on(descriptor);
} catch (const boost::system::system_error& error) {
    return cannot_listen("descriptor " + std::to_string(descriptor), error.code().value());
}

server_counts server::counts() const noexcept { return state_->counts(); }

boost::asio::awaitable<void> server::stop(millis timeout) { return state::stop(state_, timeout); }

}  // namespace pawl::http
