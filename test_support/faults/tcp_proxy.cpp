#include "test_support/faults/tcp_proxy.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace pawl::testing_faults {
namespace {

using boost::asio::awaitable;
using boost::asio::ip::tcp;

std::size_t index_of(direction which) { return which == direction::to_server ? 0 : 1; }

using clock = std::chrono::steady_clock;

// What has arrived from one side and has not been passed on to the other.
struct flow {
    struct chunk {
        clock::time_point due;
        std::vector<char> bytes;
    };

    explicit flow(const boost::asio::any_io_executor& executor) : arrival{executor} {}

    std::deque<chunk> chunks;
    bool ended = false;
    boost::asio::steady_timer arrival;  // cancelled when something arrives
};

struct pair_of_sockets {
    explicit pair_of_sockets(tcp::socket&& taken)
        : client{std::move(taken)},
          server{client.get_executor()},
          flows{flow{client.get_executor()}, flow{client.get_executor()}} {}
    tcp::socket client, server;
    std::array<flow, 2> flows;

    void reset() {
        boost::system::error_code ignored;
        client.set_option(boost::asio::socket_base::linger{true, 0}, ignored);
        client.close(ignored);
        server.close(ignored);
        for (auto& one : flows) {
            one.ended = true;
            one.arrival.cancel();
        }
    }
};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

void replace_ports(std::vector<char>& bytes, const std::map<std::uint16_t, std::uint16_t>& ports) {
    for (auto at = std::find_if(bytes.begin(), bytes.end(), is_digit); at != bytes.end();) {
        const auto end = std::find_if_not(at, bytes.end(), is_digit);
        const std::string number{at, end};
        for (const auto& [real, told] : ports)
            if (number == std::to_string(real)) {
                const auto other = std::to_string(told);
                if (other.size() == number.size()) std::copy(other.begin(), other.end(), at);
            }
        at = std::find_if(end, bytes.end(), is_digit);
    }
}

}  // namespace

struct tcp_proxy::state : std::enable_shared_from_this<state> {
    state(std::uint16_t server_port, const tcp::endpoint& where)
        : server{boost::asio::ip::address_v4::loopback(), server_port},
          acceptor{context, where},
          // Never fire: resume() cancels them, which wakes all who wait.
          gates{boost::asio::steady_timer{context, clock::time_point::max()},
                boost::asio::steady_timer{context, clock::time_point::max()}} {
        here = acceptor.local_endpoint();
    }

    awaitable<void> take_connections() {
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        while (acceptor.is_open()) {
            auto client = co_await acceptor.async_accept(token);
            if (error) co_return;
            auto pair = std::make_shared<pair_of_sockets>(std::move(client));
            co_await pair->server.async_connect(server, token);
            if (error) {
                pair->reset();
                continue;
            }
            pairs.insert(pair);
            {
                const std::lock_guard lock{mutex};
                ++taken;
            }
            for (const auto which : {direction::to_server, direction::to_client}) {
                boost::asio::co_spawn(context, receive(pair, which), boost::asio::detached);
                boost::asio::co_spawn(context, pass_on(pair, which), boost::asio::detached);
            }
        }
    }

    awaitable<void> receive(std::shared_ptr<pair_of_sockets> pair, direction which) {
        auto& from = which == direction::to_server ? pair->client : pair->server;
        auto& arrived = pair->flows[index_of(which)];
        std::array<char, 16 * 1024> bytes;
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        while (!error) {
            const auto size = co_await from.async_read_some(boost::asio::buffer(bytes), token);
            if (!error) {
                std::vector<char> some{bytes.begin(),
                                       bytes.begin() + static_cast<std::ptrdiff_t>(size)};
                if (which == direction::to_client && !told_ports.empty())
                    replace_ports(some, told_ports);
                arrived.chunks.push_back({clock::now() + latency, std::move(some)});
            }
            arrived.ended = arrived.ended || error;
            arrived.arrival.cancel();
        }
    }

    awaitable<void> pass_on(std::shared_ptr<pair_of_sockets> pair, direction which) {
        auto& to = which == direction::to_server ? pair->server : pair->client;
        auto& arrived = pair->flows[index_of(which)];
        const auto barrier = index_of(which);
        boost::asio::steady_timer due{context};
        boost::system::error_code error;
        auto token = boost::asio::redirect_error(boost::asio::use_awaitable, error);
        while (!arrived.ended || !arrived.chunks.empty()) {
            if (arrived.chunks.empty()) {
                arrived.arrival.expires_at(clock::time_point::max());
                co_await arrived.arrival.async_wait(token);
                continue;
            }
            const auto next = std::move(arrived.chunks.front());
            arrived.chunks.pop_front();
            if (next.due > clock::now()) {
                due.expires_at(next.due);
                co_await due.async_wait(token);
            }
            if (stalled[barrier]) hold(barrier, next.bytes.size());
            while (stalled[barrier]) {
                co_await gates[barrier].async_wait(token);
            }
            error = {};
            co_await boost::asio::async_write(to, boost::asio::buffer(next.bytes), token);
            if (error) break;
        }
        pair->reset();
        pairs.erase(pair);
    }

    void hold(std::size_t barrier, std::size_t size) {
        const std::lock_guard lock{mutex};
        held[barrier] += size;
        changed.notify_all();
    }

    void cut_all() {
        for (const auto& pair : pairs) pair->reset();
    }

    // Runs on the proxy's thread, and returns when it has run.
    template <class Action>
    void do_there(Action action) {
        std::promise<void> done;
        boost::asio::post(context, [&] {
            action();
            done.set_value();
        });
        done.get_future().get();
    }

    boost::asio::io_context context{1};
    const tcp::endpoint server;
    tcp::endpoint here;

    // On the proxy's thread only
    tcp::acceptor acceptor;
    std::set<std::shared_ptr<pair_of_sockets>> pairs;
    std::array<boost::asio::steady_timer, 2> gates;
    std::array<bool, 2> stalled{};
    std::chrono::milliseconds latency{0};
    std::map<std::uint16_t, std::uint16_t> told_ports;

    std::mutex mutex;
    std::condition_variable changed;
    // Under mutex
    int taken = 0;
    std::array<std::uint64_t, 2> held{};

    std::thread thread;
};

tcp_proxy::tcp_proxy(std::uint16_t server_port) : tcp_proxy{server_port, "127.0.0.1", 0} {}

tcp_proxy::tcp_proxy(std::uint16_t server_port, const std::string& address, std::uint16_t port)
    : state_{std::make_shared<state>(server_port,
                                     tcp::endpoint{boost::asio::ip::make_address(address), port})} {
    boost::asio::co_spawn(state_->context, state_->take_connections(), boost::asio::detached);
    state_->thread = std::thread{[where = state_.get()] {
        const auto work = boost::asio::make_work_guard(where->context);
        where->context.run();
    }};
}

tcp_proxy::~tcp_proxy() {
    state_->context.stop();
    state_->thread.join();
}

std::uint16_t tcp_proxy::port() const noexcept { return state_->here.port(); }

void tcp_proxy::cut() {
    state_->do_there([this] { state_->cut_all(); });
}

void tcp_proxy::reject() {
    reject_new();
    cut();
}

void tcp_proxy::reject_new() {
    state_->do_there([this] {
        state_->acceptor.close();
        // Bound, so that nobody else is given the port, and not listening, so that it rejects.
        state_->acceptor.open(state_->here.protocol());
        state_->acceptor.set_option(boost::asio::socket_base::reuse_address{true});
        // An outgoing connection of another process may have it for a moment.
        const auto give_up = clock::now() + std::chrono::seconds{10};
        boost::system::error_code taken;
        state_->acceptor.bind(state_->here, taken);
        while (taken && clock::now() < give_up) {
            poll(nullptr, 0, 5);
            state_->acceptor.bind(state_->here, taken);
        }
        if (taken) throw boost::system::system_error{taken};
    });
}

void tcp_proxy::accept_again() {
    state_->do_there([this] {
        state_->acceptor.listen();
        boost::asio::co_spawn(state_->context, state_->take_connections(), boost::asio::detached);
    });
}

void tcp_proxy::stall(direction which) {
    state_->do_there([this, which] { state_->stalled[index_of(which)] = true; });
}

void tcp_proxy::resume(direction which) {
    state_->do_there([this, which] {
        state_->stalled[index_of(which)] = false;
        state_->gates[index_of(which)].cancel();
    });
}

void tcp_proxy::delay(std::chrono::milliseconds one_way) {
    state_->do_there([this, one_way] { state_->latency = one_way; });
}

void tcp_proxy::tell_clients(const std::string& bytes) {
    state_->do_there([&] {
        for (const auto& pair : state_->pairs) {
            auto& arrived = pair->flows[index_of(direction::to_client)];
            arrived.chunks.push_back({clock::now(), {bytes.begin(), bytes.end()}});
            arrived.arrival.cancel();
        }
    });
}

void tcp_proxy::tell_ports_as(std::map<std::uint16_t, std::uint16_t> ports) {
    state_->do_there([&] { state_->told_ports = std::move(ports); });
}

int tcp_proxy::connections() const {
    const std::lock_guard lock{state_->mutex};
    return state_->taken;
}

std::uint64_t tcp_proxy::held_bytes(direction which) const {
    const std::lock_guard lock{state_->mutex};
    return state_->held[index_of(which)];
}

bool tcp_proxy::wait_for_held_bytes(direction which, std::uint64_t bytes) const {
    std::unique_lock lock{state_->mutex};
    return state_->changed.wait_for(lock, std::chrono::seconds{10},
                                    [&] { return state_->held[index_of(which)] >= bytes; });
}

}  // namespace pawl::testing_faults
